//! Events as Langfuse's batch ingestion sends them: each says something about one record.
//!
//! Every event stands for itself. One that makes no sense is refused with a message that names the
//! field; the others are recorded all the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::langfuse::wire::ingestion::{Envelope, EventType};
use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::read::{read, read_object};
use ratchet_core::id::{Id, ScoreId};
use ratchet_core::issue::Issue;
use ratchet_core::record::field::{Stamp, WriteKind};
use ratchet_core::record::limit;
use ratchet_core::record::observation::{ObservationKind, ObservationPatch};
use ratchet_core::record::score::ScorePatch;
use ratchet_core::record::score::config::ScoreConfig;
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

mod content;
mod observation;
mod public;
mod score;
mod trace;
mod usage;

#[cfg(test)]
mod tests;

/// What a sender may send, and how much.
#[derive(Clone, Debug)]
pub struct Rules {
    pub submitter: Submitter,
    /// Bytes of one text that are read; the middle of a longer one is elided, and its length kept.
    pub text_bytes: usize,
    /// How deep a payload may nest.
    pub depth: usize,
    /// The score configs of the project, by id.
    pub score_configs: Arc<BTreeMap<String, ScoreConfig>>,
}

/// Who sends events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitter {
    /// A program with both halves of a key.
    Keyed,
    /// A program whose key only records: the agent itself may hold it, so that it does not speak for
    /// people.
    Recorder,
    /// Anyone who can read a web page: a browser that holds the public key only. It sends scores
    /// and nothing else, within bounds, and they never merge into scores of others.
    Public {
        /// The project of the key.
        project: String,
        /// When the request came in.
        received_at: Timestamp,
    },
}

/// What became of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventOutcome {
    /// The event's id, or its place in the batch if it has none.
    pub event: String,
    /// The id of the record it is about, or why it was refused.
    pub result: Result<String, EventError>,
}

/// Why an event was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// It makes no sense.
    #[error("{0}")]
    Invalid(Issue),
    /// The sender may not speak about this.
    #[error("a public key alone may only send scores; use Basic auth with public and secret key")]
    NotAllowed,
}

impl From<Issue> for EventError {
    fn from(issue: Issue) -> Self {
        Self::Invalid(issue)
    }
}

/// What events say, and what became of each of them.
#[derive(Debug, Default)]
pub struct EventPatches {
    pub traces: Vec<TracePatch>,
    pub observations: Vec<ObservationPatch>,
    pub scores: Vec<ScorePatch>,
    /// One per event, in order.
    pub outcomes: Vec<EventOutcome>,
    /// Whether their times are the server's own, so that the order in which they come counts.
    pub is_in_order: bool,
}

/// The redaction rules for an event, and its time.
#[derive(Clone, Copy, Debug)]
pub struct EventContext<'a> {
    /// What the sender may send.
    pub rules: &'a Rules,
    /// The time that decides between statements on the same field.
    pub at: Timestamp,
}

/// The speaker, the time, and the id if the body gives none.
struct Saying<'a> {
    rules: &'a Rules,
    stamp: Stamp,
    fallback_id: String,
}

impl Submitter {
    const fn is_public(&self) -> bool {
        matches!(self, Self::Public { .. })
    }
}

