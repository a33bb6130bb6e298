use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use ratchet_core::time::Timestamp;

use crate::demo::story::{Outcome, Run, Step, Work};

/// Attributes in the making, in the order they are said.
#[derive(Debug, Default)]
pub(super) struct SpanAttributes(Vec<KeyValue>);

impl SpanAttributes {
    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.say(key, Any::StringValue(value.to_owned()));
    }

    pub(super) fn count(&mut self, key: &str, value: u64) {
        self.say(key, Any::IntValue(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    pub(super) fn truth(&mut self, key: &str, value: bool) {
        self.say(key, Any::BoolValue(value));
    }

    pub(super) fn texts(&mut self, key: &str, values: &[&str]) {
        let values = values.iter().map(|value| any(Any::StringValue((*value).to_owned())));
        self.say(key, Any::ArrayValue(ArrayValue { values: values.collect() }));
    }

    pub(super) fn into_inner(self) -> Vec<KeyValue> {
        self.0
    }

    fn say(&mut self, key: &str, value: Any) {
        self.0.push(KeyValue {
            key: key.to_owned(),
            value: Some(any(value)),
            ..Default::default()
        });
    }
}

fn any(value: Any) -> AnyValue {
    AnyValue { value: Some(value) }
}

/// The span of a step.
pub(super) fn span(
    run: &Run,
    step: &Step,
    parent: Option<[u8; 8]>,
    name: String,
    attributes: SpanAttributes,
) -> Span {
    let links = run.asked_by.filter(|_| parent.is_none()).map(|by| Link {
        trace_id: by.trace.to_vec(),
        span_id: by.step.to_vec(),
        ..Default::default()
    });
    let kind = match &step.work {
        Work::Model(_) | Work::Embedding { .. } => SpanKind::Client,
        Work::Agent { .. } if parent.is_none() => SpanKind::Server,
        _ => SpanKind::Internal,
    };
    Span {
        trace_id: run.id.to_vec(),
        span_id: step.id.to_vec(),
        parent_span_id: parent.map(|id| id.to_vec()).unwrap_or_default(),
        name,
        kind: kind.into(),
        start_time_unix_nano: unix_nanos(step.start),
        end_time_unix_nano: unix_nanos(step.end),
        attributes: attributes.into_inner(),
        events: exception(step).into_iter().collect(),
        links: links.into_iter().collect(),
        status: Some(status(&step.outcome)),
        ..Default::default()
    }
}

/// Nanoseconds since the epoch as OTLP has them; the week is never before it.
pub(super) fn unix_nanos(at: Timestamp) -> u64 {
    u64::try_from(at.nanos()).unwrap_or(0)
}

fn status(outcome: &Outcome) -> Status {
    match outcome {
        Outcome::Fine | Outcome::Warned(_) => {
            Status { code: StatusCode::Unset.into(), ..Default::default() }
        }
        Outcome::Failed { message, .. } => {
            Status { code: StatusCode::Error.into(), message: message.clone() }
        }
    }
}

fn exception(step: &Step) -> Option<Event> {
    let Outcome::Failed { kind, message } = &step.outcome else {
        return None;
    };
    let mut attributes = SpanAttributes::default();
    attributes.text("exception.type", kind);
    attributes.text("exception.message", message);
    let time_unix_nano = unix_nanos(step.end);
    Some(Event {
        time_unix_nano,
        name: "exception".to_owned(),
        attributes: attributes.into_inner(),
        ..Default::default()
    })
}
