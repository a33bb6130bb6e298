use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratchet_testkit::http::{self, Request};
use ratchet_testkit::otlp;

use super::{Case, PROJECT, PUBLIC_KEY, Ratchet, SECRET_KEY, case};

const LIST: &str = "/api/public/traces";

fn header(what: &'static str, value: &str, says: &'static str) -> Case {
    case(what, http::get(LIST).header("Authorization", value), 401, says)
}

fn encoded(pair: &[u8]) -> String {
    format!("Basic {}", STANDARD.encode(pair))
}

/// A key of the project with a role.
fn key(running: &Ratchet, role: &str) -> (String, String) {
    let target = format!("/api/v1/projects/{PROJECT}/keys");
    let made = running.send(http::post(&target).json(format!(r#"{{"role":"{role}"}}"#)));
    assert_eq!(made.status, 201, "{}", made.text());
    let key = made.json();
    let half = |name: &str| key[name].as_str().unwrap().to_owned();
    (half("publicKey"), half("secretKey"))
}

fn spans() -> Request {
    let body = otlp::request("auth").with(otlp::span(1, 1)).to_protobuf();
    http::post("/v1/traces").protobuf(body)
}

pub(super) fn table(running: &Ratchet) -> Vec<Case> {
    let revoked = key(running, "member");
    let target = format!("/api/v1/projects/{PROJECT}/keys/{}", revoked.0);
    let gone = running.send(http::request("DELETE", &target));
    assert!(gone.status < 300, "{}", gone.text());
    [strangers(&revoked), roles(running)].into_iter().flatten().collect()
}

fn strangers(revoked: &(String, String)) -> Vec<Case> {
    let public_and_colon = format!("{PUBLIC_KEY}:");
    let swapped = format!("{SECRET_KEY}:{PUBLIC_KEY}");
    let longer = format!("{PUBLIC_KEY}:{SECRET_KEY}x");
    let raw = |bytes: &[u8]| [b"GET /api/public/traces HTTP/1.1\r\nHost: a\r\n", bytes].concat();
    vec![
        case("no key", http::get(LIST), 401, "no Authorization header"),
        case("no key with spans", spans(), 401, "no Authorization header"),
        header("an empty header", "", "neither Basic nor Bearer"),
        header("a word", "please", "neither Basic nor Bearer"),
        header("another scheme", "Digest username=\"a\"", "neither Basic nor Bearer"),
        header("a bearer of nothing", "Bearer ", "neither Basic nor Bearer"),
        header("a bearer nobody knows", "Bearer pk-lf-nobody", "unknown public key"),
        header("the secret as a bearer", &format!("Bearer {SECRET_KEY}"), "unknown public key"),
        header("Basic and nothing more", "Basic", "no colon"),
        header("Basic that is not base64", "Basic *&^%", "not base64"),
        header("base64 without padding", "Basic YTpiYw", "not base64"),
        header(
            "base64 of bytes that are no text",
            &encoded(b"\xff:\xfe"),
            "not base64 of public:secret",
        ),
        header("no colon", &encoded(PUBLIC_KEY.as_bytes()), "no colon"),
        header("an empty secret", &encoded(public_and_colon.as_bytes()), "unknown or revoked key"),
        header("a wrong secret", &encoded(b"pk-lf-test:sk-lf-none"), "unknown or revoked key"),
        header(
            "a secret with one character more",
            &encoded(longer.as_bytes()),
            "unknown or revoked",
        ),
        header("halves swapped", &encoded(swapped.as_bytes()), "unknown or revoked key"),
        header("a revoked key", &http::basic(&revoked.0, &revoked.1), "unknown or revoked key"),
        header("a NUL in the key", &encoded(b"pk-lf-test\0:sk"), "unknown or revoked key"),
        case(
            "a header that is no text",
            &raw(b"Authorization: Basic \xff\r\n\r\n")[..],
            401,
            "not plain text",
        ),
    ]
}

fn roles(running: &Ratchet) -> Vec<Case> {
    let [viewer, ingest, member] =
        ["viewer", "ingest-only", "member"].map(|role| key(running, role));
    let by =
        |request: Request, (public, secret): &(String, String)| request.with_key(public, secret);
    let bearer =
        |request: Request| request.header("Authorization", &format!("Bearer {PUBLIC_KEY}"));
    let event = r#"{"batch":[{"id":"1","type":"trace-create","timestamp":"2026-01-01T00:00:00Z","body":{"id":"t"}}]}"#;
    let ingestion = || http::post("/api/public/ingestion").json(event);
    let keys = format!("/api/v1/projects/{PROJECT}/keys");
    vec![
        case("a viewer records", by(spans(), &viewer), 403, "viewer may not record"),
        case("a viewer sends events", by(ingestion(), &viewer), 403, "viewer may not record"),
        case(
            "an ingest-only key reads",
            by(http::get(LIST), &ingest),
            403,
            "ingest-only may not read",
        ),
        case(
            "a member makes keys",
            by(http::get(&keys), &member),
            403,
            "member may not administer",
        ),
        case(
            "a viewer compacts",
            by(http::post("/api/v1/compact"), &viewer),
            403,
            "may not administer",
        ),
        case("a public key alone reads", bearer(http::get(LIST)), 403, "may only write scores"),
        case("a public key alone records", bearer(spans()), 403, "may only write scores"),
        case("a public key alone sends events", bearer(ingestion()), 207, "may only send scores"),
    ]
}
