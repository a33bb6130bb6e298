use std::collections::BTreeSet;

use serde_json::Value;

use crate::id::{ObservationId, SessionId, TraceId};
use crate::payload::{Json, Payload};
use crate::record::claude_code::line::Line;
use crate::record::claude_code::{AGENT, Patches, TURN, id};
use crate::record::field::{Field, Stamp, StampedValue, WriteKind};
use crate::record::merge::{Earliest, Latest, Metadata};
use crate::record::observation::{ObservationKind, ObservationPatch};
use crate::record::trace::TracePatch;
use crate::time::Timestamp;

/// Line fields stored as metadata of the turn.
const METADATA_KEYS: [&str; 6] =
    ["cwd", "gitBranch", "version", "entrypoint", "userType", "permissionMode"];

/// A line being converted to patches.
#[derive(Debug)]
pub(super) struct LineContext<'a> {
    pub(super) line: &'a Line<'a>,
    pub(super) at: Timestamp,
    pub(super) turn: TraceId,
    /// Whether the line was copied from another session's transcript.
    pub(super) is_copy: bool,
    pub(super) patches: Patches,
}

impl LineContext<'_> {
    /// Returns the stamp of the line's fields.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp::stated(self.at, WriteKind::Create)
    }

    /// Returns the parent of this line's observations: the turn, or a sub-agent in it.
    pub(super) fn enclosing(&self) -> ObservationId {
        let agent = self.line.agent.as_deref().and_then(id::agent);
        agent.unwrap_or_else(|| id::turn_root(&self.turn))
    }

    /// Creates a patch for an observation of this turn.
    pub(super) fn observation(&self, id: ObservationId) -> ObservationPatch {
        ObservationPatch::new(id, Some(self.turn.clone()))
    }

    /// Creates a patch for an observation within the turn or the sub-agent.
    pub(super) fn child_observation(
        &self,
        id: ObservationId,
        kind: ObservationKind,
    ) -> ObservationPatch {
        let stamp = self.stamp();
        ObservationPatch {
            kind: Field::new(kind, stamp),
            parent: Field::new(self.enclosing(), stamp),
            version: Field::if_some(self.line.text("version"), stamp),
            ..self.observation(id)
        }
    }

    /// Extends the end of the turn, or of the sub-agent in it, to this line.
    pub(super) fn extend_end(&mut self) {
        let lasting = ObservationPatch {
            kind: Field::new(ObservationKind::Agent, self.stamp()),
            start: Earliest(Some(self.at)),
            end: Latest(Some(self.at)),
            ..self.observation(self.enclosing())
        };
        self.patches.observations.push(lasting);
    }

    /// Sets the fields of the turn: name, session and metadata.
    pub(super) fn set_turn_fields(&mut self) {
        let stamp = self.stamp();
        let version = self.line.text("version");
        let root = ObservationPatch {
            name: Field::new(TURN.to_owned(), stamp),
            agent: Field::new(AGENT.to_owned(), stamp),
            version: Field::if_some(version.clone(), stamp),
            metadata: self.metadata([("agent", text(AGENT))]),
            ..self.observation(id::turn_root(&self.turn))
        };
        self.patches.observations.push(root);
        let trace = TracePatch {
            timestamp: Earliest(Some(self.at)),
            name: Field::new(TURN.to_owned(), stamp),
            session: self.session(),
            version: Field::if_some(version, stamp),
            agent: Field::new(AGENT.to_owned(), stamp),
            tags: self.tags(),
            metadata: self.line_metadata(),
            ..TracePatch::new(self.turn.clone())
        };
        self.patches.traces.push(trace);
    }

    /// Sets the input or output of the trace and its root observation; for a sub-agent's line, of
    /// the sub-agent only.
    pub(super) fn set_turn_content(&mut self, side: Side, content: &Json, stamp: Stamp) {
        let content_field = || Field::new(Payload::Json(content.clone()), stamp);
        let mut observation = self.observation(self.enclosing());
        *side.of_observation(&mut observation) = content_field();
        self.patches.observations.push(observation);
        if self.line.agent.is_none() {
            let mut trace = TracePatch::new(self.turn.clone());
            *side.of_trace(&mut trace) = content_field();
            self.patches.traces.push(trace);
        }
    }

    /// Returns metadata with this line's stamp.
    pub(super) fn metadata<'k>(&self, keys: impl IntoIterator<Item = (&'k str, Json)>) -> Metadata {
        let stamp = self.stamp();
        let say = |(key, value): (&str, Json)| {
            (key.to_owned(), StampedValue { stamp, value: Some(value) })
        };
        Metadata::new(keys.into_iter().map(say))
    }

    /// Returns the session. A copied turn names the session that copied it, which counts only where
    /// no other source names one.
    fn session(&self) -> Field<SessionId> {
        let session = self.line.text("sessionId").and_then(|id| SessionId::parse(&id).ok());
        let at = if self.is_copy { Timestamp::default() } else { self.at };
        Field::if_some(session, Stamp::stated(at, WriteKind::Create))
    }

    fn tags(&self) -> BTreeSet<String> {
        let branch = self.line.text("gitBranch").map(|branch| format!("branch:{branch}"));
        let cwd = self.line.text("cwd");
        let folder = cwd.as_deref().and_then(|cwd| cwd.rsplit(['/', '\\']).find(|s| !s.is_empty()));
        let folder = folder.map(|folder| format!("folder:{folder}"));
        [Some(AGENT.to_owned()), branch, folder].into_iter().flatten().collect()
    }

    fn line_metadata(&self) -> Metadata {
        let entry = |key| Some((key, text(&self.line.text(key)?)));
        self.metadata(METADATA_KEYS.into_iter().filter_map(entry).chain([("agent", text(AGENT))]))
    }
}

fn text(text: &str) -> Json {
    Json::from_value(&Value::from(text))
}

/// Input or output of an observation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Input,
    Output,
}

impl Side {
    fn of_observation(self, observation: &mut ObservationPatch) -> &mut Field<Payload> {
        match self {
            Self::Input => &mut observation.input,
            Self::Output => &mut observation.output,
        }
    }

    fn of_trace(self, trace: &mut TracePatch) -> &mut Field<Payload> {
        match self {
            Self::Input => &mut trace.input,
            Self::Output => &mut trace.output,
        }
    }
}
