use std::time::Duration;

use ratchet_core::id::TraceId;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_server::app::{Access, Settings};
use ratchet_server::own_traces::OwnTraces;
use ratchet_stages::record::clock;
use ratchet_stages::record::retention_sweep::sweep;
use ratchet_store::catalog::Role;
use ratchet_store::query::{Detail, PageNumber, Paging, TimeRange, TraceOrder, TraceQuery};
use ratchet_testkit::build::{at, batch, score};
use ratchet_testkit::otlp::{request, span, trace_id};
use ratchet_testkit::recording::RecordBatch;
use ratchet_testkit::wait;
use tracing_subscriber::layer::SubscriberExt;

use crate::harness::{TestServer, project};

#[tokio::test]
async fn health_and_readiness() {
    let server = TestServer::start().await;
    let reply = server.get("/api/public/health").send().await;
    assert_eq!(reply.check(200, "").json()["status"], "OK");
    // Clients choose their routes by it.
    assert_eq!(reply.json()["version"], "4.16.0");
    assert_eq!(reply.json()["ratchetVersion"], env!("CARGO_PKG_VERSION"));
    server.get("/api/public/ready").send().await.check(200, "OK");
    server.app.begin_closing();
    let reply = server.get("/api/public/ready").send().await;
    reply.check(503, "shutting down");
    assert!(!reply.header("retry-after").is_empty());
    server.stop().await;
}

#[tokio::test]
async fn unknown_paths_and_methods_are_told_apart() {
    let server = TestServer::start().await;
    for path in ["/api", "/api/", "/api/public/nothing", "/api/v9"] {
        let reply = server.get(path).send().await;
        assert_eq!(reply.check(404, path).json()["error"], "LangfuseNotFoundError");
    }
    let reply = server.get("/api/public/otel/v1/traces").send().await;
    assert_eq!(reply.check(405, "does not take GET").json()["error"], "MethodNotAllowedError");
    assert_eq!(reply.header("allow"), "POST");
    server.stop().await;
}

#[tokio::test]
async fn figures_tell_what_happened() {
    let server = TestServer::start().await;
    let batch =
        request("shop").with(span(1, 1)).with(span(1, 2)).with(span(2, 3).with_raw_ids(&[], &[]));
    server.post("/v1/traces").protobuf(batch.to_protobuf()).send().await.check(200, "");
    server.get("/api/public/secret-name").send().await.check(404, "");
    let figures = server.get("/metrics").send().await;
    for line in [
        "ratchet_spans_received_total 2",
        "ratchet_spans_rejected_total 1",
        r#"ratchet_requests_total{method="POST",route="/v1/traces",status="200"} 1"#,
        r#"ratchet_requests_total{method="GET",route="/api/{*rest}",status="404"} 1"#,
        "ratchet_commit_seconds_count 1",
        "ratchet_store_observations 2",
        // The exact number is unpredictable: the media sweep is queued, too.
        "ratchet_queue_depth ",
    ] {
        figures.check(200, line);
    }
    assert!(!String::from_utf8_lossy(&figures.body).contains("secret-name"));
    server.stop().await;
}

#[tokio::test]
async fn a_server_may_export_its_traces_to_itself() {
    let access = Access::Open(project());
    let server = TestServer::start_with(Settings { access, ..Settings::default() }).await;
    let traces = OwnTraces::start(&format!("http://{}", server.grpc), None).unwrap();
    // With a single subscriber, `tracing` caches the interest of the first thread for all threads:
    // other tests would disable this span.
    let _second_subscriber = tracing::Dispatch::new(tracing_subscriber::registry());
    let listening =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(traces.layer()));
    server.get("/api/public/health").send().await.check(200, "OK");
    server.post("/v1/traces").json("{}".to_owned()).send().await.check(200, "");
    traces.stop().await;
    drop(listening);
    // A server that stops waits two seconds for its last spans, which a busy machine exceeds. The
    // export goes on all the same.
    wait::until_async("the export", async || !trace_names(&server).await.is_empty()).await;
    assert_eq!(trace_names(&server).await, ["GET /api/public/health"]);
    server.stop().await;
}

#[test]
fn traces_go_only_where_they_can() {
    let error = OwnTraces::start("https://collector:4317", None).unwrap_err();
    assert!(error.to_string().contains("begins with http://"), "{error}");
    let headers = Secret::new("Basic c2VjcmV0".to_owned());
    let error = OwnTraces::start("http://collector:4317", Some(&headers)).unwrap_err();
    assert!(error.to_string().contains("write name=value"), "{error}");
    assert!(!error.to_string().contains("c2Vj"), "{error}");
}

