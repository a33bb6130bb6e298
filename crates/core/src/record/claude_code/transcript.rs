//! Conversion of transcript lines to patches.
//!
//! A transcript is read line by line, in order; every line results in patches at once, so that a
//! growing file can be read incrementally. Reading a line twice is idempotent, and so is a copy of
//! it in a forked session's file: a turn is identified by the line that started it, which copies
//! preserve. (Copies do not preserve the prompt id.)

/// The context of a line: turn, agent and time.
mod context;
/// User and tool messages.
mod user_messages;
/// Model responses.
mod assistant_messages;
/// System lines.
mod system_lines;
/// State of one conversation.
mod conversation;

use std::collections::HashMap;

use super::line::{Line, LineKind};
use super::object::Object;
use super::{Patches, id};
use crate::id::TraceId;
use crate::time::Timestamp;
use context::LineContext;
use conversation::TranscriptConversation;

pub(crate) use assistant_messages::usage as usage_of;

/// The result of reading a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineResult {
    Patches(Patches),
    /// A known type with nothing to record, or not yet.
    Nothing,
    /// An unknown type.
    Unknown(String),
    /// The reason.
    Malformed(String),
}

/// Metadata of a sub-agent, from the file beside its transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubAgentMetadata {
    /// The tool call that started it.
    pub tool_use: Option<String>,
    /// Agent type.
    pub kind: Option<String>,
}

impl SubAgentMetadata {
    /// Parses the file; missing or invalid values are `None`.
    ///
    /// ```
    /// use ratchet_core::record::claude_code::transcript::SubAgentMetadata;
    ///
    /// let about = SubAgentMetadata::parse(r#"{"agentType": "scout", "toolUseId": "toolu_1"}"#);
    /// assert_eq!(about.kind.as_deref(), Some("scout"));
    /// ```
    pub fn parse(text: &str) -> Self {
        let about = Object::parse(text).unwrap_or_default();
        Self { tool_use: about.text("toolUseId"), kind: about.text("agentType") }
    }
}

/// The turns by prompt id. Sub-agents only know the prompt, so all transcripts that are read
/// together share one instance.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    known: HashMap<String, TraceId>,
    /// The trace id of the next turn, if it overrides the one derived from its prompt.
    next: Option<TraceId>,
}

impl Turns {
    /// Sets the trace id of the next turn; derived from its prompt when `None`. A chat assigns the
    /// id before the prompt's id is known.
    pub fn name_next(&mut self, turn: Option<TraceId>) {
        self.next = turn;
    }
}

/// A reader of one transcript: of a session or of a sub-agent.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// Conversations by sub-agent; `None` is the main one.
    conversations: HashMap<Option<String>, TranscriptConversation>,
    /// The current turn.
    turn: Option<TraceId>,
    /// The first timestamp in the file: earlier lines were copied from another session.
    opened: Option<Timestamp>,
    about: Option<SubAgentMetadata>,
}

impl Transcript {
    /// Creates a reader for a session's transcript.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a reader for a sub-agent's transcript.
    pub fn of_agent(about: SubAgentMetadata) -> Self {
        Self { about: Some(about), ..Self::default() }
    }

    /// Sets the current turn, until a line starts another.
    pub fn continue_turn(&mut self, turn: TraceId) {
        self.turn = Some(turn);
    }

    /// Reads the next line.
    ///
    /// Read transcripts of sub-agents after those of sessions: one with an unknown prompt becomes a
    /// turn of its own.
    pub fn take(&mut self, text: &str, turns: &mut Turns) -> LineResult {
        let line = match Line::parse(text) {
            Ok(line) => line,
            Err(why) => return LineResult::Malformed(why),
        };
        self.opened = self.opened.or(line.at);
        match line.kind {
            LineKind::Unknown => return LineResult::Unknown(line.type_name),
            LineKind::Ignored | LineKind::Link => return LineResult::Nothing,
            LineKind::User | LineKind::Assistant | LineKind::System => {}
        }
        let Some(at) = line.at else {
            return LineResult::Malformed("it has no timestamp".to_owned());
        };
        let Some(turn) = self.turn_of(&line, turns) else {
            return LineResult::Malformed("it belongs to no session".to_owned());
        };
        let is_copy = self.opened.is_some_and(|opened| at < opened);
        let mut context =
            LineContext { line: &line, at, turn, is_copy, patches: Patches::default() };
        let conversation = self.conversations.entry(line.agent.clone()).or_default();
        match read(&mut context, conversation, self.about.as_ref()) {
            Ok(()) if context.patches.is_empty() => LineResult::Nothing,
            Ok(()) => LineResult::Patches(context.patches),
            Err(why) => LineResult::Malformed(why.to_owned()),
        }
    }

    /// Returns the turn of a line: the one it starts, or the current one.
    fn turn_of(&mut self, line: &Line<'_>, turns: &mut Turns) -> Option<TraceId> {
        let prompt = line.text("promptId");
        if line.agent.is_some() && self.turn.is_none() {
            // Only the first line decides: a sub-agent stays in the turn that started it.
            let known = prompt.as_ref().and_then(|prompt| turns.known.get(prompt).cloned());
            let own = || id::turn(prompt.as_deref()?);
            self.turn = known.or_else(own);
        }
        if line.agent.is_none() && user_messages::starts_turn(line) {
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
    context: &mut LineContext<'_>,
    conversation: &mut TranscriptConversation,
    about: Option<&SubAgentMetadata>,
) -> Result<(), &'static str> {
    match context.line.kind {
        LineKind::User => user_messages::read(context, conversation, about),
        LineKind::Assistant => assistant_messages::read(context, conversation, about),
        LineKind::System | LineKind::Link | LineKind::Ignored | LineKind::Unknown => {
            system_lines::read(context, conversation, about);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
