//! Small bodies that become large ones: gzip that unpacks a thousandfold, JSON that takes many times
//! its text once it is parsed. Each is refused, and the process keeps its size.

use std::fs;
use std::thread;

use ratchet_testkit::http::{self, Request, gzip};
use ratchet_testkit::process::{PROJECT, PUBLIC_KEY, Ratchet, SECRET_KEY};
use ratchet_testkit::soak::scaled;
use serde_json::Value;

use crate::server;

/// Values of a bomb: as JSON of a hundred megabytes they took 2.4 GB.
const VALUES: usize = 49_000_000;
/// How much a server may grow, whatever is sent: the memory for bodies, and as much again for what
/// is not counted.
const GROWTH: usize = 2 * 256_000_000;
/// Bombs that are sent at once.
const AT_ONCE: usize = 8;

/// A compressed text with a pattern so often that it holds so many values. The pieces are gzip
/// members, of which one after the other makes a whole.
fn bomb(open: &str, pattern: &str, close: &str, values: usize) -> Vec<u8> {
    const IN_A_PIECE: usize = 100_000;
    let piece = gzip(pattern.repeat(IN_A_PIECE).as_bytes());
    let mut packed = gzip(open.as_bytes());
    for _ in 0..values.div_ceil(IN_A_PIECE) {
        packed.extend(&piece);
    }
    packed.extend(gzip(close.as_bytes()));
    packed
}

