use std::borrow::Cow;
use std::fmt;

use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::catalog::prompt::PromptKind;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_core::record::score::{DataType, ScoreSource};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// An enum with a name for every value on the wire.
pub trait WireEnum: Copy + Sized + 'static {
    /// The type name, for error messages.
    const WHAT: &'static str;

    fn all() -> Vec<Self>;

    /// Returns the name of the value.
    fn wire_name(self) -> &'static str;

    /// Parses a name, in any case.
    fn from_wire_name(word: &str) -> Option<Self> {
        Self::all().into_iter().find(|value| value.wire_name().eq_ignore_ascii_case(word))
    }
}

impl WireEnum for ObservationKind {
    const WHAT: &'static str = "observation type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

impl WireEnum for Level {
    const WHAT: &'static str = "level";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

impl WireEnum for DataType {
    const WHAT: &'static str = "score data type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

impl WireEnum for ScoreSource {
    const WHAT: &'static str = "score source";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

impl WireEnum for PromptKind {
    const WHAT: &'static str = "prompt type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

impl WireEnum for DatasetStatus {
    const WHAT: &'static str = "dataset status";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

/// An enum as its name on the wire.
///
/// Fields use an alias such as [`LevelName`]: the `ToSchema` macro would look for a schema of the
/// enum itself in the generic argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireName<T>(pub T);

/// The API name of an observation type.
pub type ObservationKindName = WireName<ObservationKind>;
/// The API name of a level.
pub type LevelName = WireName<Level>;
/// The API name of a score's data type.
pub type DataTypeName = WireName<DataType>;
/// The API name of a score's source.
pub type ScoreSourceName = WireName<ScoreSource>;

impl<T: WireEnum> PartialSchema for WireName<T> {
    fn schema() -> RefOr<Schema> {
        let words = T::all().into_iter().map(T::wire_name);
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
    }
}

impl<T: WireEnum> ToSchema for WireName<T> {
    /// `observation type` becomes `ObservationType`.
    fn name() -> Cow<'static, str> {
        let words = T::WHAT.split(' ').map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        });
        Cow::Owned(words.collect())
    }
}

impl<T: WireEnum> Serialize for WireName<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.wire_name())
    }
}

impl<'de, T: WireEnum> Deserialize<'de> for WireName<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor(std::marker::PhantomData))
    }
}

struct NameVisitor<T>(std::marker::PhantomData<T>);

impl<T: WireEnum> Visitor<'_> for NameVisitor<T> {
    type Value = WireName<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = T::all().into_iter().map(T::wire_name).collect();
        write!(f, "{} ({})", T::WHAT, words.join(", "))
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Self::Value, E> {
        let value = T::from_wire_name(word);
        value.map(WireName).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(word), &self))
    }
}
