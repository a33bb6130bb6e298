//! OpenTelemetry's protocol, over HTTP (protobuf and JSON) and gRPC.
//!
//! The decoders are ours and read straight into `core`'s words: one bad span is rejected alone,
//! limits are kept while reading and not after, and no message is built twice.

pub(crate) mod http;
pub(crate) mod grpc;
/// From a body to the disk, whichever way it came.
mod record;
/// Answers, in the encoding of the request.
mod reply;
/// OTLP in JSON.
mod json;
mod protobuf;
mod wire;
/// What was taken and what was refused.
mod partial_success;
/// What spans, log records and metrics have in common.
mod signal;
/// A span while it is being read.
mod span_builder;
/// A log record while it is being read.
mod log;
/// A metric while it is being read.
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
use partial_success::Intake;
pub use partial_success::{Decoded, Rejected};
use signal::Draft;
use span_builder::SpanDraft;

/// How an OTLP message is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/x-protobuf`
    Protobuf,
    /// `application/json`
    Json,
}

/// Reads an `ExportTraceServiceRequest`. What a bad span says is lost; all others are taken.
///
/// # Errors
/// 400 if the body as a whole makes no sense, 413 if it holds too much.
pub fn decode_traces(
    format: Format,
    body: &[u8],
    limits: &Limits,
    received_at: Timestamp,
) -> ApiResult<Decoded<Span>> {
    let room = BodyBudget::new(limits.inflight_bytes).room();
    decode::<SpanDraft>(format, body, Intake::new(limits, &room, received_at))
}

/// Reads an `ExportLogsServiceRequest` in the same way.
///
/// # Errors
/// 400 if the body as a whole makes no sense, 413 if it holds too much.
pub fn decode_logs(
    format: Format,
    body: &[u8],
    limits: &Limits,
    received_at: Timestamp,
) -> ApiResult<Decoded<LogRecord>> {
    let room = BodyBudget::new(limits.inflight_bytes).room();
    decode::<LogDraft>(format, body, Intake::new(limits, &room, received_at))
}

/// Reads an `ExportMetricsServiceRequest` in the same way.
///
/// # Errors
/// 400 if the body as a whole makes no sense, 413 if it holds too much.
pub fn decode_metrics(
    format: Format,
    body: &[u8],
    limits: &Limits,
    received_at: Timestamp,
) -> ApiResult<Decoded<MetricCount>> {
    let room = BodyBudget::new(limits.inflight_bytes).room();
    decode::<MetricCount>(format, body, Intake::new(limits, &room, received_at))
}

fn decode<D: Draft>(
    format: Format,
    body: &[u8],
    intake: Intake<'_, D>,
) -> ApiResult<Decoded<D::Item>> {
    match format {
        Format::Protobuf => protobuf::decode(body, intake),
        Format::Json => json::decode(body, intake),
    }
}

#[cfg(test)]
mod tests;
