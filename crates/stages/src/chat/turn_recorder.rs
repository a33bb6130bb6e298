//! Records turns as traces.
//!
//! The agent stores a transcript of every conversation and sends each line of it. The lines are
//! read like imported transcripts (ADR 0015), so that a conversation that is recorded live and
//! imported later is one and not two, sub-agents are children of the calls that started them, and
//! tokens are those of the finished message. Added is what the transcript lacks: the session,
//! prompts to people and how long the answers took, and turns that were interrupted.

/// Usage that the transcript lacks.
mod spent;
/// Cost that only the agent reports.
mod billed;

use std::collections::{BTreeSet, HashMap};

use ratchet_core::chat::permission_prompt::{PermissionPrompt, PermissionPromptKind};
use ratchet_core::chat::reader::TurnEnd;
use ratchet_core::chat::unpersisted::UnpersistedOutput;
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::claude_code::Patches;
use ratchet_core::record::claude_code::transcript::{
    LineResult, SubAgentMetadata, Transcript, Turns,
};
use ratchet_core::record::field::{Field, Stamp, StampedValue, WriteKind};
use ratchet_core::record::merge::{Earliest, Latest, Metadata};
use ratchet_core::record::observation::{Level, ObservationKind, ObservationPatch};
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;

use spent::Spent;

/// Tag of every turn of a chat.
const TAG: &str = "major";
/// Folder of the transcripts of sub-agents.
const SUBAGENTS: &str = "/subagents/";
/// Part of a line that reports a compaction.
const SHORTENED: &str = "\"compact_boundary\"";
/// Name of the observation of a compaction.
const SHORTENING: &str = "claude_code.compaction_request";

/// Records the turns of one chat.
#[derive(Debug)]
pub(super) struct TurnRecorder {
    chat_id: SessionId,
    transcripts: HashMap<String, Transcript>,
    turns: Turns,
    /// Patches that are not recorded yet.
    patches: Patches,
    /// The turn that started last, to which prompts of background tasks belong.
    last: Option<TraceId>,
    /// Turn and time of each open prompt.
    asked: HashMap<String, (TraceId, Timestamp)>,
    /// Output of this turn that is not in the transcript yet.
    unpersisted: UnpersistedOutput,
    /// The turn that has started, until its first transcript line.
    entered: Option<TraceId>,
    spent: Spent,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Beginning<'a> {
    /// A message of a person; its content is JSON.
    Person {
        by: Option<&'a str>,
        message: &'a str,
        content: &'a str,
    },
    Agent,
}

impl TurnRecorder {
    pub(super) fn new(chat_id: SessionId) -> Self {
        Self {
            chat_id,
            transcripts: HashMap::new(),
            turns: Turns::default(),
            patches: Patches::default(),
            last: None,
            asked: HashMap::new(),
            unpersisted: UnpersistedOutput::default(),
            entered: None,
            spent: Spent::default(),
        }
    }

    /// Takes the patches that are not recorded yet, one per record.
    pub(super) fn take(&mut self) -> Patches {
        std::mem::take(&mut self.patches).merged()
    }

    pub(super) fn turn_started(&mut self, turn: &TraceId, at: Timestamp, beginning: Beginning<'_>) {
        self.last = Some(turn.clone());
        self.unpersisted = UnpersistedOutput::default();
        self.unpersisted.begin_at(at);
        self.entered = Some(turn.clone());
        let by = match beginning {
            Beginning::Person { by, message, content } => {
                self.unpersisted.prompt(message, content, at);
                self.turns.name_next(None);
                by
            }
            Beginning::Agent => {
                // Its prompt follows later.
                self.turns.name_next(Some(turn.clone()));
                None
            }
        };
        let stamp = Stamp::stated(at, WriteKind::Create);
        let root = ObservationPatch {
            kind: Field::new(ObservationKind::Agent, stamp),
            start: Earliest(Some(at)),
            ..ObservationPatch::new(turn.cast(), Some(turn.clone()))
        };
        let trace = TracePatch {
            timestamp: Earliest(Some(at)),
            session: Field::new(self.chat_id.clone(), stamp),
            user: Field::if_some(by.map(str::to_owned), stamp),
            tags: BTreeSet::from([TAG.to_owned()]),
            ..TracePatch::new(turn.clone())
        };
        self.patches.observations.push(root);
        self.patches.traces.push(trace);
    }

