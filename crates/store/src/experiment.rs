//! Queries for experiments, and their results.

use ratchet_core::catalog::experiment::TimeSpan;
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::Json;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;

use crate::project::ProjectId;
use crate::query::{Detail, Paging, TimeRange};

/// An experiment: a run of an agent over dataset items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    pub id: String,
    /// Its id if it has no name.
    pub name: String,
    pub description: Option<String>,
    /// Free-form client metadata.
    pub metadata: Option<Json>,
    /// Id of the dataset.
    pub dataset: Option<String>,
    /// When it was first recorded.
    pub created_at: Timestamp,
    /// When it was last updated.
    pub updated_at: Timestamp,
    /// Whether description and metadata were left out of a list, because those before them are long.
    pub is_cut: bool,
}

impl Experiment {
    /// Returns the bytes of description and metadata.
    pub fn text_bytes(&self) -> usize {
        self.description.as_ref().map_or(0, String::len)
            + self.metadata.as_ref().map_or(0, |json| json.as_str().len())
    }
}

/// An experiment and its items in a time range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentSummary {
    pub experiment: Experiment,
    /// Start of the first item.
    pub start: Timestamp,
    /// End of the last item.
    pub end: Timestamp,
    pub items: u64,
}

/// One run of one dataset item.
#[derive(Clone, Debug)]
pub struct StoredExperimentItem {
    pub id: String,
    pub experiment: Experiment,
    /// Id of the dataset item.
    pub item: String,
    /// Version of the dataset item.
    pub version: Option<Timestamp>,
    pub expected_output: Option<Json>,
    /// Free-form client metadata of the item.
    pub metadata: Option<Json>,
    pub trace: TraceId,
    /// The whole trace when `None`.
    pub observation: Option<ObservationId>,
    /// Known once its span has arrived.
    pub ran: Option<TimeSpan>,
    /// When it was first recorded.
    pub created_at: Timestamp,
    /// When it was last updated.
    pub updated_at: Timestamp,
    /// If it was requested and exists.
    pub outcome: Option<Outcome>,
    /// Whether its texts and its outcome were left out because those before it are long: see
    /// [`Detail::BoundedContent`].
    pub is_cut: bool,
}

/// The trace or observation of an experiment item.
#[derive(Clone, Debug)]
pub enum Outcome {
    Step(Box<Observation>),
    Run(Box<Trace>),
}

/// A filter for experiments. Empty lists match any.
#[derive(Clone, Debug)]
pub struct ExperimentQuery {
    pub project: ProjectId,
    /// Experiments with items in this time range.
    pub range: TimeRange,
    pub ids: Vec<String>,
    pub names: Vec<String>,
    pub datasets: Vec<String>,
    pub paging: Paging,
}

/// A filter for experiment items. Empty lists match any.
#[derive(Clone, Debug)]
pub struct ExperimentItemQuery {
    pub of: ExperimentQuery,
    /// Ids of dataset items.
    pub items: Vec<String>,
    /// Whether to fetch what was expected, metadata, and their trace or observation.
    pub detail: Detail,
}

/// A filter for the experiments of a dataset.
#[derive(Clone, Debug)]
pub struct RunQuery {
    pub project: ProjectId,
    pub dataset: String,
    pub name: Option<String>,
    pub paging: Paging,
}
