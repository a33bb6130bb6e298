//! Experiments: an agent tried on items, those of a dataset or of a client's own.
//!
//! Older clients say by themselves which trace tried which item; newer ones let the spans say it.
//! Both speak of the same thing, so both become an `ExperimentItem`.

use sha2::{Digest, Sha256};

use crate::id::{ObservationId, TraceId};
use crate::payload::Json;
use crate::time::Timestamp;

/// What a client or a span says of one try of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentItem {
    /// The experiment it is part of.
    pub experiment: ExperimentMetadata,
    /// The id of the item that was tried.
    pub item: String,
    /// Which version of the item was tried.
    pub version: Option<Timestamp>,
    /// What should have come out.
    pub expected_output: Option<Json>,
    /// Whatever the client keeps with the item.
    pub metadata: Option<Json>,
    /// The run that tried it.
    pub trace: TraceId,
    /// The step of the run that tried it; the whole run when `None`.
    pub observation: Option<ObservationId>,
    /// When it was tried, as far as a span said so.
    pub ran: Option<TimeSpan>,
    pub told_at: Timestamp,
}

/// What is said of an experiment beside one of its items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExperimentMetadata {
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    /// Whatever the client keeps with it.
    pub metadata: Option<Json>,
    /// The id of the dataset it goes over.
    pub dataset: Option<String>,
}

/// From when to when something ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl ExperimentItem {
    /// Names the try. The same words give the same name, so saying it again changes nothing.
    pub fn id(&self) -> String {
        let observation = self.observation.as_ref().map(ToString::to_string);
        let trace = self.trace.to_string();
        let words = serde_json::json!([self.experiment.id, self.item, trace, observation]);
        let digest = Sha256::digest(words.to_string());
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether both speak of the same try: the same item in the same run, and in the same step
    /// where both name one.
    pub fn is_same_try(&self, item: &str, observation: Option<&ObservationId>) -> bool {
        let same_step = match (&self.observation, observation) {
            (Some(ours), Some(theirs)) => ours == theirs,
            (None, _) | (_, None) => true,
        };
        self.item == item && same_step
    }
}