impl EventPatches {
    /// Works out what the events of a batch say.
    ///
    /// Takes real CPU time and does no IO: large requests belong on a blocking thread.
    ///
    /// ```
    /// use ratchet_remote::langfuse::events::{EventPatches, Rules, Submitter};
    ///
    /// let rules = Rules {
    ///     submitter: Submitter::Keyed,
    ///     text_bytes: 8_000_000,
    ///     depth: 64,
    ///     score_configs: Default::default(),
    /// };
    /// let event = r#"{"id": "1", "timestamp": "2026-11-15T10:00:00Z", "type": "trace-create",
    ///                 "body": {"id": "run-7", "name": "chat"}}"#;
    /// let patches = EventPatches::from_batch(&[serde_json::from_str(event)?], &rules);
    /// assert_eq!(patches.outcomes[0].result, Ok("run-7".to_owned()));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn from_batch(batch: &[Raw], rules: &Rules) -> Self {
        let mut statements = Self::default();
        for (index, event) in batch.iter().enumerate() {
            let result = statements.take_event(event, rules);
            let id = event_id(event).unwrap_or_else(|| format!("batch[{index}]"));
            statements.outcomes.push(EventOutcome { event: id, result });
        }
        statements
    }

    /// Works out what scores say that come without envelopes, each under the id beside it unless
    /// it has one of its own.
    pub fn from_scores(scores: Vec<(ScoreId, Raw)>, rules: &Rules, at: Timestamp) -> Self {
        let mut statements = Self { is_in_order: true, ..Self::default() };
        for (id, body) in scores {
            let fallback_id = id.to_string();
            let saying = Saying { rules, stamp: Stamp::stated(at, WriteKind::Create), fallback_id };
            let result = statements.take_score(&body, &saying).map_err(EventError::Invalid);
            statements.outcomes.push(EventOutcome { event: id.to_string(), result });
        }
        statements
    }

    /// Works out what one body says that comes without an envelope, as the oldest clients send it,
    /// under this id unless it has one of its own.
    pub fn from_body(kind: EventType, body: &Raw, id: String, context: EventContext<'_>) -> Self {
        let mut statements = Self::default();
        let result = statements.take_body(kind, body, id.clone(), context);
        statements.outcomes.push(EventOutcome { event: id, result });
        statements
    }

    /// Whether there is nothing to record.
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty() && self.observations.is_empty() && self.scores.is_empty()
    }

    fn take_event(&mut self, event: &RawValue, rules: &Rules) -> Result<String, EventError> {
        let envelope: Envelope = read_object(event.get())?;
        let id = Id::<Envelope>::parse(&envelope.id);
        id.map_err(|why| Issue::at("id", why.to_string()))?;
        let (kind, at) = (envelope.kind.0, envelope.timestamp.0);
        if kind == EventType::SdkLog && !rules.submitter.is_public() {
            return Ok(envelope.id);
        }
        let context = EventContext { rules, at };
        let taken = self.take_body(kind, &envelope.body, derived_id(event.get()), context);
        taken.map_err(|refusal| match refusal {
            EventError::Invalid(issue) => EventError::Invalid(issue.inside("body")),
            EventError::NotAllowed => EventError::NotAllowed,
        })
    }

    fn take_body(
        &mut self,
        kind: EventType,
        body: &RawValue,
        fallback_id: String,
        context: EventContext<'_>,
    ) -> Result<String, EventError> {
        let EventContext { rules, at } = context;
        let is_score = kind == EventType::Score;
        if !is_score && rules.submitter.is_public() {
            return Err(EventError::NotAllowed);
        }
        let act = match kind {
            EventType::Observation(_, act) => act,
            EventType::Trace | EventType::Score | EventType::SdkLog => WriteKind::Create,
        };
        let saying = Saying { rules, stamp: Stamp::stated(at, act), fallback_id };
        let taken = match kind {
            EventType::Trace => self.take_trace(body, &saying),
            EventType::Score => self.take_score(body, &saying),
            EventType::Observation(kind, _) => self.take_observation(body, kind, &saying),
            EventType::SdkLog => Ok(saying.fallback_id),
        };
        Ok(taken?)
    }

    fn take_trace(&mut self, body: &RawValue, saying: &Saying<'_>) -> Result<String, Issue> {
        let patch = trace::patch(read_body(body, saying.rules)?, saying)?;
        let id = patch.id.to_string();
        self.traces.push(patch);
        Ok(id)
    }

    fn take_score(&mut self, body: &RawValue, saying: &Saying<'_>) -> Result<String, Issue> {
        let patch = score::patch(read_body(body, saying.rules)?, saying)?;
        let id = patch.id.to_string();
        self.scores.push(patch);
        Ok(id)
    }

    fn take_observation(
        &mut self,
        body: &RawValue,
        kind: Option<ObservationKind>,
        saying: &Saying<'_>,
    ) -> Result<String, Issue> {
        let patch = observation::patch(read_body(body, saying.rules)?, kind, saying)?;
        let id = patch.id.to_string();
        if let Some(trace) = observation::trace_patch(&patch, saying.stamp) {
            self.traces.push(trace);
        }
        self.observations.push(patch);
        Ok(id)
    }
}

fn read_body<'de, T: Deserialize<'de>>(body: &'de RawValue, rules: &Rules) -> Result<T, Issue> {
    let payload_depth = limit::depth(body.get()).saturating_sub(1);
    if payload_depth > rules.depth {
        let message = format!("nested {payload_depth} deep, at most {} are taken", rules.depth);
        return Err(Issue { path: Vec::new(), message });
    }
    read_object(body.get())
}

/// The id of an event whose other fields may be broken.
fn event_id(event: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct OnlyId {
        id: String,
    }
    read::<OnlyId>(event.get()).ok().map(|only| only.id)
}

/// An id for a record whose event gives none: the same each time the same event is sent, so that a
/// retry does not record it twice.
pub(super) fn derived_id(event: &str) -> String {
    let hash = Sha256::digest(event.as_bytes());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash).for_each(|(byte, hashed)| *byte = hashed);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

impl Saying<'_> {
    /// The id that the body gives, or the one for a body that gives none.
    fn id<Of>(&self, said: &Maybe<String>) -> Result<Id<Of>, Issue> {
        parse_id("id", said.as_value().unwrap_or(&self.fallback_id))
    }
}

fn parse_id<Of>(field: &str, text: &str) -> Result<Id<Of>, Issue> {
    Id::parse(text).map_err(|why| Issue::at(field, why.to_string()))
}
