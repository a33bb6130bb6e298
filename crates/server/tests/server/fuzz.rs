//! Fuzzes every decoder for some seconds. None may panic, hang or use much memory.
//!
//! `RATCHET_FUZZ_SECONDS` sets another duration of each.

use std::sync::LazyLock;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use ratchet_core::environment::Environment;
use ratchet_core::id::TraceId;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::record::claude_code::transcript::{LineResult, Transcript, Turns};
use ratchet_core::record::price::{ModelCall, PriceTable};
use ratchet_core::record::semantic_conventions::Sender;
use ratchet_core::record::usage::Usage;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::events::{EventPatches, Rules, Submitter};
use ratchet_remote::langfuse::wire::ingestion::IngestionBatch;
use ratchet_remote::langfuse::wire::read::read_object;
use ratchet_server::app::{Access, App, Limits, Settings};
use ratchet_server::clock::Clock;
use ratchet_server::otlp::{Format, decode_logs, decode_metrics, decode_traces};
use ratchet_server::router::{grpc_router, router};
use ratchet_stages::app_state::AppState;
use ratchet_stages::record::logs::Events;
use ratchet_stages::record::{self, Arrival};
use ratchet_store::telemetry::Batch;
use ratchet_testkit::build::{START, project};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::fuzz::{Shape, Target, run};
use ratchet_testkit::http::gzip;
use ratchet_testkit::soak::scaled;
use ratchet_testkit::{fixtures, otlp};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

/// A server without sockets, and its runtime.
struct FuzzServer {
    runtime: Runtime,
    folder: DataFolder,
    http: Router,
    grpc: Router,
}

static SERVER: LazyLock<FuzzServer> = LazyLock::new(|| {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let folder = DataFolder::new();
    let settings = Settings {
        access: Access::Open(project("fuzz")),
        limits: Limits { decompressed_bytes: 1_000_000, ..Limits::default() },
        ..Settings::default()
    };
    let place = (folder.folder().clone(), folder.path().to_owned());
    let state = AppState::new(place, Clock::System, OutboundPolicy::default());
    let app = App::new(state, settings, PriceTable::builtin().into());
    let (http, grpc) = (router(app.clone(), Router::new()), grpc_router(app));
    FuzzServer { runtime, folder, http, grpc }
});

/// Sends a request and returns a summary of the response. An internal error is a finding.
fn answer(router: &Router, request: Request<Body>) -> String {
    SERVER.runtime.block_on(async {
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR, "{text}");
        format!("{status} {text}")
    })
}

