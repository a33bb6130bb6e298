use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;
use ratchet_core::record::span::{AttributeValue, SpanStatus};
use ratchet_core::time::Timestamp;

use super::{Decoded, Format, decode_traces};
use crate::app::Limits;
use crate::error::{ApiError, ApiResult};

const RECEIVED_AT: Timestamp = Timestamp::from_nanos(777);

fn decode_with(
    format: Format,
    body: &[u8],
    limits: &Limits,
) -> ApiResult<Decoded<ratchet_core::record::span::Span>> {
    decode_traces(format, body, limits, RECEIVED_AT)
}

fn decode_json(body: &str) -> ApiResult<Decoded<ratchet_core::record::span::Span>> {
    decode_with(Format::Json, body.as_bytes(), &Limits::default())
}

fn decode_protobuf(spans: Vec<Span>) -> Decoded<ratchet_core::record::span::Span> {
    decode_with(Format::Protobuf, &request(spans), &Limits::default()).unwrap()
}

fn request(spans: Vec<Span>) -> Vec<u8> {
    let resource =
        Resource { attributes: vec![text("service.name", "shop")], ..Default::default() };
    let scope = InstrumentationScope {
        name: "lib".to_owned(),
        version: "1.2".to_owned(),
        attributes: vec![text("public_key", "pk")],
        ..Default::default()
    };
    let scope_spans = ScopeSpans { scope: Some(scope), spans, ..Default::default() };
    let resource_spans = ResourceSpans {
        resource: Some(resource),
        scope_spans: vec![scope_spans],
        ..Default::default()
    };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }.encode_to_vec()
}

fn span() -> Span {
    Span {
        trace_id: vec![0xab; 16],
        span_id: vec![0xcd; 8],
        name: "chat".to_owned(),
        start_time_unix_nano: 1_000,
        end_time_unix_nano: 2_000,
        ..Default::default()
    }
}

fn key_value(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(any(value)), ..Default::default() }
}

fn any(value: Value) -> AnyValue {
    AnyValue { value: Some(value) }
}

fn text(key: &str, value: &str) -> KeyValue {
    key_value(key, Value::StringValue(value.to_owned()))
}

/// A list nested in lists.
fn nested(levels: usize) -> Value {
    let innermost = Value::IntValue(1);
    (0..levels)
        .fold(innermost, |value, _| Value::ArrayValue(ArrayValue { values: vec![any(value)] }))
}

fn in_json(spans: &str) -> String {
    format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[
            {{"key":"service.name","value":{{"stringValue":"shop"}}}}]}},
          "scopeSpans":[{{"scope":{{"name":"lib","version":"1.2","attributes":[
            {{"key":"public_key","value":{{"stringValue":"pk"}}}}]}},"spans":[{spans}]}}]}}]}}"#
    )
}

/// A span in JSON with additional fields.
fn json_span(more: &str) -> String {
    format!(
        r#"{{"traceId":"abababababababababababababababab","spanId":"cdcdcdcdcdcdcdcd",
            "name":"chat","startTimeUnixNano":"1000","endTimeUnixNano":2000{more}}}"#
    )
}

