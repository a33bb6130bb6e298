use ratchet_core::chat::event::EventKind;
use ratchet_core::chat::transcript_view;
use serde_json::Value;

use super::answers::Answers;
use super::events::ReceivedEvent;
use super::markdown::Markdown;
use super::sanitize::{columns, fitted, plain, plain_line};
use super::style::{Marks, Style};
use super::tools::{Call, Tools, duration, in_a_line, short_input};

/// Width of lines where it is unknown.
const USUAL_WIDTH: usize = 80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputTarget {
    /// A pipe or a file: the agent's text as it is.
    Pipe,
    /// A terminal of this width: formatted text.
    Terminal(usize),
}

/// Renders a chat: the agent's text as it arrives, everything else in lines.
#[derive(Debug)]
pub(crate) struct Screen {
    style: Style,
    paper: OutputTarget,
    words: Markdown,
    /// In a pipe: whether the output ended within a line.
    is_open: bool,
    last: Block,
    /// Id of the agent's message that is being shown.
    message: String,
    pub(crate) tools: Tools,
    pub(crate) answers: Answers,
    /// URL of the project's pages, if known.
    pub(crate) pages: Option<String>,
    /// Tokens of all turns: input and output.
    pub(crate) tokens: (u64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Nothing,
    Words,
    Tools,
    Notes,
    Person,
    End,
}

impl Screen {
    /// Creates an empty screen.
    pub(crate) fn new(style: Style, paper: OutputTarget) -> Self {
        let width = if let OutputTarget::Terminal(width) = paper { width } else { USUAL_WIDTH };
        Self {
            style,
            paper,
            words: Markdown::new(width, style),
            is_open: false,
            last: Block::Nothing,
            message: String::new(),
            tools: Tools::default(),
            answers: Answers::default(),
            pages: None,
            tokens: (0, 0),
        }
    }

    /// Sets the width of the terminal.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.paper = OutputTarget::Terminal(width);
        self.words.set_width(width);
    }

    /// Column in which the open line ends; 0 if there is none.
    pub(crate) fn column(&self) -> usize {
        self.words.column()
    }

    /// Returns text to print for an event.
    pub(crate) fn show(&mut self, event: &ReceivedEvent) -> String {
        let Some(kind) = event.kind else { return String::new() };
        match kind {
            EventKind::TextDelta if event.body["parent"].is_null() => self.say(event),
            EventKind::ToolUse => match self.tools.began(event) {
                Some(outer) => self.call(&outer),
                None => String::new(),
            },
            EventKind::ToolResult => match self.tools.ended(event) {
                Some(call) => self.call(&call),
                None => String::new(),
            },
            EventKind::Question | EventKind::Permission => {
                self.answers.asked(event);
                String::new()
            }
            EventKind::Answered => {
                let lines = self.answers.take(event);
                lines.iter().map(|(line, marks)| self.note(line, *marks)).collect()
            }
            EventKind::Done => self.done(event),
            EventKind::Error => {
                let said = ["message", "text", "error"].map(|key| event.text(key));
                let said = said.into_iter().find(|text| !text.is_empty());
                let mut parts = vec![plain_line(said.unwrap_or("something failed"))];
                parts.extend(self.spending(event));
                self.note(&format!("! {}", parts.join(" · ")), Marks::RED)
            }
            EventKind::Notice => {
                let text = short_input(&event.body["text"]);
                let what = plain_line(event.text("what")).replace('_', " ");
                self.note(&format!("· {what} {text}"), Marks::DIM)
            }
            EventKind::State if event.text("state") == "failed" => {
                let why = plain_line(event.text("why"));
                self.note(&format!("! the agent has stopped: {why}"), Marks::RED)
            }
            EventKind::Raw
            | EventKind::State
            | EventKind::Message
            | EventKind::TextDelta
            | EventKind::ThinkingDelta => String::new(),
        }
    }

    pub(crate) fn person(&mut self, event: &ReceivedEvent, by: Option<&str>) -> String {
        let by = by.map(|by| format!(" ({})", plain_line(by))).unwrap_or_default();
        let mut shown = self.open(Block::Person);
        for (index, line) in plain(&words_of(&event.body["content"])).lines().enumerate() {
            let begin = if index == 0 { "› " } else { "  " };
            let end = if index == 0 { by.as_str() } else { "" };
            let line = self.style.paint(line, Marks::BOLD);
            shown.push_str(&format!("{}{line}{}\n", begin, self.style.paint(end, Marks::DIM)));
        }
        shown
    }

    /// A notice on separate lines.
    pub(crate) fn note(&mut self, text: &str, marks: Marks) -> String {
        let mut shown = self.open(Block::Notes);
        for line in text.lines() {
            shown.push_str(&format!("{}\n", self.style.paint(line, marks)));
        }
        shown
    }

