use ratchet_testkit::http;
use ratchet_testkit::otlp::{self, SpanBuilder};

use super::{Case, case, keyed};

fn raw(what: &'static str, body: &[u8], status: u16, says: &'static str) -> Case {
    case(what, keyed(http::post("/v1/traces").protobuf(body)), status, says)
}

/// One bad span beside a good one: the good one is recorded.
fn span(what: &'static str, span: SpanBuilder, says: &'static str) -> Case {
    let body = otlp::request("bad").with(otlp::span(1, 1)).with(span).to_protobuf();
    raw(what, &body, 200, says)
}

/// A field with a length. Its number must be below 16.
fn field(number: u8, inner: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = inner.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend(inner);
    bytes
}

/// A request with one span, given its bytes.
fn request(span: &[u8]) -> Vec<u8> {
    field(1, &field(2, &field(2, span)))
}

const IDS: [u8; 28] = {
    let mut ids = [7; 28];
    (ids[0], ids[1]) = (0x0a, 16);
    (ids[18], ids[19]) = (0x12, 8);
    ids
};

/// A span with good ids and something more, given its bytes.
fn with_ids(rest: &[u8]) -> Vec<u8> {
    request(&[&IDS[..], rest].concat())
}

pub(super) fn table() -> Vec<Case> {
    [framing(), ids(), fields(), sizes()].into_iter().flatten().collect()
}

fn framing() -> Vec<Case> {
    let broken = "not an ExportTraceServiceRequest in protobuf: it ends in the middle";
    vec![
        raw("a key and nothing more", &[0x0a], 400, broken),
        raw("a length beyond the end", &[0x0a, 5, 1], 400, broken),
        raw("a length of 2^63", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 400, broken),
        raw("half a fixed number", &[0x0d, 1, 2], 400, broken),
        raw("a varint without end", &[0x08, 0xff, 0xff], 400, broken),
        raw("a varint of eleven bytes", &[&[0x08][..], &[0xff; 11]].concat(), 400, "64 bits"),
        raw("the start of a group", &[0x0b], 400, "unknown wire type 3"),
        raw("the end of a group", &[0x0c], 400, "unknown wire type 4"),
        raw("wire type six", &[0x0e], 400, "unknown wire type 6"),
        raw("wire type seven", &[0x0f], 400, "unknown wire type 7"),
        raw("field number zero", &[0x02, 0], 400, "field with the number 0"),
        raw("field number 2^32", b"\x82\x80\x80\x80\x80\x01\x00", 400, "the number"),
        raw("a number where a message belongs", &[0x08, 1], 400, "field 1 has the wrong wire type"),
        raw("prose", b"hello", 400, "unknown wire type"),
        raw("JSON", b"{\"resourceSpans\":[]}", 400, "unknown wire type 3"),
        raw("gzip that is not announced", &http::gzip(b"x"), 400, "protobuf"),
        raw("a resource that breaks off", &field(1, &[0x0a, 9]), 400, broken),
        raw("a scope that breaks off", &field(1, &field(2, &[0x0a, 9])), 400, broken),
        raw("a number where a scope belongs", &field(1, &[0x10, 1]), 400, "field 2 has the wrong"),
        raw("a number where a span belongs", &field(1, &field(2, &[0x10, 1])), 400, "field 2"),
        raw("a scope name that is no text", &scope(&[0x0a, 1, 0xff]), 400, "field 1 is not UTF-8"),
        raw("a resource attribute that breaks off", &field(1, &field(1, &[0x0a, 9])), 400, broken),
    ]
}

fn scope(inner: &[u8]) -> Vec<u8> {
    field(1, &field(2, &field(1, inner)))
}

