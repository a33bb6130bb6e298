//! Log events and metrics of Claude Code and of other programs.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use prost::Message as _;
use ratchet_core::id::TraceId;
use ratchet_core::record::trace::Trace;
use ratchet_store::catalog::Role;
use ratchet_testkit::fixtures;
use ratchet_testkit::http::gzip;
use ratchet_testkit::otlp::{log, logs, request, span};
use tonic::Request;

use crate::harness::{TestServer, basic, project};

const TURN: &str = "11111111000040008000000000000001";
const LINE: &str = "11111111-0000-4000-8000-000000000001";

fn fixture(folder: &str, place: usize) -> String {
    String::from_utf8(fixtures::all(folder)[place].clone()).unwrap()
}

async fn turn(server: &TestServer, id: &str) -> Option<Trace> {
    let id = TraceId::parse(id).unwrap();
    server.app.store.telemetry.trace(project(), id).await.unwrap()
}

#[tokio::test]
async fn events_become_a_turn() {
    let server = TestServer::start().await;
    let events = fixture("otlp-logs", 0);
    for path in ["/v1/logs", "/api/public/otel/v1/logs"] {
        server.post(path).json(events.clone()).send().await.check(200, "{}");
        let trace = server.get(&format!("/api/public/traces/{TURN}")).send().await.json();
        let steps = trace["observations"].as_array().unwrap();
        let count = |kind: &str| steps.iter().filter(|step| step["type"] == kind).count();
        let counts = ["AGENT", "GENERATION", "TOOL", "EVENT"].map(count);
        assert_eq!(counts, [2, 4, 3, 2], "sent again, nothing is doubled");
        let cost = trace["totalCost"].as_f64().unwrap();
        assert!((cost - 0.025).abs() < 1e-9, "{cost}");
        assert_eq!(trace["userId"], "c0ffee");
        assert_eq!(trace["input"], serde_json::Value::Null, "redacted is not said");
    }
    server.get("/metrics").send().await.check(200, "ratchet_logs_received_total 26");
    server.stop().await;
}

#[tokio::test]
async fn later_requests_find_the_turn_of_their_prompt() {
    let server = TestServer::start().await;
    let send = |record| {
        let body = gzip(&logs("claude-code").with(record).to_protobuf());
        server.post("/v1/logs").header("content-encoding", "gzip").protobuf(body).send()
    };
    let said = |name: &str| log(name).saying("prompt.id", "p-1").saying("session.id", "s");
    send(said("claude_code.user_prompt").saying("message.uuid", LINE)).await.check(200, "");
    send(said("claude_code.api_request").saying("request_id", "req_1")).await.check(200, "");
    // The prompt of a command has no line in the transcript: its own id is used instead.
    send(log("claude_code.api_request").saying("prompt.id", "p-2").saying("request_id", "req_2"))
        .await
        .check(200, "");
    send(log("claude_code.plugin_loaded").saying("session.id", "s")).await.check(200, "");
    assert_eq!(turn(&server, TURN).await.unwrap().summary.levels.total(), 3);
    assert_eq!(turn(&server, "p-2").await.unwrap().summary.levels.total(), 2);
    assert!(turn(&server, "p-1").await.is_none());
    server.stop().await;
}

#[tokio::test]
async fn spans_and_events_of_one_request_are_one_record() {
    let server = TestServer::start().await;
    let call = span(7, 2).named("claude_code.llm_request").under(1).saying("request_id", "req_1");
    let call = call.saying("input_tokens", 10).saying("output_tokens", 5);
    let spans = request("claude-code").with(span(7, 1).named("claude_code.interaction")).with(call);
    let event = log("claude_code.api_request").during(7, 1).saying("request_id", "req_1");
    let event = event.saying("prompt.id", "p").saying("cost_usd", 0.5).saying("input_tokens", 10);
    let events = logs("claude-code").with(event.saying("output_tokens", 5)).to_protobuf();
    server.post("/v1/logs").protobuf(events).send().await.check(200, "");
    server.post("/v1/traces").protobuf(spans.to_protobuf()).send().await.check(200, "");
    let trace = server.trace(7).await.unwrap();
    assert_eq!(trace.summary.levels.total(), 2);
    assert_eq!(trace.summary.total_tokens, 15);
    assert_eq!(trace.summary.cost.unwrap().dollars(), 0.5);
    assert_eq!(trace.name.as_deref(), Some("claude_code.interaction"));
    server.stop().await;
}

#[tokio::test]
async fn logs_of_other_programs_are_rejected_and_told_so() {
    let server = TestServer::start().await;
    let batch = || logs("shop").with(log("started")).with(log("claude_code.x"));
    let reply = server.post("/v1/logs").protobuf(batch().to_protobuf()).send().await;
    let reply = ExportLogsServiceResponse::decode(reply.body.as_slice()).unwrap();
    let partial = reply.partial_success.unwrap();
    assert_eq!(partial.rejected_log_records, 1);
    assert!(partial.error_message.contains("only the events of Claude Code"), "{partial:?}");
    let mut client = LogsServiceClient::connect(format!("http://{}", server.grpc)).await.unwrap();
    let mut call = Request::new(batch().build());
    call.metadata_mut().insert("authorization", basic(Role::IngestOnly).parse().unwrap());
    let reply = client.export(call).await.unwrap().into_inner();
    assert_eq!(reply.partial_success.unwrap().rejected_log_records, 1);
    server.post("/v1/logs").key(Role::Viewer).json("{}".to_owned()).send().await.check(403, "");
    server.stop().await;
}

#[tokio::test]
async fn metrics_are_counted_and_not_kept() {
    let server = TestServer::start().await;
    let metrics = fixture("otlp-metrics", 0);
    let reply = server.post("/v1/metrics").json(metrics).send().await;
    reply.check(200, r#""rejectedDataPoints":"2""#).check(200, "metrics are not recorded");
    server.get("/metrics").send().await.check(200, "ratchet_points_received_total 3");
    let address = format!("http://{}", server.grpc);
    let mut client = MetricsServiceClient::connect(address).await.unwrap();
    let mut call = Request::new(ExportMetricsServiceRequest::default());
    call.metadata_mut().insert("authorization", basic(Role::Member).parse().unwrap());
    assert_eq!(client.export(call).await.unwrap().into_inner().partial_success, None);
    server.stop().await;
}
