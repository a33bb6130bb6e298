//! JSON whose objects have no key twice, at any depth. Parsers that keep the last of two values
//! would let a second value pass unnoticed.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON value without duplicate keys. Parsing fails on the first one.
///
/// ```
/// use ratchet_core::unique_keys::UniqueKeys;
///
/// let twice = r#"{"a": {"score": 0, "score": 1}}"#;
/// let error = serde_json::from_str::<UniqueKeys>(twice).unwrap_err();
/// assert!(error.to_string().starts_with(r#"the key "score" stands twice"#));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct UniqueKeys(pub Value);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(UniqueKeys(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, UniqueKeys(value))) = entries.next_entry::<String, UniqueKeys>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// Returns the first duplicate key of a document, in words; `None` where there is none, or where
/// the text is no JSON.
pub fn duplicate_key(document: &[u8]) -> Option<String> {
    let parsed = serde_json::from_slice::<UniqueKeys>(document);
    parsed.err().filter(serde_json::Error::is_data).map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_without_duplicates_is_parsed_as_usual() {
        let text = r#"{"a":[1,-2,0.5,1e300,null,true,"x\ny",{"b":{}}],"c":18446744073709551615}"#;
        let plain: Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::from_str::<UniqueKeys>(text).unwrap().0, plain);
        assert_eq!(duplicate_key(text.as_bytes()), None);
    }

    #[test]
    fn duplicates_are_found_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":2,"a":3}}]"#, r#"{"\u0061":1,"a":2}"#]
        {
            let found = duplicate_key(text.as_bytes()).unwrap();
            assert!(found.starts_with("the key \"a\" stands twice"), "{found}");
        }
        assert_eq!(duplicate_key(b"{\"a\":"), None);
    }
}
