//! Reads observations.

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::observation::Observation;

use super::{Telemetry, TelemetryEngine};
use crate::StoreResult;
use crate::project::ProjectId;
use crate::query::{ObservationQuery, Page};

impl Telemetry {
    /// Returns matching observations, ordered by start.
    ///
    /// # Errors
    /// Fails on a malformed cursor or on a condition that does not fit its column.
    pub async fn observations(
        &self,
        mut query: ObservationQuery,
    ) -> StoreResult<Page<Observation>> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.observations(query).await,
        }
    }

    /// Returns an observation with its content by id alone, or `None`.
    ///
    /// # Errors
    /// Fails only when the database does; an observation that is not there is `None`.
    pub async fn observation(
        &self,
        project: ProjectId,
        id: ObservationId,
    ) -> StoreResult<Option<Observation>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.observation(project, id).await,
        }
    }

    /// Returns those of the given observations of a trace that exist, in the order of their ids,
    /// with the content of the first ([`crate::query::Detail::BoundedContent`]).
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn observations_of_trace(
        &self,
        project: ProjectId,
        trace: TraceId,
        ids: Vec<ObservationId>,
    ) -> StoreResult<Vec<Observation>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => {
                engine.observations_of_trace(project, trace, ids).await
            }
        }
    }
}
