//! Lists that are looked for within a time, however much must be looked at.

use std::time::Duration;

use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::query::{ObservationQuery, Page, TraceQuery};
use crate::telemetry::Telemetry;

/// A page, and how far the store came in the time it had.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadlinePage<T> {
    /// The rows that match, and where to go on.
    pub page: Page<T>,
    /// How far it came, if the time was over before the page was full.
    pub reached: Option<Timestamp>,
}

/// What to order observations by instead of their time: all that match are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservationOrder {
    /// By name; without one first.
    Name,
    /// By how long they took; unfinished ones lowest.
    Latency,
    /// By cost; unknown ones lowest.
    Cost,
    /// By all their tokens.
    TotalTokens,
}

impl Telemetry {
    /// Returns the traces that match and are found within a time. By their time they are looked
    /// for piece by piece, and the answer says how far it came; any other order takes them all.
    ///
    /// # Errors
    /// As [`Self::traces`]; too slow if there are too many to put in order.
    pub async fn seek_traces(
        &self,
        query: TraceQuery,
        time: Duration,
    ) -> StoreResult<DeadlinePage<Trace>> {
        match self {
            Self::Embedded(engine) => engine.seek_traces(query, time).await,
        }
    }

    /// Returns the observations that match and are found within a time, piece by piece; the
    /// answer says how far it came.
    ///
    /// # Errors
    /// As [`Self::observations`].
    pub async fn seek_observations(
        &self,
        query: ObservationQuery,
        time: Duration,
    ) -> StoreResult<DeadlinePage<Observation>> {
        match self {
            Self::Embedded(engine) => engine.seek_observations(query, time).await,
        }
    }

    /// Returns the observations that match in another order than that of their time.
    ///
    /// # Errors
    /// As [`Self::observations`]; too slow if there are too many to put in order within the time.
    pub async fn sorted_observations(
        &self,
        query: ObservationQuery,
        by: ObservationOrder,
        time: Duration,
    ) -> StoreResult<Page<Observation>> {
        match self {
            Self::Embedded(engine) => engine.sorted_observations(query, by, time).await,
        }
    }
}
