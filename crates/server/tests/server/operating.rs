use ratchet_testkit::otlp::{request, span};

use crate::harness::TestServer;

#[tokio::test]
async fn health_and_readiness() {
    let server = TestServer::start().await;
    let reply = server.get("/api/public/health").send().await;
    assert_eq!(reply.check(200, "").json()["status"], "OK");
    assert_eq!(reply.json()["version"], env!("CARGO_PKG_VERSION"));
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
        "ratchet_queue_depth 0",
    ] {
        figures.check(200, line);
    }
    assert!(!String::from_utf8_lossy(&figures.body).contains("secret-name"));
    server.stop().await;
}
