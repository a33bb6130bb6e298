//! What a judge gets to see of a session.

mod task;

use crate::id::SessionId;
use crate::record::observation::Observation;
use crate::record::trace::Trace;

pub use task::{TaskContext, Words};

/// A session as it is judged: its traces in order of time, numbered from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub session: SessionId,
    /// Its traces, oldest first.
    pub traces: Vec<NumberedTrace>,
}

/// One trace of a session, with the number that judges cite it by.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedTrace {
    /// Its number, from 1.
    pub number: u32,
    /// The trace, with its content.
    pub trace: Trace,
    /// Its steps with their content, in order of time.
    pub steps: Vec<Observation>,
}

impl Evidence {
    /// Puts traces and their steps into order and numbers them.
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
