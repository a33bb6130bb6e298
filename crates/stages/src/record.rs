//! An agent's work becomes a trace: spans and events into the store.

use std::collections::BTreeSet;
use std::sync::Arc;

use ratchet_core::id::TraceId;
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::semantic_conventions::{Interpreter, Sender};
use ratchet_core::record::span::{Origin, Span};
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::RecordingSettings;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Prepared;
use ratchet_store::telemetry::{Batch, Telemetry};

pub mod logs;
/// Tokens of model calls that came without usage.
pub mod count;
pub mod scores;
/// Whether the clock can be believed.
pub mod clock;
pub mod retention;
pub mod media_sweep;
pub mod retention_sweep;
mod write;

pub use write::{commit, redacted, write};

/// Bytes of one text in records of our own making, as servers take them by default.
pub const TEXT_BYTES: usize = 8_000_000;

/// Origin and time of a request.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub project: ProjectId,
    pub sender: Sender,
    /// Server time of receipt.
    pub received_at: Timestamp,
    /// What the project has settled about whatever it records.
    pub settings: Arc<RecordingSettings>,
    /// Maximum bytes of one text; the middle of a longer one is elided, and its length recorded.
    pub text_bytes: usize,
}

/// How many bytes of a text to read before the rules of a project have run: all, if it has any,
/// because a cut could go through what they would find. [`redacted`] cuts afterwards.
pub fn text_bytes_before_rules(settings: &RecordingSettings, text_bytes: usize) -> usize {
    if settings.redactor.is_empty() { text_bytes } else { usize::MAX }
}

/// Spans or log records that share an origin.
#[derive(Clone, Debug, PartialEq)]
pub struct OtlpBatch<T> {
    /// The process and the library.
    pub origin: Origin,
    pub items: Vec<T>,
}

/// Works out what spans say, ready for [`commit`], which makes it durable.
///
/// Takes real CPU time and does no IO: large requests belong on a blocking thread.
pub fn spans(telemetry: &Telemetry, arrival: &Arrival, groups: Vec<OtlpBatch<Span>>) -> Prepared {
    let mut observations = Vec::with_capacity(groups.iter().map(|group| group.items.len()).sum());
    let mut traces = Vec::with_capacity(observations.capacity());
    let mut experiment_items = Vec::new();
    for group in groups {
        let interpreter = Interpreter::new(group.origin, arrival.sender.clone());
        for span in group.items {
            let said = interpreter.interpret(span);
            observations.push(said.observation);
            traces.push(said.trace);
            experiment_items.extend(said.experiment_item);
        }
    }
    let empty = Batch::new(arrival.project.clone(), arrival.received_at);
    let batch = Batch { traces, observations, experiment_items, ..empty };
    prepare(telemetry, batch, arrival)
}

/// Redacts a batch and gets it ready for [`commit`], which makes it durable.
///
/// Takes real CPU time and does no IO: large requests belong on a blocking thread.
pub fn prepare(telemetry: &Telemetry, batch: Batch, arrival: &Arrival) -> Prepared {
    telemetry.prepare(redacted(batch, &arrival.settings, arrival.text_bytes))
}

/// A mark that people set on traces and remove again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceMark {
    Bookmarked,
    /// Read by anybody with its public link.
    Public,
}

/// Patches that set or remove a mark of traces.
pub fn marks(
    project: ProjectId,
    traces: Vec<TraceId>,
    (mark, is_set): (TraceMark, bool),
    now: Timestamp,
) -> Batch {
    let set = Field::new(is_set, Stamp::stated(now, WriteKind::Update));
    let marked = |id| match mark {
        TraceMark::Bookmarked => TracePatch { bookmarked: set.clone(), ..TracePatch::new(id) },
        TraceMark::Public => TracePatch { public: set.clone(), ..TracePatch::new(id) },
    };
    let traces = traces.into_iter().map(marked).collect();
    Batch { traces, ..Batch::new(project, now) }
}

/// Patches that add tags to traces.
pub fn tags(project: ProjectId, traces: Vec<TraceId>, tag: &str, now: Timestamp) -> Batch {
    let tagged = |id| TracePatch { tags: BTreeSet::from([tag.to_owned()]), ..TracePatch::new(id) };
    let traces = traces.into_iter().map(tagged).collect();
    Batch { traces, ..Batch::new(project, now) }
}
