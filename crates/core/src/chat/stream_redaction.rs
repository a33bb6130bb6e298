//! Redaction of a chat's event stream.
//!
//! Agents tell their words in pieces, and a piece may hold half of what a rule would find. So
//! pieces are held back until the words are whole, and lines that carry pieces do not go on at
//! all: the line with the whole words comes after them. Where there are no rules, but values that
//! are known to be secret, pieces go on until one of those values may be on its way. Where there
//! are neither nothing is held and nothing changes.

use super::event::{EventBody, EventKind, UnorderedEvent};
use crate::record::claude_code::object::Object;
use crate::record::redact::Redactor;
use crate::time::Timestamp;

/// Something told, and when.
pub type TimedEvent = (Timestamp, UnorderedEvent);

/// Holds words back until they are whole, for one session.
#[derive(Debug, Default)]
pub struct StreamRedactor {
    held: Vec<HeldWords>,
    /// The end of what each voice said that went on.
    ends: Vec<SaidEnd>,
}

/// The last words of a voice that went on, in which a secret may have begun.
#[derive(Debug)]
struct SaidEnd {
    kind: EventKind,
    parent: Option<String>,
    text: String,
}

/// Bytes of what a voice said last that are looked at together with what it says next. Only the
/// first few of a secret ever go on, so this is plenty.
const END_BYTES: usize = 64;

/// Words of one voice, on their way.
#[derive(Debug)]
struct HeldWords {
    at: Timestamp,
    kind: EventKind,
    message: Option<String>,
    /// Whose they are: a sub-agent's, or the agent's own.
    parent: Option<String>,
    text: String,
    /// The bytes at its start that went on already; looked at again with what follows.
    gone_on: usize,
    is_whole: bool,
}

/// A line of the agent's, as far as words go.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Piece,
    /// It has the whole words of a voice.
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

/// Whether a session is told to have no process any more: nothing will come of what it said last.
fn is_without_process(body: &str) -> bool {
    let state = Object::parse(body).ok().and_then(|body| body.text("state"));
    matches!(state.as_deref(), Some("parked" | "failed" | "closed"))
}

impl StreamRedactor {
    /// What goes on of what is told, as far as the rules allow it. What is told of one line comes
    /// together.
    pub fn pass(&mut self, told: Vec<TimedEvent>, rules: &Redactor) -> Vec<TimedEvent> {
        if !rules.has_rules() {
            return self.pass_without_rules(told, rules);
        }
        let mut passed = Vec::with_capacity(told.len());
        let mut line = Line::Other;
        for (at, telling) in told {
            match telling.kind {
                EventKind::TextDelta | EventKind::ThinkingDelta => {
                    self.hold(at, &telling, &line);
                    continue;
                }
                EventKind::Raw => line = Line::read(&telling.body),
                EventKind::Done => self.end(|words| words.parent.is_none()),
                EventKind::State if is_without_process(&telling.body) => self.end(|_| true),
                _ => {}
            }
            if telling.kind != EventKind::Raw {
                self.release(&mut passed, rules);
            } else if let Line::Whole { parent } = &line {
                self.end(|words| words.parent == *parent);
            } else if line == Line::Piece {
                continue;
            }
            passed.push((at, clean(&telling, rules)));
        }
        self.release(&mut passed, rules);
        passed
    }

    fn pass_without_rules(&mut self, told: Vec<TimedEvent>, rules: &Redactor) -> Vec<TimedEvent> {
        if rules.is_empty() && self.held.is_empty() {
            return told;
        }
        let mut passed = Vec::with_capacity(told.len());
        if rules.is_empty() {
            // There were some until now.
            self.end(|_| true);
            self.release(&mut passed, rules);
            passed.extend(told);
            return passed;
        }
        let mut line = Line::Other;
        // A line that carries a piece goes on with the piece, or not at all.
        let mut carrier: Option<TimedEvent> = None;
        for (at, telling) in told {
            match telling.kind {
                EventKind::TextDelta | EventKind::ThinkingDelta => {
                    match self.risk(&telling, rules) {
                        Some(gone_on) => {
                            carrier = None;
                            self.hold_from(at, &telling, &line, &gone_on);
                        }
                        None => {
                            passed.extend(carrier.take());
                            passed.push((at, clean(&telling, rules)));
                        }
                    }
                    continue;
                }
                EventKind::Raw => {
                    passed.extend(carrier.take());
                    self.release(&mut passed, rules);
                    line = Line::read(&telling.body);
                    if line == Line::Piece {
                        carrier =
                            (!is_input_piece(&telling.body)).then(|| (at, clean(&telling, rules)));
                        continue;
                    }
                }
                EventKind::Done => self.end(|words| words.parent.is_none()),
                EventKind::State if is_without_process(&telling.body) => self.end(|_| true),
                _ => {}
            }
            passed.extend(carrier.take());
            if telling.kind != EventKind::Raw {
                self.release(&mut passed, rules);
            } else if let Line::Whole { parent } = &line {
                self.end(|words| words.parent == *parent);
            }
            if telling.kind == EventKind::Done {
                self.ends.clear();
            }
            passed.push((at, clean(&telling, rules)));
        }
        passed.extend(carrier);
        self.release(&mut passed, rules);
        passed
    }

    /// Whether a secret may be on its way in a piece: then what of it went on already. Notes what
    /// goes on otherwise.
    fn risk(&mut self, piece: &UnorderedEvent, rules: &Redactor) -> Option<String> {
        let body = Object::parse(&piece.body).ok()?;
        let (parent, text) = (body.text("parent"), body.text("text").unwrap_or_default());
        // Whole words that are still held, too: the rest of a message follows the line that has it
        // whole, and must neither overtake what is held of it nor complete a secret unseen.
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

    /// Holds a piece behind the words of it that went on already.
    fn hold_from(&mut self, at: Timestamp, piece: &UnorderedEvent, line: &Line, gone_on: &str) {
        let before = self.held.len();
        self.hold(at, piece, line);
        if let Some(words) = self.held.get_mut(before) {
            words.text.insert_str(0, gone_on);
            words.gone_on = gone_on.len();
        }
    }

    /// Holds a piece. What is told right behind the line with the whole words ends them.
    fn hold(&mut self, at: Timestamp, piece: &UnorderedEvent, line: &Line) {
        let Ok(body) = Object::parse(&piece.body) else { return };
        let (message, parent) = (body.text("message"), body.text("parent"));
        let text = body.text("text").unwrap_or_default();
        let is_voice = |words: &HeldWords| words.kind == piece.kind && words.parent == parent;
        let last = self.held.iter_mut().rev().find(|words| is_voice(words));
        if let Some(words) = last {
            // Pieces may not name the message that the whole words name.
            if words.message == message || words.message.is_none() || message.is_none() {
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
            (words.at, clean(&body.told(words.kind), rules))
        }));
    }
}

impl HeldWords {
    /// What goes on of them: all but what went on already.
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

/// Whether a line carries a piece of what a tool is given. It is told whole with the call.
fn is_input_piece(line: &str) -> bool {
    line.contains("\"input_json_delta\"")
}

fn clean(telling: &UnorderedEvent, rules: &Redactor) -> UnorderedEvent {
    UnorderedEvent { kind: telling.kind, body: rules.event(telling.kind, &telling.body) }
}

#[cfg(test)]
mod tests;
