use std::fmt;

use ratchet_core::record::score::rule::SentValue;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::time::Time;
use crate::langfuse::wire::wire_name::{DataTypeName, ScoreSourceName};

/// The body of a score event, and of `POST /api/public/scores`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ScoreBody {
    /// Score id.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub id: Maybe<String>,
    /// Id of the scored trace, or of the scored observation's trace.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub trace_id: Maybe<String>,
    /// Id of the scored observation.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub observation_id: Maybe<String>,
    /// Id of the scored session.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub session_id: Maybe<String>,
    /// Id of the scored dataset run.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub dataset_run_id: Maybe<String>,
    /// Score name.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = String, required = true)]
    pub name: Maybe<String>,
    /// Value.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = ScoreInput, required = true)]
    pub value: Maybe<ScoreInput>,
    /// Data type; inferred from the value when omitted.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<DataTypeName>)]
    pub data_type: Maybe<DataTypeName>,
    /// Source.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<ScoreSourceName>)]
    pub source: Maybe<ScoreSourceName>,
    /// Time of the score.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Time>)]
    pub timestamp: Maybe<Time>,
    /// Environment of the scored trace.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub environment: Maybe<String>,
    /// Comment.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub comment: Maybe<String>,
    /// Score config id.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub config_id: Maybe<String>,
    /// Annotation queue id.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>)]
    pub queue_id: Maybe<String>,
    /// Client metadata.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>)]
    pub metadata: Maybe<Raw>,
}

/// The value of a score in a request.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ScoreInput {
    /// A number; 0 or 1 for booleans.
    Number(f64),
    /// A text.
    Text(String),
    /// Boolean.
    Bool(bool),
}

impl From<ScoreInput> for SentValue {
    fn from(input: ScoreInput) -> Self {
        match input {
            ScoreInput::Number(number) => Self::Number(number),
            ScoreInput::Text(text) => Self::Text(text),
            ScoreInput::Bool(yes) => Self::Bool(yes),
        }
    }
}

impl<'de> Deserialize<'de> for ScoreInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputVisitor)
    }
}

/// Implemented by hand for an error message that lists the valid types.
struct InputVisitor;

impl Visitor<'_> for InputVisitor {
    type Value = ScoreInput;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a text or a boolean")
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(ScoreInput::Number(number))
    }

    #[expect(clippy::cast_precision_loss, reason = "scores are floats, as in every client")]
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(ScoreInput::Number(number as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "scores are floats, as in every client")]
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(ScoreInput::Number(number as f64))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(ScoreInput::Text(text.to_owned()))
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Self::Value, E> {
        Ok(ScoreInput::Bool(yes))
    }
}
