//! OTLP's JSON: ids in hexadecimal, 64-bit numbers as strings, bytes in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use serde_json::json;

pub(super) fn request(request: &ExportTraceServiceRequest) -> serde_json::Value {
    json!({ "resourceSpans": request.resource_spans.iter().map(resource_spans).collect::<Vec<_>>() })
}

fn resource_spans(from: &ResourceSpans) -> serde_json::Value {
    let resource = from.resource.as_ref();
    let said = attributes(resource.map_or(&[], |resource| &resource.attributes));
    let scopes = from.scope_spans.iter().map(scope_spans).collect::<Vec<_>>();
    json!({ "resource": { "attributes": said }, "scopeSpans": scopes })
}

fn scope_spans(from: &ScopeSpans) -> serde_json::Value {
    let scope = from.scope.clone().unwrap_or_default();
    let said = attributes(&scope.attributes);
    json!({
        "scope": { "name": scope.name, "version": scope.version, "attributes": said },
        "spans": from.spans.iter().map(span).collect::<Vec<_>>(),
    })
}

fn span(span: &Span) -> serde_json::Value {
    let status = span.status.clone().unwrap_or_default();
    json!({
        "traceId": hex(&span.trace_id),
        "spanId": hex(&span.span_id),
        "parentSpanId": hex(&span.parent_span_id),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": span.start_time_unix_nano.to_string(),
        "endTimeUnixNano": span.end_time_unix_nano.to_string(),
        "attributes": attributes(&span.attributes),
        "events": span.events.iter().map(event).collect::<Vec<_>>(),
        "links": span.links.iter().map(link).collect::<Vec<_>>(),
        "status": { "code": status.code, "message": status.message },
    })
}

fn event(event: &Event) -> serde_json::Value {
    json!({
        "timeUnixNano": event.time_unix_nano.to_string(),
        "name": event.name,
        "attributes": attributes(&event.attributes),
    })
}

fn link(link: &Link) -> serde_json::Value {
    json!({
        "traceId": hex(&link.trace_id),
        "spanId": hex(&link.span_id),
        "attributes": attributes(&link.attributes),
    })
}

fn attributes(from: &[KeyValue]) -> serde_json::Value {
    from.iter().map(|pair| json!({ "key": pair.key, "value": any(pair.value.as_ref()) })).collect()
}

fn any(value: Option<&AnyValue>) -> serde_json::Value {
    let Some(value) = value.and_then(|value| value.value.as_ref()) else { return json!({}) };
    match value {
        Value::StringValue(text) => json!({ "stringValue": text }),
        Value::BoolValue(truth) => json!({ "boolValue": truth }),
        Value::IntValue(number) => json!({ "intValue": number.to_string() }),
        Value::DoubleValue(number) => json!({ "doubleValue": number }),
        Value::BytesValue(bytes) => json!({ "bytesValue": STANDARD.encode(bytes) }),
        Value::ArrayValue(list) => {
            let values = list.values.iter().map(|value| any(Some(value))).collect::<Vec<_>>();
            json!({ "arrayValue": { "values": values } })
        }
        Value::KvlistValue(map) => json!({ "kvlistValue": { "values": attributes(&map.values) } }),
        // Only the profiling signal refers to strings by number.
        Value::StringValueStrindex(_) => json!({}),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
