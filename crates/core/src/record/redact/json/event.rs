//! Redaction of chat events.
//!
//! Much of an event is structure: types, ids and counts. Structure is not redacted, whatever the
//! patterns match, because clients could not process the event otherwise. Everything else is
//! treated as in a trace: tool arguments are input, messages are output.

use std::borrow::Cow;
use std::sync::Arc;

use super::{MAX_DEPTH, Rewriter, literal_len, quoted, value_len};
use crate::chat::event::EventKind;
use crate::payload::{Json, Payload};
use crate::record::redact::path::{Root, Trail};
use crate::record::redact::{DEFAULT_REPLACEMENT, Redactor};

/// Keys of structural strings: types and ids.
const NAMES: [&str; 16] = [
    "type",
    "subtype",
    "id",
    "uuid",
    "session_id",
    "tool_use_id",
    "parent_tool_use_id",
    "parent",
    "request_id",
    "command_uuid",
    "turn",
    "role",
    "state",
    "decision",
    "stop_reason",
    "permissionMode",
];
/// Keys of structural numbers and booleans.
const COUNTS: [&str; 11] = [
    "cost",
    "total_cost",
    "total_cost_usd",
    "duration_ms",
    "duration_api_ms",
    "num_turns",
    "rounds",
    "index",
    "is_error",
    "always",
    "interrupt",
];
/// Keys of objects that contain counts only.
const TALLIES: [&str; 3] = ["usage", "modelUsage", "model_usage_since_last_result"];
/// The key of message content: text, or a list of blocks with their own structure.
const CONTENT: &str = "content";

impl Redactor {
    /// Redacts an event; returns the same one if nothing matched.
    pub fn event(&self, kind: EventKind, body: &Arc<str>) -> Arc<str> {
        if self.finds_nothing_in(body) {
            return body.clone();
        }
        let mut rewriter = Rewriter {
            redactor: self.uncut(),
            rest: body,
            clean: String::with_capacity(body.len()),
            has_changed: false,
        };
        rewriter.part(Within { kind, key: "" }, 0);
        if !rewriter.has_changed {
            return body.clone();
        }
        // A valid document stays valid; if it ever did not, nothing of it would be stored.
        let is_valid = Json::parse(&rewriter.clean).is_some();
        if is_valid { rewriter.clean.into() } else { "{}".into() }
    }
}

/// A position in an event.
#[derive(Clone, Copy)]
struct Within<'k> {
    kind: EventKind,
    key: &'k str,
}

impl Within<'_> {
    /// Returns the field of a record it corresponds to; `None` for structure.
    fn root(self) -> Option<Root> {
        match self.key {
            "input" => Some(Root::Input),
            CONTENT if self.kind == EventKind::Message => Some(Root::Input),
            CONTENT | "output" | "result" | "text" | "thinking" | "tool_use_result"
            | "structured_output" => Some(Root::Output),
            "metadata" => Some(Root::Metadata),
            _ => None,
        }
    }

    fn is_name(self) -> bool {
        // The message id of a tool call; elsewhere the same key contains text.
        let is_of_call = self.key == "message" && self.kind == EventKind::ToolUse;
        is_of_call || NAMES.contains(&self.key)
    }

    fn is_form(self) -> bool {
        let is_count = COUNTS.contains(&self.key) || TALLIES.contains(&self.key);
        is_count || NAMES.contains(&self.key) || self.root().is_some()
    }
}

