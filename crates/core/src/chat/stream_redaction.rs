//! Redaction of streamed text, for projects with redaction rules.
//!
//! Agents send text in pieces, and a piece may contain only half of what a rule matches. So pieces
//! are held back until the text is complete, and raw lines with pieces are dropped: the line with
//! the complete text follows. Without rules, but with known secret values, pieces pass until one of
//! these values may have started. With neither, nothing is held back or changed.

use super::event::{ChatEvent, EventBody, EventKind, UnorderedEvent};
use crate::record::claude_code::object::Object;
use crate::record::redact::{Redacted, Redactor};
use crate::time::Timestamp;

/// An event and its time.
pub type TimedEvent = (Timestamp, UnorderedEvent);

/// Holds text of one chat back until it is complete.
#[derive(Debug, Default)]
pub struct StreamRedactor {
    held: Vec<HeldWords>,
    /// The end of the text of each stream that has passed.
    ends: Vec<SaidEnd>,
}

/// The last text of a stream that has passed, in which a secret may have started.
#[derive(Debug)]
struct SaidEnd {
    kind: EventKind,
    parent: Option<String>,
    text: String,
}

/// Bytes at the end of passed text that are checked again with the next piece. Only the first few
/// bytes of a secret ever pass, so this is plenty.
const END_BYTES: usize = 64;

/// Incomplete text of one stream.
#[derive(Debug)]
struct HeldWords {
    at: Timestamp,
    kind: EventKind,
    message: Option<String>,
    /// The sub-agent, or the agent itself.
    parent: Option<String>,
    text: String,
    /// Bytes at its start that have passed already; checked again with what follows.
    gone_on: usize,
    is_whole: bool,
}

/// A raw line, by the text it contains.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Piece,
    /// Contains the complete text of a stream.
    Whole {
        parent: Option<String>,
    },
    Other,
}

impl Line {
    fn read(line: &str) -> Self {
        let Ok(said) = Object::parse(line) else { return Self::Other };
        match said.text("type").as_deref() {
            Some("stream_event") => Self::Piece,
            Some("assistant") => Self::Whole { parent: said.text("parent_tool_use_id") },
            _ => Self::Other,
        }
    }
}

/// Whether a state has no process: then the rest of the text will not follow.
fn is_without_process(body: &str) -> bool {
    let state = Object::parse(body).ok().and_then(|body| body.text("state"));
    matches!(state.as_deref(), Some("parked" | "failed" | "closed"))
}

impl StreamRedactor {
    /// Returns the events that need not be held back, redacted and numbered after `last`. Events of
    /// one line arrive together.
    pub fn redact(
        &mut self,
        events: Vec<TimedEvent>,
        rules: &Redactor,
        last: u64,
    ) -> Redacted<Vec<ChatEvent>> {
        let number = |(seq, (at, UnorderedEvent { kind, body }))| ChatEvent { seq, at, kind, body };
        Redacted::new((last + 1..).zip(self.pass(events, rules)).map(number).collect())
    }

    /// Returns the events that may pass, redacted.
    fn pass(&mut self, events: Vec<TimedEvent>, rules: &Redactor) -> Vec<TimedEvent> {
        if !rules.has_rules() {
            return self.pass_without_rules(events, rules);
        }
        let mut passed = Vec::with_capacity(events.len());
        let mut line = Line::Other;
        for (at, event) in events {
            match event.kind {
                EventKind::TextDelta | EventKind::ThinkingDelta => {
                    self.hold(at, &event, &line);
                    continue;
                }
                EventKind::Raw => line = Line::read(&event.body),
                EventKind::Done => self.end(|words| words.parent.is_none()),
                EventKind::State if is_without_process(&event.body) => self.end(|_| true),
                _ => {}
            }
            if event.kind != EventKind::Raw {
                self.release(&mut passed, rules);
            } else if let Line::Whole { parent } = &line {
                self.end(|words| words.parent == *parent);
            } else if line == Line::Piece {
                continue;
            }
            passed.push((at, clean(&event, rules)));
        }
        self.release(&mut passed, rules);
        passed
    }

    fn pass_without_rules(&mut self, events: Vec<TimedEvent>, rules: &Redactor) -> Vec<TimedEvent> {
        if rules.is_empty() && self.held.is_empty() {
            return events;
        }
        let mut passed = Vec::with_capacity(events.len());
        if rules.is_empty() {
            // There were rules until now.
            self.end(|_| true);
            self.release(&mut passed, rules);
            passed.extend(events);
            return passed;
        }
        let mut line = Line::Other;
        // A raw line with a piece passes together with the piece, or not at all.
        let mut carrier: Option<TimedEvent> = None;
        for (at, event) in events {
            match event.kind {
                EventKind::TextDelta | EventKind::ThinkingDelta => {
                    match self.risk(&event, rules) {
                        Some(gone_on) => {
                            carrier = None;
                            self.hold_from(at, &event, &line, &gone_on);
                        }
                        None => {
                            passed.extend(carrier.take());
                            passed.push((at, clean(&event, rules)));
                        }
                    }
                    continue;
                }
                EventKind::Raw => {
                    passed.extend(carrier.take());
                    self.release(&mut passed, rules);
                    line = Line::read(&event.body);
                    if line == Line::Piece {
                        carrier =
                            (!is_input_piece(&event.body)).then(|| (at, clean(&event, rules)));
                        continue;
                    }
                }
                EventKind::Done => self.end(|words| words.parent.is_none()),
                EventKind::State if is_without_process(&event.body) => self.end(|_| true),
                _ => {}
            }
            passed.extend(carrier.take());
            if event.kind != EventKind::Raw {
                self.release(&mut passed, rules);
            } else if let Line::Whole { parent } = &line {
                self.end(|words| words.parent == *parent);
            }
            if event.kind == EventKind::Done {
                self.ends.clear();
            }
            passed.push((at, clean(&event, rules)));
        }
        passed.extend(carrier);
        self.release(&mut passed, rules);
        passed
    }

