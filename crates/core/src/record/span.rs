use crate::id::{ObservationId, TraceId};
use crate::time::Timestamp;

/// One OpenTelemetry span, whichever encoding it came in.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub trace: TraceId,
    pub id: ObservationId,
    /// The span it is part of, unless it is a root.
    pub parent: Option<ObservationId>,
    pub name: String,
    pub start: Timestamp,
    pub end: Timestamp,
    /// What it says of itself.
    pub attributes: Attributes,
    pub events: Vec<SpanEvent>,
    /// Spans of other traces it is tied to.
    pub links: Vec<SpanLink>,
    /// Whether it failed, and why.
    pub status: SpanStatus,
}

/// Something that happened during a span.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanEvent {
    pub name: String,
    pub at: Timestamp,
    /// What is known of it.
    pub attributes: Attributes,
}

/// A tie to a span of another trace.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanLink {
    pub trace: TraceId,
    pub span: ObservationId,
    /// What is known of the tie.
    pub attributes: Attributes,
}

/// How a span ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SpanStatus {
    #[default]
    Unset,
    Ok,
    /// Badly, with the message given.
    Error(Option<String>),
}

/// What sent a span: the process and the library, shared by many spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The process: `service.name`, `deployment.environment` …
    pub resource: Attributes,
    pub scope_name: String,
    pub scope_version: String,
    /// What it says of itself.
    pub scope: Attributes,
}

/// Named values in the order they came. Names are unique; the last of a repeated name wins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(pub Vec<(String, AttributeValue)>);

impl Attributes {
    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The value of a name, if it is a text.
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
    /// Raw bytes.
    Bytes(Vec<u8>),
    List(Vec<AttributeValue>),
    Map(Attributes),
}
