use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::time::Timestamp;
use ratchet_core::usage::Usage;

use crate::project::ProjectId;

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
    /// What came out, likewise.
    pub output: Option<Payload>,
}

/// The tokens of a model call, counted here.
#[derive(Clone, Debug)]
pub struct TokenCount {
    /// The call.
    pub of: Uncounted,
    /// Its units; `None` when they are not to be counted.
    pub usage: Option<Usage>,
}
