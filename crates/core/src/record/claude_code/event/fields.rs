use std::collections::BTreeSet;

use serde_json::Value;

use super::Event;
use crate::id::{ObservationId, SessionId, TraceId};
use crate::payload::{Json, Payload};
use crate::record::claude_code::{AGENT, Patches, TURN, id};
use crate::record::field::{Authority, Field, Stamp, StampedValue, WriteKind};
use crate::record::merge::{Earliest, Latest, Metadata};
use crate::record::observation::{Level, ObservationKind, ObservationPatch};
use crate::record::semantic_conventions::attributes_json;
use crate::record::trace::TracePatch;
use crate::time::Timestamp;

/// Account attributes, stored with the turn.
const ACCOUNT: [&str; 4] = ["user.email", "user.account_uuid", "organization.id", "terminal.type"];

const NANOS_PER_MILLI: i64 = 1_000_000;

/// An event being converted to patches.
pub(super) struct EventConversion<'a> {
    pub(super) event: &'a Event,
    turn: TraceId,
    patches: Patches,
}

impl<'a> EventConversion<'a> {
    pub(super) fn new(event: &'a Event, turn: TraceId) -> Self {
        let mut context = Self { event, turn, patches: Patches::default() };
        context.set_turn_content();
        context
    }

    pub(super) fn finish(self) -> Patches {
        self.patches
    }

    /// Returns whether the turn has events only, and no spans.
    pub(super) fn is_whole(&self) -> bool {
        self.event.during.is_none()
    }

