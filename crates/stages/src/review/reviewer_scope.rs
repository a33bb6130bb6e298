use std::collections::BTreeSet;

use ratchet_core::catalog::annotation::ItemKind;
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, Test, TimeRange, TraceColumn, TraceOrder, TraceQuery,
};
use ratchet_store::{Store, StoreResult};

/// What a person with the role reviewer sees: the queues that they are assigned to, and the records
/// in them.
#[derive(Debug)]
pub struct ReviewerScope<'a> {
    store: &'a Store,
    project: ProjectId,
    queues: BTreeSet<String>,
}

impl<'a> ReviewerScope<'a> {
    /// Reads the queues of a person.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn of(store: &'a Store, project: ProjectId, person: &str) -> StoreResult<Self> {
        let queues = store.catalog.assigned_queues(project.clone(), person.to_owned()).await?;
        Ok(Self { store, project, queues: queues.into_iter().collect() })
    }

    /// Returns whether a queue, by id, is theirs.
    pub fn has_queue(&self, queue: &str) -> bool {
        self.queues.contains(queue)
    }

    /// Returns whether a session is in a queue of theirs.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn has_session(&self, id: &SessionId) -> StoreResult<bool> {
        self.has_item(ItemKind::Session, id.to_string()).await
    }

    /// Returns whether a trace, or its session, is in a queue of theirs.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn has_trace(&self, id: &TraceId) -> StoreResult<bool> {
        if self.has_item(ItemKind::Trace, id.to_string()).await? {
            return Ok(true);
        }
        let found = self.store.telemetry.trace(self.project.clone(), id.clone()).await?;
        match found.and_then(|trace| trace.session) {
            Some(session) => self.has_session(&session).await,
            None => Ok(false),
        }
    }

    /// Returns whether an observation, its trace or its session is in a queue of theirs.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn has_observation(&self, id: &ObservationId) -> StoreResult<bool> {
        match self.trace_of(id).await? {
            Some(trace) => self.has_observation_of(&trace, id).await,
            None => Ok(false),
        }
    }

    /// Returns whether an observation of a trace is in a queue of theirs, as itself, by its trace or
    /// by its session.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn has_observation_of(
        &self,
        trace: &TraceId,
        id: &ObservationId,
    ) -> StoreResult<bool> {
        if self.has_trace(trace).await? {
            return Ok(true);
        }
        Ok(self.has_item(ItemKind::Observation, id.to_string()).await?
            && self.trace_of(id).await?.as_ref() == Some(trace))
    }

    /// Returns whether a media file is part of a record in a queue of theirs. Of a file that very
    /// many traces share, sessions of the first few hundred are looked at.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn has_media(&self, media: &str) -> StoreResult<bool> {
        let catalog = &self.store.catalog;
        let queues = catalog.queues_of_media(self.project.clone(), media.to_owned()).await?;
        if self.has_any(&queues) {
            return Ok(true);
        }
        let traces = catalog.traces_of_media(self.project.clone(), media.to_owned()).await?;
        for session in self.sessions_of(traces).await? {
            if self.has_session(&session).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn sessions_of(&self, traces: Vec<String>) -> StoreResult<BTreeSet<SessionId>> {
        let limit = traces.len() as u64;
        if limit == 0 || self.queues.is_empty() {
            return Ok(BTreeSet::new());
        }
        let query = TraceQuery {
            project: self.project.clone(),
            range: TimeRange::default(),
            conditions: vec![Condition { column: TraceColumn::Id, test: Test::AnyOf(traces) }],
            order: (TraceOrder::Timestamp, Direction::Descending),
            paging: Paging::After { cursor: None, limit },
            detail: Detail::Row,
        };
        let found = self.store.telemetry.traces(query).await?;
        Ok(found.rows.into_iter().filter_map(|trace| trace.session).collect())
    }

    async fn trace_of(&self, id: &ObservationId) -> StoreResult<Option<TraceId>> {
        let found = self.store.telemetry.observation(self.project.clone(), id.clone()).await?;
        Ok(found.map(|observation| observation.trace))
    }

    async fn has_item(&self, kind: ItemKind, object: String) -> StoreResult<bool> {
        let catalog = &self.store.catalog;
        let queues = catalog.queues_of_object(self.project.clone(), (kind, object)).await?;
        Ok(self.has_any(&queues))
    }

    fn has_any(&self, queues: &[String]) -> bool {
        queues.iter().any(|queue| self.has_queue(queue))
    }
}
