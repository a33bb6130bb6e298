//! Queries with a deadline, which return a partial page if it passes.

use std::time::Duration;

use ratchet_core::record::observation::Observation;
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::query::{Direction, ObservationQuery, Page, SessionOrder, SessionQuery, TraceQuery};
use crate::telemetry::{Telemetry, TelemetryEngine};

/// A page, and how far the query got before the deadline.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadlinePage<T> {
    /// Matching rows, and a cursor.
    pub page: Page<T>,
    /// The time reached, if the deadline passed before the page was full.
    pub reached: Option<Timestamp>,
}

/// A sort order of observations other than time: all matching rows must be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservationOrder {
    /// Unnamed ones first.
    Name,
    /// Unfinished ones lowest.
    Latency,
    /// Unknown costs lowest.
    Cost,
    TotalTokens,
}

impl Telemetry {
    /// Returns matching traces found before the deadline. Ordered by time they are scanned in
    /// slices, and the result reports how far it got; any other order reads all of them.
    ///
    /// # Errors
    /// As [`Self::traces`]; too slow if there are too many to sort.
    pub async fn seek_traces(
        &self,
        mut query: TraceQuery,
        time: Duration,
    ) -> StoreResult<DeadlinePage<Trace>> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.seek_traces(query, time).await,
        }
    }

    /// Returns matching observations found before the deadline, scanned in slices; the result
    /// reports how far it got.
    ///
    /// # Errors
    /// As [`Self::observations`].
    pub async fn seek_observations(
        &self,
        mut query: ObservationQuery,
        time: Duration,
    ) -> StoreResult<DeadlinePage<Observation>> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.seek_observations(query, time).await,
        }
    }

    /// Returns matching sessions found before the deadline. Ordered by creation they are scanned in
    /// slices, and the result reports how far it got; any other order reads all of them.
    ///
    /// # Errors
    /// As [`Self::sessions`]; too slow if there are too many to sort.
    pub async fn seek_sessions(
        &self,
        mut query: SessionQuery,
        order: (SessionOrder, Direction),
        time: Duration,
    ) -> StoreResult<DeadlinePage<Session>> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.seek_sessions(query, order, time).await,
        }
    }

    /// Returns matching observations in an order other than time.
    ///
    /// # Errors
    /// As [`Self::observations`]; too slow if there are too many to sort before the deadline.
    pub async fn sorted_observations(
        &self,
        mut query: ObservationQuery,
        by: ObservationOrder,
        time: Duration,
    ) -> StoreResult<Page<Observation>> {
        self.agent_aliases.resolve(&query.project, &mut query.conditions);
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.sorted_observations(query, by, time).await,
        }
    }
}