    /// Takes output of the agent, which the transcript will contain soon.
    pub(super) fn agent_output(&mut self, line: &str) {
        self.unpersisted.take(line);
        self.retried();
        if line.contains(SHORTENED) {
            self.spent.shortened();
        }
    }

    /// Takes new lines of the transcript.
    pub(super) fn transcript_lines(&mut self, file: &str, lines: &[String]) {
        for line in lines {
            self.unpersisted.kept(line);
            if file.contains(SUBAGENTS) && !self.transcripts.contains_key(file) {
                // The first line names the call that started the sub-agent, if any.
                let transcript = Transcript::of_agent(SubAgentMetadata::parse(line));
                self.transcripts.insert(file.to_owned(), transcript);
            }
            let transcript = self.transcripts.entry(file.to_owned()).or_default();
            if !file.contains(SUBAGENTS)
                && let Some(turn) = self.entered.take()
            {
                // A compaction is reported before the command that requested it.
                transcript.continue_turn(turn);
            }
            if let LineResult::Patches(patches) = transcript.take(line, &mut self.turns) {
                self.spent.note(&patches);
                self.patches.extend(patches);
            }
        }
    }

    /// Records output that the transcript will not contain any more.
    fn fill(&mut self, turn: &TraceId, at: Timestamp) {
        let lines = std::mem::take(&mut self.unpersisted).lines(&self.chat_id, at);
        let own = self.transcripts.iter_mut().find(|(file, _)| !file.contains(SUBAGENTS));
        let mut new = Transcript::new();
        let transcript = own.map_or(&mut new, |(_, transcript)| transcript);
        transcript.continue_turn(turn.clone());
        for line in lines {
            if let LineResult::Patches(patches) = transcript.take(&line, &mut self.turns) {
                self.spent.note(&patches);
                self.patches.extend(patches);
            }
        }
    }

    /// A person is prompted.
    pub(super) fn prompt_opened(
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
            kind: Field::new(ObservationKind::Span, stamp),
            name: Field::new(name.to_owned(), stamp),
            parent: Field::new(parent.unwrap_or_else(|| trace.cast()), stamp),
            start: Earliest(Some(at)),
            input: Field::if_some(Json::parse(&asked.to_event().body).map(Payload::Json), stamp),
            ..ObservationPatch::new(id, Some(trace))
        };
        self.patches.observations.push(step);
    }

    /// Restores an open prompt after a restart.
    pub(super) fn prompt_restored(&mut self, ask: &str, turn: &TraceId, at: Timestamp) {
        self.asked.insert(ask.to_owned(), (turn.clone(), at));
    }

    /// A prompt is answered or withdrawn.
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

    /// Ends a turn. The cost that the agent reports counts for models without a known price.
    pub(super) fn ended(
        &mut self,
        turn: &TraceId,
        end: &TurnEnd,
        at: Timestamp,
        prices: &PriceTable,
    ) {
        self.unpersisted = UnpersistedOutput::default();
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

    /// A turn was interrupted, but not by the agent.
    pub(super) fn turn_interrupted(&mut self, turn: &TraceId, why: &str, at: Timestamp) {
        self.fill(turn, at);
        self.over(turn, Some(Level::Error), Some(why.to_owned()), at);
    }

    /// A turn was interrupted by a person before the agent received its message.
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

/// Id of the observation of a prompt. The agent may use any text as id.
fn ask_id(ask: &str) -> Option<ObservationId> {
    ObservationId::parse(&format!("ask-{ask}")).ok()
}

fn metadata<'k>(stamp: Stamp, keys: impl IntoIterator<Item = (&'k str, Json)>) -> Metadata {
    let say =
        |(key, value): (&str, Json)| (key.to_owned(), StampedValue { stamp, value: Some(value) });
    Metadata::new(keys.into_iter().map(say))
}
