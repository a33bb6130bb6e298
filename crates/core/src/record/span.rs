use crate::id::{ObservationId, TraceId};
use crate::time::Timestamp;

/// An OpenTelemetry span, independent of its encoding.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub trace: TraceId,
    pub id: ObservationId,
    /// `None` for a root.
    pub parent: Option<ObservationId>,
    pub name: String,
    pub start: Timestamp,
    pub end: Timestamp,
    pub attributes: Attributes,
    pub events: Vec<SpanEvent>,
    /// Links to spans of other traces.
    pub links: Vec<SpanLink>,
    pub status: SpanStatus,
}

/// A span event.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanEvent {
    pub name: String,
    pub at: Timestamp,
    pub attributes: Attributes,
}

/// A link to a span of another trace.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanLink {
    pub trace: TraceId,
    pub span: ObservationId,
    pub attributes: Attributes,
}

/// The status of a span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SpanStatus {
    #[default]
    Unset,
    Ok,
    /// With its message.
    Error(Option<String>),
}

/// The resource and instrumentation scope shared by many spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// For example `service.name`, `deployment.environment`.
    pub resource: Attributes,
    pub scope_name: String,
    pub scope_version: String,
    /// Attributes of the instrumentation scope.
    pub scope: Attributes,
}

/// Attributes in the order received. Names are unique; the last of a repeated name wins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(pub Vec<(String, AttributeValue)>);

impl Attributes {
    /// Returns the value of a name.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns the value of a name, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(AttributeValue::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// The value of an attribute.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AttributeValue {
    #[default]
    Empty,
    Text(String),
    Bool(bool),
    Int(i64),
    Double(f64),
    Bytes(Vec<u8>),
    List(Vec<AttributeValue>),
    Map(Attributes),
}
