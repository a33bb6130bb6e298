use ratchet_testkit::http;

use super::{Case, case, keyed};

fn raw(what: &'static str, body: &str, status: u16, says: &'static str) -> Case {
    case(what, keyed(http::post("/v1/traces").json(body)), status, says)
}

/// A request with one span, given as JSON.
fn spans(what: &'static str, span: &str, says: &'static str) -> Case {
    let body = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}"#);
    raw(what, &body, 200, says)
}

/// A span with good ids and one more field.
fn with_ids(what: &'static str, field: &str, says: &'static str) -> Case {
    let ids = r#""traceId":"00000000000000000000000000000001","spanId":"0000000000000001""#;
    spans(what, &format!("{{{ids},{field}}}"), says)
}

/// A span with good ids and one attribute of this value.
fn value(what: &'static str, value: &str, says: &'static str) -> Case {
    with_ids(what, &format!(r#""attributes":[{{"key":"k","value":{value}}}]"#), says)
}

pub(super) fn table() -> Vec<Case> {
    [documents(), ids(), fields(), values()].into_iter().flatten().collect()
}

fn documents() -> Vec<Case> {
    let wrong = "the body is not an ExportTraceServiceRequest in JSON";
    let deep = format!(r#"{{"resourceSpans":{}1{}}}"#, "[".repeat(500), "]".repeat(500));
    let not_utf8 = http::post("/v1/traces").json(b"{\"resourceSpans\":[\xff]}".to_vec());
    vec![
        raw("nothing", "", 400, wrong),
        raw("half a document", "{", 400, wrong),
        raw("a list", "[]", 400, wrong),
        raw("a text", "\"spans\"", 400, wrong),
        raw("a number", "1", 400, wrong),
        raw("prose", "hello", 400, wrong),
        raw("a document and more", "{} {}", 400, wrong),
        raw("a trailing comma", r#"{"resourceSpans":[],}"#, 400, wrong),
        raw("single quotes", "{'resourceSpans':[]}", 400, wrong),
        raw("a byte order mark", "\u{feff}{}", 400, wrong),
        raw("resource spans as an object", r#"{"resourceSpans":{}}"#, 400, wrong),
        raw("resource spans as a text", r#"{"resourceSpans":"all"}"#, 400, wrong),
        raw("a number among resource spans", r#"{"resourceSpans":[1]}"#, 400, wrong),
        raw("scope spans as a number", r#"{"resourceSpans":[{"scopeSpans":1}]}"#, 400, wrong),
        raw("spans as a text", r#"{"resourceSpans":[{"scopeSpans":[{"spans":"a"}]}]}"#, 400, wrong),
        raw("a resource as a list", r#"{"resourceSpans":[{"resource":[1]}]}"#, 400, wrong),
        raw("500 lists in each other", &deep, 400, wrong),
        case("bytes that are no text", keyed(not_utf8), 400, wrong),
    ]
}

fn ids() -> Vec<Case> {
    let ids = |trace: &str, id: &str| format!(r#"{{"traceId":{trace},"spanId":{id}}}"#);
    let good = (r#""00000000000000000000000000000001""#, r#""0000000000000001""#);
    vec![
        spans("no ids", "{}", "trace_id is missing"),
        spans(
            "no span id",
            r#"{"traceId":"00000000000000000000000000000001"}"#,
            "span_id is missing",
        ),
        spans("a trace id of words", &ids(r#""trace one""#, good.1), "trace_id"),
        spans(
            "a trace id of 31 digits",
            &ids(&format!("\"{}\"", "1".repeat(31)), good.1),
            "trace_id",
        ),
        spans(
            "a trace id of zeros",
            &ids(&format!("\"{}\"", "0".repeat(32)), good.1),
            "trace_id must",
        ),
        spans("a trace id as a number", &ids("1", good.1), "rejectedSpans"),
        spans("a trace id as a list", &ids("[]", good.1), "rejectedSpans"),
        spans("a span id of letters beyond f", &ids(good.0, r#""gggggggggggggggg""#), "span_id"),
        spans(
            "a span id of zeros",
            &ids(good.0, r#""0000000000000000""#),
            "span_id must be 8 bytes",
        ),
        spans("a span id of one digit", &ids(good.0, r#""1""#), "span_id"),
        with_ids("a parent of words", r#""parentSpanId":"mother""#, "parent_span_id"),
        spans("null for a span", "null", "rejectedSpans"),
        spans("a number for a span", "1", "rejectedSpans"),
        spans("a text for a span", "\"span\"", "rejectedSpans"),
    ]
}

fn fields() -> Vec<Case> {
    vec![
        with_ids("a start of words", r#""startTimeUnixNano":"noon""#, "rejectedSpans"),
        with_ids("a start before all time", r#""startTimeUnixNano":-1"#, "rejectedSpans"),
        with_ids(
            "a start beyond 64 bits",
            r#""endTimeUnixNano":"99999999999999999999""#,
            "rejectedSpans",
        ),
        with_ids(
            "an end beyond all time",
            r#""endTimeUnixNano":"18446744073709551615""#,
            "after the year",
        ),
        with_ids("a name as an object", r#""name":{}"#, "rejectedSpans"),
        with_ids("attributes as an object", r#""attributes":{"k":"v"}"#, "rejectedSpans"),
        with_ids("attributes as a text", r#""attributes":"k=v""#, "rejectedSpans"),
        with_ids("an attribute as a text", r#""attributes":["k"]"#, "rejectedSpans"),
        with_ids("an attribute key as a number", r#""attributes":[{"key":1}]"#, "rejectedSpans"),
        with_ids("events as an object", r#""events":{}"#, "rejectedSpans"),
        with_ids("an event time of words", r#""events":[{"timeUnixNano":"x"}]"#, "rejectedSpans"),
        with_ids("links as a number", r#""links":1"#, "rejectedSpans"),
        with_ids("a status as a text", r#""status":"bad""#, "rejectedSpans"),
    ]
}

fn values() -> Vec<Case> {
    let deep = format!(
        "{}{{\"intValue\":\"1\"}}{}",
        r#"{"arrayValue":{"values":["#.repeat(70),
        "]}}".repeat(70)
    );
    vec![
        value("a value as a text", "\"v\"", "rejectedSpans"),
        value("a value as a list", "[1]", "rejectedSpans"),
        value("a whole number of words", r#"{"intValue":"many"}"#, "rejectedSpans"),
        value("a truth of words", r#"{"boolValue":"yes"}"#, "rejectedSpans"),
        value("a number as a list", r#"{"doubleValue":[]}"#, "rejectedSpans"),
        value("bytes that are not base64", r#"{"bytesValue":"*"}"#, "rejectedSpans"),
        value("a list without values", r#"{"arrayValue":[1]}"#, "rejectedSpans"),
        value("a map as a list", r#"{"kvlistValue":[1]}"#, "rejectedSpans"),
        value("a text as an object", r#"{"stringValue":{}}"#, "rejectedSpans"),
        value("70 lists in each other", &deep, "nests deeper than 64 levels"),
    ]
}
