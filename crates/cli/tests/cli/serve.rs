use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratchet_testkit::http::{self, basic};
use ratchet_testkit::process::{Launch, PROJECT, PUBLIC_KEY, Ratchet, SECRET_KEY, Signal};
use ratchet_testkit::wait::{self, Lines};

use crate::{fails, json, ratchet, server};

/// A server without presets: the first start invents everything.
fn bare_server(data: &std::path::Path) -> Launch {
    ["PROJECT_ID", "PUBLIC_KEY", "SECRET_KEY"]
        .iter()
        .fold(server(data), |launch, name| launch.without_env(&format!("RATCHET_INIT_{name}")))
}

#[test]
fn the_first_start_shows_its_keys_once() {
    let data = tempfile::tempdir().unwrap();
    let first = bare_server(data.path()).start();
    let created = &first.ready["created"];
    for name in ["publicKey", "secretKey", "ownerPublicKey", "ownerSecretKey"] {
        assert!(created[name].is_string(), "{name}: {created}");
    }
    let set_up = first.ready["setUp"].as_str().unwrap().to_owned();
    assert!(set_up.starts_with(&format!("{}/set-up?token=", first.web())), "{set_up}");
    let text = |name: &str| created[name].as_str().unwrap().to_owned();
    let (public, secret) = (text("ownerPublicKey"), text("ownerSecretKey"));
    let sdk = text("secretKey");
    first.signal(Signal::TERM);
    let ended = first.wait();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    for secret in [&secret, &sdk] {
        assert!(!ended.log.contains(secret.as_str()), "the log must not hold the secret");
    }
    let (_, token) = set_up.split_once('=').unwrap();
    assert!(!ended.log.contains(token), "nor the set-up token");

    let second = bare_server(data.path()).start();
    assert!(second.ready["created"].as_object().unwrap().values().all(serde_json::Value::is_null));
    let status = ratchet(&["projects", "list", "--server", second.web()])
        .env("RATCHET_PUBLIC_KEY", public)
        .env("RATCHET_SECRET_KEY", secret);
    assert_eq!(json(status)[0]["name"], "default");
}

#[test]
fn the_key_for_sdks_records_and_reads_and_does_no_more() {
    let data = tempfile::tempdir().unwrap();
    let running = bare_server(data.path()).start();
    let created = &running.ready["created"];
    let key = |public: &str, secret: &str| {
        basic(created[public].as_str().unwrap(), created[secret].as_str().unwrap())
    };
    let (sdk, owner) = (key("publicKey", "secretKey"), key("ownerPublicKey", "ownerSecretKey"));
    let send = |request: http::Request, key: &str| {
        let request =
            request.header("authorization", key).header("content-type", "application/json");
        http::send(running.address(), &request).unwrap().status
    };
    let project = running.ready["project"]["id"].as_str().unwrap();
    let prompt = r#"{"name": "p", "prompt": "hi", "labels": ["production"]}"#;
    assert_eq!(send(http::post("/v1/traces").body("{}"), &sdk), 200);
    assert_eq!(send(http::post("/api/public/v2/prompts").body(prompt), &sdk), 200);
    assert_eq!(send(http::get("/api/public/v2/prompts/p"), &sdk), 200);
    assert_eq!(send(http::get("/api/public/v2/datasets"), &sdk), 200);
    let chat = r#"{"workspace": "/"}"#;
    for (request, allowed) in [
        (http::post("/api/v1/backup"), 200),
        (http::get("/api/v1/projects"), 200),
        (http::get(&format!("/api/v1/projects/{project}/keys")), 200),
        (http::get("/api/v1/audit"), 200),
        // Without roots, remote clients cannot start an agent.
        (http::post("/api/v1/chats").body(chat), 403),
    ] {
        assert_eq!(send(request.clone(), &sdk), 403, "{request:?}");
        assert_eq!(send(request.clone(), &owner), allowed, "{request:?}");
    }
}

#[test]
fn people_get_lines_to_paste() {
    let data = tempfile::tempdir().unwrap();
    let (mut command, _home) = ratchet(&["serve", "--listen", "127.0.0.1:0"])
        .args(["--otlp-grpc", "off", "--otlp-http", "off"])
        .arg("--data")
        .arg(data.path())
        .into_parts();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut child = EndAtDrop(child);
    let mut text = String::new();
    let lines = Lines::of(child.0.stdout.take().unwrap());
    loop {
        let line = lines.next("line that says where it listens");
        text += &line;
        text += "\n";
        if line.contains("is listening on") {
            break;
        }
    }
    for expected in [
        "export LANGFUSE_PUBLIC_KEY=pk-",
        "export LANGFUSE_SECRET_KEY=sk-",
        "export LANGFUSE_BASE_URL=http://127.0.0.1:",
        "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:",
        "export OTEL_EXPORTER_OTLP_HEADERS=Authorization=Basic%20",
        "export RATCHET_PUBLIC_KEY=pk-",
        "/set-up?token=",
    ] {
        assert!(text.contains(expected), "no {expected} in:\n{text}");
    }
}