fn feed(target: Target, seeds: &[Vec<u8>]) {
    let seconds = std::env::var("RATCHET_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let seeds: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
    LazyLock::force(&SERVER);
    run(target, &seeds, Duration::from_secs(seconds.unwrap_or_else(|| scaled(5, 120))));
}

/// Decodes spans like a server, without writing them.
fn read_spans(format: Format, body: &[u8]) -> String {
    let decoded = match decode_traces(format, body, &Limits::default(), START) {
        Ok(decoded) => decoded,
        Err(error) => return error.to_string(),
    };
    let said = format!("{} spans, {}", decoded.accepted, decoded.rejected.message());
    let (project, sender) = (project("fuzz"), Sender::default());
    let arrival = Arrival {
        project,
        sender,
        received_at: START,
        settings: Default::default(),
        text_bytes: 8_000_000,
    };
    record::spans(SERVER.folder.telemetry(), &arrival, decoded.groups);
    said
}

const ATTRIBUTES: &[&str] = &[
    "langfuse.observation.type",
    "langfuse.observation.input",
    "langfuse.observation.usage_details",
    "langfuse.observation.cost_details",
    "langfuse.observation.completion_start_time",
    "langfuse.observation.metadata",
    "langfuse.trace.tags",
    "langfuse.trace.metadata.a",
    "langfuse.environment",
    "gen_ai.operation.name",
    "gen_ai.request.model",
    "gen_ai.usage.input_tokens",
    "gen_ai.prompt.0.content",
    "gen_ai.prompt.1000000.role",
    "gen_ai.input.messages",
    "llm.input_messages.0.message.content",
    "llm.token_count.prompt",
    "openinference.span.kind",
    "ai.prompt.messages",
    "ai.response.msToFirstChunk",
    "ai.telemetry.metadata.tags",
    "pydantic_ai.all_messages",
    "logfire.msg",
    "traceloop.entity.input",
    "input.value",
    "session.id",
    "metadata",
    "stringValue",
    "intValue",
    "arrayValue",
    "kvlistValue",
    "attributes",
    "events",
];

#[test]
fn spans_in_protobuf() {
    let mut seeds = fixtures::all("otlp-protobuf");
    let named = |id: u64, key: &&str| otlp::span(1, id).saying(key, "{\"a\":[1,\"b\"]}").under(1);
    let every =
        otlp::request("fuzz").with_all((1..).zip(ATTRIBUTES).map(|(id, key)| named(id, key)));
    seeds.push(every.to_protobuf());
    let rich =
        otlp::span(2, 1).lasting(0, 9).event("gen_ai.choice", 3).linked_to(1, 1).failing("x");
    let rich = rich.saying("n", 1).saying("f", 0.5).saying("b", true);
    seeds.push(otlp::request("fuzz").scope("ai", "1").with(rich).to_protobuf());
    feed(
        Target {
            name: "otlp-protobuf",
            shape: Shape::Protobuf,
            dictionary: ATTRIBUTES,
            read: |body| read_spans(Format::Protobuf, body),
        },
        &seeds,
    );
}

#[test]
fn spans_in_json() {
    feed(
        Target {
            name: "otlp-json",
            shape: Shape::Json,
            dictionary: ATTRIBUTES,
            read: |body| read_spans(Format::Json, body),
        },
        &fixtures::all("otlp-json"),
    );
}

/// Decodes log records like a server, without writing them.
fn read_logs(format: Format, body: &[u8]) -> String {
    let decoded = match decode_logs(format, body, &Limits::default(), START) {
        Ok(decoded) => decoded,
        Err(error) => return error.to_string(),
    };
    let events = Events::read(decoded.groups);
    let said = format!("{} foreign, {}", events.foreign, decoded.rejected.message());
    let (project, sender) = (project("fuzz"), Sender::default());
    events.prepare(
        SERVER.folder.telemetry(),
        Arrival {
            project,
            sender,
            received_at: START,
            settings: Default::default(),
            text_bytes: 8_000_000,
        },
    );
    said
}

fn read_metrics(format: Format, body: &[u8]) -> String {
    match decode_metrics(format, body, &Limits::default(), START) {
        Ok(decoded) => format!("{} metrics, {}", decoded.accepted, decoded.rejected.message()),
        Err(error) => error.to_string(),
    }
}

const EVENT_WORDS: &[&str] = &[
    "claude_code.user_prompt",
    "claude_code.api_request",
    "claude_code.tool_result",
    "claude_code.",
    "prompt.id",
    "message.uuid",
    "request_id",
    "tool_use_id",
    "agent_id",
    "duration_ms",
    "cost_usd",
    "session.id",
    "18446744073709551615",
    "dataPoints",
    "kvlistValue",
];

#[test]
fn logs_in_json() {
    feed(
        Target {
            name: "otlp-logs-json",
            shape: Shape::Json,
            dictionary: EVENT_WORDS,
            read: |body| read_logs(Format::Json, body),
        },
        &fixtures::all("otlp-logs"),
    );
}

#[test]
fn logs_in_protobuf() {
    let named = |key: &&str| otlp::log(key).saying("prompt.id", "p").saying(key, "x");
    let every = otlp::logs("claude-code").with_all(EVENT_WORDS.iter().map(named));
    let odd = otlp::log("claude_code.api_request").during(1, 1).saying("duration_ms", i64::MAX);
    feed(
        Target {
            name: "otlp-logs-protobuf",
            shape: Shape::Protobuf,
            dictionary: EVENT_WORDS,
            read: |body| read_logs(Format::Protobuf, body),
        },
        &[every.to_protobuf(), otlp::logs("x").with(odd).to_protobuf()],
    );
}

#[test]
fn metrics_in_json_and_protobuf() {
    feed(
        Target {
            name: "otlp-metrics",
            shape: Shape::Json,
            dictionary: EVENT_WORDS,
            read: |body| read_metrics(Format::Json, body) + &read_metrics(Format::Protobuf, body),
        },
        &fixtures::all("otlp-metrics"),
    );
}

#[test]
fn transcripts() {
    fn read(file: &[u8]) -> String {
        let text = String::from_utf8_lossy(file);
        let (mut transcript, mut turns) = (Transcript::new(), Turns::default());
        let taken = text.lines().map(|line| match transcript.take(line, &mut turns) {
            LineResult::Patches(patches) => format!("{} patches", patches.merged().len()),
            LineResult::Nothing => "nothing".to_owned(),
            LineResult::Unknown(word) => word,
            LineResult::Malformed(why) => why,
        });
        taken.collect::<Vec<_>>().join("; ")
    }
    let folder = fixtures::folder("transcripts/-work-shop");
    let file = folder.join("5e551011-0000-4000-8000-000000000001.jsonl");
    let lines = std::fs::read_to_string(file).unwrap();
    let seeds: Vec<Vec<u8>> = lines.lines().map(|line| line.as_bytes().to_vec()).collect();
    feed(
        Target {
            name: "transcripts",
            shape: Shape::Json,
            dictionary: &["tool_result", "tool_use", "isSidechain", "agentId", "<command-"],
            read,
        },
        &seeds,
    );
}

#[test]
fn batches_of_events() {
    fn read(body: &[u8]) -> String {
        let Ok(text) = std::str::from_utf8(body) else { return "not UTF-8".to_owned() };
        let batch: IngestionBatch = match read_object(text) {
            Ok(batch) => batch,
            Err(issue) => return issue.to_string(),
        };
        let rules = Rules {
            submitter: Submitter::Keyed,
            text_bytes: 8_000_000,
            depth: 64,
            score_configs: Default::default(),
        };
        let said = EventPatches::from_batch(&batch.batch, &rules);
        let (project, sender) = (project("fuzz"), Sender::default());
        let arrival = Arrival {
            project,
            sender,
            received_at: START,
            settings: Default::default(),
            text_bytes: 8_000_000,
        };
        let batch = Batch {
            traces: said.traces,
            observations: said.observations,
            scores: said.scores,
            ..Batch::new(arrival.project.clone(), START)
        };
        record::prepare(SERVER.folder.telemetry(), batch, &arrival);
        let refused = said.outcomes.into_iter().filter_map(|outcome| outcome.result.err());
        refused.map(|refusal| refusal.to_string()).collect::<Vec<_>>().join("; ")
    }
    feed(
        Target {
            name: "ingestion",
            shape: Shape::Json,
            dictionary: &["trace-create", "span-update", "usageDetails", "prompt_tokens", "value"],
            read,
        },
        &fixtures::all("ingestion"),
    );
}

#[test]
fn gzip_bodies() {
    let post = |body: &[u8]| {
        let request = Request::post("/v1/traces")
            .header("Content-Type", "application/json")
            .header("Content-Encoding", "gzip");
        answer(&SERVER.http, request.body(body.to_vec().into()).unwrap())
    };
    let mut seeds: Vec<_> = fixtures::all("otlp-json").iter().map(|json| gzip(json)).collect();
    seeds.push(gzip(&[b' '; 900_000]));
    seeds.push(gzip(b"{}").repeat(20));
    feed(
        Target { name: "gzip", shape: Shape::Bytes, dictionary: &["\u{1f}\u{8b}"], read: post },
        &seeds,
    );
}

#[test]
fn grpc_frames() {
    let post = |body: &[u8]| {
        let request = Request::post("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
            .header("Content-Type", "application/grpc")
            .header("grpc-encoding", "gzip");
        answer(&SERVER.grpc, request.body(body.to_vec().into()).unwrap())
    };
    let frame = |flag: u8, message: &[u8]| {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        [&[flag], &length[..], message].concat()
    };
    let message = otlp::request("fuzz").with(otlp::span(1, 1)).to_protobuf();
    let seeds = [frame(0, &message), frame(1, &gzip(&message)), frame(0, b""), frame(2, b"x")];
    feed(
        Target { name: "grpc", shape: Shape::Bytes, dictionary: &["\0\0\0\0\u{1}"], read: post },
        &seeds,
    );
}

fn get(target: &str) -> String {
    match Request::get(target).body(Body::empty()) {
        Ok(request) => answer(&SERVER.http, request),
        Err(error) => error.to_string(),
    }
}

/// Bytes as allowed in a request target: others are escaped.
fn escaped(bytes: &[u8], is_plain: fn(u8) -> bool) -> String {
    let digit = |half: u8| char::from(b"0123456789ABCDEF"[usize::from(half)]);
    let mut text = String::with_capacity(bytes.len() * 3);
    for byte in bytes {
        if is_plain(*byte) {
            text.push(char::from(*byte));
        } else {
            text.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    text
}

#[test]
fn filters() {
    fn read(filter: &[u8]) -> String {
        let filter = escaped(filter, |byte| byte.is_ascii_alphanumeric());
        let ask = |what: &str| get(&format!("/api/public/{what}?filter={filter}"));
        ["traces", "observations"].map(ask).concat()
    }
    feed(
        Target {
            name: "filters",
            shape: Shape::Json,
            dictionary: &["string", "number", "column", "any of", "metadata", "key", "latency"],
            read,
        },
        &fixtures::all("filters"),
    );
}

#[test]
fn query_strings() {
    // Bytes that are invalid in a target are rejected by HTTP itself; they are escaped here.
    fn read(target: &[u8]) -> String {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
        let target = escaped(target, is_plain);
        let said = get(&format!("/{}", target.trim_start_matches('/')));
        // These repeat the request, and so would all be new.
        if said.starts_with("404") { "not found".to_owned() } else { said }
    }
    feed(
        Target {
            name: "queries",
            shape: Shape::Bytes,
            dictionary: &["&page=", "&limit=", "&orderBy=", "&fields=", "%00", "%ff", "&filter=[]"],
            read,
        },
        &fixtures::all("queries"),
    );
}

#[test]
fn price_files() {
    fn read(file: &[u8]) -> String {
        let Ok(text) = std::str::from_utf8(file) else { return "not UTF-8".to_owned() };
        let table = match PriceTable::parse(text) {
            Ok(table) => table,
            Err(error) => return error.to_string(),
        };
        let usage = Usage::new([("input".to_owned(), u64::MAX), ("output".to_owned(), 3)].into());
        let costs = ["small", "large-latest", "llama-x-70b", ""].map(|model| {
            let at = Default::default();
            let call = ModelCall { model, usage: &usage, parameters: None, metadata: None, at };
            table.cost(call).is_some()
        });
        format!("{costs:?}")
    }
    feed(
        Target {
            name: "prices",
            shape: Shape::Bytes,
            dictionary: &["[[model]]\n", "pattern = \"(a+)+$\"\n", "input = -1.0", "1e999", "nan"],
            read,
        },
        &fixtures::all("prices"),
    );
}

#[test]
fn ids_and_times() {
    fn read(word: &[u8]) -> String {
        let Ok(text) = std::str::from_utf8(word) else { return "not UTF-8".to_owned() };
        let id = TraceId::parse(text).map(|id| {
            assert_eq!(id.to_string(), text, "an id changed");
        });
        let time = Timestamp::parse(text).map(|time| {
            let shown = time.to_string();
            // The very first microsecond of the range is rounded down, to before the range.
            let again = Timestamp::parse(&shown).unwrap_or(time);
            assert!(time.since(again).abs() < 1_000_000, "{text} became {shown}");
        });
        let environment = Environment::normalise(text);
        assert_eq!(Environment::normalise(environment.as_str()), environment);
        format!("{id:?} {time:?}")
    }
    feed(
        Target {
            name: "words",
            shape: Shape::Bytes,
            dictionary: &["T", "Z", "+00:00", "-", "2262", "[UTC]", "\r", "langfuse-"],
            read,
        },
        &fixtures::all("words"),
    );
}
