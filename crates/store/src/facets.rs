//! Counts of the values of some columns, with limits on rows and time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::StoreResult;
use crate::agent_aliases::{AgentColumn, AgentNames};
use crate::query::{Matching, ObservationColumn, SessionColumn, TallyQuery, TraceColumn};
use crate::telemetry::{Telemetry, TelemetryEngine};

/// A query for the values of some columns among the newest matching records.
#[derive(Clone, Debug, PartialEq)]
pub struct FacetQuery<Column> {
    /// Its limit is that of the matching records read.
    pub of: TallyQuery<Column>,
    pub columns: Vec<Column>,
    pub time: Duration,
}

/// Number of matching records with each value of some columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facets {
    /// Matching records read: all, unless the result is cut.
    pub counted: u64,
    /// Whether there are more matching records than were read.
    pub is_cut: bool,
    /// For each column, its values and how many records have them; agents by their own name. A
    /// record with several values counts for each.
    pub values: Vec<BTreeMap<String, u64>>,
}

impl Telemetry {
    /// Extends conditions on an agent to its aliases, and returns the names to count it by.
    fn of_agents<C: AgentColumn>(&self, query: &mut FacetQuery<C>) -> Arc<AgentNames> {
        self.agent_aliases.resolve(&query.of.project, &mut query.of.conditions);
        self.agent_aliases.names(&query.of.project)
    }

    /// Counts matches among the newest sessions, with a limit on the rows read.
    ///
    /// # Errors
    /// Fails on a condition that does not fit its column.
    pub async fn matching_sessions(
        &self,
        mut query: TallyQuery<SessionColumn>,
    ) -> StoreResult<Matching> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.matching_sessions(query).await,
        }
    }

    /// Counts values of the newest matching traces.
    ///
    /// # Errors
    /// Fails on a condition that does not fit its column or needs payloads, on a column without
    /// texts, and when the time is over.
    pub async fn trace_facets(&self, mut query: FacetQuery<TraceColumn>) -> StoreResult<Facets> {
        let agents = self.of_agents(&mut query);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.trace_facets(query, agents).await,
        }
    }

    /// Counts values of the newest matching observations.
    ///
    /// # Errors
    /// As [`Self::trace_facets`].
    pub async fn observation_facets(
        &self,
        mut query: FacetQuery<ObservationColumn>,
    ) -> StoreResult<Facets> {
        let agents = self.of_agents(&mut query);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.observation_facets(query, agents).await,
        }
    }

    /// Counts values of the newest matching sessions.
    ///
    /// # Errors
    /// As [`Self::trace_facets`].
    pub async fn session_facets(
        &self,
        mut query: FacetQuery<SessionColumn>,
    ) -> StoreResult<Facets> {
        let agents = self.of_agents(&mut query);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.session_facets(query, agents).await,
        }
    }
}
