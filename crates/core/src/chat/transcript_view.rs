//! Events as a conversation that people read: turns, and in each what was said, done and asked.
//!
//! The same events always give the same story, so that a page that is drawn again while the agent
//! works changes only where something happened.

/// What was done and how it ended, in words.
mod labels;
/// What a turn used and cost.
mod spending;

use std::sync::Arc;

use serde_json::Value;

use super::event::{ChatEvent, EventKind};
use crate::time::Timestamp;

pub use labels::{ABORTED_START, best_known, early_end, in_words, outcome};
pub use spending::TurnSpending;

/// Agents within agents that are told apart; whatever lies deeper is told on the outside.
const DEEPEST: usize = 6;

/// A conversation, or a part of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TranscriptView {
    /// Its turns, oldest first.
    pub turns: Vec<TurnView>,
    /// The place of the last event that it tells.
    pub last: u64,
}

/// A turn: a message, and what the agent made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnView {
    /// The place of its first event.
    pub seq: u64,
    pub at: Timestamp,
    /// Its trace; none of what was told before any turn.
    pub turn: Option<String>,
    /// What the person said; nothing if the agent began by itself.
    pub message: Option<UserMessageView>,
    pub items: Vec<TurnItem>,
    /// How it ended, if it has: the body of the event that says so.
    pub end: Option<Value>,
}

/// What a person said.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMessageView {
    /// Its id, by which files can be put back.
    pub id: String,
    pub by: Option<String>,
    /// A text, or blocks.
    pub content: Value,
}

/// Something that happened in a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnItem {
    /// The place of its first event.
    pub seq: u64,
    /// The place of the last event that changed it.
    pub last: u64,
    pub part: TurnPart,
}

/// What happens in a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnPart {
    /// The agent's words, whole or as far as they came.
    Words {
        text: String,
        /// The agent's message that they belong to.
        message: Option<String>,
    },
    Thought {
        text: String,
        /// The agent's message that they belong to.
        message: Option<String>,
    },
    Tool(Box<ToolView>),
    Ask(Box<PermissionPromptView>),
    Notice {
        what: String,
        text: String,
    },
    Failure(String),
    /// A line of the agent's, as it is.
    Raw(Arc<str>),
}

/// A tool that was used.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolView {
    pub id: String,
    pub name: String,
    pub input: Value,
    /// What it gave, once it has: a text or blocks.
    pub output: Option<Value>,
    pub is_error: bool,
    /// What the agent that it started did.
    pub inside: Vec<TurnItem>,
}

/// Something that a person was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionPromptView {
    pub id: String,
    /// Whether it is about a tool that wants to be used; otherwise it is a question.
    pub is_permission: bool,
    /// What was asked, as clients are told it.
    pub body: Value,
    /// How it was answered, as clients are told it.
    pub answer: Option<Value>,
}