impl Rewriter<'_> {
    /// Copies a part of an event, redacted.
    fn part(&mut self, within: Within<'_>, depth: usize) {
        self.space();
        let first = self.rest.as_bytes().first();
        let nests = matches!(first, Some(b'{' | b'['));
        match (first, within.root()) {
            (None, _) => {}
            _ if nests && depth >= MAX_DEPTH => self.replace_value(DEFAULT_REPLACEMENT),
            _ if TALLIES.contains(&within.key) => self.copy(value_len(self.rest)),
            (Some(b'"'), Some(root)) => self.text(root),
            (Some(_), Some(root)) if within.key != CONTENT || !nests => {
                let rules = self.redactor.rules;
                self.value(&Trail::new(&rules.fields, root), depth);
            }
            (Some(b'{'), _) => self.told_object(within, depth),
            (Some(b'['), _) => self.told_list(within, depth),
            (Some(b'"'), None) if within.is_name() => self.copy(literal_len(self.rest)),
            (Some(b'"'), None) => drop(self.string()),
            _ if COUNTS.contains(&within.key) => self.copy(value_len(self.rest)),
            _ => self.scalar(),
        }
    }

    fn told_object(&mut self, within: Within<'_>, depth: usize) {
        self.copy(1);
        loop {
            self.space();
            match self.rest.as_bytes().first() {
                Some(b'"') => {
                    let len = literal_len(self.rest);
                    let literal = self.rest.get(..len).unwrap_or_default();
                    let key: String = serde_json::from_str(literal).unwrap_or_default();
                    let at_key = Within { key: &key, ..within };
                    if at_key.is_form() {
                        self.copy(len);
                    } else {
                        self.string();
                    }
                    self.space();
                    // The colon.
                    self.copy(1);
                    self.part(at_key, depth + 1);
                }
                Some(b',') => self.copy(1),
                Some(b'}') => return self.copy(1),
                _ => return,
            }
        }
    }

    fn told_list(&mut self, within: Within<'_>, depth: usize) {
        self.copy(1);
        loop {
            self.space();
            match self.rest.as_bytes().first() {
                Some(b',') => self.copy(1),
                Some(b']') => return self.copy(1),
                Some(_) => self.part(within, depth + 1),
                None => return,
            }
        }
    }

    /// Copies a text, redacted as in a trace.
    fn text(&mut self, root: Root) {
        let literal = self.take(literal_len(self.rest));
        let text: String = serde_json::from_str(literal).unwrap_or_default();
        let clean = self.redactor.payload(Payload::Text(text.as_str().into()), root);
        let clean = match clean.as_str() {
            same if same == text => Cow::Borrowed(literal),
            clean => {
                self.has_changed = true;
                Cow::Owned(quoted(clean))
            }
        };
        self.clean.push_str(&clean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::redact::{RedactionPattern, Rule};

    fn rules() -> Redactor {
        let rule = |what| Rule { what, replacement: "[gone]".to_owned() };
        Redactor::new(&[
            rule(RedactionPattern::Pattern("sk-[a-z0-9]{4,}".to_owned())),
            rule(RedactionPattern::Pattern("[0-9]{6,}".to_owned())),
            rule(RedactionPattern::Field("input.password".to_owned())),
            rule(RedactionPattern::Field("output.*.pin".to_owned())),
        ])
        .unwrap()
    }

    #[track_caller]
    fn check(kind: EventKind, body: &str, expected: &str) {
        let clean = rules().event(kind, &body.into());
        assert_eq!(&*clean, expected);
        let again = rules().event(kind, &clean);
        assert_eq!(again, clean, "doing it again changes it");
    }

    #[test]
    fn event_text_is_redacted_and_structure_is_not() {
        let raw = r#"{"type":"assistant","uuid":"12345678","message":{"id":"msg_1234567",
            "content":[{"type":"text","text":"use sk-abcd \u0073k-abcd"},
            {"type":"tool_use","id":"toolu_1234567","name":"Bash",
            "input":{"command":"echo sk-abcd","password":[1],"n":1234567}}]},
            "usage":{"input_tokens":1234567},"total_cost_usd":0.1234567,"odd":1234567}"#;
        let clean = r#"{"type":"assistant","uuid":"12345678","message":{"id":"msg_1234567",
            "content":[{"type":"text","text":"use [gone] [gone]"},
            {"type":"tool_use","id":"toolu_1234567","name":"Bash",
            "input":{"command":"echo [gone]","password":"[gone]","n":"[gone]"}}]},
            "usage":{"input_tokens":1234567},"total_cost_usd":0.1234567,"odd":"[gone]"}"#;
        check(EventKind::Raw, raw, clean);
        let used = r#"{"id":"toolu_1234567","input":{"password":"x"},"message":"msg_1234567"}"#;
        let clean =
            r#"{"id":"toolu_1234567","input":{"password":"[gone]"},"message":"msg_1234567"}"#;
        check(EventKind::ToolUse, used, clean);
    }

    #[test]
    fn event_text_is_redacted_in_every_field() {
        let error = r#"{"message":"no such key: sk-abcd","turn":"12345678"}"#;
        check(EventKind::Error, error, r#"{"message":"no such key: [gone]","turn":"12345678"}"#);
        let answered = r#"{"id":"ask-1234567","answers":{"is sk-abcd yours?":"sk-abcd"}}"#;
        let clean = r#"{"id":"ask-1234567","answers":{"is [gone] yours?":"[gone]"}}"#;
        check(EventKind::Answered, answered, clean);
        let message = r#"{"id":"m","content":"{\"password\":\"x\",\"a\":1}"}"#;
        let clean = r#"{"id":"m","content":"{\"password\":\"[gone]\",\"a\":1}"}"#;
        check(EventKind::Message, message, clean);
        let result = r#"{"tool_use_id":"t","output":"[{\"pin\":12}]","is_error":false}"#;
        let clean = r#"{"tool_use_id":"t","output":"[{\"pin\":\"[gone]\"}]","is_error":false}"#;
        check(EventKind::ToolResult, result, clean);
        let same = r#"{"state":"idle","turn":"12345678"}"#;
        check(EventKind::State, same, same);
    }

    #[test]
    fn nothing_gets_by_in_nested_lists_and_objects() {
        let deep = format!("{{\"a\":{}\"sk-abcd\"{}}}", "[".repeat(300), "]".repeat(300));
        let clean = rules().event(EventKind::Raw, &deep.into());
        assert!(!clean.contains("sk-abcd"), "{clean}");
    }
}