async fn trace_names(server: &TestServer) -> Vec<String> {
    let query = TraceQuery {
        project: project(),
        range: TimeRange::default(),
        conditions: Vec::new(),
        order: (TraceOrder::default(), Default::default()),
        paging: Paging::Numbered(PageNumber { page: 1, limit: 10 }),
        detail: Detail::Row,
    };
    let page = server.app.store.telemetry.traces(query).await.unwrap();
    page.rows.into_iter().map(|trace| trace.name.unwrap_or_default()).collect()
}

#[tokio::test]
async fn what_is_too_old_goes_and_the_rest_stays() {
    const DAY: i64 = 86_400_000;
    let server = TestServer::start().await;
    let old = span(1, 1).lasting(0, 1);
    let new = span(2, 2).lasting(20 * DAY, 20 * DAY + 1);
    let batch = request("shop").with(old).with(new);
    server.post("/v1/traces").protobuf(batch.to_protobuf()).send().await.check(200, "");
    // The server runs its own sweep by its own clock: it stops before the test does.
    let data = server.stop().await;
    let store = data.folder();
    clock::confirm(store, at(40 * DAY)).await.unwrap();
    assert_eq!(sweep(store, at(40 * DAY)).await.unwrap().traces, 0, "kept forever");
    store.catalog.set_retention(project(), Some(30), at(40 * DAY)).await.unwrap();
    assert_eq!(sweep(store, at(40 * DAY)).await.unwrap().traces, 1);
    for (number, kept) in [(1, false), (2, true)] {
        let id = TraceId::parse(&trace_id(number)).unwrap();
        let found = store.telemetry.trace(project(), id).await.unwrap();
        assert_eq!(found.is_some(), kept, "trace {number}");
    }
}

const YEAR: Duration = Duration::from_secs(365 * 86_400);

#[tokio::test]
async fn a_clock_far_ahead_deletes_nothing_until_someone_confirms_it() {
    let server = TestServer::start().await;
    let now = || server.app.clock.now();
    let store = &server.app.store;
    let trace = |number, age: i64| {
        let start = now().plus_nanos(-age * 3_600_000_000_000).since(at(0)) / 1_000_000;
        request("shop").with(span(number, 1).lasting(start, start + 1)).to_protobuf()
    };
    server.post("/v1/traces").protobuf(trace(1, 1)).send().await.check(200, "");
    store.catalog.set_retention(project(), Some(30), now()).await.unwrap();
    assert_eq!(sweep(store, now()).await.unwrap().held, None);

    // Ten years at once; records by the same clock confirm nothing yet.
    server.clock.advance(YEAR * 10);
    server.post("/v1/traces").protobuf(trace(2, 1)).send().await.check(200, "");
    for _ in 0..3 {
        server.clock.advance(Duration::from_secs(3_600));
        let swept = sweep(store, now()).await.unwrap();
        assert_eq!(swept.traces, 0);
        let response = swept.held.unwrap().to_string();
        assert!(response.contains("3650 days after"), "{response}");
        assert!(response.contains("ratchet projects confirm-clock"), "{response}");
    }
    let status = server.get("/api/v1/status").key(Role::Owner).send().await.check(200, "").json();
    let response = status["retentionPaused"].as_str().unwrap();
    assert!(response.starts_with("retention is paused since"), "{response}");
    assert_eq!(trace_names(&server).await.len(), 2);

    let confirm = server.post("/api/v1/confirm-clock");
    confirm.send().await.check(403, "");
    server.post("/api/v1/confirm-clock").key(Role::Owner).send().await.check(200, "now");
    // The server sweeps automatically at once; this one waits for its turn.
    assert_eq!(sweep(store, now()).await.unwrap().held, None);
    assert_eq!(trace_names(&server).await.len(), 1, "only what is young is left");
    let status = server.get("/api/v1/status").key(Role::Owner).send().await.check(200, "").json();
    assert_eq!(status["retentionPaused"], serde_json::Value::Null);
    server.stop().await;
}

#[tokio::test]
async fn a_judgement_given_after_the_clock_was_set_back_is_not_lost() {
    let server = TestServer::start().await;
    let later = server.app.clock.now().plus_nanos(7_200_000_000_000);
    let post = |value: f64| {
        let body = serde_json::json!({
            "id": "judgement", "traceId": "t", "name": "quality", "value": value,
        });
        server.post("/api/public/scores").json(body.to_string()).send()
    };
    // As it was two hours ahead.
    let millis = |moment: Timestamp| moment.since(at(0)) / 1_000_000;
    let ahead = score("judgement").said_at(millis(later));
    let ahead = batch(&project())
        .received(millis(server.app.clock.now()))
        .with(ahead.of_trace("t").on("quality").number(0.1));
    server.app.store.telemetry.record(ahead.build()).await.unwrap();
    for value in [0.9, 0.4] {
        post(value).await.check(200, "judgement");
        let shown = server.get("/api/public/v2/scores/judgement").send().await;
        assert_eq!(shown.check(200, "").json()["value"], value);
    }
    server.stop().await;
}
