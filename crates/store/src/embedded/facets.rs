use std::sync::Arc;

use super::{TelemetryDb, read};
use crate::StoreResult;
use crate::agent_aliases::AgentNames;
use crate::facets::{FacetQuery, Facets};
use crate::query::{Matching, ObservationColumn, SessionColumn, TallyQuery, TraceColumn};

impl TelemetryDb {
    pub(crate) async fn matching_sessions(
        &self,
        query: TallyQuery<SessionColumn>,
    ) -> StoreResult<Matching> {
        self.shared.readers.read(move |db| read::matching::sessions(db, &query)).await
    }

    pub(crate) async fn trace_facets(
        &self,
        query: FacetQuery<TraceColumn>,
        agents: Arc<AgentNames>,
    ) -> StoreResult<Facets> {
        let time = query.time;
        self.shared
            .readers
            .read_within(time, move |db| read::facets::traces(db, &query, &agents))
            .await
    }

    pub(crate) async fn observation_facets(
        &self,
        query: FacetQuery<ObservationColumn>,
        agents: Arc<AgentNames>,
    ) -> StoreResult<Facets> {
        let time = query.time;
        let count = move |db: &_| read::facets::observations(db, &query, &agents);
        self.shared.readers.read_within(time, count).await
    }

    pub(crate) async fn session_facets(
        &self,
        query: FacetQuery<SessionColumn>,
        agents: Arc<AgentNames>,
    ) -> StoreResult<Facets> {
        let time = query.time;
        self.shared
            .readers
            .read_within(time, move |db| read::facets::sessions(db, &query, &agents))
            .await
    }
}
