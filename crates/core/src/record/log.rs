use crate::id::{ObservationId, TraceId};
use crate::record::span::{AttributeValue, Attributes};
use crate::time::Timestamp;

/// One OpenTelemetry log record, whichever encoding it came in.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRecord {
    pub at: Timestamp,
    /// What happened, where the record says so itself; empty otherwise.
    pub event_name: String,
    /// What was logged: a sentence, or the name of an event.
    pub body: AttributeValue,
    /// What is known of it.
    pub attributes: Attributes,
    /// The span during which it happened, in its trace.
    pub during: Option<(TraceId, ObservationId)>,
}
