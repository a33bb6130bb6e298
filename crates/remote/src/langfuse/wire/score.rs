use ratchet_core::score::{Score, ScoreSource, ScoreTarget, ScoreValue};
use serde::{Deserialize, Deserializer, Serialize};

use super::json::{Raw, both, object};
use super::time::Time;
use super::word::Word;

/// A score on a trace or an observation.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreView {
    /// Whose, on what, and when.
    #[serde(flatten)]
    pub base: ScoreBase,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What scores of every data type have.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScoreBase {
    /// Its id.
    pub id: String,
    /// The trace it judges, or whose observation it judges.
    pub trace_id: String,
    /// The observation it judges, if not the whole trace.
    pub observation_id: Option<String>,
    /// What is judged.
    pub name: String,
    /// Who says so.
    pub source: Word<ScoreSource>,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "dataType", rename_all = "UPPERCASE", rename_all_fields = "camelCase")]
pub enum Verdict {
    /// A number.
    Numeric {
        /// The number.
        value: f64,
    },
    /// Yes or no.
    Boolean {
        /// 1 or 0.
        value: f64,
        /// `True` or `False`.
        string_value: String,
    },
    /// One of several labels.
    Categorical {
        /// The number that the score config gives the label, or 0.
        value: f64,
        /// The label.
        string_value: String,
    },
    /// Free text.
    Text {
        /// The text.
        string_value: String,
    },
}

impl ScoreView {
    /// Shows a score; `None` for those this shape has no words for: corrections, and scores on
    /// sessions and dataset runs.
    pub fn new(score: &Score) -> Option<Self> {
        let (trace, observation) = match &score.target {
            ScoreTarget::Trace(trace) => (trace, None),
            ScoreTarget::Observation(trace, observation) => (trace, Some(observation)),
            ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => return None,
        };
        let base = ScoreBase {
            id: score.id.to_string(),
            trace_id: trace.to_string(),
            observation_id: observation.map(ToString::to_string),
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
        Some(Self { base, verdict: Verdict::new(&score.value)? })
    }
}

impl Verdict {
    fn new(value: &ScoreValue) -> Option<Self> {
        let number = value.number().unwrap_or(0.0);
        let string_value = value.text().unwrap_or_default().to_owned();
        match value {
            ScoreValue::Numeric(_) => Some(Self::Numeric { value: number }),
            ScoreValue::Boolean(_) => Some(Self::Boolean { value: number, string_value }),
            ScoreValue::Categorical { .. } => {
                Some(Self::Categorical { value: number, string_value })
            }
            ScoreValue::Text(_) => Some(Self::Text { string_value }),
            ScoreValue::Correction(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for ScoreView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (base, verdict) = both(deserializer)?;
        Ok(Self { base, verdict })
    }
}
