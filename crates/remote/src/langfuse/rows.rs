//! Rows of files: one run, one exported record or one event a row, as JSON.
//!
//! A row becomes events, which are recorded like all others. A row that makes no sense is refused
//! as a whole, with the field that is wrong; nothing of it is recorded.

/// A run in one row, as people write it.
mod run;
/// Records as Langfuse exports them.
mod exported;
/// The fields of a row.
mod fields;
/// Cells of a table as the fields of a row.
mod cells;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::langfuse::wire::ingestion::{Envelope, EventType};
use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::read::read_object;
use ratchet_core::issue::{Issue, PathStep};
use ratchet_core::time::Timestamp;
use serde::Serialize;
use serde_json::value::to_raw_value;

use self::fields::Fields;
use super::client::{ClientError, LangfuseClient};
use super::events::{EventError, EventPatches, Rules, Submitter};

pub use cells::{Columns, MapError};

/// Bytes of one text and depth of one payload, as servers take them by default.
const TEXT_BYTES: usize = 8_000_000;
const DEPTH: usize = 64;

/// What kind of row it is, by the fields it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowKind {
    /// An event as batches hold them.
    Event,
    Observation,
    Score,
    /// A run, or an exported trace, which looks the same.
    Run,
}

impl RowKind {
    fn of(fields: &Fields) -> Self {
        let is_score_target = |name| fields.has(name);
        let targets = ["traceId", "sessionId", "datasetRunId"];
        if fields.has("body") && fields.has("type") {
            Self::Event
        } else if fields.has("traceId") && (fields.has("startTime") || fields.has("type")) {
            Self::Observation
        } else if fields.has("value") && targets.into_iter().any(is_score_target) {
            Self::Score
        } else {
            Self::Run
        }
    }
}

/// The events that record a row. `at` is when it is said to have happened if the row does not say.
///
/// ```
/// use ratchet_core::time::Timestamp;
/// use ratchet_remote::langfuse::rows;
///
/// let row = r#"{"id": "run-7", "input": "hi", "output": "hello", "scores": {"quality": 1}}"#;
/// let events = rows::events(row, Timestamp::default()).unwrap();
/// assert_eq!(events.len(), 2);
/// ```
///
/// # Errors
/// The first thing that is wrong with the row.
pub fn events(row: &str, at: Timestamp) -> Result<Vec<RowEvent>, Issue> {
    let fields = Fields::read(row)?;
    let events = match RowKind::of(&fields) {
        RowKind::Event => vec![read_object(row)?],
        RowKind::Observation => vec![exported::observation(row, &fields, at)?],
        RowKind::Score => vec![exported::score(row, &fields, at)?],
        RowKind::Run => run::events(fields, row, at)?,
    };
    check(&events)?;
    Ok(events.into_iter().map(RowEvent).collect())
}

/// An ingestion event that records a row, or a part of it.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct RowEvent(Envelope);

/// The record that an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowRecord {
    Trace,
    Observation,
    Score,
    /// Nothing is recorded.
    None,
}

impl RowEvent {
    /// Returns what the event records.
    pub fn record(&self) -> RowRecord {
        match self.0.kind.0 {
            EventType::Trace => RowRecord::Trace,
            EventType::Observation(_, _) => RowRecord::Observation,
            EventType::Score => RowRecord::Score,
            EventType::SdkLog => RowRecord::None,
        }
    }

    /// Returns the size of the body in bytes.
    pub fn bytes(&self) -> usize {
        self.0.body.get().len()
    }
}

/// Has a server record events; returns the index and the reason of each that it rejects.
///
/// # Errors
/// Fails if the request fails or is rejected as a whole.
pub async fn send(
    into: &LangfuseClient,
    events: &[RowEvent],
) -> Result<Vec<(usize, String)>, ClientError> {
    let envelopes: Vec<Envelope> = events.iter().map(|event| event.0.clone()).collect();
    let refused = into.record(&envelopes).await?.errors.into_iter().map(|refused| {
        let index = envelopes.iter().position(|event| event.id == refused.id).unwrap_or(0);
        (index, refused.error.or(refused.message).unwrap_or_default())
    });
    Ok(refused.collect())
}

/// Refuses events of which any would be refused, so that a row is recorded whole or not at all.
fn check(events: &[Envelope]) -> Result<(), Issue> {
    let rules = Rules {
        submitter: Submitter::Keyed,
        text_bytes: TEXT_BYTES,
        depth: DEPTH,
        score_configs: Arc::default(),
    };
    let raws = events.iter().map(|event| to_raw_value(event).map(Raw::from));
    let raws = raws.collect::<Result<Vec<_>, _>>();
    let raws = raws.map_err(|why| Issue { path: Vec::new(), message: why.to_string() })?;
    for outcome in EventPatches::from_batch(&raws, &rules).outcomes {
        if let Err(refusal) = outcome.result {
            return Err(in_row(&refusal));
        }
    }
    Ok(())
}

/// What is wrong with an event, as what is wrong with its row.
fn in_row(refusal: &EventError) -> Issue {
    let EventError::Invalid(issue) = refusal else {
        return Issue { path: Vec::new(), message: refusal.to_string() };
    };
    let mut issue = issue.clone();
    let is_in_body = issue.path.first() == Some(&PathStep::Field("body".to_owned()));
    if is_in_body {
        issue.path.remove(0);
    }
    issue
}