/// A process that ends with the test.
struct EndAtDrop(Child);

impl Drop for EndAtDrop {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn presets_can_stay_for_good() {
    let data = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let running = server(data.path())
            .env("RATCHET_INIT_OWNER_EMAIL", "me@example.com")
            .env("RATCHET_INIT_OWNER_PASSWORD", "correct horse")
            .start();
        assert_eq!(running.ready["project"]["id"], PROJECT);
        let line = running.ready.to_string();
        assert!(!line.contains(SECRET_KEY) && !line.contains("correct horse"), "{line}");
        running.signal(Signal::TERM);
        assert_eq!(running.wait().status.code(), Some(0));
    }
    let keys = json(ratchet(&["keys", "list"]).arg("--data").arg(data.path()));
    assert_eq!(keys.as_array().unwrap().len(), 1);
    assert_eq!(keys[0]["publicKey"], PUBLIC_KEY);
    assert_eq!(keys[0]["role"], "owner");
    assert_eq!(keys[0]["permissions"].as_array().unwrap().len(), 3);
}

#[test]
fn presets_that_contradict_the_folder_are_refused() {
    let data = tempfile::tempdir().unwrap();
    drop(server(data.path()).start());
    let log = server(data.path()).env("RATCHET_INIT_SECRET_KEY", "sk-other").try_start();
    let log = log.unwrap_err();
    assert!(log.contains("exists with another secret"), "{log}");
    let log = server(data.path()).env("RATCHET_INIT_PROJECT_ID", "other").try_start();
    let log = log.unwrap_err();
    assert!(log.contains("already belongs to the project test-project, not other"), "{log}");
}

#[test]
fn half_a_preset_is_refused_before_anything_is_made() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let log = server(&data).without_env("RATCHET_INIT_SECRET_KEY").try_start().unwrap_err();
    assert_eq!(
        log,
        "ratchet: RATCHET_INIT_SECRET_KEY is missing; it is required with the public key\n"
    );
    assert!(!data.exists());
}

#[test]
fn a_second_server_on_the_same_folder_is_refused_by_name() {
    let data = tempfile::tempdir().unwrap();
    let first = server(data.path()).start();
    let log = server(data.path()).try_start().unwrap_err();
    let holder = format!("ratchet serve, process {}", first.pid());
    assert!(log.contains(&holder), "{log}");
    let message = fails(ratchet(&["keys", "list"]).arg("--data").arg(data.path()), 1);
    assert!(message.contains(&holder), "{message}");
}

#[test]
fn a_busy_web_port_stops_the_start_and_names_the_flag() {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = held.local_addr().unwrap().to_string();
    let data = tempfile::tempdir().unwrap();
    let message = fails(
        ratchet(&["serve", "--listen", &address, "--otlp-grpc", "off", "--otlp-http", "off"])
            .arg("--data")
            .arg(data.path()),
        1,
    );
    let expected = format!(
        "ratchet: {address} is in use by another program; \
         stop it or choose another address with --listen\n"
    );
    assert!(message.ends_with(&expected), "{message}");
}

#[test]
fn a_busy_otlp_port_is_only_told() {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = held.local_addr().unwrap().to_string();
    let data = tempfile::tempdir().unwrap();
    // The later of two equal flags would be refused, so the settings come by another way.
    let running = Launch::command(env!("CARGO_BIN_EXE_ratchet"))
        .args(["serve", "--json", "--listen", "127.0.0.1:0"])
        .arg("--data")
        .arg(data.path())
        .env("RATCHET_OTLP_GRPC", &address)
        .env("RATCHET_OTLP_HTTP", "off")
        .start();
    assert!(running.ready["otlpGrpc"].is_null());
    running.wait_for_log(&format!("{address} is in use"));
}

#[test]
fn no_auth_stays_on_this_machine() {
    let data = tempfile::tempdir().unwrap();
    let message = fails(
        ratchet(&["serve", "--no-auth", "--listen", "0.0.0.0:0"]).arg("--data").arg(data.path()),
        1,
    );
    assert!(message.contains("--listen 0.0.0.0:0 is reachable from other machines"), "{message}");

    let running = server(data.path()).arg("--no-auth").start();
    let ask = ratchet(&["projects", "list", "--server", running.web()])
        .env("RATCHET_PUBLIC_KEY", "any")
        .env("RATCHET_SECRET_KEY", "thing");
    assert_eq!(json(ask)[0]["id"], PROJECT);
}

#[test]
fn one_signal_drains_and_exits_with_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let data = tempfile::tempdir().unwrap();
        let running = server(data.path()).start();
        running.signal(signal);
        let ended = running.wait();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
        assert_eq!(ended.stdout, Vec::<String>::new());
    }
}

