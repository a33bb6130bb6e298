//! From the lines of transcripts to patches.
//!
//! A transcript is read line by line, in the order in which it was written; every line says what
//! it can say at once, so that a file may be read in pieces as it grows. A line that is read twice,
//! or that a forked session has copied into a file of its own, says the same again: a turn is named
//! by the line that began it, which copies keep. (The id of its prompt is not kept.)

/// What is being said, by whom and when.
mod context;
/// What people and tools say to the model.
mod user_messages;
mod answer;
/// What Claude Code noted itself.
mod note;
/// What is read of one conversation.
mod conversation;

use std::collections::HashMap;

use super::line::{Line, LineKind};
use super::object::Object;
use super::{Patches, id};
use crate::id::TraceId;
use crate::time::Timestamp;
use context::Scene;
use conversation::Talk;

pub(crate) use answer::usage as usage_of;

/// What a line came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineResult {
    Said(Patches),
    /// It is of a known type and says nothing that is recorded, or not yet.
    Nothing,
    /// It is of this type, which nobody here knows.
    Unknown(String),
    /// It is broken, and why.
    Malformed(String),
}

/// What is known of a sub-agent besides its transcript: a file beside it says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentAbout {
    /// The tool call that started it.
    pub tool_use: Option<String>,
    /// What kind of agent it is.
    pub kind: Option<String>,
}

impl AgentAbout {
    /// Reads the file; what is missing or odd is not known.
    ///
    /// ```
    /// use ratchet_core::record::claude_code::transcript::AgentAbout;
    ///
    /// let about = AgentAbout::parse(r#"{"agentType": "scout", "toolUseId": "toolu_1"}"#);
    /// assert_eq!(about.kind.as_deref(), Some("scout"));
    /// ```
    pub fn parse(text: &str) -> Self {
        let about = Object::parse(text).unwrap_or_default();
        Self { tool_use: about.text("toolUseId"), kind: about.text("agentType") }
    }
}

/// The turns that prompts began. Sub-agents know only the prompt, so all transcripts that are read
/// together share one of these.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    known: HashMap<String, TraceId>,
    /// What the turn that begins next is called, if not as its prompt says.
    next: Option<TraceId>,
}

impl Turns {
    /// Says what the turn that begins next is called; as its prompt says when `None`. Whoever runs
    /// the agent may have had to name a turn before anyone knew its prompt.
    pub fn name_next(&mut self, turn: Option<TraceId>) {
        self.next = turn;
    }
}

/// Reads one transcript: of a session, or of a sub-agent.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// The main conversation and those of sub-agents in the same file, by agent.
    talks: HashMap<Option<String>, Talk>,
    /// The turn that began last.
    turn: Option<TraceId>,
    /// The first time in the file: a line from before was copied from another one.
    opened: Option<Timestamp>,
    about: Option<AgentAbout>,
}

impl Transcript {
    /// A transcript of which nothing was read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A transcript of a sub-agent of which this is known.
    pub fn of_agent(about: AgentAbout) -> Self {
        Self { about: Some(about), ..Self::default() }
    }

    /// Says which turn is under way, until a line begins another.
    pub fn go_on_in(&mut self, turn: TraceId) {
        self.turn = Some(turn);
    }

    /// Takes the next line.
    ///
    /// Transcripts of sub-agents are best read after those of sessions: one whose prompt nobody
    /// has seen becomes a turn of its own.
    pub fn take(&mut self, text: &str, turns: &mut Turns) -> LineResult {
        let line = match Line::parse(text) {
            Ok(line) => line,
            Err(why) => return LineResult::Malformed(why),
        };
        self.opened = self.opened.or(line.at);
        match line.kind {
            LineKind::Unknown => return LineResult::Unknown(line.word),
            LineKind::Aside | LineKind::Link => return LineResult::Nothing,
            LineKind::User | LineKind::Assistant | LineKind::System => {}
        }
        let Some(at) = line.at else {
            return LineResult::Malformed("it has no timestamp".to_owned());
        };
        let Some(turn) = self.turn_of(&line, turns) else {
            return LineResult::Malformed("it belongs to no session".to_owned());
        };
        let is_copy = self.opened.is_some_and(|opened| at < opened);
        let mut scene = Scene { line: &line, at, turn, is_copy, patches: Patches::default() };
        let talk = self.talks.entry(line.agent.clone()).or_default();
        match read(&mut scene, talk, self.about.as_ref()) {
            Ok(()) if scene.patches.is_empty() => LineResult::Nothing,
            Ok(()) => LineResult::Said(scene.patches),
            Err(why) => LineResult::Malformed(why.to_owned()),
        }
    }

    /// Which turn a line belongs to: the one it begins, or the one under way.
    fn turn_of(&mut self, line: &Line<'_>, turns: &mut Turns) -> Option<TraceId> {
        let prompt = line.text("promptId");
        if line.agent.is_some() && self.turn.is_none() {
            // Only the first line decides: a sub-agent stays in the turn that began it.
            let known = prompt.as_ref().and_then(|prompt| turns.known.get(prompt).cloned());
            let own = || id::turn(prompt.as_deref()?);
            self.turn = known.or_else(own);
        }
        if line.agent.is_none() && user_messages::begins_turn(line) {
            let own = || line.text("uuid").and_then(|uuid| id::turn(&uuid));
            self.turn = turns.next.take().or_else(own);
            if let (Some(prompt), Some(turn)) = (prompt, &self.turn) {
                turns.known.insert(prompt, turn.clone());
            }
        }
        if self.turn.is_none() {
            self.turn = line.text("sessionId").and_then(|session| id::turn(&session));
        }
        self.turn.clone()
    }
}

fn read(
    scene: &mut Scene<'_>,
    talk: &mut Talk,
    about: Option<&AgentAbout>,
) -> Result<(), &'static str> {
    match scene.line.kind {
        LineKind::User => user_messages::read(scene, talk, about),
        LineKind::Assistant => answer::read(scene, talk, about),
        LineKind::System | LineKind::Link | LineKind::Aside | LineKind::Unknown => {
            note::read(scene, talk, about);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
