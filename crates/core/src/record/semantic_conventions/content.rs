//! Inputs and outputs.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::payload::{Json, Payload};
use crate::record::field::Field;
use crate::record::observation::ObservationPatch;
use crate::record::semantic_conventions::ParsedSpan;
use crate::record::semantic_conventions::attributes::{Claims, is_present, text};
use crate::record::semantic_conventions::event::{self, Events};
use crate::record::semantic_conventions::flat::Tree;
use crate::record::semantic_conventions::json::{Fields, Typed, Unpacked, json, looks_structured};
use crate::record::semantic_conventions::table::{Rank, Shape, Source, TABLE, Target};
use crate::record::span::AttributeValue;

/// Sets input and output.
pub(super) fn extract(observation: &mut ObservationPatch, parsed: &mut ParsedSpan) {
    let input = take(Target::Input, &mut parsed.claims, &mut parsed.events);
    let output = take(Target::Output, &mut parsed.claims, &mut parsed.events);
    observation.input = Field::if_some(input, parsed.stamp);
    observation.output = Field::if_some(output, parsed.stamp);
}

/// Takes the strongest payload of a target from a span's attributes and events.
fn take(target: Target, claims: &mut Claims, events: &mut Events) -> Option<Payload> {
    let ranks = TABLE.ranks(target);
    let mut from = ranks.start;
    while let Some(rank) = claims.next_rank(target, from) {
        if let Some(payload) = from_events(from..rank, claims, events) {
            return Some(payload);
        }
        let shape = TABLE.source_at(rank)?.shape;
        let values = claims.take_at(rank);
        let payload = match shape {
            Shape::Flattened => flattened(rank, values),
            Shape::Reply => reply(values),
            Shape::Conversation => conversation(values, claims),
            Shape::Encoded => encoded(values),
            Shape::Plain | Shape::Gathered | Shape::Messages | Shape::Of(_) => plain(values),
        };
        if let Some(payload) = payload {
            drop_equal(target, &payload, claims);
            return Some(payload);
        }
        from = rank + 1;
    }
    from_events(from..ranks.end, claims, events)
}

/// Takes the strongest payload from events, among these ranks.
fn from_events(ranks: Range<Rank>, claims: &mut Claims, events: &mut Events) -> Option<Payload> {
    if events.is_empty() {
        return None;
    }
    ranks.filter_map(|rank| TABLE.source_at(rank)).find_map(|source| match source.shape {
        Shape::Of(attribute) => from_attribute(source, attribute, claims, events),
        Shape::Messages => from_messages(source, events),
        Shape::Plain
        | Shape::Conversation
        | Shape::Flattened
        | Shape::Reply
        | Shape::Gathered
        | Shape::Encoded => None,
    })
}

/// Converts a value to a payload: text unchanged, everything else as JSON.
pub(super) fn payload(value: AttributeValue) -> Payload {
    match value {
        AttributeValue::Text(text) => Payload::Text(text.into()),
        other => Payload::Json(json(&Typed(&other))),
    }
}

/// Drops the same content under other names; copies of whole conversations are common.
fn drop_equal(target: Target, payload: &Payload, claims: &mut Claims) {
    if let Payload::Text(text) = payload {
        claims.drop_equal(target, text);
    }
}

fn plain(values: Vec<(String, AttributeValue)>) -> Option<Payload> {
    values.into_iter().next_back().map(|(_, value)| payload(value))
}

/// Vercel encodes each embedded value, and each vector, as JSON of its own.
fn encoded(values: Vec<(String, AttributeValue)>) -> Option<Payload> {
    let (_, value) = values.into_iter().next_back()?;
    let AttributeValue::List(values) = value else { return Some(payload(value)) };
    let read = |value: &AttributeValue| {
        text(value).and_then(Json::parse).unwrap_or_else(|| json(&Typed(value)))
    };
    let texts: Vec<String> = values.iter().map(|value| read(value).as_str().to_owned()).collect();
    let list = Json::parse(&format!("[{}]", texts.join(","))).map(Payload::Json);
    Some(list.unwrap_or_else(|| payload(AttributeValue::List(values))))
}

