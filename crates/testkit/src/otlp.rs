//! Builders for OTLP requests, in protobuf and in JSON.
//!
//! The JSON is hand-written from the protocol's specification and not by the server's own types, so
//! that a mistake there cannot hide here.

mod json;
mod log;

pub use log::{LogBuilder, LogsBuilder, log, logs};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, status};
use prost::Message as _;

use ratchet_core::time::Timestamp;

use crate::build::at;

/// A request from one service, without spans at first.
pub fn request(service: &str) -> RequestBuilder {
    let resource = vec![attribute("service.name", service.into())];
    let scope = InstrumentationScope { name: "testkit".to_owned(), ..Default::default() };
    RequestBuilder { resource, scope, spans: Vec::new() }
}

/// A span with the ids of its trace and itself, which starts and ends at the start of the test
/// data.
pub fn span(trace: u128, id: u64) -> SpanBuilder {
    SpanBuilder(Span {
        trace_id: trace.to_be_bytes().into(),
        span_id: id.to_be_bytes().into(),
        name: format!("span {id}"),
        ..Span::default()
    })
    .lasting(0, 0)
}

/// The id of a trace with this number, as it is read back.
pub fn trace_id(trace: u128) -> String {
    format!("{trace:032x}")
}

/// The id of a span with this number, as it is read back.
pub fn span_id(id: u64) -> String {
    format!("{id:016x}")
}

#[derive(Clone, Debug)]
#[must_use]
pub struct RequestBuilder {
    resource: Vec<KeyValue>,
    scope: InstrumentationScope,
    spans: Vec<Span>,
}

impl RequestBuilder {
    /// Adds a resource attribute.
    pub fn resource(mut self, key: &str, value: impl Into<Plain>) -> Self {
        self.resource.push(attribute(key, value.into()));
        self
    }

    /// Sets the instrumentation scope.
    pub fn scope(mut self, name: &str, version: &str) -> Self {
        name.clone_into(&mut self.scope.name);
        version.clone_into(&mut self.scope.version);
        self
    }

    pub fn with(mut self, span: SpanBuilder) -> Self {
        self.spans.push(span.0);
        self
    }

    pub fn with_all(self, spans: impl IntoIterator<Item = SpanBuilder>) -> Self {
        spans.into_iter().fold(self, RequestBuilder::with)
    }

    pub fn build(self) -> ExportTraceServiceRequest {
        let resource = Resource { attributes: self.resource, ..Resource::default() };
        let scope_spans =
            ScopeSpans { scope: Some(self.scope), spans: self.spans, schema_url: String::new() };
        let resource_spans = ResourceSpans {
            resource: Some(resource),
            scope_spans: vec![scope_spans],
            schema_url: String::new(),
        };
        ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
    }

    pub fn to_protobuf(self) -> Vec<u8> {
        self.build().encode_to_vec()
    }

    /// The message in JSON.
    pub fn to_json(self) -> String {
        json::request(&self.build()).to_string()
    }
}

#[derive(Clone, Debug)]
#[must_use]
pub struct SpanBuilder(Span);

impl SpanBuilder {
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.0.name);
        self
    }

    pub fn under(mut self, parent: u64) -> Self {
        self.0.parent_span_id = parent.to_be_bytes().into();
        self
    }

    /// Sets start and end, in milliseconds after the start of the test data.
    pub fn lasting(mut self, from: i64, to: i64) -> Self {
        self.0.start_time_unix_nano = at(from).nanos().unsigned_abs();
        self.0.end_time_unix_nano = at(to).nanos().unsigned_abs();
        self
    }

    /// Sets start and end to one time, such as that of the test.
    pub fn at_time(mut self, time: Timestamp) -> Self {
        self.0.start_time_unix_nano = time.nanos().unsigned_abs();
        self.0.end_time_unix_nano = time.nanos().unsigned_abs();
        self
    }

    pub fn saying(mut self, key: &str, value: impl Into<Plain>) -> Self {
        self.0.attributes.push(attribute(key, value.into()));
        self
    }

    /// Adds an event.
    pub fn event(mut self, name: &str, millis: i64) -> Self {
        let time_unix_nano = at(millis).nanos().unsigned_abs();
        self.0.events.push(Event { time_unix_nano, name: name.to_owned(), ..Event::default() });
        self
    }

    /// Adds a link to a span of another trace.
    pub fn linked_to(mut self, trace: u128, id: u64) -> Self {
        let (trace_id, span_id) = (trace.to_be_bytes().into(), id.to_be_bytes().into());
        self.0.links.push(Link { trace_id, span_id, ..Link::default() });
        self
    }

    /// Sets an error status with a message.
    pub fn failing(mut self, message: &str) -> Self {
        let code = status::StatusCode::Error.into();
        self.0.status = Some(Status { message: message.to_owned(), code });
        self
    }

    /// Sets ids of any length, valid or not.
    pub fn with_raw_ids(mut self, trace: &[u8], span: &[u8]) -> Self {
        self.0.trace_id = trace.to_vec();
        self.0.span_id = span.to_vec();
        self
    }

    pub fn build(self) -> Span {
        self.0
    }
}

/// The value of an attribute, from plain Rust types.
#[derive(Clone, Debug)]
pub struct Plain(Value);

impl From<&str> for Plain {
    fn from(text: &str) -> Self {
        Self(Value::StringValue(text.to_owned()))
    }
}

impl From<i64> for Plain {
    fn from(number: i64) -> Self {
        Self(Value::IntValue(number))
    }
}

impl From<f64> for Plain {
    fn from(number: f64) -> Self {
        Self(Value::DoubleValue(number))
    }
}

impl From<bool> for Plain {
    fn from(truth: bool) -> Self {
        Self(Value::BoolValue(truth))
    }
}

impl From<Value> for Plain {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

fn attribute(key: &str, value: Plain) -> KeyValue {
    let value = Some(AnyValue { value: Some(value.0) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}