    /// Ends the open line, if there is one.
    pub(crate) fn fresh(&mut self) -> String {
        let rest = self.words.finish();
        let is_open = std::mem::take(&mut self.is_open);
        if is_open { "\n".to_owned() } else { rest }
    }

    /// Starts another type of output.
    fn open(&mut self, block: Block) -> String {
        let mut shown = self.fresh();
        let is_apart = block == Block::Person || block == Block::Words || self.last != block;
        if self.last != Block::Nothing && is_apart {
            shown.push('\n');
        }
        self.last = block;
        shown
    }

    fn say(&mut self, event: &ReceivedEvent) -> String {
        let text = event.text("text");
        let is_another = self.last != Block::Words || self.message != event.text("message");
        if text.is_empty() {
            return String::new();
        }
        let begin = if is_another { self.open(Block::Words) } else { String::new() };
        event.text("message").clone_into(&mut self.message);
        if self.paper == OutputTarget::Pipe {
            let text = plain(text);
            self.is_open = !text.ends_with('\n');
            return begin + &text;
        }
        begin + &self.words.push(text)
    }

    /// A tool call in one line.
    fn call(&mut self, call: &Call) -> String {
        let begin = self.open(Block::Tools);
        let inset = "  ".repeat(call.depth.min(8));
        let (sign, marks) = match call.has_failed() {
            None => ("▸", Marks::DIM),
            Some(false) => ("✓", Marks::GREEN),
            Some(true) => ("✗", Marks::RED),
        };
        let (title, came) = (call.title(), call.result_text());
        let came = if came.is_empty() { came } else { format!(" · {came}") };
        let number = format!("  #{}", call.number);
        let (title, came) = match self.paper {
            OutputTarget::Pipe => (title, came),
            OutputTarget::Terminal(width) => {
                let room = width.saturating_sub(3 + columns(&inset) + columns(&number));
                let came = fitted(&came, room / 2);
                (fitted(&title, room.saturating_sub(columns(&came))), came)
            }
        };
        let rest = self.style.paint(&format!("{came}{number}"), Marks::DIM);
        format!("{begin}{inset}{} {title}{rest}\n", self.style.paint(sign, marks))
    }

    /// Usage and cost of a turn, as far as known.
    fn spending(&mut self, event: &ReceivedEvent) -> Vec<String> {
        let spending = transcript_view::TurnSpending::of(&event.body);
        if let Some((came, went)) = spending.tokens {
            self.tokens = (self.tokens.0 + came, self.tokens.1 + went);
        }
        let bound = if spending.is_at_least { "at least " } else { "" };
        let tokens = spending.tokens.map(|(came, went)| {
            format!("{bound}{} tokens in, {} out", grouped(came), grouped(went))
        });
        let cost = spending.cost.map(|cost| format!("{bound}${cost:.4}"));
        let unknown = spending.is_unknown().then(|| "cost unknown".to_owned());
        tokens.into_iter().chain(cost).chain(unknown).collect()
    }

    fn done(&mut self, event: &ReceivedEvent) -> String {
        self.tools.turn_ended();
        let is_error = event.body["is_error"] == true;
        let mut parts = Vec::new();
        if is_error {
            parts.push(format!("the turn ended early: {}", ending(event)));
        }
        parts.extend(self.spending(event));
        if let Some(millis) = event.body["duration_ms"].as_i64() {
            parts.push(duration(millis));
        }
        let marks = if is_error { Marks::RED } else { Marks::DIM };
        let mut shown = self.open(Block::End);
        shown.push_str(&format!("{}\n", self.style.paint(&parts.join(" · "), marks)));
        let turn = event.text("turn");
        let is_id = !turn.is_empty() && turn.chars().all(|c| c.is_ascii_hexdigit());
        if let Some(pages) = self.pages.as_ref().filter(|_| is_id) {
            let client = format!("{pages}/traces/{turn}");
            shown.push_str(&format!("{}\n", self.style.paint(&client, Marks::DIM)));
        }
        shown
    }
}

/// Why a turn ended early. The result contains the provider's error then.
pub(crate) fn ending(event: &ReceivedEvent) -> String {
    let (why, said) = transcript_view::early_end(&event.body);
    let parts = [Some(plain_line(&why)), said.map(in_a_line)];
    parts.into_iter().flatten().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(": ")
}

/// Text of a message, and its attachments.
pub(crate) fn words_of(content: &Value) -> String {
    let Some(blocks) = content.as_array() else {
        return content.as_str().unwrap_or_default().to_owned();
    };
    let parts = blocks.iter().map(|block| match block["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", block["type"].as_str().unwrap_or("something attached")),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// A number with thousands separators.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
