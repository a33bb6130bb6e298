//! Turns become traces.
//!
//! The agent keeps a transcript of every conversation and tells us each line of it. Those lines
//! are read as imported transcripts are (ADR 0015), so that a conversation that is recorded live
//! and imported later is one and not two, sub-agents hang on the calls that began them, and tokens
//! are those of the finished message. What the transcript does not know is added: whose session it
//! is, what a person was asked and how long that took, and a turn that was broken off.

/// What the transcript does not tell of what a turn used.
mod spent;
/// What is known only of what a turn cost.
mod billed;

use std::collections::{BTreeSet, HashMap};

use ratchet_core::chat::permission_prompt::{PermissionPrompt, PermissionPromptKind};
use ratchet_core::chat::reader::TurnEnd;
use ratchet_core::chat::unpersisted::UnpersistedOutput;
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::claude_code::Patches;
use ratchet_core::record::claude_code::transcript::{AgentAbout, LineResult, Transcript, Turns};
use ratchet_core::record::field::{Field, Stamp, StampedValue, WriteKind};
use ratchet_core::record::merge::{Earliest, Latest, Metadata};
use ratchet_core::record::observation::{Level, ObservationKind, ObservationPatch};
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;

use spent::Spent;

/// What every turn of a session that runs here is labelled.
const TAG: &str = "major";
/// Where the transcripts of sub-agents lie.
const SUBAGENTS: &str = "/subagents/";
/// What a line says when the conversation was shortened.
const SHORTENED: &str = "\"compact_boundary\"";
/// What shortening it is called.
const SHORTENING: &str = "claude_code.compaction_request";

/// What is known of the turns of one session.
#[derive(Debug)]
pub(super) struct TurnRecorder {
    session: SessionId,
    transcripts: HashMap<String, Transcript>,
    turns: Turns,
    /// What was not recorded yet.
    patches: Patches,
    /// The turn that began last: what a task in the background asks belongs there.
    last: Option<TraceId>,
    /// In which turn each open question was asked, and when.
    asked: HashMap<String, (TraceId, Timestamp)>,
    /// What was said in this turn and is not in the transcript yet.
    unkept: UnpersistedOutput,
    /// The turn that has begun, until the transcript tells the first of it.
    entered: Option<TraceId>,
    spent: Spent,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Beginning<'a> {
    /// A person, with a message of this id; its content is JSON.
    Person {
        by: Option<&'a str>,
        message: &'a str,
        content: &'a str,
    },
    Agent,
}

impl TurnRecorder {
    pub(super) fn new(session: SessionId) -> Self {
        Self {
            session,
            transcripts: HashMap::new(),
            turns: Turns::default(),
            patches: Patches::default(),
            last: None,
            asked: HashMap::new(),
            unkept: UnpersistedOutput::default(),
            entered: None,
            spent: Spent::default(),
        }
    }

    /// What was not recorded yet, each record once.
    pub(super) fn take(&mut self) -> Patches {
        std::mem::take(&mut self.patches).merged()
    }

