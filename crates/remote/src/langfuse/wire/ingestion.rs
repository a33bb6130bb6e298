use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::time::Time;

/// What kinds of events there are.
pub mod event;
/// What an event says about a trace.
pub mod trace;
/// What an event says about an observation.
pub mod observation;
/// What an event says about a score.
pub mod score;

pub use event::{EventType, EventTypeWord};
pub use observation::ObservationBody;
pub use score::{ScoreBody, ScoreInput};
pub use trace::TraceBody;

/// A batch of events. Each stands for itself: one bad event does not spoil the others.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IngestionBatch {
    /// The events, as [`Envelope`]s.
    #[schema(value_type = Vec<Envelope>)]
    pub batch: Vec<Raw>,
    /// What the SDK says about itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Raw>,
}

/// One event.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Envelope {
    /// Names the event, not what it is about.
    pub id: String,
    /// When it happened at the client; decides between events on the same field.
    pub timestamp: Time,
    /// What kind of event.
    #[serde(rename = "type")]
    pub kind: EventTypeWord,
    /// What it says.
    pub body: Raw,
}

/// What became of each event of a batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct IngestionResult {
    /// The events that are recorded.
    pub successes: Vec<EventAccepted>,
    /// The events that are not.
    pub errors: Vec<EventRefused>,
}

/// An event that is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventAccepted {
    /// The event's id.
    pub id: String,
    /// 201.
    pub status: u16,
}

/// An event that is not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventRefused {
    /// The event's id, or its place in the batch if it has none.
    pub id: String,
    /// 400, 401 …
    pub status: u16,
    /// What is wrong, in general.
    pub message: Option<String>,
    /// What is wrong, in particular.
    pub error: Option<String>,
}

/// Scores that are sent without a batch.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum SentScores {
    /// One score.
    One(Box<ScoreBody>),
    /// Several scores.
    Many(Vec<ScoreBody>),
}

/// What is answered to one score that was sent alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScoreCreated {
    /// The score's id.
    pub id: String,
}

/// What is answered to a trace or an observation that was sent alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordCreated {
    /// The record's id.
    pub id: String,
}

/// What is answered to several scores that are all recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScoresAccepted {
    /// That they are.
    pub message: String,
}

/// What is answered to several scores of which some were refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScoresRejected {
    /// How many are recorded.
    pub accepted: usize,
    /// How many are not.
    pub rejected: usize,
    /// Why not, one for each that was rejected.
    pub errors: Vec<Rejection>,
}

/// Why a score was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Rejection {
    /// The reason.
    pub message: String,
}
