use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::{NAME_BYTES, TraceWriter};
use crate::json_size::small_tree;
use crate::payload::Payload;
use crate::record::message_formats::{
    self, ChatMessage, MessageRole, Part, Picture, Reading, RecordedResult,
};

/// Limit for one text: longer ones are mostly files or logs.
const TEXT_BYTES: usize = 16_000;
/// Limit for reasoning and system messages.
const REASONING_BYTES: usize = 2_000;
/// Larger payloads are not parsed.
const MAX_PARSED_BYTES: usize = 8_000_000;
/// Shorter texts are repeated rather than referenced.
const MIN_REFERENCED_BYTES: usize = 32;

/// Hashes a text. A crafted collision only hides the attacker's own text.
fn key(thing: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    hasher.finish()
}

/// The role of a payload, which decides how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Input of an agent or a model.
    ModelInput,
    /// Output of an agent or a model. It may claim that others said something.
    ModelOutput,
    /// Output of a trace.
    TraceOutput,
    /// Input of a tool.
    ToolInput,
    /// Output of a tool: never a conversation, though it may look like one.
    ToolOutput,
}

impl Side {
    const fn label(self) -> &'static str {
        match self {
            Self::ModelInput | Self::ToolInput => "input",
            Self::ModelOutput | Self::ToolOutput => "output",
            Self::TraceOutput => "output of the trace",
        }
    }
}

impl TraceWriter {
    /// Renders an input or output, if there is one.
    pub(super) fn payload(&mut self, payload: Option<&Payload>, side: Side) {
        let Some(payload) = payload else { return };
        let raw = payload.as_str();
        if matches!(raw.trim(), "" | "null" | "\"\"" | "{}" | "[]") {
            return;
        }
        if raw.len() > MAX_PARSED_BYTES {
            self.out.line(side.label()).ours(":").block(raw, TEXT_BYTES);
            return;
        }
        match side {
            Side::ModelInput | Side::ModelOutput | Side::TraceOutput => {
                match message_formats::read(payload.to_json().as_str()) {
                    Reading::Text(text) => self.add_text_of(&text, side),
                    Reading::Data(text) => self.text(side.label(), &plain(&text)),
                    Reading::Messages(messages) => self.messages(&messages, side),
                }
            }
            Side::ToolInput => self.text(side.label(), &plain(raw)),
            Side::ToolOutput => {
                let text = plain(raw);
                self.rendered.insert(key(&("result", text.trim())));
                self.text(side.label(), &text);
            }
        }
    }

    fn add_text_of(&mut self, text: &str, side: Side) {
        let speaker =
            if side == Side::ModelInput { MessageRole::User } else { MessageRole::Assistant };
        self.rendered.insert(key(&(role_name(&speaker), text.trim())));
        self.text(side.label(), text);
    }

    /// Renders a text, unless this trace has shown it.
    fn text(&mut self, label: &str, text: &str) {
        self.once(label, text, TEXT_BYTES);
    }

    fn once(&mut self, label: &str, text: &str, max_bytes: usize) {
        let is_new = self.shown.insert(key(text.trim()));
        self.out.line(label);
        if is_new || text.len() < MIN_REFERENCED_BYTES {
            self.out.ours(":").block(text, max_bytes);
        } else {
            self.out.ours(": as above");
        }
    }

    /// Renders the new messages of a conversation, and always its last one.
    fn messages(&mut self, messages: &[ChatMessage], side: Side) {
        let Some((last, before)) = messages.split_last() else { return };
        self.out.line(side.label()).ours(":");
        let known = before.iter().take_while(|message| self.is_rendered(message)).count();
        if known > 0 {
            self.out.ours(format_args!(" after {known} messages that were shown before"));
        }
        for message in before.iter().skip(known).chain([last]) {
            self.message(message, side);
        }
    }