#[test]
fn both_formats_say_the_same() {
    let values =
        vec![any(Value::BoolValue(true)), any(Value::DoubleValue(0.5)), AnyValue::default()];
    let map = vec![text("k", "v"), key_value("n", Value::IntValue(-7))];
    let protobuf = decode_protobuf(vec![Span {
        parent_span_id: vec![0xef; 8],
        attributes: vec![
            text("s", "日本"),
            key_value("b", Value::BytesValue(vec![1, 2, 255])),
            key_value("l", Value::ArrayValue(ArrayValue { values })),
            key_value("m", Value::KvlistValue(KeyValueList { values: map })),
            KeyValue { key: "empty".to_owned(), ..Default::default() },
        ],
        events: vec![Event {
            time_unix_nano: 1_500,
            name: "gen_ai.choice".to_owned(),
            attributes: vec![text("a", "b")],
            ..Default::default()
        }],
        links: vec![Link {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            attributes: vec![text("c", "d")],
            ..Default::default()
        }],
        status: Some(Status { code: 2, message: "timeout".to_owned() }),
        ..span()
    }]);
    let json = decode_json(&in_json(&json_span(
        r#","kind":"SPAN_KIND_CLIENT","traceState":"","flags":257,"parentSpanId":"EFEFEFEFEFEFEFEF",
        "attributes":[
          {"key":"s","value":{"stringValue":"日本"}},
          {"key":"b","value":{"bytesValue":"AQL/"}},
          {"key":"l","value":{"arrayValue":{"values":[{"boolValue":true},{"doubleValue":0.5},{}]}}},
          {"key":"m","value":{"kvlistValue":{"values":[
            {"key":"k","value":{"stringValue":"v"}},{"key":"n","value":{"intValue":"-7"}}]}}},
          {"key":"empty"}],
        "events":[{"timeUnixNano":"1500","name":"gen_ai.choice",
          "attributes":[{"key":"a","value":{"stringValue":"b"}}]}],
        "links":[{"traceId":"01010101010101010101010101010101","spanId":"0202020202020202",
          "attributes":[{"key":"c","value":{"stringValue":"d"}}]}],
        "status":{"code":"STATUS_CODE_ERROR","message":"timeout"}"#,
    )))
    .unwrap();
    assert_eq!(protobuf.groups, json.groups);
    assert_eq!((protobuf.accepted, json.accepted), (1, 1));
    let group = &protobuf.groups[0];
    assert_eq!(group.origin.resource.text("service.name"), Some("shop"));
    assert_eq!(group.origin.scope.text("public_key"), Some("pk"));
    assert_eq!(
        (group.origin.scope_name.as_str(), group.origin.scope_version.as_str()),
        ("lib", "1.2")
    );
    assert_eq!(group.items[0].status, SpanStatus::Error(Some("timeout".to_owned())));
    assert_eq!(group.items[0].parent.as_ref().unwrap().to_string(), "efefefefefefefef");
    assert_eq!(group.items[0].attributes.0.len(), 5);
}

