use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::payload::Json;
use crate::record::field::{Stamp, StampedValue};
use crate::record::merge::Metadata;
use crate::record::semantic_conventions::attributes::{Claims, text};
use crate::record::semantic_conventions::json::{Fields, Typed, json, looks_structured};
use crate::record::semantic_conventions::scalar;
use crate::record::semantic_conventions::table::{Rank, Shape, TABLE, Target};
use crate::record::span::AttributeValue;

/// How an SDK encodes metadata values in attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Text unquoted, objects and lists as JSON, everything else as typed attributes.
    Plain,
    /// Text unquoted, everything else as JavaScript's JSON.
    JavaScript,
    /// Text unquoted, integers and booleans as typed attributes, everything else as Python's JSON.
    Python,
    /// Every value as JSON, text quoted.
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

    /// Returns the encoding of one attribute: an SDK also passes on attributes of other libraries.
    fn of(self, name: &str) -> Self {
        if name.starts_with("langfuse.") { self } else { Self::Plain }
    }
}

/// The encoding and stamp of metadata.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) encoding: Encoding,
    pub(super) stamp: Stamp,
}

/// Takes the client metadata of an observation or a trace. The first value of a key counts; others
/// stay among the attributes.
pub(super) fn take(target: Target, claims: &mut Claims, reading: Reading) -> Keys {
    let Reading { encoding, stamp } = reading;
    let mut keys = Keys { metadata: Metadata::default(), stamp };
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
                claims.put_back(name, left);
            }
        }
    }
    keys
}

/// Client metadata.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    metadata: Metadata,
    stamp: Stamp,
}

impl Keys {
    fn has(&self, key: &str) -> bool {
        self.metadata.get(key).is_some()
    }

    fn insert(&mut self, key: String, value: Json) {
        self.metadata.insert(key, StampedValue { stamp: self.stamp, value: Some(value) });
    }

    /// Adds one key, or returns the value if the key exists.
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

    /// Adds the keys of an object; any other value gets the key `metadata`.
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

    /// Returns the text of a key, if its value is one.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let text: String = serde_json::from_str(self.metadata.get(key)?.as_str()).ok()?;
        (!text.is_empty()).then_some(text)
    }

    pub(super) fn value(&self, key: &str) -> Option<Value> {
        serde_json::from_str(self.metadata.get(key)?.as_str()).ok()
    }

    /// Adds a value of Ratchet under an unused key.
    pub(super) fn add_ours(&mut self, key: &str, value: Option<Json>) {
        let Some(value) = value else { return };
        let mut key = key.to_owned();
        while self.has(&key) {
            key.insert(0, '_');
        }
        self.insert(key, value);
    }

    /// Adds these keys to others with another stamp, unless they exist there.
    pub(super) fn copy_into(&self, others: &mut Metadata, stamp: Stamp) {
        for (key, value) in self.metadata.values() {
            if others.get(key).is_none() {
                others.insert(key.to_owned(), StampedValue { stamp, value: Some(value.clone()) });
            }
        }
    }

    /// Restores the types of trace keys that an SDK converted to text: where the observation has
    /// the same key as a number or boolean of the same spelling, that is the original. Version 4 of
    /// the Python SDK propagates text only, also for `LangChain`'s numbers.
    pub(super) fn restore_types(&self, trace: &mut Metadata, stamp: Stamp) {
        for (key, value) in self.metadata.values() {
            if trace.get(key).is_some_and(|text| is_spelling(text, value)) {
                trace.insert(key.to_owned(), StampedValue { stamp, value: Some(value.clone()) });
            }
        }
    }

    pub(super) fn into_metadata(self) -> Metadata {
        self.metadata
    }
}

/// Returns whether a JSON string spells a number or boolean, including Python's `True`.
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

/// Returns the unused attributes as one object.
pub(super) fn unused(claims: &Claims) -> Option<Json> {
    let mut left = claims.unused().map(|(name, value)| (name, Typed(value))).peekable();
    left.peek()?;
    Some(json(&Fields(left)))
}
