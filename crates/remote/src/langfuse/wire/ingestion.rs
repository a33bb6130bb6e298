use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::time::Time;

/// Event types.
pub mod event;
/// The body of a trace event.
pub mod trace;
/// The body of an observation event.
pub mod observation;
/// The body of a score event.
pub mod score;

pub use event::{EventType, EventTypeName};
pub use observation::ObservationBody;
pub use score::{ScoreBody, ScoreInput};
pub use trace::TraceBody;

/// A batch of ingestion events. Each is processed separately: an invalid event does not affect the
/// others.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IngestionBatch {
    /// Events, as [`Envelope`]s.
    #[schema(value_type = Vec<Envelope>)]
    pub batch: Vec<Raw>,
    /// SDK metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Raw>,
}

/// An ingestion event.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Envelope {
    /// Event id, not the id of its record.
    pub id: String,
    /// Client time; decides between events on the same field.
    pub timestamp: Time,
    /// Event type.
    #[serde(rename = "type")]
    pub kind: EventTypeName,
    /// Event body.
    pub body: Raw,
}

/// The results of all events of a batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct IngestionResult {
    /// Accepted events.
    pub successes: Vec<EventAccepted>,
    /// Rejected events.
    pub errors: Vec<EventRefused>,
}

/// An accepted event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventAccepted {
    /// Event id.
    pub id: String,
    /// 201.
    pub status: u16,
}

/// A rejected event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventRefused {
    /// Event id, or its index in the batch if it has none.
    pub id: String,
    /// 400, 401 …
    pub status: u16,
    /// Error category.
    pub message: Option<String>,
    /// Error details.
    pub error: Option<String>,
}

/// One or several scores outside a batch.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum SentScores {
    /// One score.
    One(Box<ScoreBody>),
    /// Several scores.
    Many(Vec<ScoreBody>),
}

/// The response to a single score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScoreCreated {
    /// Score id.
    pub id: String,
}

/// The response to a single trace or observation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordCreated {
    /// Record id.
    pub id: String,
}

/// The response to several accepted scores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScoresAccepted {
    /// Confirmation.
    pub message: String,
}

/// The response to several scores with rejections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScoresRejected {
    /// Number of accepted scores.
    pub accepted: usize,
    /// Number of rejected scores.
    pub rejected: usize,
    /// One error per rejected score.
    pub errors: Vec<Rejection>,
}

/// The error of a rejected score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Rejection {
    /// The reason.
    pub message: String,
}