impl TranscriptView {
    /// Tells events, which are in order.
    pub fn of<'e>(events: impl IntoIterator<Item = &'e ChatEvent>) -> Self {
        let mut story = Self::default();
        for event in events {
            story.take(event);
        }
        story
    }

    fn take(&mut self, event: &ChatEvent) {
        self.last = event.seq;
        if event.kind == EventKind::Raw {
            return self.add(event, None, TurnPart::Raw(event.body.clone()));
        }
        let body: Value = serde_json::from_str(&event.body).unwrap_or_default();
        let parent = body["parent"].as_str();
        match event.kind {
            EventKind::Raw => {}
            EventKind::State => self.state(event, &body),
            EventKind::Message => self.message(event, &body),
            EventKind::TextDelta | EventKind::ThinkingDelta => self.words(event, &body),
            EventKind::ToolUse => {
                let tool = ToolView {
                    id: text(&body["id"]),
                    name: text(&body["name"]),
                    input: body["input"].clone(),
                    output: None,
                    is_error: false,
                    inside: Vec::new(),
                };
                self.add(event, parent, TurnPart::Tool(Box::new(tool)));
            }
            EventKind::ToolResult => self.result(event, &body),
            EventKind::Question | EventKind::Permission => {
                let is_permission = event.kind == EventKind::Permission;
                let ask = PermissionPromptView {
                    id: text(&body["id"]),
                    is_permission,
                    body,
                    answer: None,
                };
                self.add(event, None, TurnPart::Ask(Box::new(ask)));
            }
            EventKind::Answered => self.answered(event, body),
            EventKind::Done => self.turn(event).end = Some(body),
            EventKind::Error => {
                let spending = TurnSpending::of(&body).words();
                let spending = spending.map(|words| format!(" ({words})")).unwrap_or_default();
                let message = text(&body["message"]) + &spending;
                self.add(event, None, TurnPart::Failure(message));
            }
            EventKind::Notice => {
                let (what, text) = (text(&body["what"]), in_words(&body["text"]));
                self.add(event, None, TurnPart::Notice { what, text });
            }
        }
    }

    /// The agent began by itself if it is at a turn that nobody began.
    fn state(&mut self, event: &ChatEvent, body: &Value) {
        let Some(turn) = body["turn"].as_str() else { return };
        let is_told = self.turns.last().is_some_and(|last| last.turn.as_deref() == Some(turn));
        if !is_told {
            self.begin(event, Some(turn.to_owned()), None);
        }
    }

    fn message(&mut self, event: &ChatEvent, body: &Value) {
        let (id, turn) = (text(&body["id"]), body["turn"].as_str().map(str::to_owned));
        let by = body["by"].as_str().map(str::to_owned);
        let message = UserMessageView { id, by, content: body["content"].clone() };
        self.begin(event, turn, Some(message));
    }

    fn begin(&mut self, event: &ChatEvent, turn: Option<String>, message: Option<UserMessageView>) {
        let (seq, at) = (event.seq, event.at);
        self.turns.push(TurnView { seq, at, turn, message, items: Vec::new(), end: None });
    }

    /// The turn that something belongs to: the last, or one of its own.
    fn turn(&mut self, event: &ChatEvent) -> &mut TurnView {
        if self.turns.is_empty() {
            self.begin(event, None, None);
        }
        let last = self.turns.len() - 1;
        &mut self.turns[last]
    }

    /// Puts something where it belongs: with the call that started its agent, or in the turn.
    fn put(
        &mut self,
        event: &ChatEvent,
        parent: Option<&str>,
        put: impl FnOnce(&mut Vec<TurnItem>),
    ) {
        if let Some(call) = parent.and_then(|parent| self.call(parent, event.seq)) {
            return put(&mut call.inside);
        }
        put(&mut self.turn(event).items);
    }

    fn add(&mut self, event: &ChatEvent, parent: Option<&str>, part: TurnPart) {
        let item = TurnItem { seq: event.seq, last: event.seq, part };
        self.put(event, parent, |items| items.push(item));
    }

    /// The call of a tool, which something that happens now changes.
    fn call(&mut self, id: &str, now: u64) -> Option<&mut ToolView> {
        self.turns.iter_mut().rev().find_map(|turn| call_in(&mut turn.items, id, now, DEEPEST))
    }

    fn words(&mut self, event: &ChatEvent, body: &Value) {
        let message = body["message"].as_str().map(str::to_owned);
        let (more, now) = (text(&body["text"]), event.seq);
        let is_thought = event.kind == EventKind::ThinkingDelta;
        self.put(event, body["parent"].as_str(), |items| {
            let spoken = items.iter_mut().rev().find(|item| !matches!(item.part, TurnPart::Raw(_)));
            match spoken.map(|item| (&mut item.last, &mut item.part)) {
                Some((last, TurnPart::Words { text, message: of }))
                    if !is_thought && *of == message =>
                {
                    text.push_str(&more);
                    *last = now;
                }
                Some((last, TurnPart::Thought { text, message: of }))
                    if is_thought && *of == message =>
                {
                    text.push_str(&more);
                    *last = now;
                }
                _ => {
                    let text = more;
                    let part = match is_thought {
                        true => TurnPart::Thought { text, message },
                        false => TurnPart::Words { text, message },
                    };
                    items.push(TurnItem { seq: now, last: now, part });
                }
            }
        });
    }

    fn result(&mut self, event: &ChatEvent, body: &Value) {
        let (id, is_error) = (text(&body["tool_use_id"]), body["is_error"] == true);
        if let Some(call) = self.call(&id, event.seq) {
            call.output = Some(body["output"].clone());
            call.is_error = is_error;
            return;
        }
        // Its call was told too long ago, or nobody wants to see calls.
        let tool = ToolView {
            id,
            name: String::new(),
            input: Value::Null,
            output: Some(body["output"].clone()),
            is_error,
            inside: Vec::new(),
        };
        self.add(event, body["parent"].as_str(), TurnPart::Tool(Box::new(tool)));
    }

    fn answered(&mut self, event: &ChatEvent, body: Value) {
        let items = self.turns.iter_mut().rev().flat_map(|turn| turn.items.iter_mut().rev());
        let id = body["id"].as_str();
        for item in items {
            if let TurnPart::Ask(ask) = &mut item.part
                && Some(ask.id.as_str()) == id
            {
                (ask.answer, item.last) = (Some(body), event.seq);
                return;
            }
        }
    }
}

fn call_in<'t>(
    items: &'t mut [TurnItem],
    id: &str,
    now: u64,
    levels: usize,
) -> Option<&'t mut ToolView> {
    let levels = levels.checked_sub(1)?;
    for TurnItem { last, part, .. } in items.iter_mut().rev() {
        let TurnPart::Tool(tool) = part else { continue };
        if tool.id == id {
            *last = now;
            return Some(tool);
        }
        if let Some(found) = call_in(&mut tool.inside, id, now, levels) {
            *last = now;
            return Some(found);
        }
    }
    None
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
