use std::collections::BTreeMap;

use crate::langfuse::client::{ClientError, LangfuseClient};
use crate::langfuse::wire::ingestion::{Envelope, EventType, ScoreBody};
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::read::read;
use ratchet_core::issue::Issue;
use serde_json::value::to_raw_value;

use super::Checkpoint;

/// Bytes of one request: well below what servers take. A single greater event goes alone.
const REQUEST_BYTES: usize = 3_000_000;
const REQUEST_EVENTS: usize = 1_000;

/// A record that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The record, if known.
    pub what: String,
    pub why: String,
}

impl Refused {
    /// A record that made no sense when it was read.
    pub(super) fn unreadable(issue: &Issue) -> Self {
        Self { what: "a record that makes no sense".to_owned(), why: issue.to_string() }
    }
}

/// Has events recorded, in requests of a bearable size. Returns those that were refused.
pub(super) async fn deliver(
    into: &LangfuseClient,
    events: impl Iterator<Item = Envelope>,
) -> Result<Vec<Refused>, ClientError> {
    let mut refused = Vec::new();
    let mut waiting: Vec<Envelope> = Vec::new();
    let mut bytes = 0;
    for event in events {
        let is_full =
            bytes + event.body.get().len() > REQUEST_BYTES || waiting.len() >= REQUEST_EVENTS;
        if is_full && !waiting.is_empty() {
            refused.extend(send(into, &std::mem::take(&mut waiting)).await?);
            bytes = 0;
        }
        bytes += event.body.get().len();
        waiting.push(event);
    }
    if !waiting.is_empty() {
        refused.extend(send(into, &waiting).await?);
    }
    Ok(refused)
}

async fn send(into: &LangfuseClient, events: &[Envelope]) -> Result<Vec<Refused>, ClientError> {
    let result = into.record(events).await?;
    let refusal = |refused: crate::langfuse::wire::ingestion::EventRefused| Refused {
        what: refused.id.trim_start_matches("import:").replacen(':', " ", 1),
        why: refused.error.or(refused.message).unwrap_or_default(),
    };
    Ok(result.errors.into_iter().map(refusal).collect())
}

/// The same events, their scores naming score configs and runs by the ids that those have here.
pub(super) fn translated(
    events: impl Iterator<Item = Envelope>,
    checkpoint: &Checkpoint,
) -> impl Iterator<Item = Envelope> {
    events.map(|event| {
        let is_score = event.kind.0 == EventType::Score;
        if is_score { score(&event, checkpoint).unwrap_or(event) } else { event }
    })
}

fn score(event: &Envelope, checkpoint: &Checkpoint) -> Option<Envelope> {
    let mut body: ScoreBody = read(event.body.get()).ok()?;
    let here = |ids: &BTreeMap<String, String>, there: &Maybe<String>| {
        ids.get(there.as_value()?).cloned().map(Maybe::Value)
    };
    let config = here(&checkpoint.score_configs, &body.config_id);
    let run = here(&checkpoint.dataset_runs, &body.dataset_run_id);
    if config.is_none() && run.is_none() {
        return None;
    }
    body.config_id = config.unwrap_or(body.config_id);
    body.dataset_run_id = run.unwrap_or(body.dataset_run_id);
    Some(Envelope { body: to_raw_value(&body).ok()?.into(), ..event.clone() })
}
