//! OTLP over HTTP (protobuf and JSON) and gRPC.
//!
//! The decoders are ours and read directly into the types of `core`: an invalid span is rejected
//! alone, limits are applied while reading and not after, and no message is built twice.

pub(crate) mod http;
pub(crate) mod grpc;
/// Recording of export requests, for all transports.
mod record;
/// Responses, in the encoding of the request.
mod reply;
mod json;
mod protobuf;
mod wire;
/// Accepted and rejected items of a request.
mod partial_success;
/// What spans, log records and metrics have in common.
mod signal;
/// A span while it is decoded.
mod span_builder;
/// A log record while it is decoded.
mod log;
/// A metric while it is decoded.
mod metric;
mod limits;

use ratchet_core::record::log::LogRecord;
use ratchet_core::record::span::Span;
use ratchet_core::time::Timestamp;

use crate::app::Limits;
use crate::body_budget::BodyBudget;
use crate::error::ApiResult;
use log::LogDraft;
pub use metric::MetricCount;
use partial_success::BatchCollector;
pub use partial_success::{Decoded, Rejected};
use signal::Draft;
use span_builder::SpanDraft;

/// Encoding of an OTLP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/x-protobuf`
    Protobuf,
    /// `application/json`
    Json,
}

/// Decodes an `ExportTraceServiceRequest`. Invalid spans are rejected; all others are accepted.
///
/// # Errors
/// 400 if the body as a whole is invalid, 413 if it exceeds a limit.
pub fn decode_traces(
    format: Format,
    body: &[u8],
    limits: &Limits,
    received_at: Timestamp,
) -> ApiResult<Decoded<Span>> {
    let reservation = BodyBudget::new(limits.inflight_bytes).reservation();
    decode::<SpanDraft>(format, body, BatchCollector::new(limits, &reservation, received_at))
}

/// Decodes an `ExportLogsServiceRequest` in the same way.
///
/// # Errors
/// 400 if the body as a whole is invalid, 413 if it exceeds a limit.
pub fn decode_logs(
    format: Format,
    body: &[u8],
    limits: &Limits,
    received_at: Timestamp,
) -> ApiResult<Decoded<LogRecord>> {
    let reservation = BodyBudget::new(limits.inflight_bytes).reservation();
    decode::<LogDraft>(format, body, BatchCollector::new(limits, &reservation, received_at))
}

/// Decodes an `ExportMetricsServiceRequest` in the same way.
///
/// # Errors
/// 400 if the body as a whole is invalid, 413 if it exceeds a limit.
pub fn decode_metrics(
    format: Format,
    body: &[u8],
    limits: &Limits,
    received_at: Timestamp,
) -> ApiResult<Decoded<MetricCount>> {
    let reservation = BodyBudget::new(limits.inflight_bytes).reservation();
    decode::<MetricCount>(format, body, BatchCollector::new(limits, &reservation, received_at))
}

fn decode<D: Draft>(
    format: Format,
    body: &[u8],
    collector: BatchCollector<'_, D>,
) -> ApiResult<Decoded<D::Item>> {
    match format {
        Format::Protobuf => protobuf::decode(body, collector),
        Format::Json => json::decode(body, collector),
    }
}

#[cfg(test)]
mod tests;