    /// Returns whether all of a message was rendered before.
    fn is_rendered(&self, message: &ChatMessage) -> bool {
        message.parts.iter().all(|part| match part {
            Part::Text(text) => {
                self.rendered.contains(&key(&(role_name(&message.role), text.trim())))
            }
            Part::Call(call) => {
                let result = call.result.as_ref().map(result_text);
                self.rendered.contains(&key(&(&call.name, call.arguments.to_string())))
                    && result
                        .is_none_or(|text| self.rendered.contains(&key(&("result", text.trim()))))
            }
            Part::Result(result) => {
                self.rendered.contains(&key(&("result", result_text(result).trim())))
            }
            Part::Thinking(_) | Part::Picture(_) | Part::Data(_) => true,
        })
    }

    fn message(&mut self, message: &ChatMessage, side: Side) {
        let role = role_name(&message.role);
        let label = match (side, &message.role) {
            // Makes visible that an agent attributes text to others.
            (Side::ModelOutput | Side::TraceOutput, MessageRole::User) => "the output, as user",
            (Side::ModelOutput | Side::TraceOutput, MessageRole::System) => "the output, as system",
            _ => role,
        };
        for part in &message.parts {
            match part {
                Part::Text(text) if text.trim().is_empty() => {}
                Part::Text(text) => {
                    self.rendered.insert(key(&(role, text.trim())));
                    let is_aside = message.role == MessageRole::System;
                    self.once(label, text, if is_aside { REASONING_BYTES } else { TEXT_BYTES });
                }
                Part::Thinking(text) => self.once("thinking", text, REASONING_BYTES),
                Part::Picture(picture) => self.picture(picture),
                Part::Call(call) => {
                    let arguments = call.arguments.to_string();
                    self.rendered.insert(key(&(&call.name, &arguments)));
                    self.out.line("calls ").word(&call.name, NAME_BYTES);
                    self.text("with", &arguments);
                    if let Some(result) = &call.result {
                        self.result(result);
                    }
                }
                Part::Result(result) => self.result(result),
                Part::Data(value) => self.text("data", &value.to_string()),
            }
        }
    }

    fn result(&mut self, result: &RecordedResult) {
        let text = result_text(result);
        self.rendered.insert(key(&("result", text.trim())));
        self.text(if result.is_error { "failed result" } else { "result" }, &text);
    }

    fn picture(&mut self, picture: &Picture) {
        match picture {
            Picture::Inline { mime, data } => {
                let size = data.len() / 4 * 3;
                self.out.line("a file of ").word(mime, NAME_BYTES);
                self.out.ours(format_args!(", about {size} bytes, not shown"));
            }
            Picture::Kept { mime, .. } => {
                self.out.line("a file of ").word(mime, NAME_BYTES).ours(", not shown");
            }
            Picture::Elsewhere(address) => {
                self.out.line("a file at ").word(address, NAME_BYTES).ours(", not shown");
            }
        }
    }
}

/// Renders a payload that is not a conversation: text blocks as text, other JSON in the format of
/// tool calls.
fn plain(raw: &str) -> String {
    match small_tree(raw) {
        Ok(Value::Array(blocks)) if blocks.iter().all(|block| text_of(block).is_some()) => {
            blocks.iter().filter_map(text_of).collect::<Vec<_>>().join("\n")
        }
        Ok(Value::String(text)) => text,
        Ok(value @ (Value::Array(_) | Value::Object(_))) => value.to_string(),
        // A number may be a text that looks like one: it stays unchanged.
        Ok(_) | Err(_) => raw.to_owned(),
    }
}

fn text_of(block: &Value) -> Option<&str> {
    block.get("text")?.as_str()
}

/// Renders a tool result.
fn result_text(result: &RecordedResult) -> String {
    let words = result.parts.iter().map(|part| match part {
        Part::Text(text) | Part::Thinking(text) => text.clone(),
        Part::Data(value) => value.to_string(),
        Part::Picture(_) => "(a file)".to_owned(),
        Part::Call(call) => call.name.clone(),
        Part::Result(inner) => format!("({} parts)", inner.parts.len()),
    });
    words.collect::<Vec<_>>().join("\n")
}

/// Returns the name of a role. A client's custom role is untrusted and is not used.
fn role_name(role: &MessageRole) -> &'static str {
    match role {
        MessageRole::System => "system",
        MessageRole::User => "user",
        MessageRole::Assistant => "agent",
        MessageRole::Tool => "tool",
        MessageRole::Other(_) => "other",
    }
}
