//! Events as a conversation that people read: turns, and in each the text, tool calls and prompts.
//!
//! The same events always give the same result, so that a page that is rendered again changes only
//! where something happened.

/// Texts of tool calls and results.
mod labels;
/// Usage and cost of a turn.
mod spending;

use std::sync::Arc;

use serde_json::Value;

use super::event::{ChatEvent, EventKind};
use crate::time::Timestamp;

pub use labels::{ABORTED_START, best_known, early_end, in_words, outcome};
pub use spending::TurnSpending;

/// Maximum depth of nested sub-agents; deeper ones are shown at this depth.
const DEEPEST: usize = 6;

/// A conversation, or a part of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TranscriptView {
    /// Turns, oldest first.
    pub turns: Vec<TurnView>,
    /// Sequence number of the last event.
    pub last: u64,
}

/// A turn: a message, and what the agent did.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnView {
    /// Sequence number of its first event.
    pub seq: u64,
    pub at: Timestamp,
    /// Trace id; `None` before the first turn.
    pub turn: Option<String>,
    /// Message of the person; `None` if the agent started the turn.
    pub message: Option<UserMessageView>,
    pub items: Vec<TurnItem>,
    /// Body of the event that ended it.
    pub end: Option<Value>,
}

/// A message of a person.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMessageView {
    /// Id for restoring files.
    pub id: String,
    pub by: Option<String>,
    /// A text, or blocks.
    pub content: Value,
}

/// An item of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnItem {
    /// Sequence number of its first event.
    pub seq: u64,
    /// Sequence number of the last event that changed it.
    pub last: u64,
    pub part: TurnPart,
}

/// Content of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnPart {
    /// Text of the agent, complete or so far.
    Words {
        text: String,
        /// Id of the agent's message.
        message: Option<String>,
    },
    Thought {
        text: String,
        /// Id of the agent's message.
        message: Option<String>,
    },
    Tool(Box<ToolView>),
    Ask(Box<PermissionPromptView>),
    Notice {
        what: String,
        text: String,
    },
    Failure(String),
    /// A line of the agent, unchanged.
    Raw(Arc<str>),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolView {
    pub id: String,
    pub name: String,
    pub input: Value,
    /// Its result: a text or blocks.
    pub output: Option<Value>,
    pub is_error: bool,
    /// Items of the sub-agent that it started.
    pub inside: Vec<TurnItem>,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionPromptView {
    pub id: String,
    /// Whether it is a permission prompt; otherwise it is a question.
    pub is_permission: bool,
    /// Body of the event.
    pub body: Value,
    /// Body of the event with the answer.
    pub answer: Option<Value>,
}

impl TranscriptView {
    /// Builds the view from events in order.
    pub fn of<'e>(events: impl IntoIterator<Item = &'e ChatEvent>) -> Self {
        let mut story = Self::default();
        for event in events {
            story.take(event);
        }
        story
    }

    /// Adds the next event.
    pub fn take(&mut self, event: &ChatEvent) {
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
                if let Some(broken) = body["broken"].as_str() {
                    self.take_back(event, broken);
                }
                let (what, text) = (text(&body["what"]), in_words(&body["text"]));
                self.add(event, None, TurnPart::Notice { what, text });
            }
        }
    }

    /// Starts a turn without a message, if the agent is in one.
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

    /// The turn of an item: the last, or a new one.
    fn turn(&mut self, event: &ChatEvent) -> &mut TurnView {
        if self.turns.is_empty() {
            self.begin(event, None, None);
        }
        let last = self.turns.len() - 1;
        &mut self.turns[last]
    }

    /// Removes the text of a message that the agent writes again.
    fn take_back(&mut self, event: &ChatEvent, broken: &str) {
        self.turn(event).items.retain(|item| match &item.part {
            TurnPart::Words { message, .. } | TurnPart::Thought { message, .. } => {
                message.as_deref() != Some(broken)
            }
            _ => true,
        });
    }

    /// Adds an item to the call that started its sub-agent, or to the turn.
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

    /// The tool call that an event changes.
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
        // Its call is too old, or calls are hidden.
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
