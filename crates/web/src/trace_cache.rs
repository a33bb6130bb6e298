//! The steps of the long traces that were read last: a tree asks for them with every few lines that
//! come into sight.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Trace;
use ratchet_store::live_tail::{Arrival, ArrivalCursor, RecordKind};
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Telemetry;

use crate::trace_tree::TreeRow;

/// Traces whose steps are kept.
const KEPT: usize = 2;
/// Steps from which on reading them again would be felt.
const LONG: usize = 500;
/// Traces that may have come meanwhile; after more, steps are read again.
const LOOKED_AT: usize = 5_000;

/// The steps of a trace in their tree, without payloads.
#[derive(Debug, Default)]
pub(crate) struct TraceSteps {
    pub(crate) steps: Vec<Observation>,
    pub(crate) rows: Vec<TreeRow>,
    /// Whether there are more steps than these.
    pub(crate) is_cut: bool,
}

/// The steps of the long traces that were read last.
#[derive(Debug, Default)]
pub(crate) struct TraceCache(Mutex<VecDeque<Kept>>);

#[derive(Debug)]
struct Kept {
    project: ProjectId,
    /// The trace as it was.
    trace: Trace,
    /// The moment up to which nothing of it has come since.
    arrived: ArrivalCursor,
    steps: Arc<TraceSteps>,
}

impl TraceCache {
    /// The steps of a trace, if they are known and nothing has come since.
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

    /// Keeps the steps of a trace as they were at a moment, if they are many.
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

/// The trace without what it carries.
fn bare(trace: &Trace) -> Trace {
    Trace { content: None, ..trace.clone() }
}
