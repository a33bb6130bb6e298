//! Evidence: the parts of a session that a judge sees.

mod task;

use crate::id::SessionId;
use crate::record::observation::Observation;
use crate::record::trace::Trace;

pub use task::{TaskContext, Words};

/// A session to be judged: its traces in order of time, numbered from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub session: SessionId,
    /// Oldest first.
    pub traces: Vec<NumberedTrace>,
}

/// A trace with the number that judges cite.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedTrace {
    /// From 1.
    pub number: u32,
    pub trace: Trace,
    /// Observations with their content, in order of time.
    pub steps: Vec<Observation>,
}

impl Evidence {
    /// Sorts and numbers traces and their observations.
    pub fn new(session: SessionId, mut traces: Vec<(Trace, Vec<Observation>)>) -> Self {
        traces.sort_by(|(one, _), (other, _)| {
            (one.timestamp, &one.id).cmp(&(other.timestamp, &other.id))
        });
        let numbered = (1..).zip(traces).map(|(number, (trace, mut steps))| {
            steps.sort_by(|one, other| (one.start, &one.id).cmp(&(other.start, &other.id)));
            NumberedTrace { number, trace, steps }
        });
        Self { session, traces: numbered.collect() }
    }
}
