use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::usage::Usage;
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::project::ProjectId;
use crate::telemetry::Telemetry;

/// A model call without usage, whose tokens are to be counted.
#[derive(Clone, Debug)]
pub struct Uncounted {
    pub(crate) trace_no: i64,
    pub(crate) id: ObservationId,
    pub(crate) since: Timestamp,
    pub(crate) trace: Option<TraceId>,
    pub(crate) project: Option<ProjectId>,
    /// What went in, where the model has a price.
    pub input: Option<Payload>,
    pub output: Option<Payload>,
}

/// The tokens of a model call, counted here.
#[derive(Clone, Debug)]
pub struct TokenCount {
    pub of: Uncounted,
    /// Its units; `None` when there is nothing to count.
    pub usage: Option<Usage>,
}

impl Telemetry {
    /// Returns some model calls that came in before a moment without usage, with what is to be
    /// counted of them.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn uncounted(&self, before: Timestamp, limit: u32) -> StoreResult<Vec<Uncounted>> {
        match self {
            Self::Embedded(engine) => engine.uncounted(before, limit).await,
        }
    }

    /// Gives up counting some of the model calls that came in before a moment without usage. Reads
    /// nothing of what they carry. Says how many there were; none when all are given up.
    ///
    /// # Errors
    /// On any error nothing has changed.
    pub async fn forget_uncounted(&self, before: Timestamp, limit: u32) -> StoreResult<usize> {
        match self {
            Self::Embedded(engine) => engine.forget_uncounted(before, limit).await,
        }
    }

    /// Stores what was counted, as approximate: any usage that a client sends replaces it. A call
    /// that has changed meanwhile stays to be counted.
    ///
    /// Only `stages::record` calls this; a repository rule holds that.
    ///
    /// # Errors
    /// On any error nothing has changed.
    pub async fn write_counts(&self, counts: Vec<TokenCount>, now: Timestamp) -> StoreResult<()> {
        match self {
            Self::Embedded(engine) => engine.write_counts(counts, now).await,
        }
    }
}
