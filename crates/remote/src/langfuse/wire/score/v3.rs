use ratchet_core::record::score::{DataType, Score, ScoreTarget, ScoreValue};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::langfuse::wire::ingestion::ScoreInput;
use crate::langfuse::wire::json::{Raw, object};
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::time::Time;
use crate::langfuse::wire::wire_name::{DataTypeName, ScoreSourceName, WireName};

/// A score whose value is a number, boolean or text, by its data type.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypedScore {
    /// Unique id.
    pub id: String,
    /// Project id.
    pub project_id: String,
    /// Score name.
    pub name: String,
    /// Value.
    pub value: ScoreInput,
    /// Data type.
    pub data_type: DataTypeName,
    /// Source.
    pub source: ScoreSourceName,
    /// Time of the score.
    pub timestamp: Time,
    /// Environment of the scored trace.
    pub environment: String,
    /// Creation time of the record.
    pub created_at: Time,
    /// Time of the record's last change.
    pub updated_at: Time,
    /// Comment. In the field group `details`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub comment: Maybe<String>,
    /// Score config id. In the field group `details`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub config_id: Maybe<String>,
    /// Client metadata. In the field group `details`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub metadata: Maybe<Raw>,
    /// User id of the author. In the field group `annotation`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub author_user_id: Maybe<String>,
    /// Annotation queue id. In the field group `annotation`.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub queue_id: Maybe<String>,
    /// Scored object. In the field group `subject`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub subject: Option<ScoreSubject>,
}

/// The scored object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ScoreSubject {
    /// A trace.
    Trace {
        /// Unique id.
        id: String,
    },
    /// An observation.
    Observation {
        /// Unique id.
        id: String,
        /// Trace id.
        #[serde(default, rename = "traceId")]
        trace_id: Option<String>,
    },
    /// A session.
    Session {
        /// Unique id.
        id: String,
    },
    /// A dataset run.
    Experiment {
        /// Unique id.
        id: String,
    },
}

impl TypedScore {
    /// Converts the core fields of a score.
    pub fn new(score: &Score, project: &str) -> Self {
        let (data_type, value) = typed(&score.value);
        Self {
            id: score.id.to_string(),
            project_id: project.to_owned(),
            name: score.name.clone(),
            value,
            data_type: WireName(data_type),
            source: WireName(score.source),
            timestamp: score.timestamp.into(),
            environment: score.environment.to_string(),
            created_at: score.created_at.into(),
            updated_at: score.updated_at.into(),
            comment: Maybe::Absent,
            config_id: Maybe::Absent,
            metadata: Maybe::Absent,
            author_user_id: Maybe::Absent,
            queue_id: Maybe::Absent,
            subject: None,
        }
    }

    /// Adds the field group `details`.
    #[must_use]
    pub fn with_details(self, score: &Score) -> Self {
        Self {
            comment: Maybe::or_null(score.comment.clone()),
            config_id: Maybe::or_null(score.config.clone()),
            metadata: Maybe::Value(object(&score.metadata)),
            ..self
        }
    }

    /// Adds the field group `subject`.
    #[must_use]
    pub fn with_subject(self, score: &Score) -> Self {
        let subject = match &score.target {
            ScoreTarget::Trace(trace) => ScoreSubject::Trace { id: trace.to_string() },
            ScoreTarget::Observation(trace, observation) => ScoreSubject::Observation {
                id: observation.to_string(),
                trace_id: Some(trace.to_string()),
            },
            ScoreTarget::Session(session) => ScoreSubject::Session { id: session.to_string() },
            ScoreTarget::DatasetRun(run) => ScoreSubject::Experiment { id: run.clone() },
        };
        Self { subject: Some(subject), ..self }
    }

    /// Adds the field group `annotation`.
    #[must_use]
    pub fn with_annotation(self, score: &Score) -> Self {
        Self {
            author_user_id: Maybe::or_null(score.author.clone()),
            queue_id: Maybe::or_null(score.queue.clone()),
            ..self
        }
    }
}

fn typed(value: &ScoreValue) -> (DataType, ScoreInput) {
    match value {
        ScoreValue::Numeric(number) => (DataType::Numeric, ScoreInput::Number(*number)),
        ScoreValue::Boolean(yes) => (DataType::Boolean, ScoreInput::Bool(*yes)),
        ScoreValue::Categorical { label, .. } => {
            (DataType::Categorical, ScoreInput::Text(label.clone()))
        }
        ScoreValue::Text(text) => (DataType::Text, ScoreInput::Text(text.clone())),
        ScoreValue::Correction(text) => (DataType::Correction, ScoreInput::Text(text.clone())),
    }
}
