use std::collections::HashSet;

use ratchet_core::environment::Environment;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::experiment::StoredExperimentItem;
use crate::project::ProjectId;
use crate::telemetry::{Telemetry, TelemetryEngine};

/// A trace that evaluators have not seen as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedTrace {
    pub(crate) number: i64,
    /// When it was last written, by the server's clock.
    pub changed_at: Timestamp,
    /// `None` if it was deleted since.
    pub trace: Option<TraceId>,
    /// `None` if it was deleted since.
    pub project: Option<ProjectId>,
    pub session: Option<SessionId>,
    pub environment: Option<Environment>,
    /// When its last observation ended, by the clock of its agent; its own time if it has none.
    pub ended_at: Option<Timestamp>,
}

/// The last change of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// By the server's clock.
    pub at: Timestamp,
    /// Whether evaluators have not been handed it yet.
    pub is_in_outbox: bool,
}

impl Telemetry {
    /// Sets the projects whose traces are put into the outbox of evaluators, from the next commit
    /// on.
    pub fn set_evaluated_projects(&self, projects: HashSet<ProjectId>) {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.set_evaluated_projects(projects),
        }
    }

    /// Returns traces that evaluators have not seen as they are now, and that were last written at
    /// a moment or before it.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn changed_traces(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<ChangedTrace>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.changed_traces(before, limit).await,
        }
    }

    /// Returns the experiment items whose runs are some traces.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn experiment_items_of_traces(
        &self,
        project: ProjectId,
        traces: Vec<TraceId>,
    ) -> StoreResult<Vec<StoredExperimentItem>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => {
                engine.experiment_items_of_traces(project, traces).await
            }
        }
    }

    /// Returns when a trace was last written; `None` if there is no such trace.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn last_change(
        &self,
        project: ProjectId,
        trace: TraceId,
    ) -> StoreResult<Option<LastChange>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.last_change(project, trace).await,
        }
    }

    /// Removes traces from the outbox, except those that were written again since they were read.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn forget_changed_traces(&self, seen: &[ChangedTrace]) -> StoreResult<()> {
        let seen = seen.iter().map(|changed| (changed.number, changed.changed_at)).collect();
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.forget_changed_traces(seen).await,
        }
    }
}
