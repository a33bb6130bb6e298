//! Observations and scores that belong to traces: their ids and counts.

use ratchet_core::id::{ObservationId, ScoreId, TraceId};

use crate::StoreResult;
use crate::project::ProjectId;
use crate::telemetry::{Telemetry, TelemetryEngine};

/// Maximum number of ids of one kind in [`Attached`]: a page of traces must fit into memory,
/// however long the traces are.
pub const MAX_ATTACHED: u32 = 1_000;

/// Ids of a trace's observations and scores. A list of [`MAX_ATTACHED`] ids may be incomplete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// Ordered by start; an arbitrary subset if the trace has more.
    pub observations: Vec<ObservationId>,
    /// Scores on the trace and its observations, newest first; if there are more, those recorded
    /// last.
    pub scores: Vec<ScoreId>,
}

/// Number of observations and scores of some traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachedCount {
    pub observations: u64,
    /// Scores on the traces and on their observations.
    pub scores: u64,
}

impl Telemetry {
    /// Returns the ids attached to each trace, in the order given and limited to [`MAX_ATTACHED`].
    /// An unknown trace has none.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn attached(
        &self,
        project: ProjectId,
        traces: Vec<TraceId>,
    ) -> StoreResult<Vec<Attached>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.attached(project, traces).await,
        }
    }

    /// Counts the observations and scores of some traces.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn count_attached(
        &self,
        project: ProjectId,
        traces: Vec<TraceId>,
    ) -> StoreResult<AttachedCount> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.count_attached(project, traces).await,
        }
    }
}
