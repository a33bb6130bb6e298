use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::convention::claim::{Claims, text};
use crate::convention::json::{Fields, Typed, json, looks_structured};
use crate::convention::scalar;
use crate::convention::table::{Rank, Shape, TABLE, Target};
use crate::field::{Said, Stamp};
use crate::merge::Metadata;
use crate::payload::Json;
use crate::span::AttributeValue;

/// How an SDK writes metadata values into attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Texts as they are, objects and lists as JSON, all else as attributes of its own type.
    Plain,
    /// Texts as they are, all else as JavaScript's JSON.
    JavaScript,
    /// Texts as they are, whole numbers and booleans as attributes of their own types, all else as
    /// Python's JSON.
    Python,
    /// Every value as JSON, texts in quotation marks.
    Json,
}

impl Encoding {
    fn read(self, value: &AttributeValue) -> Json {
        let structured = |text| looks_structured(text).then(|| Json::parse(text)).flatten();
        let parsed = text(value).and_then(|text| match self {
            Self::Json => Json::parse(text),
            Self::Plain => structured(text),
            Self::JavaScript => structured(text).or_else(|| scalar::javascript(text)),
            Self::Python => structured(text).or_else(|| scalar::python(text)),
        });
        parsed.unwrap_or_else(|| json(&Typed(value)))
    }

    /// The encoding of one attribute: an SDK also passes on what others wrote in their own way.
    fn of(self, name: &str) -> Self {
        if name.starts_with("langfuse.") { self } else { Self::Plain }
    }
}

/// How to read metadata, and when it was said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) encoding: Encoding,
    pub(super) stamp: Stamp,
}

/// Takes the client's own keys of an observation or a trace. The first word on a key counts; what
/// comes second stays among the attributes.
pub(super) fn take(target: Target, claims: &mut Claims, reading: Reading) -> Keys {
    let Reading { encoding, stamp } = reading;
    let mut keys = Keys { words: Metadata::default(), stamp };
    if !claims.has(target) {
        return keys;
    }
    for rank in TABLE.ranks(target) {
        let shape = TABLE.source_at(rank).map_or(Shape::Plain, |source| source.shape);
        for (name, value) in claims.take_at(rank) {
            let encoding = encoding.of(&name);
            let left = match shape {
                Shape::Gathered => keys.add_one(rank, &name, value, encoding),
                _ => keys.add_all(value, encoding),
            };
            if let Some(left) = left {
                claims.leave(name, left);
            }
        }
    }
    keys
}

/// Keys and values of the client's own.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    words: Metadata,
    stamp: Stamp,
}

impl Keys {
    fn has(&self, key: &str) -> bool {
        self.words.get(key).is_some()
    }

    fn insert(&mut self, key: String, value: Json) {
        self.words.insert(key, Said { stamp: self.stamp, value: Some(value) });
    }

    /// Adds the value of one key, or gives it back if the key has one.
    fn add_one(
        &mut self,
        rank: Rank,
        name: &str,
        value: AttributeValue,
        encoding: Encoding,
    ) -> Option<AttributeValue> {
        let key = TABLE.key(rank, name);
        if self.has(key) {
            return Some(value);
        }
        self.insert(key.to_owned(), encoding.read(&value));
        None
    }

    /// Adds the keys of a whole object; what is none becomes the key `metadata`.
    fn add_all(&mut self, value: AttributeValue, encoding: Encoding) -> Option<AttributeValue> {
        let fields = match &value {
            AttributeValue::Map(fields) => {
                let typed = fields.0.iter().map(|(key, value)| (key.clone(), json(&Typed(value))));
                Some(typed.collect())
            }
            value => text(value).and_then(fields),
        };
        let fields = fields
            .unwrap_or_else(|| BTreeMap::from([("metadata".to_owned(), encoding.read(&value))]));
        if fields.keys().any(|key| self.has(key)) {
            return Some(value);
        }
        for (key, value) in fields {
            self.insert(key, value);
        }
        None
    }

    /// The text of a key, where its value is one.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let text: String = serde_json::from_str(self.words.get(key)?.as_str()).ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// The value of a key.
    pub(super) fn value(&self, key: &str) -> Option<Value> {
        serde_json::from_str(self.words.get(key)?.as_str()).ok()
    }

    /// Adds something of ours under a key that nobody has.
    pub(super) fn add_ours(&mut self, key: &str, value: Option<Json>) {
        let Some(value) = value else { return };
        let mut key = key.to_owned();
        while self.has(&key) {
            key.insert(0, '_');
        }
        self.insert(key, value);
    }

    /// Adds these keys to others, with another stamp, where the others have none of the same name.
    pub(super) fn lend(&self, others: &mut Metadata, stamp: Stamp) {
        for (key, value) in self.words.values() {
            if others.get(key).is_none() {
                others.insert(key.to_owned(), Said { stamp, value: Some(value.clone()) });
            }
        }
    }

    /// Restores the types of a trace's keys that an SDK has turned to text: where the observation
    /// says a key as a number or a boolean of the same spelling, that is what the caller gave.
    /// Python's version 4 propagates nothing but texts, numbers of `LangChain` among them.
    pub(super) fn restore_types(&self, trace: &mut Metadata, stamp: Stamp) {
        for (key, value) in self.words.values() {
            if trace.get(key).is_some_and(|text| is_spelling(text, value)) {
                trace.insert(key.to_owned(), Said { stamp, value: Some(value.clone()) });
            }
        }
    }

    pub(super) fn into_metadata(self) -> Metadata {
        self.words
    }
}

/// Whether a JSON text is how a number or a boolean is written, be it `true` or Python's `True`.
fn is_spelling(text: &Json, value: &Json) -> bool {
    let value = value.as_str();
    let is_scalar = value == "true" || value == "false" || value.parse::<f64>().is_ok();
    let text = text.as_str().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    is_scalar && text.is_some_and(|text| text.eq_ignore_ascii_case(value))
}

fn fields(text: &str) -> Option<BTreeMap<String, Json>> {
    let document = Json::parse(text)?;
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(document.as_str()).ok()?;
    Some(fields.into_iter().map(|(key, raw)| (key, Json::from_raw(raw))).collect())
}

/// What no field took, as one object.
pub(super) fn left(claims: &Claims) -> Option<Json> {
    let mut left = claims.left().map(|(name, value)| (name, Typed(value))).peekable();
    left.peek()?;
    Some(json(&Fields(left)))
}
