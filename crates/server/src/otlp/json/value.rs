use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratchet_core::record::span::AttributeValue;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};

use super::scalar::{NumberSeed, Text};
use super::shape::{Fields, Items, List, Object, skip};
use crate::otlp::limits::Bounds;
use crate::otlp::span_builder::AttributesDraft;

/// Reads a list of `{key, value}` pairs, up to the limit on attributes.
pub(crate) struct AttributeList<'a, 'b, 'l> {
    pub(crate) into: &'a mut AttributesDraft,
    pub(crate) bounds: &'b mut Bounds<'l>,
}

impl<'de> Items<'de> for AttributeList<'_, '_, '_> {
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        if !self.into.has_room(self.bounds.limits.attributes) {
            return skip(item);
        }
        self.into.kept.push(key_value(item, self.bounds, 0)?);
        Ok(())
    }
}

/// Reads one value of any type; null is an empty one.
pub(crate) struct Value<'b, 'l>(pub(crate) &'b mut Bounds<'l>);

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = AttributeValue;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<AttributeValue, D::Error> {
        self.0.enter(0).map_err(D::Error::custom)?;
        any_value(value, self.0, 0)
    }
}

fn key_value<'de, D: Deserializer<'de>>(
    item: D,
    bounds: &mut Bounds<'_>,
    depth: usize,
) -> Result<(String, AttributeValue), D::Error> {
    bounds.enter(depth).map_err(D::Error::custom)?;
    let value = AttributeValue::Empty;
    let mut pair = KeyValue { key: String::new(), value, bounds, depth };
    Object(&mut pair).deserialize(item)?;
    Ok((pair.key, pair.value))
}

struct KeyValue<'b, 'l> {
    key: String,
    value: AttributeValue,
    bounds: &'b mut Bounds<'l>,
    depth: usize,
}

impl<'de> Fields<'de> for KeyValue<'_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "key" => self.key = Text(self.bounds).deserialize(value)?,
            "value" => self.value = any_value(value, self.bounds, self.depth)?,
            _ => skip(value)?,
        }
        Ok(())
    }
}

fn any_value<'de, D: Deserializer<'de>>(
    value: D,
    bounds: &mut Bounds<'_>,
    depth: usize,
) -> Result<AttributeValue, D::Error> {
    let mut any = AnyValue { value: AttributeValue::Empty, bounds, depth };
    Object(&mut any).deserialize(value)?;
    Ok(any.value)
}

struct AnyValue<'b, 'l> {
    value: AttributeValue,
    bounds: &'b mut Bounds<'l>,
    depth: usize,
}

impl<'de> Fields<'de> for AnyValue<'_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        self.value = match name {
            "stringValue" | "string_value" => {
                AttributeValue::Text(Text(self.bounds).deserialize(value)?)
            }
            "boolValue" | "bool_value" => AttributeValue::Bool(bool::deserialize(value)?),
            "intValue" | "int_value" => NumberSeed("intValue").deserialize(value)?.into(),
            "doubleValue" | "double_value" => double(value)?,
            "bytesValue" | "bytes_value" => Base64(self.bounds).deserialize(value)?,
            "arrayValue" | "array_value" => {
                let (bounds, depth) = (&mut *self.bounds, self.depth + 1);
                let mut list = ValueList { values: Vec::new(), bounds, depth };
                Object(&mut Values(&mut list)).deserialize(value)?;
                AttributeValue::List(list.values)
            }
            "kvlistValue" | "kvlist_value" => {
                let (bounds, depth) = (&mut *self.bounds, self.depth + 1);
                let mut map = PairList { pairs: AttributesDraft::default(), bounds, depth };
                Object(&mut Values(&mut map)).deserialize(value)?;
                AttributeValue::Map(map.pairs.into_attributes())
            }
            _ => return skip(value),
        };
        Ok(())
    }
}

/// The `values` of a list or of a map.
struct Values<'a, T>(&'a mut T);

impl<'de, T: Items<'de>> Fields<'de> for Values<'_, T> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "values" => List(&mut *self.0).deserialize(value),
            _ => skip(value),
        }
    }
}

struct ValueList<'b, 'l> {
    values: Vec<AttributeValue>,
    bounds: &'b mut Bounds<'l>,
    depth: usize,
}

impl<'de> Items<'de> for ValueList<'_, '_> {
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        self.bounds.enter(self.depth).map_err(D::Error::custom)?;
        self.values.push(any_value(item, self.bounds, self.depth)?);
        Ok(())
    }
}

struct PairList<'b, 'l> {
    pairs: AttributesDraft,
    bounds: &'b mut Bounds<'l>,
    depth: usize,
}

impl<'de> Items<'de> for PairList<'_, '_> {
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        self.pairs.kept.push(key_value(item, self.bounds, self.depth)?);
        Ok(())
    }
}

/// A double; JSON writes NaN and infinity as strings.
fn double<'de, D: Deserializer<'de>>(value: D) -> Result<AttributeValue, D::Error> {
    use super::scalar::Number;
    Ok(match NumberSeed("doubleValue").deserialize(value)? {
        Number::Int(number) => AttributeValue::Double(number as f64),
        Number::Large(number) => AttributeValue::Double(number as f64),
        Number::Double(number) => AttributeValue::Double(number),
    })
}

struct Base64<'b, 'l>(&'b Bounds<'l>);

impl<'de> DeserializeSeed<'de> for Base64<'_, '_> {
    type Value = AttributeValue;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<AttributeValue, D::Error> {
        text.deserialize_str(self)
    }
}

impl Visitor<'_> for Base64<'_, '_> {
    type Value = AttributeValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytesValue in base64")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AttributeValue, E> {
        let bytes = STANDARD.decode(text).map_err(|_| E::custom("bytesValue is not base64"))?;
        self.0.count_decoded(bytes.len());
        Ok(AttributeValue::Bytes(bytes))
    }
}