    pub(super) fn began(&mut self, turn: &TraceId, at: Timestamp, beginning: Beginning<'_>) {
        self.last = Some(turn.clone());
        self.unkept = UnpersistedOutput::default();
        self.unkept.begin_at(at);
        self.entered = Some(turn.clone());
        let by = match beginning {
            Beginning::Person { by, message, content } => {
                self.unkept.prompt(message, content, at);
                self.turns.name_next(None);
                by
            }
            Beginning::Agent => {
                // It tells its prompt later.
                self.turns.name_next(Some(turn.clone()));
                None
            }
        };
        let stamp = Stamp::stated(at, WriteKind::Create);
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

    /// The agent says something, which it will keep in a moment.
    pub(super) fn heard(&mut self, line: &str) {
        self.unkept.take(line);
        self.retried();
        if line.contains(SHORTENED) {
            self.spent.shortened();
        }
    }

    /// The agent has kept more of its transcript.
    pub(super) fn kept(&mut self, file: &str, lines: &[String]) {
        for line in lines {
            self.unkept.kept(line);
            if file.contains(SUBAGENTS) && !self.transcripts.contains_key(file) {
                // The first line says which call began the agent, if the agent says it at all.
                let transcript = Transcript::of_agent(AgentAbout::parse(line));
                self.transcripts.insert(file.to_owned(), transcript);
            }
            let transcript = self.transcripts.entry(file.to_owned()).or_default();
            if !file.contains(SUBAGENTS)
                && let Some(turn) = self.entered.take()
            {
                // What shortens a conversation is told before the command that wanted it.
                transcript.go_on_in(turn);
            }
            if let LineResult::Said(patches) = transcript.take(line, &mut self.turns) {
                self.spent.note(&patches);
                self.patches.extend(patches);
            }
        }
    }

    /// What the agent said and will not keep any more is read as if it had.
    fn fill(&mut self, turn: &TraceId, at: Timestamp) {
        let lines = std::mem::take(&mut self.unkept).lines(&self.session, at);
        let own = self.transcripts.iter_mut().find(|(file, _)| !file.contains(SUBAGENTS));
        let mut new = Transcript::new();
        let transcript = own.map_or(&mut new, |(_, transcript)| transcript);
        transcript.go_on_in(turn.clone());
        for line in lines {
            if let LineResult::Said(patches) = transcript.take(&line, &mut self.turns) {
                self.spent.note(&patches);
                self.patches.extend(patches);
            }
        }
    }

    /// A person is asked something.
    pub(super) fn asked(
        &mut self,
        asked: &PermissionPrompt,
        turn: Option<&TraceId>,
        at: Timestamp,
    ) {
        let Some(trace) = turn.or(self.last.as_ref()).cloned() else { return };
        let Some(id) = ask_id(asked.id.as_str()) else { return };
        self.asked.insert(asked.id.as_str().to_owned(), (trace.clone(), at));
        let stamp = Stamp::stated(at, WriteKind::Create);
        let name = match asked.kind {
            PermissionPromptKind::Question => "person.question",
            PermissionPromptKind::Permission => "person.permission",
            PermissionPromptKind::Form => "person.form",
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

    /// A question of an earlier server is open still.
    pub(super) fn asked_before(&mut self, ask: &str, turn: &TraceId, at: Timestamp) {
        self.asked.insert(ask.to_owned(), (turn.clone(), at));
    }

    /// A person answered, or nobody has to any more.
    pub(super) fn answered(&mut self, ask: &str, body: &str, at: Timestamp) {
        let Some((trace, asked_at)) = self.asked.remove(ask) else { return };
        let Some(id) = ask_id(ask) else { return };
        let stamp = Stamp::stated(at, WriteKind::Update);
        let waited = Json::from_value(&at.since(asked_at).max(0).into());
        let step = ObservationPatch {
            end: Latest(Some(at)),
            output: Field::if_some(Json::parse(body).map(Payload::Json), stamp),
            metadata: metadata(stamp, [("waited_ns", waited)]),
            ..ObservationPatch::new(id, Some(trace))
        };
        self.patches.observations.push(step);
    }

    /// A turn is over. What the agent reckons that a model cost counts where nobody knows its price.
    pub(super) fn ended(
        &mut self,
        turn: &TraceId,
        end: &TurnEnd,
        at: Timestamp,
        prices: &PriceTable,
    ) {
        self.unkept = UnpersistedOutput::default();
        let level = match (end.is_error, end.is_interrupted) {
            (true, true) => Some(Level::Warning),
            (true, false) => Some(Level::Error),
            (false, _) => None,
        };
        self.over(turn, level, end.result.clone().filter(|_| end.is_error), at);
        let spent = std::mem::take(&mut self.spent);
        for (model, usage) in spent.shortening(&end.used) {
            let id = format!("compaction-{turn}-{model}");
            self.call((turn, &id, SHORTENING), (model, usage), at);
        }
        self.reported(turn, end, at, prices);
        self.billed(turn, end.cost, end.is_at_least, at);
    }

    /// A turn was broken off by something else than the agent.
    pub(super) fn broke_off(&mut self, turn: &TraceId, why: &str, at: Timestamp) {
        self.fill(turn, at);
        self.over(turn, Some(Level::Error), Some(why.to_owned()), at);
    }

    /// A turn was stopped by a person before the agent heard of it.
    pub(super) fn stopped(&mut self, turn: &TraceId, why: &str, at: Timestamp) {
        self.fill(turn, at);
        self.over(turn, Some(Level::Warning), Some(why.to_owned()), at);
    }

    fn over(&mut self, turn: &TraceId, level: Option<Level>, why: Option<String>, at: Timestamp) {
        let stamp = Stamp::stated(at, WriteKind::Update);
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

fn metadata<'k>(stamp: Stamp, keys: impl IntoIterator<Item = (&'k str, Json)>) -> Metadata {
    let say =
        |(key, value): (&str, Json)| (key.to_owned(), StampedValue { stamp, value: Some(value) });
    Metadata::new(keys.into_iter().map(say))
}
