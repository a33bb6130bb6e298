//! What a session tells where rules say what must not be kept.
//!
//! Agents tell their words in pieces, and a piece may hold half of what a rule would find. So
//! pieces are held back until the words are whole, and lines that carry pieces do not go on at
//! all: the line with the whole words comes after them. Where there are no rules nothing is held
//! and nothing changes.

use super::event::{EventBody, EventKind, Telling};
use crate::claude_code::object::Object;
use crate::redact::Redactor;
use crate::time::Timestamp;

/// Something told, and when.
pub type ToldAt = (Timestamp, Telling);

/// Holds words back until they are whole, for one session.
#[derive(Debug, Default)]
pub struct Hush {
    held: Vec<HeldWords>,
}

/// Words of one voice, on their way.
#[derive(Debug)]
struct HeldWords {
    at: Timestamp,
    kind: EventKind,
    message: Option<String>,
    /// Whose they are: a sub-agent's, or the agent's own.
    parent: Option<String>,
    text: String,
    is_whole: bool,
}

/// A line of the agent's, as far as words go.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// It carries a piece.
    Piece,
    /// It has the whole words of a voice.
    Whole { parent: Option<String> },
    /// Anything else.
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

impl Hush {
    /// What goes on of what is told, as far as the rules allow it. What is told of one line comes
    /// together.
    pub fn pass(&mut self, told: Vec<ToldAt>, rules: &Redactor) -> Vec<ToldAt> {
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

    /// Holds a piece. What is told right behind the line with the whole words ends them.
    fn hold(&mut self, at: Timestamp, piece: &Telling, line: &Line) {
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
        self.held.push(HeldWords { at, kind: piece.kind, message, parent, text, is_whole });
    }

    fn end(&mut self, which: impl Fn(&HeldWords) -> bool) {
        for words in self.held.iter_mut().filter(|words| which(words)) {
            words.is_whole = true;
        }
    }

    fn release(&mut self, into: &mut Vec<ToldAt>, rules: &Redactor) {
        let whole = self.held.extract_if(.., |words| words.is_whole);
        into.extend(whole.filter(|words| !words.text.is_empty()).map(|words| {
            let body = EventBody::default()
                .text("text", &words.text)
                .text_if("message", words.message.as_deref())
                .text_if("parent", words.parent.as_deref());
            (words.at, clean(&body.told(words.kind), rules))
        }));
    }
}

fn clean(telling: &Telling, rules: &Redactor) -> Telling {
    Telling { kind: telling.kind, body: rules.event(telling.kind, &telling.body) }
}

#[cfg(test)]
mod tests;