    /// Returns what has passed already if a secret may have started in a piece; otherwise notes
    /// what passes.
    fn risk(&mut self, piece: &UnorderedEvent, rules: &Redactor) -> Option<String> {
        let body = Object::parse(&piece.body).ok()?;
        let (parent, text) = (body.text("parent"), body.text("text").unwrap_or_default());
        // Complete text that is not released yet counts, too: the rest of a message follows the line
        // with its complete text, and must neither overtake it nor complete a secret unseen.
        let is_held = |words: &HeldWords| words.kind == piece.kind && words.parent == parent;
        if self.held.iter().any(is_held) {
            return Some(String::new());
        }
        let at = self.ends.iter().position(|end| end.kind == piece.kind && end.parent == parent);
        let said = at.map(|at| self.ends.swap_remove(at).text).unwrap_or_default();
        if let Some(bytes) = rules.secrets().overlap(&said, &text) {
            let begun = said.len().checked_sub(bytes).and_then(|from| said.get(from..));
            return Some(begun.unwrap_or_default().to_owned());
        }
        let mut text = said + &text;
        let mut from = text.len().saturating_sub(END_BYTES);
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        text.drain(..from);
        self.ends.push(SaidEnd { kind: piece.kind, parent, text });
        None
    }

    /// Holds a piece back, after the text that has passed already.
    fn hold_from(&mut self, at: Timestamp, piece: &UnorderedEvent, line: &Line, gone_on: &str) {
        let before = self.held.len();
        self.hold(at, piece, line);
        if let Some(words) = self.held.get_mut(before) {
            words.text.insert_str(0, gone_on);
            words.gone_on = gone_on.len();
        }
    }

    /// Holds a piece back. Events right after the line with the complete text end it.
    fn hold(&mut self, at: Timestamp, piece: &UnorderedEvent, line: &Line) {
        let Ok(body) = Object::parse(&piece.body) else { return };
        let (message, parent) = (body.text("message"), body.text("parent"));
        let text = body.text("text").unwrap_or_default();
        let is_voice = |words: &HeldWords| words.kind == piece.kind && words.parent == parent;
        let last = self.held.iter_mut().rev().find(|words| is_voice(words));
        if let Some(words) = last {
            if words.is_of(message.as_deref()) {
                words.text.push_str(&text);
                words.at = at;
                words.message = words.message.take().or(message);
                return;
            }
            words.is_whole = true;
        }
        let is_whole = matches!(line, Line::Whole { parent: voice } if *voice == parent);
        let (kind, gone_on) = (piece.kind, 0);
        self.held.push(HeldWords { at, kind, message, parent, text, gone_on, is_whole });
    }

    fn end(&mut self, which: impl Fn(&HeldWords) -> bool) {
        for words in self.held.iter_mut().filter(|words| which(words)) {
            words.is_whole = true;
        }
    }

    fn release(&mut self, into: &mut Vec<TimedEvent>, rules: &Redactor) {
        let whole = self.held.extract_if(.., |words| words.is_whole);
        into.extend(whole.filter(|words| !words.text.is_empty()).map(|words| {
            let text = words.left(rules);
            let body = EventBody::default()
                .text("text", &text)
                .text_if("message", words.message.as_deref())
                .text_if("parent", words.parent.as_deref());
            (words.at, clean(&body.into_event(words.kind), rules))
        }));
    }
}

impl HeldWords {
    /// Whether they may be of a message. Pieces may lack the id that the complete text has.
    fn is_of(&self, message: Option<&str>) -> bool {
        let (Some(own), Some(message)) = (self.message.as_deref(), message) else { return true };
        own == message
    }

    /// Text that may pass: all but what has passed already.
    fn left(&self, rules: &Redactor) -> String {
        let Some((gone_on, rest)) = self.text.split_at_checked(self.gone_on) else {
            return self.text.clone();
        };
        if gone_on.is_empty() {
            return rest.to_owned();
        }
        let clean = rules.text(&self.text);
        clean.strip_prefix(gone_on).unwrap_or(&clean).to_owned()
    }
}

/// Whether a line has a piece of a tool's input. The call contains it completely.
fn is_input_piece(line: &str) -> bool {
    line.contains("\"input_json_delta\"")
}

fn clean(event: &UnorderedEvent, rules: &Redactor) -> UnorderedEvent {
    UnorderedEvent { kind: event.kind, body: rules.event(event.kind, &event.body) }
}

#[cfg(test)]
mod tests;
