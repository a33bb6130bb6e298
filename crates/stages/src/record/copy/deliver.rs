use std::collections::BTreeMap;

use ratchet_remote::langfuse::client::{ClientError, LangfuseClient};
use ratchet_remote::langfuse::wire::error::Issue;
use ratchet_remote::langfuse::wire::ingestion::{Envelope, EventType, ScoreBody};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::read::read;
use serde_json::value::to_raw_value;

/// Bytes of one request: well below what servers take. A single greater event goes alone.
const REQUEST_BYTES: usize = 3_000_000;
/// Events in one request.
const REQUEST_EVENTS: usize = 1_000;

/// A record that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which record, as far as it can be told.
    pub what: String,
    /// Why.
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
    let told = |refused: ratchet_remote::langfuse::wire::ingestion::EventRefused| Refused {
        what: refused.id.trim_start_matches("import:").replacen(':', " ", 1),
        why: refused.error.or(refused.message).unwrap_or_default(),
    };
    Ok(result.errors.into_iter().map(told).collect())
}

/// The same events, their scores naming score configs by the ids that those have here.
pub(super) fn with_known_configs(
    events: impl Iterator<Item = Envelope>,
    configs: &BTreeMap<String, String>,
) -> impl Iterator<Item = Envelope> {
    events.map(|event| {
        let is_score = event.kind.0 == EventType::Score && !configs.is_empty();
        if is_score { translated(&event, configs).unwrap_or(event) } else { event }
    })
}

fn translated(event: &Envelope, configs: &BTreeMap<String, String>) -> Option<Envelope> {
    let mut body: ScoreBody = read(event.body.get()).ok()?;
    let here = configs.get(body.config_id.as_value()?)?;
    body.config_id = Maybe::Value(here.clone());
    Some(Envelope { body: to_raw_value(&body).ok()?.into(), ..event.clone() })
}
