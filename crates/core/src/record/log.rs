use crate::id::{ObservationId, TraceId};
use crate::record::span::{AttributeValue, Attributes};
use crate::time::Timestamp;

/// An OpenTelemetry log record, independent of its encoding.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRecord {
    pub at: Timestamp,
    /// Empty where the record has none.
    pub event_name: String,
    /// A message, or the name of an event.
    pub body: AttributeValue,
    pub attributes: Attributes,
    /// The span that it belongs to.
    pub during: Option<(TraceId, ObservationId)>,
}
