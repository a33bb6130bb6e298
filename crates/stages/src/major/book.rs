//! Turns become traces.
//!
//! The agent keeps a transcript of every conversation and tells us each line of it. Those lines
//! are read as imported transcripts are (ADR 0015), so that a conversation that is recorded live
//! and imported later is one and not two, sub-agents hang on the calls that began them, and tokens
//! are those of the finished message. What the transcript does not know is added: whose session it
//! is, what a person was asked and how long that took, and a turn that was broken off.

use std::collections::{BTreeSet, HashMap};

use ratchet_core::claude_code::Patches;
use ratchet_core::claude_code::transcript::{AgentAbout, Taken, Transcript, Turns};
use ratchet_core::field::{Act, Field, Said, Stamp};
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::major::asked::{AskKind, Asked};
use ratchet_core::major::reader::TurnEnd;
use ratchet_core::merge::{Earliest, Latest, Metadata};
use ratchet_core::observation::{Level, ObservationKind, ObservationPatch};
use ratchet_core::payload::{Json, Payload};
use ratchet_core::time::Timestamp;
use ratchet_core::trace::TracePatch;

/// What every turn of a session that runs here is labelled.
const TAG: &str = "major";
/// Where the transcripts of sub-agents lie.
const SUBAGENTS: &str = "/subagents/";

/// What is known of the turns of one session.
#[derive(Debug)]
pub(super) struct TurnBook {
    session: SessionId,
    transcripts: HashMap<String, Transcript>,
    turns: Turns,
    /// What was not recorded yet.
    patches: Patches,
    /// The turn that began last: what a task in the background asks belongs there.
    last: Option<TraceId>,
    /// In which turn each open question was asked, and when.
    asked: HashMap<String, (TraceId, Timestamp)>,
}

impl TurnBook {
    pub(super) fn new(session: SessionId) -> Self {
        Self {
            session,
            transcripts: HashMap::new(),
            turns: Turns::default(),
            patches: Patches::default(),
            last: None,
            asked: HashMap::new(),
        }
    }

    /// What was not recorded yet, each record once.
    pub(super) fn take(&mut self) -> Patches {
        std::mem::take(&mut self.patches).merged()
    }

    /// A person's message begins a turn.
    pub(super) fn began(&mut self, turn: &TraceId, at: Timestamp, by: Option<&str>) {
        self.last = Some(turn.clone());
        let stamp = Stamp::stated(at, Act::Create);
        let root = ObservationPatch {
            kind: Field::said(ObservationKind::Agent, stamp),
            start: Earliest(Some(at)),
            ..ObservationPatch::new(turn.cast(), Some(turn.clone()))
        };
        let trace = TracePatch {
            timestamp: Earliest(Some(at)),
            session: Field::said(self.session.clone(), stamp),
            user: Field::if_some(by.map(str::to_owned), stamp),
            tags: BTreeSet::from([TAG.to_owned()]),
            ..TracePatch::new(turn.clone())
        };
        self.patches.observations.push(root);
        self.patches.traces.push(trace);
    }

    /// The agent has kept more of its transcript.
    pub(super) fn kept(&mut self, file: &str, lines: &[String]) {
        for line in lines {
            if file.contains(SUBAGENTS) && !self.transcripts.contains_key(file) {
                // The first line says which call began the agent, if the agent says it at all.
                let transcript = Transcript::of_agent(AgentAbout::parse(line));
                self.transcripts.insert(file.to_owned(), transcript);
            }
            let transcript = self.transcripts.entry(file.to_owned()).or_default();
            if let Taken::Said(patches) = transcript.take(line, &mut self.turns) {
                self.patches.extend(patches);
            }
        }
    }

    /// A person is asked something.
    pub(super) fn asked(&mut self, asked: &Asked, turn: Option<&TraceId>, at: Timestamp) {
        let Some(trace) = turn.or(self.last.as_ref()).cloned() else { return };
        let Some(id) = ask_id(asked.id.as_str()) else { return };
        self.asked.insert(asked.id.as_str().to_owned(), (trace.clone(), at));
        let stamp = Stamp::stated(at, Act::Create);
        let name = match asked.kind {
            AskKind::Question => "person.question",
            AskKind::Permission => "person.permission",
            AskKind::Form => "person.form",
        };
        let parent = asked.tool_use.as_deref().and_then(|id| ObservationId::parse(id).ok());
        let step = ObservationPatch {
            kind: Field::said(ObservationKind::Span, stamp),
            name: Field::said(name.to_owned(), stamp),
            parent: Field::said(parent.unwrap_or_else(|| trace.cast()), stamp),
            start: Earliest(Some(at)),
            input: Field::if_some(Json::parse(&asked.telling().body).map(Payload::Json), stamp),
            ..ObservationPatch::new(id, Some(trace))
        };
        self.patches.observations.push(step);
    }

    /// A person answered, or nobody has to any more.
    pub(super) fn answered(&mut self, ask: &str, body: &str, at: Timestamp) {
        let Some((trace, asked_at)) = self.asked.remove(ask) else { return };
        let Some(id) = ask_id(ask) else { return };
        let stamp = Stamp::stated(at, Act::Update);
        let waited = Json::from_value(&at.since(asked_at).max(0).into());
        let step = ObservationPatch {
            end: Latest(Some(at)),
            output: Field::if_some(Json::parse(body).map(Payload::Json), stamp),
            metadata: metadata(stamp, [("waited_ns", waited)]),
            ..ObservationPatch::new(id, Some(trace))
        };
        self.patches.observations.push(step);
    }

    /// A turn is over.
    pub(super) fn ended(&mut self, turn: &TraceId, end: &TurnEnd, at: Timestamp) {
        let why = end.result.clone().filter(|_| end.is_error);
        self.over(turn, end.is_error, why, at);
        let Some(cost) = end.cost else { return };
        let cost = Json::from_value(&cost.dollars().into());
        let trace = TracePatch {
            metadata: metadata(Stamp::stated(at, Act::Update), [("agent_cost", cost)]),
            ..TracePatch::new(turn.clone())
        };
        self.patches.traces.push(trace);
    }

    /// A turn was broken off by something else than the agent.
    pub(super) fn broke_off(&mut self, turn: &TraceId, why: &str, at: Timestamp) {
        self.over(turn, true, Some(why.to_owned()), at);
    }

    fn over(&mut self, turn: &TraceId, has_failed: bool, why: Option<String>, at: Timestamp) {
        let stamp = Stamp::stated(at, Act::Update);
        let level = has_failed.then_some(Level::Error);
        let root = ObservationPatch {
            end: Latest(Some(at)),
            level: Field::if_some(level, stamp),
            status_message: Field::if_some(why, stamp),
            ..ObservationPatch::new(turn.cast(), Some(turn.clone()))
        };
        self.patches.observations.push(root);
    }
}

/// The step that stands for a question. What the agent calls it may be anything.
fn ask_id(ask: &str) -> Option<ObservationId> {
    ObservationId::parse(&format!("ask-{ask}")).ok()
}

fn metadata<const N: usize>(stamp: Stamp, keys: [(&str, Json); N]) -> Metadata {
    let say = |(key, value): (&str, Json)| (key.to_owned(), Said { stamp, value: Some(value) });
    Metadata::new(keys.into_iter().map(say))
}
