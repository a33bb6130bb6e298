use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::payload::Json;
use crate::time::Timestamp;

/// A JSON object parsed one level deep. Values of unexpected types are treated as absent, because
/// the format is undocumented.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Object<'a> {
    /// Parses a text.
    ///
    /// # Errors
    /// Fails if it is not a JSON object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    /// Returns a raw value; null is `None`.
    pub(crate) fn raw(&self, key: &str) -> Option<&'a RawValue> {
        self.0.get(key).copied().filter(|raw| raw.get() != "null")
    }

    /// Returns the JSON text of a value; null is `None`.
    pub(crate) fn written(&self, key: &str) -> Option<&'a str> {
        self.raw(key).map(RawValue::get)
    }

    fn read<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.raw(key)?.get()).ok()
    }

    /// Returns a non-empty string.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.read(key).filter(|text: &String| !text.is_empty())
    }

    /// Returns whether a boolean is present and true.
    pub(crate) fn is(&self, key: &str) -> bool {
        self.read(key).unwrap_or(false)
    }

    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        self.read(key)
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.read(key)
    }

    pub(crate) fn time(&self, key: &str) -> Option<Timestamp> {
        Timestamp::parse(&self.text(key)?).ok()
    }

    /// Returns the values that are objects, with their keys.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, Object<'a>)> {
        self.0.iter().filter_map(|(key, raw)| Some((key.as_str(), Object::parse(raw.get()).ok()?)))
    }

    pub(crate) fn object(&self, key: &str) -> Option<Object<'a>> {
        Self::parse(self.raw(key)?.get()).ok()
    }

    /// Returns the items of a list.
    pub(crate) fn list(&self, key: &str) -> Vec<&'a RawValue> {
        self.read(key).unwrap_or_default()
    }

    /// Returns a value as a payload; `None` if it is nested too deeply.
    pub(crate) fn json(&self, key: &str) -> Option<Json> {
        Json::parse(self.raw(key)?.get())
    }
}
