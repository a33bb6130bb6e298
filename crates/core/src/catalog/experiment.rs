//! Experiments: runs of an agent over items of a dataset or of the client.
//!
//! Older clients report through the API which trace belongs to which item; newer ones through span
//! attributes. Both become an `ExperimentItem`.

use sha2::{Digest, Sha256};

use crate::id::{ObservationId, TraceId};
use crate::payload::Json;
use crate::time::Timestamp;

/// One run of one item, as reported by a client or a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentItem {
    pub experiment: ExperimentMetadata,
    /// The id of the dataset item.
    pub item: String,
    /// The version of the dataset item.
    pub version: Option<Timestamp>,
    pub expected_output: Option<Json>,
    pub metadata: Option<Json>,
    /// The trace of the run.
    pub trace: TraceId,
    /// The observation of the run; the whole trace when `None`.
    pub observation: Option<ObservationId>,
    /// Start and end, where a span reported them.
    pub ran: Option<TimeSpan>,
    pub recorded_at: Timestamp,
}

/// Data on an experiment that is reported with each of its items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExperimentMetadata {
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub metadata: Option<Json>,
    /// The id of the dataset.
    pub dataset: Option<String>,
}

/// A start and an end time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl ExperimentItem {
    /// Returns a deterministic id, so that reporting the same run again is idempotent.
    pub fn id(&self) -> String {
        let observation = self.observation.as_ref().map(ToString::to_string);
        let trace = self.trace.to_string();
        let words = serde_json::json!([self.experiment.id, self.item, trace, observation]);
        let digest = Sha256::digest(words.to_string());
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns whether both refer to the same run: the same item and, where both name one, the same
    /// observation.
    pub fn is_same_try(&self, item: &str, observation: Option<&ObservationId>) -> bool {
        let same_observation = match (&self.observation, observation) {
            (Some(ours), Some(theirs)) => ours == theirs,
            (None, _) | (_, None) => true,
        };
        self.item == item && same_observation
    }
}
