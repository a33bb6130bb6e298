//! Records as Langfuse exports them, one a row. What an export says beyond the record is passed
//! over.

use crate::langfuse::replay::event;
use crate::langfuse::wire::ingestion::{
    Envelope, EventType, ObservationBody, ScoreBody, ScoreInput,
};
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::read::read_object;
use crate::langfuse::wire::wire_name::WireName;
use ratchet_core::issue::Issue;
use ratchet_core::record::field::WriteKind;
use ratchet_core::record::score::{DataType, ScoreSource};
use ratchet_core::time::Timestamp;

use super::fields::Fields;

/// The event that records an exported observation.
pub(super) fn observation(row: &str, fields: &Fields, at: Timestamp) -> Result<Envelope, Issue> {
    let body: ObservationBody = read_object(row)?;
    let id = required("id", &body.id)?;
    let kind = body.kind.as_value().map(|word| word.0).unwrap_or_default();
    let body = ObservationBody { kind: Maybe::Absent, ..body };
    let happened = fields.time("updatedAt").or_else(|| fields.time("startTime")).unwrap_or(at);
    event(EventType::Observation(Some(kind), WriteKind::Create), &id, happened, &body)
}

/// The event that records an exported score.
///
/// Its score config and its queue were on another server, so it names none here; and a person's
/// judgement that names no config is one that a client sends.
pub(super) fn score(row: &str, fields: &Fields, at: Timestamp) -> Result<Envelope, Issue> {
    let mut body: ScoreBody = read_object(row)?;
    let id = required("id", &body.id)?;
    let text = fields.clone().take_text(&["stringValue"])?;
    let is_text = body.data_type.as_value().is_some_and(|word| is_text(word.0));
    if let Some(text) = text.filter(|_| is_text) {
        body.value = Maybe::Value(ScoreInput::Text(text));
    }
    body.config_id = Maybe::Absent;
    body.queue_id = Maybe::Absent;
    let is_annotation = body.source.as_value().is_some_and(|s| s.0 == ScoreSource::Annotation);
    if is_annotation {
        body.source = Maybe::Value(WireName(ScoreSource::Api));
    }
    let happened = fields.time("updatedAt").or_else(|| fields.time("timestamp")).unwrap_or(at);
    event(EventType::Score, &id, happened, &body)
}

/// Whether the value of such a score is a text, which an export keeps beside a number.
fn is_text(data_type: DataType) -> bool {
    match data_type {
        DataType::Categorical | DataType::Text | DataType::Correction => true,
        DataType::Numeric | DataType::Boolean => false,
    }
}

fn required(field: &str, said: &Maybe<String>) -> Result<String, Issue> {
    said.as_value().cloned().ok_or_else(|| Issue::at(field, "required"))
}