fn flattened(rank: Rank, values: Vec<(String, AttributeValue)>) -> Option<Payload> {
    let mut tree = Tree::default();
    for (name, value) in values {
        tree.add(TABLE.key(rank, &name), value);
    }
    Some(Payload::Json(json(&tree)))
}

/// Vercel's answer has several attributes: a single text is the answer, several become one message.
fn reply(values: Vec<(String, AttributeValue)>) -> Option<Payload> {
    let mut pieces = values.into_iter().filter(|(_, value)| is_present(value));
    let first = pieces.next()?;
    let rest: Vec<_> = pieces.collect();
    if rest.is_empty() && first.0.ends_with(".text") {
        return Some(payload(first.1));
    }
    let role = AttributeValue::Text("assistant".to_owned());
    let role = std::iter::once(("role", Unpacked(&role)));
    let pieces = std::iter::once(&first).chain(&rest);
    let pieces = pieces.map(|(name, value)| (reply_key(name), Unpacked(value)));
    Some(Payload::Json(json(&Fields(role.chain(pieces)))))
}

fn reply_key(name: &str) -> &str {
    match name.rsplit('.').next().unwrap_or(name) {
        "text" => "content",
        "toolCalls" => "tool_calls",
        other => other,
    }
}

fn conversation(values: Vec<(String, AttributeValue)>, claims: &mut Claims) -> Option<Payload> {
    let (_, value) = values.into_iter().next_back()?;
    let system = claims.candidates(Target::System).find_map(|(_, value)| text(value));
    let whole = text(&value).and_then(|messages| with_system(system?, messages));
    if let Some(whole) = whole {
        claims.take(Target::System, |value| text(value).map(drop));
        return Some(Payload::Text(whole));
    }
    Some(payload(value))
}

/// Prepends system instructions to a list of messages, as text: nothing is parsed.
fn with_system(system: &str, messages: &str) -> Option<Arc<str>> {
    let rest = messages.trim().strip_prefix('[').filter(|rest| rest.ends_with(']'))?.trim_start();
    let comma = if rest.starts_with(']') { "" } else { "," };
    let instructions = if looks_structured(system) {
        format!(r#""parts":{system}"#)
    } else {
        format!(r#""content":{}"#, Value::from(system))
    };
    Some(format!(r#"[{{"role":"system",{instructions}}}{comma}{rest}"#).into())
}

fn from_attribute(
    source: &Source,
    attribute: &str,
    claims: &mut Claims,
    events: &mut Events,
) -> Option<Payload> {
    let joined = event::joined(events.take_attribute(source.events, attribute))?;
    let is_list = text(&joined).is_some_and(|messages| with_system("", messages).is_some());
    if source.target != Target::Input || !is_list {
        return Some(payload(joined));
    }
    let system = events.take_attribute(source.events, "gen_ai.system_instructions");
    let Some(system) = event::joined(system).map(payload) else {
        return conversation(vec![(attribute.to_owned(), joined)], claims);
    };
    with_system(system.as_str(), text(&joined)?).map(Payload::Text)
}

fn from_messages(source: &Source, events: &mut Events) -> Option<Payload> {
    let messages = events.take_messages(source.events);
    let first = messages.first()?;
    let is_lone_answer = source.target == Target::Output && messages.len() == 1;
    Some(Payload::Json(if is_lone_answer { json(first) } else { json(&messages) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_instructions_come_first() {
        let shown = |system, messages| with_system(system, messages).unwrap().to_string();
        assert_eq!(
            shown(r#"[{"type":"text"}]"#, r#" [{"role":"user"}]"#),
            r#"[{"role":"system","parts":[{"type":"text"}]},{"role":"user"}]"#
        );
        assert_eq!(shown("be \"kind\"", "[]"), r#"[{"role":"system","content":"be \"kind\""}]"#);
        assert_eq!(with_system("x", "hello"), None);
        assert_eq!(with_system("x", "["), None);
    }
}
