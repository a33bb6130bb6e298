//! OTLP over gRPC: one unary method for each signal. The message frame is decoded here, so that
//! bodies pass the same limits, decoder and threads as over HTTP.

use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use prost::Message;
use std::future::ready;
use std::time::Duration;
use tonic::{Code, Status};

use super::record::{Delivery, Signal, deliver};
use super::reply::{self, Detail, RpcStatus};
use super::{Format, Rejected, http};
use crate::app::App;
use crate::auth::Caller;
use crate::body::{Encoding, Received};
use crate::error::{ApiError, ApiResult};

pub(crate) const TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
pub(crate) const LOGS: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
pub(crate) const METRICS: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";

/// A flag and a length precede each message.
const PREFIX_BYTES: usize = 5;

/// `TraceService/Export`
pub(crate) async fn traces(State(app): State<App>, request: Request) -> Response {
    answer(&app, Signal::Traces, request).await
}

/// `LogsService/Export`
pub(crate) async fn logs(State(app): State<App>, request: Request) -> Response {
    answer(&app, Signal::Logs, request).await
}

/// `MetricsService/Export`
pub(crate) async fn metrics(State(app): State<App>, request: Request) -> Response {
    answer(&app, Signal::Metrics, request).await
}

async fn answer(app: &App, signal: Signal, request: Request) -> Response {
    match record(app, signal, request).await {
        Ok(rejected) => success(&reply::message(&rejected).encode_to_vec()),
        Err(error) => {
            let mut response: Response = status(&error).into_http();
            // gRPC responds with 200 in any case; the middleware counts the status it would be over
            // HTTP.
            response.extensions_mut().insert(error.status());
            response
        }
    }
}

pub(crate) async fn unimplemented(request: Request) -> Response {
    let path = request.uri().path();
    Status::unimplemented(format!(
        "there is no {path}; OTLP's spans, logs and metrics are read here"
    ))
    .into_http()
}

async fn record(app: &App, signal: Signal, request: Request) -> ApiResult<Rejected> {
    let headers = request.headers().clone();
    let caller = Caller::identify(app, &headers).await?.may_record()?.0;
    check_content_type(&headers)?;
    let framed = Received::from_request(request, app).await?;
    let (wire, encoding) = unframe(framed.wire.clone(), &headers)?;
    let received = framed.with_bytes(wire, encoding);
    let sender = http::sender(&headers);
    deliver(app, Delivery { caller, sender, signal, format: Format::Protobuf, received }).await
}

fn check_content_type(headers: &HeaderMap) -> ApiResult<()> {
    let header = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    if header.starts_with("application/grpc") {
        return Ok(());
    }
    Err(ApiError::UnsupportedMediaType(
        "this port speaks gRPC; send OTLP over HTTP to the other one".to_owned(),
    ))
}

/// Extracts the only message from its frame.
fn unframe(mut framed: Bytes, headers: &HeaderMap) -> ApiResult<(Bytes, Encoding)> {
    let invalid = |why: &str| ApiError::Invalid(format!("the gRPC frame {why}"));
    let Some(&[flag, length @ ..]) = framed.first_chunk::<PREFIX_BYTES>() else {
        return Err(invalid("ends before its length"));
    };
    let wire = framed.split_off(PREFIX_BYTES);
    if u32::from_be_bytes(length) as usize != wire.len() {
        return Err(invalid("does not contain exactly one complete message"));
    }
    match flag {
        0 => Ok((wire, Encoding::Identity)),
        1 => Ok((wire, compression(headers)?)),
        _ => Err(invalid("begins with an unknown flag")),
    }
}

fn compression(headers: &HeaderMap) -> ApiResult<Encoding> {
    match headers.get("grpc-encoding").and_then(|value| value.to_str().ok()) {
        Some("gzip") => Ok(Encoding::Gzip),
        other => Err(ApiError::UnsupportedMediaType(format!(
            "grpc-encoding {} is not read here; send gzip or none",
            other.unwrap_or("(none)")
        ))),
    }
}

fn success(message: &[u8]) -> Response {
    let mut frame = BytesMut::with_capacity(PREFIX_BYTES + message.len());
    frame.put_u8(0);
    // A reply lists a few spans at most: its length always fits.
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.extend_from_slice(message);
    let ok = HeaderValue::from(Code::Ok as i32);
    let trailers = HeaderMap::from_iter([(Status::GRPC_STATUS, ok)]);
    let body = Full::new(frame.freeze()).with_trailers(ready(Some(Ok(trailers))));
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// The gRPC status of an error, with a retry delay if a retry makes sense.
fn status(error: &ApiError) -> Status {
    let (code, message) = (reply::code(error), error.client_message());
    let Some(wait) = error.retry_after() else {
        return Status::new(code, message);
    };
    let details = RpcStatus { code: code.into(), message, details: vec![retry_info(wait)] };
    Status::with_details(code, &details.message, details.encode_to_vec().into())
}

fn retry_info(wait: Duration) -> Detail {
    let retry_delay = Delay {
        seconds: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(wait.subsec_nanos()).unwrap_or(0),
    };
    Detail {
        type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
        value: RetryInfo { retry_delay: Some(retry_delay) }.encode_to_vec(),
    }
}

/// `google.rpc.RetryInfo`
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Delay>,
}

/// `google.protobuf.Duration`
#[derive(Clone, PartialEq, Message)]
struct Delay {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(frame: &[u8], encoding: &'static str, expected: Result<Encoding, &str>) {
        let headers = HeaderMap::from_iter([(
            "grpc-encoding".parse().unwrap(),
            HeaderValue::from_static(encoding),
        )]);
        let outcome = unframe(Bytes::copy_from_slice(frame), &headers);
        match (outcome, expected) {
            (Ok((_, found)), Ok(encoding)) => assert_eq!(found, encoding),
            (Err(error), Err(reason)) => assert!(error.to_string().contains(reason), "{error}"),
            (outcome, expected) => panic!("{outcome:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn frames_hold_one_message() {
        check(&[0, 0, 0, 0, 0], "", Ok(Encoding::Identity));
        check(&[0, 0, 0, 0, 1, 9], "gzip", Ok(Encoding::Identity));
        check(&[1, 0, 0, 0, 1, 9], "gzip", Ok(Encoding::Gzip));
    }

    #[test]
    fn broken_frames_are_refused() {
        check(&[], "", Err("ends before"));
        check(&[0, 0, 0, 0], "", Err("ends before"));
        check(&[0, 0, 0, 0, 2, 9], "", Err("exactly one complete message"));
        check(&[0, 0, 0, 0, 0, 9], "", Err("exactly one complete message"));
        check(&[0, 255, 255, 255, 255], "", Err("exactly one complete message"));
        check(&[2, 0, 0, 0, 0], "", Err("unknown flag"));
        check(&[1, 0, 0, 0, 0], "zstd", Err("grpc-encoding zstd"));
    }

    #[test]
    fn come_back_later_says_when() {
        let retry_after = Duration::from_millis(1_500);
        let status =
            status(&ApiError::Unavailable { why: "the queue is full".to_owned(), retry_after });
        assert_eq!(status.code(), Code::Unavailable);
        let details = RpcStatus::decode(status.details()).unwrap();
        let info = RetryInfo::decode(details.details[0].value.as_slice()).unwrap();
        assert_eq!(info.retry_delay, Some(Delay { seconds: 1, nanos: 500_000_000 }));
    }
}
