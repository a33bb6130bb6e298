//! What fields say, within limits.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use ratchet_core::environment::Environment;
use ratchet_core::id::Id;
use ratchet_core::issue::Issue;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::field::{Field, StampedValue};
use ratchet_core::record::limit::elide;
use ratchet_core::record::merge::Metadata;
use serde_json::value::RawValue;

use super::{Saying, parse_id};

/// The key that holds metadata which is not an object.
const WHOLE: &str = "metadata";

impl Saying<'_> {
    /// A field as it was sent: absent says nothing, null clears.
    pub(super) fn field<T>(&self, sent: Maybe<T>) -> Field<T> {
        match sent {
            Maybe::Absent => Field::unset(),
            Maybe::Null => Field::cleared(self.stamp),
            Maybe::Value(value) => Field::new(value, self.stamp),
        }
    }

    /// A text, elided if it is too long.
    pub(super) fn text(&self, sent: Maybe<String>) -> Field<String> {
        self.field(sent.map(|text| self.shortened(text)))
    }

    /// A name of someone or something: an empty one is none.
    pub(super) fn label(&self, sent: Maybe<String>) -> Field<String> {
        self.text(empty_as_null(sent))
    }

    /// A reference to another record: an empty one is none.
    pub(super) fn reference<Of>(
        &self,
        field: &str,
        sent: Maybe<String>,
    ) -> Result<Field<Id<Of>>, Issue> {
        Ok(match empty_as_null(sent) {
            Maybe::Absent => Field::unset(),
            Maybe::Null => Field::cleared(self.stamp),
            Maybe::Value(text) => Field::new(parse_id(field, &text)?, self.stamp),
        })
    }

    /// An environment. Null says nothing here: clients without one send it by default.
    pub(super) fn environment(&self, sent: Maybe<String>) -> Field<Environment> {
        let environment = sent.value().map(|text| Environment::normalise(&text));
        Field::if_some(environment, self.stamp)
    }

    /// An input or an output. Null says nothing here: clients send it when they have none to add.
    pub(super) fn payload(&self, sent: Maybe<Raw>) -> Field<Payload> {
        let payload = sent.value().map(|raw| Payload::Json(self.json(&raw)));
        Field::if_some(payload, self.stamp)
    }

    /// Metadata by key. A null removes its key.
    pub(super) fn metadata(&self, sent: Maybe<Raw>) -> Metadata {
        let Some(raw) = sent.value() else {
            return Metadata::default();
        };
        let keys = serde_json::from_str::<BTreeMap<String, Option<Raw>>>(raw.get());
        let keys = keys.unwrap_or_else(|_| BTreeMap::from([(WHOLE.to_owned(), Some(raw))]));
        let say = |value: Option<Raw>| StampedValue {
            stamp: self.stamp,
            value: value.map(|value| self.json(&value)),
        };
        Metadata::new(keys.into_iter().map(|(key, value)| (self.shortened(key), say(value))))
    }

    /// The agent at work, where the metadata names one.
    pub(super) fn agent(&self, metadata: &Metadata) -> Field<String> {
        let named = metadata.get("agent").and_then(|json| serde_json::from_str(json.as_str()).ok());
        Field::if_some(named.filter(|name: &String| !name.is_empty()), self.stamp)
    }

    /// Labels, which only ever join.
    pub(super) fn tags(&self, sent: Maybe<Vec<String>>) -> BTreeSet<String> {
        sent.value().unwrap_or_default().into_iter().map(|tag| self.shortened(tag)).collect()
    }

    /// A JSON document whose every text is within the limit.
    pub(super) fn json(&self, raw: &RawValue) -> Json {
        let max_bytes = self.rules.text_bytes;
        if raw.get().len() <= max_bytes {
            return Json::from_raw(raw);
        }
        let short = elide_strings(raw.get(), max_bytes);
        Json::parse(&short).unwrap_or_else(|| Json::from_raw(raw))
    }

    pub(super) fn shortened(&self, text: String) -> String {
        match elide(&text, self.rules.text_bytes) {
            Cow::Borrowed(_) => text,
            Cow::Owned(short) => short,
        }
    }
}

fn empty_as_null(sent: Maybe<String>) -> Maybe<String> {
    match sent {
        Maybe::Value(text) if text.is_empty() => Maybe::Null,
        other => other,
    }
}

/// Elides the long strings of a JSON text and leaves every other byte as it is.
fn elide_strings(json: &str, max_bytes: usize) -> String {
    let mut short = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, from_quote)) = split_at_quote(rest) {
        let (literal, after) = split_after_literal(from_quote);
        short.push_str(before);
        match serde_json::from_str::<String>(literal) {
            Ok(text) if text.len() > max_bytes => {
                short.push_str(&serde_json::Value::from(elide(&text, max_bytes)).to_string());
            }
            _ => short.push_str(literal),
        }
        rest = after;
    }
    short.push_str(rest);
    short
}

fn split_at_quote(json: &str) -> Option<(&str, &str)> {
    json.split_at_checked(json.find('"')?)
}

/// Cuts behind the string that a text begins with, quotes included.
fn split_after_literal(from_quote: &str) -> (&str, &str) {
    let mut is_escaped = false;
    for (index, byte) in from_quote.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return from_quote.split_at_checked(index + 1).unwrap_or((from_quote, "")),
            _ => {}
        }
    }
    (from_quote, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(elide_strings(json, 40), expected);
    }

    #[test]
    fn short_strings_and_numbers_stay_to_the_byte() {
        let json = r#" { "a\"b" : [1.50, "\u00e9\\", 12345678901234567890, "日本"] } "#;
        check(json, json);
    }

    #[test]
    fn long_strings_lose_their_middle() {
        let long = "é".repeat(50);
        let expected = format!("[1, {}]", serde_json::Value::from(elide(&long, 40)));
        check(&format!("[1, \"{long}\"]"), &expected);
    }

    #[test]
    fn text_that_is_not_json_does_no_harm() {
        for odd in ["", "\"", "\"abc", "\"\\", "a\"b\"c\""] {
            check(odd, odd);
        }
    }
}