/// Where a body would blow up: a list alone, the list of a batch, and many small objects in a field
/// that takes anything.
fn shapes(values: usize) -> [Vec<u8>; 3] {
    [
        bomb("[0", ",0", "]", values),
        bomb(r#"{"batch":[0"#, ",0", "]}", values),
        bomb(r#"{"input":[0"#, r#",{"":0}"#, "]}", values),
    ]
}

/// A protobuf field that holds a message, as far as its content.
fn field(number: u8, len: usize) -> Vec<u8> {
    let mut head = vec![(number << 3) | 2];
    let mut rest = len;
    while rest >= 0x80 {
        head.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
        rest >>= 7;
    }
    head.push(u8::try_from(rest).unwrap());
    head
}

/// An export request in protobuf, compressed, with the same hundred spans again and again.
fn spans(span: &[u8], hundreds: usize) -> Vec<u8> {
    let one = [field(2, span.len()), span.to_vec()].concat();
    let all = one.len() * 100 * hundreds;
    let scope = field(2, all);
    let mut packed = gzip(&[field(1, scope.len() + all), scope].concat());
    let piece = gzip(&one.repeat(100));
    for _ in 0..hundreds {
        packed.extend(&piece);
    }
    packed
}

/// A span that has ids and a thousand times something.
fn span(of_each: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let ids = [field(1, 16), vec![1; 16], field(2, 8), vec![1; 8]].concat();
    (0..1_000).fold(ids, |span, nth| [span, of_each(nth)].concat())
}

fn packed(method: &str, path: &str, body: &[u8]) -> Request {
    http::request(method, path).header("Content-Encoding", "gzip").json(body)
}

/// The most memory that a process has had, in bytes.
pub(crate) fn peak(server: &Ratchet) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1_024
}

/// A key of another role, as the value of an Authorization header.
fn key(server: &Ratchet, role: &str) -> String {
    let path = format!("/api/v1/projects/{PROJECT}/keys");
    let made = server.send(http::post(&path).json(format!(r#"{{"role":"{role}"}}"#)));
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    http::basic(made["publicKey"].as_str().unwrap(), made["secretKey"].as_str().unwrap())
}

/// Method and path of every operation, with something in place of its ids, and whether it takes a
/// body.
fn operations(server: &Ratchet) -> Vec<(String, String, bool)> {
    let document = server.send(http::get("/api/openapi.json")).json();
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, methods): (&String, &Value)| {
        let filled: Vec<_> = path.split('/').map(filled).collect();
        let (path, methods) = (filled.join("/"), methods.as_object().unwrap().clone());
        methods.into_iter().map(move |(method, described)| {
            (method.to_uppercase(), path.clone(), described.get("requestBody").is_some())
        })
    };
    paths.iter().flat_map(of_path).collect()
}

fn filled(step: &str) -> &str {
    match step {
        "{project}" | "{projectId}" => PROJECT,
        id if id.starts_with('{') => "1",
        step => step,
    }
}

#[test]
fn every_route_refuses_a_body_that_blows_up() {
    let data = tempfile::tempdir().unwrap();
    let values = scaled(20_000, 2_000_000);
    let server = server(data.path()).env("RATCHET_LIMITS_VALUES", values.to_string()).start();
    let callers = [
        ("an owner", http::basic(PUBLIC_KEY, SECRET_KEY)),
        ("a member", key(&server, "member")),
        ("a public key alone", format!("Bearer {PUBLIC_KEY}")),
    ];
    let shapes = shapes(scaled(200_000, VALUES));
    let operations = operations(&server);
    assert!(operations.iter().filter(|(.., takes_body)| *takes_body).count() > 50);
    let before = peak(&server);
    let mut weighed = 0;
    for (method, path, takes_body) in &operations {
        for (who, key) in &callers {
            // Others stop at the same door.
            let is_full = *takes_body && *who == "an owner";
            for body in shapes.iter().take(if is_full { shapes.len() } else { 1 }) {
                let request = packed(method, path, body).header("Authorization", key);
                // Who takes no body answers and may hang up on it.
                let status = http::send(server.address(), &request).map(|answer| answer.status);
                let is_refused = status.as_ref().is_ok_and(|status| (400..500).contains(status));
                weighed += usize::from(status.as_ref().is_ok_and(|status| *status == 413));
                let is_fine = status.as_ref().map_or(true, |status| *status < 500);
                // OTLP's decoders build nothing of what they do not know.
                let is_passed_by = path.contains("/v1/") && !path.starts_with("/api/v1/");
                let is_right = is_refused || (is_fine && (!takes_body || is_passed_by));
                assert!(is_right, "{method} {path} with {who}: {status:?}\n{}", server.log());
            }
            let grown = peak(&server).saturating_sub(before);
            assert!(grown < GROWTH, "{method} {path} with {who} takes {grown} bytes");
        }
    }
    assert!(weighed > 60, "only {weighed} bodies were refused for what they hold");
    assert_eq!(server.send(http::get("/api/public/health")).status, 200);
}

#[test]
fn many_bombs_at_once_leave_memory_and_others_alone() {
    let data = tempfile::tempdir().unwrap();
    let values = scaled(500_000, 2_000_000);
    let server = server(data.path()).env("RATCHET_LIMITS_VALUES", values.to_string()).start();
    let paths = [
        "/api/public/ingestion",
        "/api/public/scores",
        "/api/public/v2/prompts",
        "/api/public/dataset-items",
        "/api/public/v2/datasets",
        "/api/v1/chats/any/answers",
    ];
    let mut bodies = shapes(scaled(1_000_000, VALUES)).to_vec();
    // As many as pass the count: what they would take in memory refuses them, or room is found.
    for len in scaled([100_000, 400_000], [300_000, 900_000]) {
        let prompt = r#"{"name":"","type":"chat","prompt":[0"#;
        bodies.push(bomb(prompt, r#",{"":0}"#, "]}", len));
    }
    let many = scaled(4_000_000, VALUES);
    let spans = bomb(r#"{"resourceSpans":[{"scopeSpans":[{"spans":[0"#, ",0", "]}]}]}", many);
    let before = peak(&server);
    let address = server.address();
    let send = |first: usize, body: &[u8]| {
        for path in paths.iter().cycle().skip(first).take(scaled(1, paths.len())) {
            let request = packed("POST", path, body).with_key(PUBLIC_KEY, SECRET_KEY);
            let answer = http::send(address, &request).unwrap();
            let is_refused = (400..500).contains(&answer.status) || answer.status == 503;
            assert!(is_refused, "{path}: {} {}", answer.status, answer.text());
        }
    };
    thread::scope(|threads| {
        let (send, chosen) = (&send, bodies.iter().cycle().take(AT_ONCE).enumerate());
        let senders: Vec<_> =
            chosen.map(|(nth, body)| threads.spawn(move || send(nth, body))).collect();
        let answer = server.send(packed("POST", "/v1/traces", &spans));
        assert!([413, 503].contains(&answer.status), "{}", answer.text());
        while senders.iter().any(|sender| !sender.is_finished()) {
            assert_eq!(server.send(http::get("/api/public/health")).status, 200);
        }
    });
    let grown = peak(&server).saturating_sub(before);
    assert!(grown < GROWTH, "they take {grown} bytes");
}

#[test]
fn small_spans_take_no_more_than_the_memory_for_bodies() {
    let data = tempfile::tempdir().unwrap();
    // What a thread has freed stays with its arena in glibc, and is not what is measured here.
    let server = server(data.path()).env("MALLOC_ARENA_MAX", "2").start();
    // Sixteen megabytes of spans that say nothing; ten million events of two bytes, which took a
    // gigabyte; attributes with short names, as many as values are allowed, and fewer.
    let empty = spans(&[], 80_000);
    let events = spans(&span(|_| field(11, 0)), 100);
    let attribute =
        |nth: usize| [field(9, 5), field(1, 3), format!("{nth:03}").into_bytes()].concat();
    let values = spans(&span(attribute), 20);
    let fewer = spans(&span(attribute), scaled(2, 10));
    let before = peak(&server);
    let address = server.address();
    let send = |first: usize| {
        let bodies = [(&empty, false), (&events, false), (&values, false), (&fewer, true)];
        for (body, may_fit) in bodies.iter().cycle().skip(first).take(bodies.len()) {
            let request = http::request("POST", "/v1/traces").header("Content-Encoding", "gzip");
            let request = request.protobuf(body.as_slice()).with_key(PUBLIC_KEY, SECRET_KEY);
            let answer = http::send(address, &request).unwrap();
            let is_right = [413, 503].contains(&answer.status) || *may_fit && answer.status == 200;
            assert!(is_right, "{} {}", answer.status, answer.text());
        }
    };
    thread::scope(|threads| {
        for nth in 0..AT_ONCE {
            let send = &send;
            threads.spawn(move || send(nth));
        }
    });
    let grown = peak(&server).saturating_sub(before);
    assert!(grown < GROWTH, "they take {grown} bytes");
    let fits = http::request("POST", "/v1/traces").header("Content-Encoding", "gzip");
    assert_eq!(server.send(fits.protobuf(fewer.as_slice())).status, 200, "alone it fits");
}
