use ratchet_core::record::score::{Score, ScoreTarget, ScoreValue};
use ratchet_core::record::trace::Trace;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, both, object};
use super::maybe::Maybe;
use super::time::Time;
use super::word::{SourceWord, Word};

/// A score with its polymorphic value, as the newest API shows it.
pub mod v3;

/// A score, as the first two versions of the API show it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ScoreView {
    /// Whose, on what, and when.
    #[serde(flatten)]
    pub base: ScoreBase,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What scores of every data type have.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoreBase {
    /// Its id.
    pub id: String,
    /// The trace it judges, or whose observation it judges.
    #[serde(default)]
    pub trace_id: Option<String>,
    /// The observation it judges, if not the whole trace.
    #[serde(default)]
    pub observation_id: Option<String>,
    /// The session it judges.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The dataset run it judges.
    #[serde(default)]
    pub dataset_run_id: Option<String>,
    /// What is judged.
    pub name: String,
    /// Who says so.
    pub source: SourceWord,
    /// When it was first given.
    pub timestamp: Time,
    /// When the record was first written.
    pub created_at: Time,
    /// When the record last changed.
    pub updated_at: Time,
    /// The person who gave it.
    pub author_user_id: Option<String>,
    /// Why.
    pub comment: Option<String>,
    /// Keys and values of the client's own.
    pub metadata: Option<Raw>,
    /// The score config it follows.
    pub config_id: Option<String>,
    /// The annotation queue it was given in.
    pub queue_id: Option<String>,
    /// Where the judged run ran.
    pub environment: String,
}

/// The value of a score, by its data type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "dataType", rename_all = "UPPERCASE")]
pub enum Verdict {
    /// A number.
    Numeric {
        /// The number.
        value: f64,
        /// Always null.
        #[serde(rename = "stringValue", default)]
        string_value: Option<String>,
    },
    /// Yes or no.
    Boolean {
        /// 1 or 0.
        value: f64,
        /// `True` or `False`.
        #[serde(rename = "stringValue")]
        string_value: String,
    },
    /// One of several labels.
    Categorical {
        /// The number that the score config gives the label, or 0.
        value: f64,
        /// The label.
        #[serde(rename = "stringValue")]
        string_value: String,
    },
    /// Free text.
    Text {
        /// The text.
        #[serde(rename = "stringValue")]
        string_value: String,
    },
    /// What the output should have been.
    Correction {
        /// Always 0.
        value: f64,
        /// The better output.
        #[serde(rename = "stringValue")]
        string_value: String,
    },
}

impl ScoreView {
    /// Shows a score.
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
            source: Word(score.source),
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

/// A score with what a list shows of its trace.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListedScore {
    /// The score.
    #[serde(flatten)]
    pub score: ScoreView,
    /// Its trace.
    #[serde(flatten)]
    pub beside: BesideScore,
}

/// What a list shows beside a score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BesideScore {
    /// The trace it judges; null where it judges none, absent where nobody asked.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<ScoreTrace>, default = json!(null))]
    pub trace: Maybe<ScoreTrace>,
}

/// What a score shows of the trace it judges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoreTrace {
    /// Who the run was for.
    pub user_id: Option<String>,
    /// Its labels.
    pub tags: Vec<String>,
    /// Where it ran.
    pub environment: Option<String>,
    /// The session it belongs to.
    pub session_id: Option<String>,
}

impl ScoreTrace {
    /// Shows a trace.
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
