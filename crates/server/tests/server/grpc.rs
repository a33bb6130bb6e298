use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use ratchet_server::app::{Limits, Settings};
use ratchet_server::rate_limit::Rate;
use ratchet_store::catalog::Role;
use ratchet_testkit::otlp::{RequestBuilder, request, span};
use tonic::codec::CompressionEncoding;
use tonic::{Code, Request, Response, Status};

use crate::harness::{TestServer, basic};

pub(crate) async fn export(
    server: &TestServer,
    role: Option<Role>,
    batch: RequestBuilder,
) -> Result<Response<ExportTraceServiceResponse>, Status> {
    let client = TraceServiceClient::connect(format!("http://{}", server.grpc)).await.unwrap();
    let mut call: Request<ExportTraceServiceRequest> = Request::new(batch.build());
    if let Some(role) = role {
        call.metadata_mut().insert("authorization", basic(role).parse().unwrap());
    }
    client.send_compressed(CompressionEncoding::Gzip).export(call).await
}

#[tokio::test]
async fn spans_are_recorded_and_bad_ones_counted() {
    let server = TestServer::start().await;
    let batch = request("shop").with(span(1, 1)).with(span(2, 2).with_raw_ids(&[0; 16], &[2; 8]));
    let reply = export(&server, Some(Role::IngestOnly), batch).await.unwrap().into_inner();
    assert_eq!(reply.partial_success.unwrap().rejected_spans, 1);
    assert!(server.trace(1).await.is_some());
    server.stop().await;
}

#[tokio::test]
async fn refusals_have_the_right_code() {
    let limits = Limits { batch_len: 1, ..Limits::default() };
    let server = TestServer::start_with(Settings { limits, ..Settings::default() }).await;
    let one = || request("shop").with(span(1, 1));
    let status = export(&server, None, one()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    let status = export(&server, Some(Role::Viewer), one()).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    let status = export(&server, Some(Role::Member), one().with(span(1, 2))).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("more than 1 spans") && status.details().is_empty());
    export(&server, Some(Role::Member), one()).await.unwrap();
    let figures = server.get("/metrics").send().await;
    for status in [401, 403, 413, 200] {
        let route = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
        figures.check(200, &format!("route=\"{route}\",status=\"{status}\"}} 1"));
    }
    server.stop().await;
}

#[tokio::test]
async fn too_often_says_when_to_come_back() {
    let rate = Some(Rate { per_second: 1.0, burst: 1.0 });
    let limits = Limits { rate, ..Limits::default() };
    let server = TestServer::start_with(Settings { limits, ..Settings::default() }).await;
    let one = || request("shop").with(span(1, 1));
    export(&server, Some(Role::Member), one()).await.unwrap();
    let status = export(&server, Some(Role::Member), one()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(!status.details().is_empty(), "no RetryInfo");
    server.stop().await;
}

#[tokio::test]
async fn other_services_are_not_there() {
    let server = TestServer::start().await;
    let profiles = "opentelemetry.proto.collector.profiles.v1.ProfilesService/Export";
    let client = ratchet_remote::http::on_this_machine().build().unwrap();
    let call = client.post(format!("http://{}/{profiles}", server.grpc));
    let reply = call.header("content-type", "application/grpc").send().await.unwrap();
    assert_eq!(reply.headers()["grpc-status"], (Code::Unimplemented as i32).to_string());
    server.stop().await;
}
