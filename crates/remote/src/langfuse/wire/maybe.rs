use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A field of a partial update: absent is unchanged, null is cleared.
///
/// Fields need `#[serde(default, skip_serializing_if = "Maybe::is_absent")]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Maybe<T> {
    /// The field is missing.
    #[default]
    Absent,
    Null,
    Value(T),
}

impl<T> Maybe<T> {
    /// Converts an option; `None` becomes null.
    pub fn or_null(value: Option<T>) -> Self {
        value.map_or(Self::Null, Self::Value)
    }

    /// Returns whether the field is missing.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Returns the value, where absent and null mean the same.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// Returns a reference to the value, where absent and null mean the same.
    pub fn as_value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// Maps the value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Maybe<U> {
        match self {
            Self::Absent => Maybe::Absent,
            Self::Null => Maybe::Null,
            Self::Value(value) => Maybe::Value(change(value)),
        }
    }
}

impl<T> From<T> for Maybe<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl<T> From<Option<T>> for Maybe<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Self::Value)
    }
}

impl<T: Serialize> Serialize for Maybe<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Absent | Self::Null => serializer.serialize_none(),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::<T>::deserialize(deserializer)?;
        Ok(value.map_or(Self::Null, Self::Value))
    }
}
