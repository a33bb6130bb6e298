use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;

use ratchet_core::payload::{Json, Payload};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

/// Raw JSON, preserved as received.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Raw(Box<RawValue>);

impl Raw {
    /// Returns JSON null.
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl Deref for Raw {
    type Target = RawValue;

    fn deref(&self) -> &RawValue {
        &self.0
    }
}

impl From<Box<RawValue>> for Raw {
    fn from(json: Box<RawValue>) -> Self {
        Self(json)
    }
}

impl PartialSchema for Raw {
    fn schema() -> RefOr<Schema> {
        let any = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
        any.description(Some("Any JSON.")).into()
    }
}

impl ToSchema for Raw {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AnyJson")
    }
}

/// Wraps a JSON text unchanged.
pub fn raw(json: &Json) -> Raw {
    // A `Json` parses by its invariant; if it ever did not, null would be better than a broken
    // response.
    RawValue::from_string(json.as_str().to_owned()).map_or_else(|_| Raw::null(), Raw)
}

/// Converts a payload to JSON for display.
pub fn payload(payload: &Payload) -> Raw {
    raw(&payload.to_json())
}

/// Serializes keys and values as one JSON object.
pub fn object(entries: &[(String, Json)]) -> Raw {
    let entries: BTreeMap<&str, Raw> =
        entries.iter().map(|(key, value)| (key.as_str(), raw(value))).collect();
    to_raw_value(&entries).map_or_else(|_| Raw::null(), Raw)
}

/// Deserializes one object as two types that share its fields.
///
/// Serde's `flatten` does not support raw values.
pub(super) fn both<'de, D, A, B>(deserializer: D) -> Result<(A, B), D::Error>
where
    D: Deserializer<'de>,
    A: DeserializeOwned,
    B: DeserializeOwned,
{
    let whole = Raw::deserialize(deserializer)?;
    let first = serde_json::from_str(whole.get()).map_err(D::Error::custom)?;
    let second = serde_json::from_str(whole.get()).map_err(D::Error::custom)?;
    Ok((first, second))
}

/// Deserializes null as the default, usually an empty list.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
