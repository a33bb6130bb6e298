use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::payload::Json;
use crate::record::semantic_conventions::attributes::{is_present, text};
use crate::record::semantic_conventions::json::{self, Fields, Typed, Unpacked, pairs};
use crate::record::span::{AttributeValue, SpanEvent, SpanLink};
use crate::time::Timestamp;

/// A span's events, until a field takes them.
#[derive(Clone, Debug)]
pub(super) struct Events {
    events: Vec<SpanEvent>,
}

impl Events {
    pub(super) fn new(events: Vec<SpanEvent>) -> Self {
        Self { events }
    }

    /// Adds the events that Logfire lists in an attribute instead. Returns the value if it is not
    /// such a list.
    pub(super) fn add_listed(
        &mut self,
        listed: AttributeValue,
        at: Timestamp,
    ) -> Result<(), AttributeValue> {
        let Some(events) = text(&listed).and_then(parse_listed) else {
            return Err(listed);
        };
        let event = |(name, fields)| SpanEvent { name, at, attributes: json::attributes(fields) };
        self.events.extend(events.into_iter().map(event));
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Takes an attribute from each event of these names.
    pub(super) fn take_attribute(&mut self, names: &[&str], key: &str) -> Vec<AttributeValue> {
        let named = |event: &&mut SpanEvent| names.contains(&event.name.as_str());
        let mut taken = Vec::new();
        let mut is_emptied = false;
        for event in self.events.iter_mut().filter(named) {
            let attributes = &mut event.attributes.0;
            if let Some(at) = attributes.iter().rposition(|(name, _)| name == key) {
                taken.push(attributes.remove(at).1);
                is_emptied |= attributes.is_empty();
            }
        }
        if is_emptied {
            let is_empty = |e: &SpanEvent| e.attributes.0.is_empty();
            self.events.retain(|e| !(is_empty(e) && names.contains(&e.name.as_str())));
        }
        taken
    }

    /// Takes the events of these names, in order, as messages.
    pub(super) fn take_messages(&mut self, names: &[&str]) -> Vec<EventMessage> {
        let is_message = |event: &mut SpanEvent| names.contains(&event.name.as_str());
        self.events.extract_if(.., is_message).map(EventMessage).collect()
    }

    /// Returns the message of an exception event.
    pub(super) fn exception(&self) -> Option<&str> {
        let exception = self.events.iter().rev().find(|event| event.name == "exception")?;
        exception.attributes.text("exception.message").filter(|message| !message.is_empty())
    }

    /// Returns the unused events.
    pub(super) fn unused(&self) -> Option<Json> {
        (!self.events.is_empty()).then(|| json::json(&Left(&self.events)))
    }
}

type Listed = Vec<(String, serde_json::Map<String, Value>)>;

fn parse_listed(list: &str) -> Option<Listed> {
    let events: Vec<serde_json::Map<String, Value>> = serde_json::from_str(list).ok()?;
    let named = events.into_iter().map(|mut event| match event.remove("event.name")? {
        Value::String(name) => Some((name, event)),
        _ => None,
    });
    named.collect()
}

/// An event as a message: its role and attributes.
#[derive(Debug)]
pub(super) struct EventMessage(SpanEvent);

impl Serialize for EventMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let attributes = &self.0.attributes;
        let mut map = serializer.serialize_map(None)?;
        if attributes.get("role").is_none() {
            map.serialize_entry("role", role(&self.0.name))?;
        }
        for (name, value) in &attributes.0 {
            map.serialize_entry(name, &Unpacked(value))?;
        }
        map.end()
    }
}

/// Returns the role: `gen_ai.user.message` is the user's; a choice is the model's.
fn role(event: &str) -> &str {
    let role = event.strip_prefix("gen_ai.").and_then(|name| name.strip_suffix(".message"));
    role.unwrap_or("assistant")
}

/// Concatenates JSON lists as text; a value that is not a list is unchanged.
pub(super) fn joined(values: Vec<AttributeValue>) -> Option<AttributeValue> {
    let mut values = values.into_iter().filter(is_present);
    let first = values.next()?;
    let rest: Vec<_> = values.collect();
    if rest.is_empty() {
        return Some(first);
    }
    let all: Vec<_> = std::iter::once(first).chain(rest).collect();
    let inner = |value| Some(text(value)?.trim().strip_prefix('[')?.strip_suffix(']')?.trim());
    match all.iter().map(inner).collect::<Option<Vec<_>>>() {
        Some(parts) => {
            let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            Some(AttributeValue::Text(format!("[{}]", parts.join(","))))
        }
        None => Some(AttributeValue::List(all)),
    }
}

/// Unused events in their storage format.
struct Left<'a>(&'a [SpanEvent]);

impl Serialize for Left<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(LeftEvent))
    }
}

struct LeftEvent<'a>(&'a SpanEvent);

impl Serialize for LeftEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("time", &Shown(self.0.at))?;
        map.serialize_entry("attributes", &Fields(pairs(&self.0.attributes)))?;
        map.end()
    }
}

struct Shown(Timestamp);

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Serializes span links for storage.
pub(super) fn links(links: &[SpanLink]) -> Option<Json> {
    (!links.is_empty()).then(|| json::json(&LeftLinks(links)))
}

struct LeftLinks<'a>(&'a [SpanLink]);

impl Serialize for LeftLinks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|link| {
            let trace = AttributeValue::Text(link.trace.to_string());
            let span = AttributeValue::Text(link.span.to_string());
            LeftLink { trace, span, link }
        }))
    }
}

struct LeftLink<'a> {
    trace: AttributeValue,
    span: AttributeValue,
    link: &'a SpanLink,
}

impl Serialize for LeftLink<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("traceId", &Typed(&self.trace))?;
        map.serialize_entry("spanId", &Typed(&self.span))?;
        map.serialize_entry("attributes", &Fields(pairs(&self.link.attributes)))?;
        map.end()
    }
}
