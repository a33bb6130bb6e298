use ratchet_testkit::http::{self, Request};
use ratchet_testkit::otlp;

use super::{Case, case, keyed};
use ratchet_testkit::process::{PUBLIC_KEY, SECRET_KEY};

fn spans() -> Vec<u8> {
    otlp::request("bodies").with(otlp::span(1, 1)).to_protobuf()
}

fn typed(content_type: &str) -> Request {
    keyed(http::post("/v1/traces").header("Content-Type", content_type).body(spans()))
}

fn encoded(encoding: &str, body: Vec<u8>) -> Request {
    keyed(http::post("/v1/traces").protobuf(body).header("Content-Encoding", encoding))
}

fn events() -> Request {
    http::post("/api/public/ingestion")
}

pub(super) fn table() -> Vec<Case> {
    [types(), encodings(), sizes(), protocol()].into_iter().flatten().collect()
}

fn types() -> Vec<Case> {
    let versioned = |version: &str| {
        typed("application/x-protobuf").header("x-langfuse-ingestion-version", version)
    };
    let must = "Content-Type must be application/x-protobuf or application/json";
    vec![
        case("no type", keyed(http::post("/v1/traces").body(spans())), 415, must),
        case("plain text", typed("text/plain"), 415, must),
        case("a form", typed("application/x-www-form-urlencoded"), 415, must),
        case("a type of words", typed("protobuf please"), 415, must),
        case("gRPC over plain HTTP", typed("application/grpc"), 415, must),
        case("a version of the future", versioned("5"), 400, "x-langfuse-ingestion-version"),
        case("a version of words", versioned("latest"), 400, "x-langfuse-ingestion-version"),
        case(
            "logs that are none",
            keyed(http::post("/v1/logs").json("[]")),
            400,
            "not an ExportLogsServiceRequest in JSON",
        ),
        case(
            "metrics that are none",
            keyed(http::post("/api/public/otel/v1/metrics").protobuf(b"\xff".to_vec())),
            400,
            "not an ExportMetricsServiceRequest in protobuf",
        ),
    ]
}

fn encodings() -> Vec<Case> {
    let cut = |at: usize| http::gzip(&spans()).into_iter().take(at).collect::<Vec<u8>>();
    let mut wrong_sum = http::gzip(&spans());
    let place = wrong_sum.len() - 6;
    wrong_sum[place] ^= 1;
    let trailing = [http::gzip(&spans()), b"and more".to_vec()].concat();
    let not_gzip = "not complete gzip data";
    let broken_events = keyed(events().json("{}").header("Content-Encoding", "gzip"));
    vec![
        case("brotli", encoded("br", spans()), 415, "Content-Encoding br is not read"),
        case("deflate", encoded("deflate", spans()), 415, "Content-Encoding deflate"),
        case("zstd", encoded("zstd", spans()), 415, "Content-Encoding zstd"),
        case("gzip twice over", encoded("gzip, gzip", spans()), 415, "Content-Encoding gzip, gzip"),
        case("gzip that is none", encoded("gzip", spans()), 400, not_gzip),
        case("gzip of nothing", encoded("gzip", Vec::new()), 400, not_gzip),
        case("half a gzip header", encoded("gzip", cut(5)), 400, not_gzip),
        case("gzip without its end", encoded("gzip", cut(30)), 400, not_gzip),
        case("gzip with a wrong sum", encoded("gzip", wrong_sum), 400, not_gzip),
        case("gzip and more", encoded("gzip", trailing), 400, not_gzip),
        case("events as gzip that is none", broken_events, 400, not_gzip),
    ]
}

fn sizes() -> Vec<Case> {
    // Gzip files one after the other are one file.
    let bomb = http::gzip(&vec![b' '; 1_000_000]).repeat(120);
    let large = vec![b' '; 20_000_001];
    let announced = keyed(events().json("").header("Content-Length", "20000001"));
    vec![
        case(
            "a gzip bomb of spans",
            encoded("gzip", bomb.clone()),
            413,
            "decompresses to more than 100000000",
        ),
        case(
            "a gzip bomb of events",
            keyed(events().json(bomb).header("Content-Encoding", "gzip")),
            413,
            "decompresses to more than 100000000",
        ),
        case(
            "a body beyond the limit, in chunks",
            keyed(events().json(large)).chunked(),
            413,
            "more than 20000000 bytes",
        ),
        case("a body announced beyond the limit", announced, 413, "more than 20000000 bytes"),
        case(
            "an administrator's body that is none",
            keyed(http::post("/api/v1/projects").json("x")),
            400,
            "JSON",
        ),
    ]
}

fn protocol() -> Vec<Case> {
    let auth = format!("Authorization: {}\r\n", http::basic(PUBLIC_KEY, SECRET_KEY));
    let post = |rest: &str| {
        let head = "POST /api/public/ingestion HTTP/1.1\r\nHost: a\r\n";
        format!("{head}{auth}{rest}").into_bytes()
    };
    let long =
        format!("GET /api/public/traces?name={} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(70_000));
    let headers: String = (0..200).map(|n| format!("X-{n}: {n}\r\n")).collect();
    let many = format!("GET /api/public/health HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
    let case = |what, bytes: &[u8], status| case(what, bytes, status, "");
    vec![
        case("no HTTP", b"hello\r\n\r\n", 400),
        case("no target", b"GET HTTP/1.1\r\n\r\n", 400),
        case("a version nobody knows", b"GET / HTTP/9.9\r\n\r\n", 400),
        case("a header without a colon", b"GET / HTTP/1.1\r\nnonsense\r\n\r\n", 400),
        case("a header name with a space", b"GET / HTTP/1.1\r\nA b: c\r\n\r\n", 400),
        case("a NUL in a header", b"GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", 400),
        case("a length of words", &post("Content-Length: long\r\n\r\n"), 400),
        case("two lengths", &post("Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 400),
        case("a chunk of words", &post("Transfer-Encoding: chunked\r\n\r\nzz\r\n"), 400),
        case("a target of 70,000 bytes", long.as_bytes(), 414),
        case("two hundred headers", many.as_bytes(), 431),
    ]
}