fn ids() -> Vec<Case> {
    let raw_ids = |trace: &[u8], id: &[u8]| otlp::span(1, 2).with_raw_ids(trace, id);
    let trace = "trace_id must be 16 bytes and not all zero";
    let id = "span_id must be 8 bytes and not all zero";
    vec![
        span("a trace id of 15 bytes", raw_ids(&[1; 15], &[1; 8]), trace),
        span("a trace id of 17 bytes", raw_ids(&[1; 17], &[1; 8]), trace),
        span("a trace id of zeros", raw_ids(&[0; 16], &[1; 8]), trace),
        span("a trace id as text", raw_ids(b"00000000000000000000000000000001", &[1; 8]), trace),
        span("no trace id", raw_ids(&[], &[1; 8]), "trace_id is missing"),
        span("a span id of 7 bytes", raw_ids(&[1; 16], &[1; 7]), id),
        span("a span id as long as a trace id", raw_ids(&[1; 16], &[1; 16]), id),
        span("a span id of zeros", raw_ids(&[1; 16], &[0; 8]), id),
        span("no span id", raw_ids(&[1; 16], &[]), "span_id is missing"),
        raw("a parent of three bytes", &with_ids(&[0x22, 3, 1, 1, 1]), 200, "parent_span_id"),
        raw("nothing at all in a span", &request(&[]), 200, "trace_id is missing"),
    ]
}

fn fields() -> Vec<Case> {
    let late = "is after the year 2261";
    let broken = "it ends in the middle of a field";
    let beyond = [0xff; 8];
    vec![
        raw("a start beyond all time", &with_ids(&[&[0x39], &beyond[..]].concat()), 200, late),
        raw("an end beyond all time", &with_ids(&[&[0x41], &beyond[..]].concat()), 200, late),
        raw(
            "an event beyond all time",
            &with_ids(&field(11, &[&[0x09], &beyond[..]].concat())),
            200,
            "event.time_unix_nano is after",
        ),
        raw("a start as a varint", &with_ids(&[0x38, 1]), 200, "field 7 has the wrong wire type"),
        raw("a status as a varint", &with_ids(&[0x78, 1]), 200, "field 15 has the wrong wire type"),
        raw("a name that is no text", &with_ids(&field(5, &[0xc3, 0x28])), 200, "is not UTF-8"),
        raw("a name cut in a character", &with_ids(&field(5, &[0xe6, 0x97])), 200, "is not UTF-8"),
        raw("a name with a surrogate", &with_ids(&field(5, &[0xed, 0xa0, 0x80])), 200, "UTF-8"),
        raw("a span that breaks off", &with_ids(&[0x2a, 9]), 200, broken),
        raw("an attribute that breaks off", &with_ids(&field(9, &[0x0a, 9])), 200, broken),
        raw(
            "an attribute key that is no text",
            &with_ids(&field(9, &[0x0a, 1, 0xff])),
            200,
            "UTF-8",
        ),
        raw("an attribute as a number", &with_ids(&[0x48, 1]), 200, "field 9 has the wrong wire"),
        raw("an event that breaks off", &with_ids(&field(11, &[0x0a, 9])), 200, broken),
        raw("a link that breaks off", &with_ids(&field(13, &[0x0a, 9])), 200, broken),
        raw("a value with a wrong type", &with_ids(&field(9, &field(2, &[0x09, 0]))), 200, broken),
        raw("an attribute 100 lists deep", &deep(100), 200, "nests deeper than 64 levels"),
        raw("an attribute 20,000 lists deep", &deep(20_000), 200, "nests deeper than 64 levels"),
    ]
}

/// A span with an attribute of lists in lists.
fn deep(levels: usize) -> Vec<u8> {
    let wrap = |inner: Vec<u8>, _| field(5, &field(1, &inner));
    with_ids(&field(9, &field(2, &(0..levels).fold(Vec::new(), wrap))))
}

fn sizes() -> Vec<Case> {
    let many = otlp::request("many").with_all((1..=10_001).map(|id| otlp::span(1, id)));
    let bad = otlp::span(1, 1).with_raw_ids(&[1; 3], &[1; 8]);
    let all_bad = otlp::request("bad").with_all((0..7).map(|_| bad.clone()));
    vec![
        raw("10,001 spans", &many.to_protobuf(), 413, "more than 10000 spans"),
        raw(
            "seven bad spans",
            &all_bad.clone().to_protobuf(),
            200,
            "span 1 (span 1): trace_id must be",
        ),
        raw("seven bad spans, not all named", &all_bad.to_protobuf(), 200, "and 2 more"),
    ]
}