#[track_caller]
fn check_value(json: &str, expected: impl Into<Option<AttributeValue>>) {
    let body = in_json(&json_span(&format!(r#","attributes":[{{"key":"k","value":{json}}}]"#)));
    let decoded = decode_json(&body).unwrap();
    assert_eq!(decoded.rejected.message(), "", "{json}");
    assert_eq!(decoded.groups[0].items[0].attributes.get("k").cloned(), expected.into(), "{json}");
}

#[test]
fn json_values_may_be_written_in_several_ways() {
    check_value(r#"{"intValue":5}"#, AttributeValue::Int(5));
    check_value(r#"{"intValue":"-5"}"#, AttributeValue::Int(-5));
    check_value(r#"{"int_value":{"low":-1,"high":0}}"#, AttributeValue::Int(0xffff_ffff));
    check_value(r#"{"intValue":1.5}"#, AttributeValue::Double(1.5));
    check_value(r#"{"intValue":18446744073709551615}"#, AttributeValue::Text(u64::MAX.to_string()));
    check_value(r#"{"doubleValue":3}"#, AttributeValue::Double(3.0));
    check_value(r#"{"doubleValue":"Infinity"}"#, AttributeValue::Double(f64::INFINITY));
    check_value(r#"{"string_value":"x","future":[{}]}"#, AttributeValue::Text("x".to_owned()));
    check_value(
        r#"{"stringValue":"cut \ud83d"}"#,
        AttributeValue::Text("cut \u{fffd}\u{fffd}\u{fffd}".to_owned()),
    );
    check_value("{}", AttributeValue::Empty);
    check_value("null", AttributeValue::Empty);
    check_value(r#"{"arrayValue":{}}"#, AttributeValue::List(Vec::new()));
    check_value(r#"{"arrayValue":null}"#, AttributeValue::List(Vec::new()));
}

/// Checks that the middle one of three spans is rejected alone, with this reason.
#[track_caller]
fn check_rejected_json(bad: &str, reason: &str) {
    let spans = [&json_span(""), bad, &json_span("")].join(",");
    check_rejected(&decode_json(&in_json(&spans)).unwrap(), reason);
}

#[track_caller]
fn check_rejected_protobuf(bad: Span, reason: &str) {
    check_rejected(&decode_protobuf(vec![span(), bad, span()]), reason);
}

#[track_caller]
fn check_rejected(decoded: &Decoded<ratchet_core::record::span::Span>, reason: &str) {
    assert_eq!((decoded.accepted, decoded.rejected.count), (2, 1), "{reason}");
    let message = decoded.rejected.message();
    assert!(message.starts_with("span 2 (") && message.contains(reason), "{message}");
}

#[test]
fn a_bad_span_in_json_is_rejected_alone() {
    check_rejected_json(&json_span(r#","traceId":"xyz0""#), "trace_id is not hexadecimal");
    check_rejected_json(&json_span(r#","traceId":"abab""#), "trace_id must be 16 bytes");
    check_rejected_json(&json_span(r#","traceId":7"#), "trace_id as a hexadecimal string");
    check_rejected_json(&json_span(r#","spanId":"""#), "span_id must be 8 bytes");
    check_rejected_json(&json_span(r#","spanId":"0000000000000000""#), "not all zero");
    check_rejected_json(&json_span(r#","parentSpanId":"ab""#), "parent_span_id must be 8 bytes");
    check_rejected_json(&json_span(r#","name":7"#), "expected a string");
    check_rejected_json(&json_span(r#","attributes":{}"#), "expected a list");
    check_rejected_json(&json_span(r#","attributes":[7]"#), "expected an object");
    check_rejected_json(&json_span(r#","startTimeUnixNano":"soon""#), "start_time_unix_nano");
    check_rejected_json(
        &json_span(r#","startTimeUnixNano":-1"#),
        "start_time_unix_nano is not a time",
    );
    check_rejected_json(&json_span(r#","endTimeUnixNano":18446744073709551615"#), "year 2261");
    check_rejected_json(&json_span(r#","attributes":[{"value":{"bytesValue":"*"}}]"#), "base64");
    check_rejected_json("7", "expected an object");
    check_rejected_json("{}", "trace_id is missing");
}

#[test]
fn a_bad_span_in_protobuf_is_rejected_alone() {
    check_rejected_protobuf(Span { trace_id: vec![1; 8], ..span() }, "trace_id must be 16 bytes");
    check_rejected_protobuf(Span { trace_id: vec![0; 16], ..span() }, "not all zero");
    check_rejected_protobuf(Span { trace_id: vec![], ..span() }, "trace_id is missing");
    check_rejected_protobuf(Span { span_id: vec![1; 9], ..span() }, "span_id must be 8 bytes");
    check_rejected_protobuf(Span { parent_span_id: vec![1], ..span() }, "parent_span_id must be 8");
    check_rejected_protobuf(Span { end_time_unix_nano: u64::MAX, ..span() }, "after the year 2261");
    let deep = Span { attributes: vec![key_value("deep", nested(65))], ..span() };
    check_rejected_protobuf(deep, "nests deeper than 64");
}

#[test]
fn invalid_utf8_costs_only_its_span() {
    let mut body = request(vec![span(), Span { name: "MARK".to_owned(), ..span() }, span()]);
    let place = body.windows(4).position(|window| window == b"MARK").unwrap();
    body[place] = 0xff;
    let decoded = decode_with(Format::Protobuf, &body, &Limits::default()).unwrap();
    check_rejected(&decoded, "field 5 is not UTF-8");
}

#[test]
fn values_may_nest_as_deep_as_the_limit() {
    let attributes = vec![key_value("deep", nested(64))];
    assert_eq!(decode_protobuf(vec![Span { attributes, ..span() }]).accepted, 1);
    check_json_depth(64, 1);
    check_json_depth(65, 0);
    check_json_depth(100_000, 0);
}

#[track_caller]
fn check_json_depth(levels: usize, accepted: u64) {
    assert_eq!(decode_json(&json_of_depth(levels)).unwrap().accepted, accepted, "{levels}");
}

fn json_of_depth(levels: usize) -> String {
    let open = r#"{"arrayValue":{"values":["#.repeat(levels);
    let close = "]}}".repeat(levels);
    in_json(&json_span(&format!(r#","attributes":[{{"key":"deep","value":{open}{{}}{close}}}]"#)))
}

#[test]
fn no_setting_lets_values_nest_beyond_the_stack() {
    let limits = Limits { depth: usize::MAX, ..Limits::default() };
    let attributes = vec![key_value("deep", nested(20))];
    let body = request(vec![Span { attributes, ..span() }]);
    assert_eq!(decode_with(Format::Protobuf, &body, &limits).unwrap().accepted, 1);
    for (levels, accepted) in [(256, 1), (257, 0), (100_000, 0)] {
        let body = json_of_depth(levels);
        let decoded = decode_with(Format::Json, body.as_bytes(), &limits).unwrap();
        assert_eq!(decoded.accepted, accepted, "{levels}");
    }
}

#[test]
fn unknown_fields_may_nest_without_end() {
    let deep = format!(r#","future":{}{}"#, "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(decode_json(&in_json(&json_span(&deep))).unwrap().accepted, 1);
}

#[track_caller]
fn check_refused(
    outcome: ApiResult<Decoded<ratchet_core::record::span::Span>>,
    status: u16,
    reason: &str,
) {
    let error = outcome.map(|decoded| decoded.accepted).unwrap_err();
    assert_eq!(error.status().as_u16(), status, "{error}");
    assert!(error.to_string().contains(reason), "{error}");
}

#[test]
fn garbage_is_refused_as_a_whole() {
    for body in
        ["", "nonsense", "[]", "7", "{", r#"{"resourceSpans":7}"#, r#"{"resourceSpans":[7]}"#]
    {
        check_refused(decode_json(body), 400, "ExportTraceServiceRequest in JSON");
    }
    for body in [&b"nonsense"[..], &[0x0a, 0x05], &[0x0a, 0x02, 0x12, 0x09], &[0x08, 0x01, 0x0b]] {
        let outcome = decode_with(Format::Protobuf, body, &Limits::default());
        check_refused(outcome, 400, "ExportTraceServiceRequest in protobuf");
    }
}

#[test]
fn an_empty_request_is_fine() {
    for body in ["{}", r#"{"resourceSpans":null}"#, r#"{"resourceSpans":[{"scopeSpans":[{}]}]}"#] {
        assert_eq!(decode_json(body).unwrap().accepted, 0);
    }
    assert_eq!(decode_protobuf(Vec::new()).accepted, 0);
    assert_eq!(decode_with(Format::Protobuf, &[], &Limits::default()).unwrap().accepted, 0);
}

#[test]
fn too_many_spans_are_refused_as_a_whole() {
    let limits = Limits { batch_len: 2, ..Limits::default() };
    let three = request(vec![span(), span(), span()]);
    check_refused(decode_with(Format::Protobuf, &three, &limits), 413, "more than 2 spans");
    let three = in_json(&[json_span(""), json_span(""), json_span("")].join(","));
    check_refused(decode_with(Format::Json, three.as_bytes(), &limits), 413, "more than 2 spans");
}

#[test]
fn too_many_values_are_refused_as_a_whole() {
    let limits = Limits { values: 5, ..Limits::default() };
    let values = vec![AnyValue::default(); 9];
    let attributes = vec![key_value("l", Value::ArrayValue(ArrayValue { values }))];
    let body = request(vec![Span { attributes, ..span() }]);
    check_refused(
        decode_with(Format::Protobuf, &body, &limits),
        413,
        "more than 5 attribute values",
    );
    let body = in_json(&json_span(
        r#","attributes":[{"key":"l","value":{"arrayValue":{"values":[{},{},{},{},{},{}]}}}]"#,
    ));
    check_refused(
        decode_with(Format::Json, body.as_bytes(), &limits),
        413,
        "more than 5 attribute",
    );
}

#[test]
fn what_spans_become_counts_as_memory() {
    let limits = Limits { inflight_bytes: 100_000, ..Limits::default() };
    let events = |len: usize| Span { events: vec![Event::default(); len], ..span() };
    let in_json =
        |len: usize| in_json(&json_span(&format!(r#","events":[{}]"#, vec!["{}"; len].join(","))));
    let bodies = |len: usize| {
        let json = in_json(len).into_bytes();
        [(Format::Protobuf, request(vec![events(len)])), (Format::Json, json)]
    };
    for (format, body) in bodies(100) {
        assert_eq!(decode_with(format, &body, &limits).unwrap().accepted, 1);
    }
    for (format, body) in bodies(500) {
        assert!(body.len() < 3_000);
        check_refused(decode_with(format, &body, &limits), 413, "more memory than all request");
    }
    let body = request(vec![span(); 100]);
    check_refused(decode_with(Format::Protobuf, &body, &limits), 413, "more memory");
}

#[test]
fn attributes_beyond_the_limit_are_dropped_and_counted() {
    let limits = Limits { attributes: 2, ..Limits::default() };
    let attributes = vec![text("a", "1"), text("b", "2"), text("c", "3"), text("d", "4")];
    let events = vec![Event::default(); 3];
    let body = request(vec![Span { attributes, events, ..span() }]);
    let decoded = decode_with(Format::Protobuf, &body, &limits).unwrap();
    let span = &decoded.groups[0].items[0];
    assert_eq!(span.attributes.text("b"), Some("2"));
    assert_eq!(span.attributes.get("c"), None);
    assert_eq!(span.attributes.get("ratchet.dropped_attributes"), Some(&AttributeValue::Int(2)));
    assert_eq!(span.attributes.get("ratchet.dropped_events"), Some(&AttributeValue::Int(1)));
}

#[test]
fn long_texts_are_elided_and_their_length_kept() {
    let limits = Limits { text_bytes: 100, ..Limits::default() };
    let long = "x".repeat(5_000);
    let body = request(vec![Span { attributes: vec![text("a", &long)], ..span() }]);
    let json = format!(r#","attributes":[{{"key":"a","value":{{"stringValue":"{long}"}}}}]"#);
    for (format, body) in
        [(Format::Protobuf, body), (Format::Json, in_json(&json_span(&json)).into_bytes())]
    {
        let decoded = decode_with(format, &body, &limits).unwrap();
        let kept = decoded.groups[0].items[0].attributes.text("a").unwrap().to_owned();
        assert!(kept.len() <= 100 && kept.contains("5000"), "{kept}");
    }
}

#[test]
fn links_without_sense_cost_only_themselves() {
    let links = vec![
        Link::default(),
        Link { trace_id: vec![1; 16], span_id: vec![2; 8], ..Default::default() },
    ];
    let decoded = decode_protobuf(vec![Span { links, ..span() }]);
    let json = decode_json(&in_json(&json_span(
        r#","links":[{"traceId":"zz"},{"traceId":"01010101010101010101010101010101","spanId":"0202020202020202"}]"#,
    )));
    for decoded in [decoded, json.unwrap()] {
        let span = &decoded.groups[0].items[0];
        assert_eq!(span.links.len(), 1);
        assert_eq!(span.attributes.get("ratchet.dropped_links"), Some(&AttributeValue::Int(1)));
    }
}

#[test]
fn a_process_may_not_say_too_much() {
    let mut message = ExportTraceServiceRequest::decode(request(vec![span()]).as_slice()).unwrap();
    let long = "x".repeat(70_000);
    let resource = message.resource_spans[0].resource.as_mut().unwrap();
    resource.attributes.push(text("process.command_line", &long));
    let decoded =
        decode_with(Format::Protobuf, &message.encode_to_vec(), &Limits::default()).unwrap();
    let resource = &decoded.groups[0].origin.resource;
    assert_eq!(resource.text("service.name"), Some("shop"));
    assert_eq!(resource.get("process.command_line"), None);
    assert_eq!(resource.get("ratchet.dropped_attributes"), Some(&AttributeValue::Int(1)));
}

#[test]
fn only_the_first_rejected_spans_are_named() {
    let bad = Span { trace_id: vec![], ..span() };
    let decoded = decode_protobuf(vec![bad; 8]);
    assert_eq!(decoded.rejected.count, 8);
    let message = decoded.rejected.message();
    assert!(message.contains("span 5 (chat)") && message.ends_with("; and 3 more"), "{message}");
}

#[test]
fn no_cut_of_a_request_panics() {
    let body = request(vec![Span { attributes: vec![key_value("n", nested(3))], ..span() }]);
    for end in 0..body.len() {
        let outcome = decode_with(Format::Protobuf, &body[..end], &Limits::default());
        assert!(matches!(outcome, Ok(_) | Err(ApiError::Invalid(_))));
    }
    let body = in_json(&json_span(r#","attributes":[{"key":"k","value":{"intValue":1}}]"#));
    for end in (0..body.len()).filter(|end| body.is_char_boundary(*end)) {
        assert!(decode_json(body.get(..end).unwrap()).is_err());
    }
}

#[test]
fn scopes_do_not_multiply_the_attributes_of_their_resource() {
    let attributes = vec![text("k", &"x".repeat(60_000))];
    let resource = Some(Resource { attributes, ..Default::default() });
    let of_scopes = |scopes: usize| {
        let scope = ScopeSpans { spans: vec![span()], ..Default::default() };
        let scope_spans = vec![scope; scopes];
        let spans = ResourceSpans { resource: resource.clone(), scope_spans, ..Default::default() };
        ExportTraceServiceRequest { resource_spans: vec![spans] }.encode_to_vec()
    };
    let decode = |body: &[u8]| decode_with(Format::Protobuf, body, &Limits::default());
    assert_eq!(decode(&of_scopes(100)).unwrap().accepted, 100);
    let refused = decode(&of_scopes(2_000)).unwrap_err();
    assert!(matches!(refused, ApiError::TooLarge(_)), "{refused}");
    let scope = format!(r#"{{"spans":[{}]}}"#, json_span(""));
    let body = in_json("")
        .replace("shop", &"x".repeat(60_000))
        .replace(r#""spans":[]}"#, &format!(r#""spans":[]}},{}"#, vec![scope; 2_000].join(",")));
    let refused = decode_json(&body).unwrap_err();
    assert!(matches!(refused, ApiError::TooLarge(_)), "{refused}");
}
