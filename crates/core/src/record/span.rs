use crate::id::{ObservationId, TraceId};
use crate::time::Timestamp;

/// One OpenTelemetry span, whichever encoding it came in.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Which trace.
    pub trace: TraceId,
    /// Which span.
    pub id: ObservationId,
    /// The span it is part of, unless it is a root.
    pub parent: Option<ObservationId>,
    /// What it is called.
    pub name: String,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// What it says of itself.
    pub attributes: Attributes,
    /// What happened meanwhile.
    pub events: Vec<SpanEvent>,
    /// Spans of other traces it is tied to.
    pub links: Vec<SpanLink>,
    /// Whether it failed, and why.
    pub status: SpanStatus,
}

/// Something that happened during a span.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanEvent {
    /// What happened.
    pub name: String,
    /// When.
    pub at: Timestamp,
    /// What is known of it.
    pub attributes: Attributes,
}

/// A tie to a span of another trace.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanLink {
    /// The other trace.
    pub trace: TraceId,
    /// The other span.
    pub span: ObservationId,
    /// What is known of the tie.
    pub attributes: Attributes,
}

/// How a span ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SpanStatus {
    /// Nobody said.
    #[default]
    Unset,
    /// Well.
    Ok,
    /// Badly, with the message given.
    Error(Option<String>),
}

/// What sent a span: the process and the library, shared by many spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The process: `service.name`, `deployment.environment` …
    pub resource: Attributes,
    /// The instrumentation library's name.
    pub scope_name: String,
    /// Its version.
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
    /// Nothing, which OTLP allows.
    #[default]
    Empty,
    /// A text.
    Text(String),
    /// A truth.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Raw bytes.
    Bytes(Vec<u8>),
    /// Several values.
    List(Vec<AttributeValue>),
    /// Named values.
    Map(Attributes),
}
