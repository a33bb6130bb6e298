use serde_json::Value;

use crate::record::field::Field;
use crate::record::merge::{Earliest, Latest};
use crate::record::observation::{Level, ObservationKind, ObservationPatch, PromptLink};
use crate::record::semantic_conventions::ParsedSpan;
use crate::record::semantic_conventions::attributes::text;
use crate::record::semantic_conventions::table::Target;
use crate::record::semantic_conventions::tokens::{count, object};
use crate::record::span::{AttributeValue, Span, SpanStatus};
use crate::time::Timestamp;

/// Metadata key of the span's name when another attribute names the observation.
const SPAN_NAME: &str = "otel.span.name";

/// Alternative names of levels.
const LEVEL_ALIASES: &[(&str, Level)] = &[
    ("info", Level::Default),
    ("log", Level::Default),
    ("ok", Level::Default),
    ("warn", Level::Warning),
    ("fatal", Level::Error),
    ("critical", Level::Error),
    ("trace", Level::Debug),
    ("verbose", Level::Debug),
];

const NANOS_PER_MILLI: f64 = 1e6;
const NANOS_PER_SECOND: f64 = 1e9;

/// Sets name, times, level and status.
pub(super) fn extract(
    observation: &mut ObservationPatch,
    parsed: &mut ParsedSpan,
    span: &mut Span,
) {
    let stamp = parsed.stamp;
    observation.parent = Field::if_some(span.parent.clone(), stamp);
    observation.start = Earliest(Some(span.start));
    observation.end = Latest(Some(span.end));
    observation.level = Field::if_some(level(parsed, &span.status), stamp);
    let status = std::mem::take(&mut span.status);
    observation.status_message = Field::if_some(status_message(parsed, status), stamp);
    observation.completion_start = Field::if_some(first_token(parsed, span.start), stamp);
    let name = name(parsed, std::mem::take(&mut span.name));
    observation.name = Field::if_some(Some(name).filter(|name| !name.is_empty()), stamp);
}

/// Returns the name by convention, or the span's.
fn name(parsed: &mut ParsedSpan, span_name: String) -> String {
    let Some(name) = parsed.claims.take_text(Target::Name).or_else(|| vercel_name(parsed)) else {
        return span_name;
    };
    if name != span_name {
        parsed.claims.put_back(SPAN_NAME.to_owned(), AttributeValue::Text(span_name));
    }
    name
}

/// Returns Vercel's operation name, with its function id if there is one.
fn vercel_name(parsed: &mut ParsedSpan) -> Option<String> {
    let is_operation = |name: &str, value: &AttributeValue| {
        text(value).filter(|_| name == "ai.operationId").map(str::to_owned)
    };
    let (_, operation) = parsed.claims.take_named(Target::Kind, is_operation)?;
    match parsed.claims.take_text(Target::Function) {
        Some(function) => Some(format!("{function}:{operation}")),
        None => Some(operation),
    }
}

/// Returns the explicit level; without one, a failed span is an error.
fn level(parsed: &mut ParsedSpan, status: &SpanStatus) -> Option<Level> {
    let stated = parsed.claims.take(Target::Level, |value| {
        let label = text(value)?;
        let alias = LEVEL_ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(label));
        Level::parse(label).or(alias.map(|(_, level)| *level))
    });
    let failed = matches!(status, SpanStatus::Error(_)).then_some(Level::Error);
    stated.or(failed).or_else(|| parsed.claims.take(Target::Severity, severity))
}

/// Converts Logfire's numeric level, which is an OpenTelemetry severity.
fn severity(value: &AttributeValue) -> Option<Level> {
    match count(value)? {
        1..=8 => Some(Level::Debug),
        13..=16 => Some(Level::Warning),
        17..=24 => Some(Level::Error),
        _ => None,
    }
}

fn status_message(parsed: &mut ParsedSpan, status: SpanStatus) -> Option<String> {
    if let Some(stated) = parsed.claims.take_text(Target::StatusMessage) {
        return Some(stated);
    }
    let SpanStatus::Error(message) = status else {
        return None;
    };
    let message = message.filter(|message| !message.is_empty());
    message.or_else(|| parsed.events.exception().map(str::to_owned))
}

/// Returns the time of the first token: absolute, or relative to the start.
fn first_token(parsed: &mut ParsedSpan, start: Timestamp) -> Option<Timestamp> {
    let claims = &mut parsed.claims;
    let moment = |value: &AttributeValue| {
        // SDKs write the time as JSON, quotation marks included.
        Timestamp::parse(text(value)?.trim_matches('"')).ok()
    };
    if let Some(moment) = claims.take(Target::FirstTokenAt, moment) {
        return Some(moment);
    }
    let after = |value: &AttributeValue, unit: f64| Some(start.plus_nanos(nanos(value, unit)?));
    let millis = claims.take(Target::FirstTokenMillis, |value| after(value, NANOS_PER_MILLI));
    let seconds = |value: &AttributeValue| after(value, NANOS_PER_SECOND);
    millis.or_else(|| claims.take(Target::FirstTokenSeconds, seconds))
}

fn nanos(value: &AttributeValue, unit: f64) -> Option<i64> {
    let nanos = number(value)? * unit;
    let fits = (0.0..9.2e18).contains(&nanos);
    #[expect(clippy::cast_possible_truncation, reason = "checked to fit on the line above")]
    fits.then_some(nanos as i64)
}

/// Returns a number of any attribute type.
#[expect(clippy::cast_precision_loss, reason = "durations and dollars, far below the limit")]
pub(super) fn number(value: &AttributeValue) -> Option<f64> {
    match value {
        AttributeValue::Int(number) => Some(*number as f64),
        AttributeValue::Double(number) => Some(*number),
        AttributeValue::Text(text) => text.trim().parse().ok(),
        AttributeValue::Empty
        | AttributeValue::Bool(_)
        | AttributeValue::Bytes(_)
        | AttributeValue::List(_)
        | AttributeValue::Map(_) => None,
    }
}

/// Returns the prompt version that a model call used. Name and version only count together.
pub(super) fn prompt(parsed: &mut ParsedSpan, kind: ObservationKind) -> Option<PromptLink> {
    if kind != ObservationKind::Generation {
        return None;
    }
    let version = |value: &AttributeValue| u32::try_from(count(value)?).ok();
    let has_version =
        parsed.claims.candidates(Target::PromptVersion).any(|(_, v)| version(v).is_some());
    if has_version && let Some(name) = parsed.claims.take_text(Target::PromptName) {
        let version = parsed.claims.take(Target::PromptVersion, version)?;
        return Some(PromptLink { name, version });
    }
    parsed.claims.take(Target::PromptLink, |value| {
        let link = object(value)?;
        let name = link.get("name").and_then(Value::as_str)?.to_owned();
        let version = u32::try_from(link.get("version")?.as_u64()?).ok()?;
        Some(PromptLink { name, version })
    })
}
