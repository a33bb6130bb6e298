use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::payload::Json;
use crate::time::Timestamp;

/// A JSON object read one level deep. What has another type than expected is as good as absent:
/// the format is nobody's promise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Object<'a> {
    /// Reads a text.
    ///
    /// # Errors
    /// Says why it is not a JSON object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    /// A value as it stands there; null is none.
    pub(crate) fn raw(&self, key: &str) -> Option<&'a RawValue> {
        self.0.get(key).copied().filter(|raw| raw.get() != "null")
    }

    /// The text of a value, as it stands there; null is none.
    pub(crate) fn written(&self, key: &str) -> Option<&'a str> {
        self.raw(key).map(RawValue::get)
    }

    fn read<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.raw(key)?.get()).ok()
    }

    /// A text that is not empty.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.read(key).filter(|text: &String| !text.is_empty())
    }

    /// Whether a truth is there and true.
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

    /// The values that are objects themselves, by their keys.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, Object<'a>)> {
        self.0.iter().filter_map(|(key, raw)| Some((key.as_str(), Object::parse(raw.get()).ok()?)))
    }

    pub(crate) fn object(&self, key: &str) -> Option<Object<'a>> {
        Self::parse(self.raw(key)?.get()).ok()
    }

    /// The items of a list inside.
    pub(crate) fn list(&self, key: &str) -> Vec<&'a RawValue> {
        self.read(key).unwrap_or_default()
    }

    /// A value as a payload; `None` if it nests too deep to be read again.
    pub(crate) fn json(&self, key: &str) -> Option<Json> {
        Json::parse(self.raw(key)?.get())
    }
}
