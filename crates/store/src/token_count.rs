use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::usage::Usage;
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::project::ProjectId;
use crate::telemetry::{Telemetry, TelemetryEngine};

/// A model call without usage, whose tokens are to be counted.
#[derive(Clone, Debug)]
pub struct Uncounted {
    pub(crate) trace_no: i64,
    pub(crate) id: ObservationId,
    pub(crate) since: Timestamp,
    pub(crate) trace: Option<TraceId>,
    pub(crate) project: Option<ProjectId>,
    /// `None` if the model has no price.
    pub input: Option<Payload>,
    pub output: Option<Payload>,
}

/// Token counts of a model call, counted here.
#[derive(Clone, Debug)]
pub struct TokenCount {
    pub of: Uncounted,
    /// `None` when there is nothing to count.
    pub usage: Option<Usage>,
}

impl Telemetry {
    /// Returns model calls without usage that arrived before a moment, with the content to count.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn uncounted(&self, before: Timestamp, limit: u32) -> StoreResult<Vec<Uncounted>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.uncounted(before, limit).await,
        }
    }

    /// Removes model calls that arrived before a moment from the counting queue, without reading
    /// their content. Returns the number removed; zero when the queue is empty.
    ///
    /// # Errors
    /// On any error nothing has changed.
    pub async fn drop_uncounted(&self, before: Timestamp, limit: u32) -> StoreResult<usize> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.drop_uncounted(before, limit).await,
        }
    }

    /// Saves counts, as approximate: usage sent by a client replaces them. A call that has changed
    /// meanwhile stays queued.
    ///
    /// Only `stages::record` calls this; a repository rule holds that.
    ///
    /// # Errors
    /// On any error nothing has changed.
    pub async fn write_counts(&self, counts: Vec<TokenCount>, now: Timestamp) -> StoreResult<()> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.write_counts(counts, now).await,
        }
    }
}