    /// Returns the stamp of the event's fields: weaker than other sources on the same record.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp { authority: Authority::Root, at: self.event.at, act: WriteKind::Create }
    }

    /// Returns the enclosing observation: the span, a sub-agent, or the turn.
    pub(super) fn enclosing(&self) -> ObservationId {
        if let Some((_, span)) = &self.event.during {
            return span.clone();
        }
        let agent = self.event.text("agent_id").and_then(id::agent);
        agent.unwrap_or_else(|| id::turn_root(&self.turn))
    }

    /// Returns the start time of what ended with this event.
    pub(super) fn began(&self) -> Timestamp {
        let millis = self.event.count("duration_ms").unwrap_or(0);
        let millis = i64::try_from(millis).unwrap_or(0);
        self.event.at.plus_nanos(millis.saturating_mul(-NANOS_PER_MILLI))
    }

    /// Creates a patch for an observation of the turn.
    pub(super) fn observation(&self, id: ObservationId) -> ObservationPatch {
        ObservationPatch::new(id, Some(self.turn.clone()))
    }

    /// Creates a patch for an observation that ended with this event.
    pub(super) fn step(&self, id: ObservationId, kind: ObservationKind) -> ObservationPatch {
        let stamp = self.stamp();
        ObservationPatch {
            kind: Field::new(kind, stamp),
            parent: Field::new(self.enclosing(), stamp),
            version: Field::if_some(self.event.version.clone(), stamp),
            start: Earliest(Some(self.began())),
            end: Latest(Some(self.event.at)),
            ..self.observation(id)
        }
    }

    pub(super) fn add(&mut self, patch: ObservationPatch) {
        self.patches.observations.push(patch);
    }

    /// Stores the event unchanged, as an event observation.
    pub(super) fn add_event(&mut self) {
        let event = self.event;
        let number = event.count("event.sequence").unwrap_or(0);
        let prompt = event.prompt().unwrap_or_default();
        let id = format!("{prompt}-{}-{}-{number}", event.name, event.at.nanos());
        if let Some(id) = id::own(&id) {
            self.add_event_as(id);
        }
    }

    /// The same, with a known id.
    pub(super) fn add_event_as(&mut self, id: ObservationId) {
        let event = self.event;
        let stamp = self.stamp();
        let is_error = event.name.ends_with("_error") || event.has_failed();
        let level = if is_error { Level::Error } else { Level::Debug };
        let attributes = StampedValue { stamp, value: Some(attributes_json(&event.attributes)) };
        let note = ObservationPatch {
            name: Field::new(format!("claude_code.{}", event.name), stamp),
            level: Field::new(level, stamp),
            status_message: Field::if_some(event.text("error").map(str::to_owned), stamp),
            end: Latest(None),
            start: Earliest(Some(event.at)),
            metadata: Metadata::new([("attributes".to_owned(), attributes)]),
            ..self.step(id, ObservationKind::Event)
        };
        self.add(note);
    }

    /// Sets the input or output of the turn, unless spans do.
    pub(super) fn set_content(&mut self, input: Option<&str>, output: Option<&str>) {
        if !self.is_whole() || self.event.text("agent_id").is_some() {
            return;
        }
        let stamp = self.stamp();
        let text = |text: &str| Payload::Json(Json::from_value(&Value::from(text)));
        let (input, output) = (input.map(text), output.map(text));
        let root = ObservationPatch {
            input: Field::if_some(input.clone(), stamp),
            output: Field::if_some(output.clone(), stamp),
            ..self.observation(id::turn_root(&self.turn))
        };
        let trace = TracePatch {
            input: Field::if_some(input, stamp),
            output: Field::if_some(output, stamp),
            ..TracePatch::new(self.turn.clone())
        };
        self.add(root);
        self.patches.traces.push(trace);
    }

    /// Sets the fields of the turn that every event contains.
    fn set_turn_content(&mut self) {
        let event = self.event;
        let session = event.text("session.id").and_then(|id| SessionId::parse(id).ok());
        let user = event.text("user.id").map(str::to_owned);
        if !self.is_whole() {
            // The root span describes its trace, which may be larger than this turn.
            let implied = Stamp { authority: Authority::Child, ..self.stamp() };
            self.patches.traces.push(TracePatch {
                session: Field::if_some(session, implied),
                user: Field::if_some(user, implied),
                ..TracePatch::new(self.turn.clone())
            });
            return;
        }
        let stamp = self.stamp();
        let began = self.began();
        self.add(ObservationPatch {
            kind: Field::new(ObservationKind::Agent, stamp),
            name: Field::new(TURN.to_owned(), stamp),
            agent: Field::new(AGENT.to_owned(), stamp),
            version: Field::if_some(event.version.clone(), stamp),
            start: Earliest(Some(began)),
            end: Latest(Some(event.at)),
            ..self.observation(id::turn_root(&self.turn))
        });
        self.patches.traces.push(TracePatch {
            timestamp: Earliest(Some(began)),
            name: Field::new(TURN.to_owned(), stamp),
            session: Field::if_some(session, stamp),
            user: Field::if_some(user, stamp),
            version: Field::if_some(event.version.clone(), stamp),
            agent: Field::new(AGENT.to_owned(), stamp),
            tags: BTreeSet::from([AGENT.to_owned()]),
            metadata: self.account(),
            ..TracePatch::new(self.turn.clone())
        });
        self.add_agent();
    }

    /// Adds the observation of the sub-agent. The transcript knows the tool call that started it;
    /// for events its parent is the turn.
    fn add_agent(&mut self) {
        let event = self.event;
        let Some(agent) = event.text("agent_id").and_then(id::agent) else { return };
        let name = event.text("agent.name").or_else(|| event.text("agent_type"));
        let (name, stamp) = (name.map(str::to_owned), self.stamp());
        self.add(ObservationPatch {
            kind: Field::new(ObservationKind::Agent, stamp),
            agent: Field::if_some(name.clone(), stamp),
            name: Field::if_some(name, stamp),
            parent: Field::new(id::turn_root(&self.turn), stamp),
            start: Earliest(Some(self.began())),
            end: Latest(Some(event.at)),
            ..self.observation(agent)
        });
    }

    fn account(&self) -> Metadata {
        let stamp = self.stamp();
        let key = |key: &str| {
            let value = Some(Json::from_value(&Value::from(self.event.text(key)?)));
            Some((key.to_owned(), StampedValue { stamp, value }))
        };
        Metadata::new(ACCOUNT.into_iter().filter_map(key))
    }
}
