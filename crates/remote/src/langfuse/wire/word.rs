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

/// An enum whose every value has a word.
pub trait Spelled: Copy + Sized + 'static {
    /// What the words name, for error messages.
    const WHAT: &'static str;

    fn all() -> Vec<Self>;

    /// The word for this value.
    fn word(self) -> &'static str;

    /// The value of a word, which may be written in any case.
    fn from_word(word: &str) -> Option<Self> {
        Self::all().into_iter().find(|value| value.word().eq_ignore_ascii_case(word))
    }
}

impl Spelled for ObservationKind {
    const WHAT: &'static str = "observation type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Spelled for Level {
    const WHAT: &'static str = "level";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Spelled for DataType {
    const WHAT: &'static str = "score data type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Spelled for ScoreSource {
    const WHAT: &'static str = "score source";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Spelled for PromptKind {
    const WHAT: &'static str = "prompt type";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Spelled for DatasetStatus {
    const WHAT: &'static str = "dataset status";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

/// An enum as its word on the wire.
///
/// Fields name it by an alias such as [`LevelWord`]: the macro that describes types for clients
/// would look for a description of the enum itself behind the angle brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<T>(pub T);

/// An observation's kind as its word.
pub type KindWord = Word<ObservationKind>;
/// A level as its word.
pub type LevelWord = Word<Level>;
/// A score's data type as its word.
pub type DataTypeWord = Word<DataType>;
/// A score's source as its word.
pub type SourceWord = Word<ScoreSource>;

impl<T: Spelled> PartialSchema for Word<T> {
    fn schema() -> RefOr<Schema> {
        let words = T::all().into_iter().map(T::word);
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
    }
}

impl<T: Spelled> ToSchema for Word<T> {
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

impl<T: Spelled> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<'de, T: Spelled> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(WordVisitor(std::marker::PhantomData))
    }
}

struct WordVisitor<T>(std::marker::PhantomData<T>);

impl<T: Spelled> Visitor<'_> for WordVisitor<T> {
    type Value = Word<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = T::all().into_iter().map(T::word).collect();
        write!(f, "{} ({})", T::WHAT, words.join(", "))
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Self::Value, E> {
        let value = T::from_word(word);
        value.map(Word).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(word), &self))
    }
}
