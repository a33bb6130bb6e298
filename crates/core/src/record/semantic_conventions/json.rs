//! Attribute values as typed JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::payload::{Json, MAX_DEPTH};
use crate::record::limit::depth;
use crate::record::span::{AttributeValue, Attributes};

/// Serializes a value with its type; bytes as base64, as in OTLP.
#[derive(Clone, Copy)]
pub(super) struct Typed<'a>(pub(super) &'a AttributeValue);

impl Serialize for Typed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::Empty => serializer.serialize_unit(),
            AttributeValue::Text(text) => serializer.serialize_str(text),
            AttributeValue::Bool(truth) => serializer.serialize_bool(*truth),
            AttributeValue::Int(number) => serializer.serialize_i64(*number),
            AttributeValue::Double(number) if number.is_finite() => {
                serializer.serialize_f64(*number)
            }
            // JSON has no NaN or infinity; they become strings.
            AttributeValue::Double(number) => serializer.collect_str(number),
            AttributeValue::Bytes(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            AttributeValue::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|value| list.serialize_element(&Typed(value)))?;
                list.end()
            }
            AttributeValue::Map(attributes) => Fields(pairs(attributes)).serialize(serializer),
        }
    }
}

/// Serializes a value; text that is a JSON object or list is embedded as JSON.
#[derive(Clone, Copy)]
pub(super) struct Unpacked<'a>(pub(super) &'a AttributeValue);

impl Serialize for Unpacked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::Text(text) if looks_structured(text) => {
                let is_shallow = depth(text) <= MAX_DEPTH;
                match serde_json::from_str::<&RawValue>(text) {
                    Ok(raw) if is_shallow => raw.serialize(serializer),
                    Ok(_) | Err(_) => serializer.serialize_str(text),
                }
            }
            value => Typed(value).serialize(serializer),
        }
    }
}

/// Serializes names and values as an object, in order.
pub(super) struct Fields<I>(pub(super) I);

impl<K: Serialize, V: Serialize, I: Iterator<Item = (K, V)> + Clone> Serialize for Fields<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0.clone() {
            map.serialize_entry(&name, &value)?;
        }
        map.end()
    }
}

/// Returns names with typed values.
pub(super) fn pairs(attributes: &Attributes) -> impl Iterator<Item = (&str, Typed<'_>)> + Clone {
    attributes.0.iter().map(|(name, value)| (name.as_str(), Typed(value)))
}

/// Serializes to JSON. Falls back to null, which none of our types needs.
pub(super) fn json(value: &impl Serialize) -> Json {
    to_raw_value(value).map_or_else(|_| Json::from_value(&Value::Null), |raw| Json::from_raw(&raw))
}

/// Returns whether a text may be a JSON object or list; a fast check of its ends only.
pub(super) fn looks_structured(text: &str) -> bool {
    let ends = |open, close| text.starts_with(open) && text.ends_with(close);
    ends('{', '}') || ends('[', ']')
}

/// Converts a JSON value to an attribute value.
pub(super) fn attribute(value: Value) -> AttributeValue {
    match value {
        Value::Null => AttributeValue::Empty,
        Value::Bool(truth) => AttributeValue::Bool(truth),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => AttributeValue::Int(whole),
            None => AttributeValue::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => AttributeValue::Text(text),
        Value::Array(values) => AttributeValue::List(values.into_iter().map(attribute).collect()),
        Value::Object(fields) => AttributeValue::Map(attributes(fields)),
    }
}

/// Converts a JSON object to attributes.
pub(super) fn attributes(fields: serde_json::Map<String, Value>) -> Attributes {
    Attributes(fields.into_iter().map(|(name, value)| (name, attribute(value))).collect())
}
