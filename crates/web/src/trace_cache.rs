//! Cache of recently read long traces: the tree fetches lines in chunks while the user scrolls.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Trace;
use ratchet_store::live_tail::{Arrival, ArrivalCursor, RecordKind};
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Telemetry;

use crate::trace_tree::TreeRow;

/// Maximum number of cached traces.
const KEPT: usize = 2;
/// Minimum number of observations for caching.
const LONG: usize = 500;
/// Newer traces tolerated before the entry is revalidated.
const LOOKED_AT: usize = 5_000;

/// Observation tree of a trace, without payloads.
#[derive(Debug, Default)]
pub(crate) struct TraceSteps {
    pub(crate) steps: Vec<Observation>,
    pub(crate) rows: Vec<TreeRow>,
    /// Whether the tree is truncated.
    pub(crate) is_cut: bool,
}

#[derive(Debug, Default)]
pub(crate) struct TraceCache(Mutex<VecDeque<Kept>>);

#[derive(Debug)]
struct Kept {
    project: ProjectId,
    /// The trace at the time of caching.
    trace: Trace,
    /// Time up to which the entry is known to be current.
    arrived: ArrivalCursor,
    steps: Arc<TraceSteps>,
}

impl TraceCache {
    /// Returns the cached tree if nothing was recorded since.
    pub(crate) fn of(
        &self,
        telemetry: &Telemetry,
        (project, trace): (&ProjectId, &Trace),
    ) -> Option<Arc<TraceSteps>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |kept: &&mut Kept| kept.project == *project && kept.trace.id == trace.id;
        let found = kept.iter_mut().find(is_it)?;
        let since = telemetry.arrivals((project, RecordKind::Traces), found.arrived, LOOKED_AT);
        let may_have_changed = since.is_cut
            || since.has_more
            || since.records.contains(&Arrival::Trace(trace.id.clone()));
        if may_have_changed || found.trace != bare(trace) {
            return None;
        }
        found.arrived = since.until;
        Some(found.steps.clone())
    }

    /// Caches the tree of a long trace.
    pub(crate) fn keep(
        &self,
        (project, trace): (ProjectId, &Trace),
        arrived: ArrivalCursor,
        steps: &Arc<TraceSteps>,
    ) {
        if steps.steps.len() < LONG {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.project != project || kept.trace.id != trace.id);
        kept.push_front(Kept { project, trace: bare(trace), arrived, steps: steps.clone() });
        kept.truncate(KEPT);
    }
}

/// The trace without its payload.
fn bare(trace: &Trace) -> Trace {
    Trace { content: None, ..trace.clone() }
}
