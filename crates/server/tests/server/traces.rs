use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use ratchet_testkit::otlp::{request, span};

use crate::harness::{Reply, TestServer};

const PATHS: [&str; 2] = ["/v1/traces", "/api/public/otel/v1/traces"];

#[tokio::test]
async fn what_is_acknowledged_is_readable_at_once() {
    let server = TestServer::start().await;
    for (number, path) in (1u128..).zip(PATHS) {
        let body = request("shop").with(span(number, 1).named("checkout")).to_protobuf();
        let reply = server.post(path).protobuf(body).send().await;
        reply.check(200, "");
        assert_eq!(reply.header("content-type"), "application/x-protobuf");
        assert_eq!(server.trace(number).await.unwrap().name.as_deref(), Some("checkout"));
    }
    for (number, path) in (11u128..).zip(PATHS) {
        let body = request("shop").with(span(number, 1)).to_json();
        let reply = server.post(path).json(body).send().await;
        reply.check(200, "{}");
        assert_eq!(reply.header("content-type"), "application/json");
        assert!(server.trace(number).await.is_some());
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_acknowledged_survives_a_restart() {
    let server = TestServer::start().await;
    let body = request("shop").with(span(1, 1)).to_protobuf();
    server.post("/v1/traces").protobuf(body).send().await.check(200, "");
    let app = server.app.clone();
    let data = server.stop().await;
    drop(app);
    let data = data.reopened().await;
    let id = ratchet_core::id::TraceId::parse(&ratchet_testkit::otlp::trace_id(1)).unwrap();
    assert!(data.telemetry().trace(crate::harness::project(), id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_bad_span_does_not_reject_its_batch() {
    let server = TestServer::start().await;
    let batch = || request("shop").with(span(1, 1)).with(span(2, 2).with_raw_ids(&[1; 3], &[2; 8]));
    let reply = server.post("/v1/traces").protobuf(batch().to_protobuf()).send().await;
    reply.check(200, "");
    let partial =
        ExportTraceServiceResponse::decode(reply.body.as_slice()).unwrap().partial_success.unwrap();
    assert_eq!(partial.rejected_spans, 1);
    assert_eq!(
        partial.error_message,
        "span 2 (span 2): trace_id must be 16 bytes and not all zero, it has 3"
    );
    let reply = server.post("/v1/traces").json(batch().to_json()).send().await;
    assert_eq!(reply.json()["partialSuccess"]["rejectedSpans"], "1");
    assert!(server.trace(1).await.is_some());
    server.stop().await;
}

#[tokio::test]
async fn failures_are_told_in_the_encoding_of_the_request() {
    let server = TestServer::start().await;
    let reply = server.post("/v1/traces").protobuf(b"nonsense".to_vec()).send().await;
    check_rpc_status(&reply);
    let reply = server.post("/v1/traces").json("nonsense".to_owned()).send().await;
    reply.check(400, "ExportTraceServiceRequest in JSON");
    assert_eq!(reply.json()["code"], 3);
    server.stop().await;
}

#[track_caller]
fn check_rpc_status(reply: &Reply) {
    #[derive(Clone, PartialEq, Message)]
    struct RpcStatus {
        #[prost(int32, tag = "1")]
        code: i32,
        #[prost(string, tag = "2")]
        message: String,
    }
    reply.check(400, "");
    assert_eq!(reply.header("content-type"), "application/x-protobuf");
    let status = RpcStatus::decode(reply.body.as_slice()).unwrap();
    assert_eq!(status.code, 3);
    assert!(status.message.contains("ExportTraceServiceRequest"), "{status:?}");
}

#[tokio::test]
async fn headers_are_checked() {
    let server = TestServer::start().await;
    let post = || server.post("/v1/traces");
    let reply = post().json("{}".to_owned()).header("content-type", "text/plain").send().await;
    reply.check(415, "application/x-protobuf or application/json");
    let version = "x-langfuse-ingestion-version";
    post().json("{}".to_owned()).header(version, "5").send().await.check(400, version);
    post().json("{}".to_owned()).header(version, "4").send().await.check(200, "{}");
    server.stop().await;
}
