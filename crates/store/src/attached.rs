//! What hangs on traces, by id and in numbers.

use ratchet_core::id::{ObservationId, ScoreId, TraceId};

use crate::StoreResult;
use crate::project::ProjectId;
use crate::telemetry::Telemetry;

/// Ids of one kind that [`Attached`] holds at most: a page of traces must fit into memory, however
/// long they are.
pub const MAX_ATTACHED: u32 = 1_000;

/// What hangs on a trace, by id. Where there are [`MAX_ATTACHED`] of a kind, there may be more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// Its observations, by start; of a longer trace, any of them.
    pub observations: Vec<ObservationId>,
    /// The scores on it and on its observations, newest first; of more, those recorded last.
    pub scores: Vec<ScoreId>,
}

/// How much hangs on some traces together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachedCount {
    pub observations: u64,
    /// The scores on them and on their observations.
    pub scores: u64,
}

impl Telemetry {
    /// Returns what hangs on each of some traces, in their order, as far as a list shows it. A trace
    /// that is not there has nothing hanging on it.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn attached(
        &self,
        project: ProjectId,
        traces: Vec<TraceId>,
    ) -> StoreResult<Vec<Attached>> {
        match self {
            Self::Embedded(engine) => engine.attached(project, traces).await,
        }
    }

    /// Counts all that hangs on some traces.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn count_attached(
        &self,
        project: ProjectId,
        traces: Vec<TraceId>,
    ) -> StoreResult<AttachedCount> {
        match self {
            Self::Embedded(engine) => engine.count_attached(project, traces).await,
        }
    }
}
