//! Questions about experiments, and their answers.

use ratchet_core::catalog::experiment::TimeSpan;
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::Json;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;

use crate::project::ProjectId;
use crate::query::{Detail, Paging, TimeRange};

/// An agent tried on items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    pub id: String,
    /// What it is called; its id if nobody said.
    pub name: String,
    pub description: Option<String>,
    /// Whatever the client keeps with it.
    pub metadata: Option<Json>,
    /// The id of the dataset it goes over.
    pub dataset: Option<String>,
    /// When it was first heard of.
    pub created_at: Timestamp,
    /// When it was last heard of.
    pub updated_at: Timestamp,
}

/// An experiment and what of it ran in a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentSummary {
    pub experiment: Experiment,
    /// When the first item began.
    pub start: Timestamp,
    /// When the last item ended.
    pub end: Timestamp,
    pub items: u64,
}

/// One try of one item.
#[derive(Clone, Debug)]
pub struct KeptExperimentItem {
    pub id: String,
    /// The experiment it is part of.
    pub experiment: Experiment,
    /// The id of the item.
    pub item: String,
    /// Which version of the item.
    pub version: Option<Timestamp>,
    /// What should have come out.
    pub expected_output: Option<Json>,
    /// Whatever the client keeps with the item.
    pub metadata: Option<Json>,
    /// The run that tried it.
    pub trace: TraceId,
    /// The step that tried it; the whole run when `None`.
    pub observation: Option<ObservationId>,
    /// When it ran, once its span has come.
    pub ran: Option<TimeSpan>,
    /// When it was first heard of.
    pub created_at: Timestamp,
    /// When it was last heard of.
    pub updated_at: Timestamp,
    /// What came of it, if it was fetched and is there.
    pub outcome: Option<Outcome>,
}

/// What an item was tried in.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A step of a run.
    Step(Box<Observation>),
    Run(Box<Trace>),
}

/// Which experiments are wanted. Empty lists mean any.
#[derive(Clone, Debug)]
pub struct ExperimentQuery {
    pub project: ProjectId,
    /// With items that ran in this time.
    pub range: TimeRange,
    /// With one of these ids.
    pub ids: Vec<String>,
    /// With one of these names.
    pub names: Vec<String>,
    /// Over one of these datasets.
    pub datasets: Vec<String>,
    pub paging: Paging,
}

/// Which items of experiments are wanted. Empty lists mean any.
#[derive(Clone, Debug)]
pub struct ExperimentItemQuery {
    pub of: ExperimentQuery,
    /// With one of these item ids.
    pub items: Vec<String>,
    /// Whether to fetch what came of them.
    pub detail: Detail,
}

/// Which experiments over a dataset are wanted.
#[derive(Clone, Debug)]
pub struct RunQuery {
    pub project: ProjectId,
    pub dataset: String,
    pub name: Option<String>,
    pub paging: Paging,
}