#[test]
fn a_request_under_way_is_answered_before_the_end() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let body = r#"{"name": "last minute"}"#;
    let (first, rest) = body.split_at(5);
    let mut client = begin_request(&running, body.len());
    client.write_all(first.as_bytes()).unwrap();
    running.signal(Signal::TERM);
    running.wait_for_log("a second signal terminates immediately");
    client.write_all(rest.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 Created"), "{answer}");
    assert_eq!(running.wait().status.code(), Some(0));
    let projects = json(ratchet(&["projects", "list"]).arg("--data").arg(data.path()));
    assert_eq!(projects[1]["name"], "last minute");
}

#[test]
fn a_drain_ends_at_its_deadline() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).args(["--drain", "50 ms"]).start();
    let _never_ends = begin_request(&running, 10);
    running.signal(Signal::TERM);
    let ended = running.wait();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    assert!(ended.log.contains("closing connections"), "{}", ended.log);
}

#[test]
fn a_second_signal_ends_at_once() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).args(["--drain", "1 h"]).start();
    let _never_ends = begin_request(&running, 10);
    running.signal(Signal::TERM);
    running.wait_for_log("a second signal terminates immediately");
    running.signal(Signal::TERM);
    assert_eq!(running.wait().status.code(), Some(143));
}

/// Sends all of a request but its body, and returns once the server is reading it.
fn begin_request(running: &Ratchet, body_len: usize) -> TcpStream {
    let mut client = TcpStream::connect(running.web().trim_start_matches("http://")).unwrap();
    let pair = STANDARD.encode(format!("{PUBLIC_KEY}:{SECRET_KEY}"));
    let head = format!(
        "POST /api/v1/projects HTTP/1.1\r\nhost: x\r\nauthorization: Basic {pair}\r\n\
         content-length: {body_len}\r\nexpect: 100-continue\r\n\r\n"
    );
    client.set_read_timeout(Some(wait::TIMEOUT)).unwrap();
    client.write_all(head.as_bytes()).unwrap();
    // The server says "go on" when a handler asks for the body.
    let mut go_on = [0; 25];
    client.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    client
}

#[test]
fn a_wrong_price_file_is_named() {
    let data = tempfile::tempdir().unwrap();
    std::fs::create_dir(data.path().join("prices")).unwrap();
    std::fs::write(data.path().join("prices/mine.toml"), "nonsense = [").unwrap();
    let log = server(data.path()).try_start().unwrap_err();
    assert!(log.contains("prices/mine.toml is not valid"), "{log}");
}

#[test]
fn the_front_page_leads_to_the_first_project() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).arg("--no-auth").start();
    let front = running.send(http::get("/").host("localhost"));
    assert_eq!(front.status, 303);
    let home = front.header("location").unwrap().to_owned();
    let page = running.send(http::get(&home).host("localhost"));
    assert_eq!(page.status, 200);
    assert!(page.text().contains("Waiting for the first span"), "{}", page.text());
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
}

#[test]
fn the_api_is_described_without_help_from_other_hosts() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let page = running.send(http::get("/api/docs")).text();
    let parts = page.split('"').filter(|part| part.starts_with("/api/"));
    let mut parts: Vec<_> = parts.collect();
    parts.sort_unstable();
    parts.dedup();
    assert_eq!(parts, ["/api/docs/docs.css", "/api/docs/docs.js", "/api/openapi.json"]);
    for part in parts {
        let there = running.send(http::get(part));
        assert_eq!(there.status, 200, "{part}");
    }
}

/// How many traces a receiver has once a server that exports its own to it has come and gone.
fn own_traces_after(receiver: &Ratchet, settings: &[(&str, &str)]) -> u64 {
    let data = tempfile::tempdir().unwrap();
    let sender = server(data.path()).env("RATCHET_LOG_TRACES", receiver.otlp_grpc());
    let sender = settings.iter().fold(sender, |launch, (name, value)| launch.env(name, value));
    let sender = sender.start();
    assert_eq!(sender.send(http::get("/api/public/health")).status, 200);
    sender.signal(Signal::TERM);
    sender.wait();
    receiver.send(http::get("/api/public/traces")).json()["meta"]["totalItems"].as_u64().unwrap()
}

#[test]
fn own_traces_carry_their_own_key_and_never_an_agents() {
    let data = tempfile::tempdir().unwrap();
    let receiver = server(data.path()).start();
    let header = format!("authorization={}", basic(PUBLIC_KEY, SECRET_KEY));
    let agents = header.replace(' ', "%20");
    let theirs =
        [("OTEL_EXPORTER_OTLP_HEADERS", &*agents), ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", &*agents)];
    assert_eq!(own_traces_after(&receiver, &theirs), 0);
    assert_eq!(own_traces_after(&receiver, &[("RATCHET_LOG_TRACES_HEADERS", &header)]), 1);
}
