use std::borrow::Cow;

use ratchet_core::time::Timestamp;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

/// A point in time, ISO 8601 on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Timestamp);

impl From<Timestamp> for Time {
    fn from(timestamp: Timestamp) -> Self {
        Self(timestamp)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let shown: String = text.chars().take(SHOWN_CHARS).collect();
        Timestamp::parse(&text)
            .map(Self)
            .map_err(|why| D::Error::custom(format_args!("{why}: {}", Unexpected::Str(&shown))))
    }
}

impl PartialSchema for Time {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        let text = ObjectBuilder::new().schema_type(Type::String).format(Some(format));
        text.description(Some("A point in time, ISO 8601 with an offset.")).into()
    }
}

impl ToSchema for Time {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Time")
    }
}

/// The maximum length of invalid text in an error.
const SHOWN_CHARS: usize = 40;

/// Converts nanoseconds to seconds.
#[expect(clippy::cast_precision_loss, reason = "shown to people and clients, never summed")]
pub fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}
