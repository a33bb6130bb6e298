use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use serde_json::json;
use tonic::Code;

use super::record::Signal;
use super::{Format, Rejected};
use crate::error::ApiError;

/// The response to a request that was recorded, at least in part.
pub(crate) fn success(signal: Signal, format: Format, rejected: &Rejected) -> Response {
    let body = match format {
        Format::Protobuf => message(rejected).encode_to_vec(),
        Format::Json if rejected.count == 0 => b"{}".to_vec(),
        Format::Json => json!({"partialSuccess": {
            // 64-bit numbers are strings in protobuf's JSON.
            rejected_key(signal): rejected.count.to_string(),
            "errorMessage": rejected.message(),
        }})
        .to_string()
        .into_bytes(),
    };
    respond(StatusCode::OK, format, body)
}

fn rejected_key(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "rejectedSpans",
        Signal::Logs => "rejectedLogRecords",
        Signal::Metrics => "rejectedDataPoints",
    }
}

/// The protocol's response message. Those for logs and metrics have other names and the same bytes.
pub(crate) fn message(rejected: &Rejected) -> ExportTraceServiceResponse {
    let partial_success = (rejected.count > 0).then(|| ExportTracePartialSuccess {
        rejected_spans: i64::try_from(rejected.count).unwrap_or(i64::MAX),
        error_message: rejected.message(),
    });
    ExportTraceServiceResponse { partial_success }
}

/// The response to a rejected request: a `google.rpc.Status`, as the protocol requires, in the
/// encoding of the request.
pub(crate) fn failure(format: Format, error: &ApiError) -> Response {
    let (code, message) = (i32::from(code(error)), error.client_message());
    let body = match format {
        Format::Protobuf => RpcStatus { code, message, details: Vec::new() }.encode_to_vec(),
        Format::Json => json!({"code": code, "message": message}).to_string().into_bytes(),
    };
    let mut response = respond(error.status(), format, body);
    response.headers_mut().extend(error.headers());
    response
}

fn respond(status: StatusCode, format: Format, body: Vec<u8>) -> Response {
    let content_type = match format {
        Format::Protobuf => "application/x-protobuf",
        Format::Json => "application/json",
    };
    (status, [(CONTENT_TYPE, content_type)], body).into_response()
}

/// The gRPC code for an error. Exporters retry on `Unavailable`, and on `ResourceExhausted` only
/// with a retry delay.
pub(crate) fn code(error: &ApiError) -> Code {
    match error {
        ApiError::Unauthorized(_) => Code::Unauthenticated,
        ApiError::Forbidden(_) => Code::PermissionDenied,
        ApiError::Invalid(_) | ApiError::InvalidFields(_) => Code::InvalidArgument,
        ApiError::NotFound(_) => Code::NotFound,
        ApiError::MethodNotAllowed(_) | ApiError::UnsupportedMediaType(_) => Code::Unimplemented,
        ApiError::TooSlow(_) => Code::DeadlineExceeded,
        ApiError::Conflict(_) => Code::AlreadyExists,
        ApiError::Unprocessable(_) => Code::FailedPrecondition,
        ApiError::TooLarge(_) | ApiError::TooManyRequests { .. } => Code::ResourceExhausted,
        ApiError::Unavailable { .. } => Code::Unavailable,
        ApiError::Internal(_) => Code::Internal,
    }
}

/// `google.rpc.Status`
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) details: Vec<Detail>,
}

/// `google.protobuf.Any`
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Detail {
    #[prost(string, tag = "1")]
    pub(crate) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) value: Vec<u8>,
}
