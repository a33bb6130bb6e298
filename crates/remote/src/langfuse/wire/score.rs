use ratchet_core::record::score::{Score, ScoreTarget, ScoreValue};
use ratchet_core::record::trace::Trace;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, both, object};
use super::maybe::Maybe;
use super::time::Time;
use super::wire_name::{ScoreSourceName, WireName};

/// Scores in API version 3, with a value of several types.
pub mod v3;

/// A score in API versions 1 and 2.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ScoreView {
    /// Common fields.
    #[serde(flatten)]
    pub base: ScoreBase,
    /// Value.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// The common fields of all data types.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoreBase {
    /// Unique id.
    pub id: String,
    /// Id of the scored trace, or of the scored observation's trace.
    #[serde(default)]
    pub trace_id: Option<String>,
    /// Id of the scored observation, if not the whole trace.
    #[serde(default)]
    pub observation_id: Option<String>,
    /// Id of the scored session.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Id of the scored dataset run.
    #[serde(default)]
    pub dataset_run_id: Option<String>,
    /// Score name.
    pub name: String,
    /// Source.
    pub source: ScoreSourceName,
    /// Time of the score.
    pub timestamp: Time,
    /// Creation time of the record.
    pub created_at: Time,
    /// Time of the record's last change.
    pub updated_at: Time,
    /// User id of the author.
    pub author_user_id: Option<String>,
    /// Comment.
    pub comment: Option<String>,
    /// Client metadata.
    pub metadata: Option<Raw>,
    /// Score config id.
    pub config_id: Option<String>,
    /// Annotation queue id.
    pub queue_id: Option<String>,
    /// Environment of the scored trace.
    pub environment: String,
}

/// The value of a score, by its data type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "dataType", rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Number.
    Numeric {
        /// The number.
        value: f64,
        /// Always null.
        #[serde(rename = "stringValue", default)]
        string_value: Option<String>,
    },
    /// Boolean.
    Boolean {
        /// 1 or 0.
        value: f64,
        /// `True` or `False`.
        #[serde(rename = "stringValue")]
        string_value: String,
    },
    /// A label.
    Categorical {
        /// Number of the label in the score config, or 0.
        value: f64,
        /// Label.
        #[serde(rename = "stringValue")]
        string_value: String,
    },
    /// Free text.
    Text {
        /// Text.
        #[serde(rename = "stringValue")]
        string_value: String,
    },
    /// Corrected output.
    Correction {
        /// Always 0.
        value: f64,
        /// Corrected output.
        #[serde(rename = "stringValue")]
        string_value: String,
    },
}

impl ScoreView {
    /// Converts a score.
    pub fn new(score: &Score) -> Self {
        let (mut trace_id, mut observation_id) = (None, None);
        let (mut session_id, mut dataset_run_id) = (None, None);
        match &score.target {
            ScoreTarget::Trace(trace) => trace_id = Some(trace.to_string()),
            ScoreTarget::Observation(trace, observation) => {
                trace_id = Some(trace.to_string());
                observation_id = Some(observation.to_string());
            }
            ScoreTarget::Session(session) => session_id = Some(session.to_string()),
            ScoreTarget::DatasetRun(run) => dataset_run_id = Some(run.clone()),
        }
        let base = ScoreBase {
            id: score.id.to_string(),
            trace_id,
            observation_id,
            session_id,
            dataset_run_id,
            name: score.name.clone(),
            source: WireName(score.source),
            timestamp: score.timestamp.into(),
            created_at: score.created_at.into(),
            updated_at: score.updated_at.into(),
            author_user_id: score.author.clone(),
            comment: score.comment.clone(),
            metadata: Some(object(&score.metadata)),
            config_id: score.config.clone(),
            queue_id: score.queue.clone(),
            environment: score.environment.to_string(),
        };
        Self { base, verdict: Verdict::new(&score.value) }
    }
}

impl Verdict {
    fn new(value: &ScoreValue) -> Self {
        let number = value.number().unwrap_or(0.0);
        let string_value = value.text().unwrap_or_default().to_owned();
        match value {
            ScoreValue::Numeric(_) => Self::Numeric { value: number, string_value: None },
            ScoreValue::Boolean(_) => Self::Boolean { value: number, string_value },
            ScoreValue::Categorical { .. } => Self::Categorical { value: number, string_value },
            ScoreValue::Text(_) => Self::Text { string_value },
            ScoreValue::Correction(_) => Self::Correction { value: number, string_value },
        }
    }
}

impl<'de> Deserialize<'de> for ScoreView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (base, verdict) = both(deserializer)?;
        Ok(Self { base, verdict })
    }
}

/// A score in a list, with fields of its trace.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListedScore {
    /// Score.
    #[serde(flatten)]
    pub score: ScoreView,
    /// Fields of its trace.
    #[serde(flatten)]
    pub beside: ListedScoreFields,
}

/// Additional fields of a score in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedScoreFields {
    /// The scored trace; null where there is none, absent unless requested.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<ScoreTrace>, default = json!(null))]
    pub trace: Maybe<ScoreTrace>,
}

/// Fields of the scored trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoreTrace {
    /// User id.
    pub user_id: Option<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Environment.
    pub environment: Option<String>,
    /// Session id.
    pub session_id: Option<String>,
}

impl ScoreTrace {
    /// Converts a trace.
    pub fn new(trace: &Trace) -> Self {
        Self {
            user_id: trace.user.clone(),
            tags: trace.tags.clone(),
            environment: Some(trace.environment.to_string()),
            session_id: trace.session.as_ref().map(ToString::to_string),
        }
    }
}

impl<'de> Deserialize<'de> for ListedScore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (score, beside) = both(deserializer)?;
        Ok(Self { score, beside })
    }
}
