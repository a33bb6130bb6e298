use std::collections::HashMap;

use ratchet_core::chat::transcript_view::{best_known, in_words};
use ratchet_core::counted::counted;
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;
use serde_json::Value;

use super::events::ReceivedEvent;
use super::sanitize::{plain, plain_line};

/// Maximum characters of a tool's input or result in its line.
const LINE_BYTES: usize = 160;
/// Maximum bytes of an input or a result stored for `/show`.
const KEPT_BYTES: usize = 64 * 1024;
/// Maximum number of calls stored for `/show`.
const KEPT_CALLS: usize = 1_000;
/// A tool whose calls are shown as questions and answers.
const QUESTION_TOOL: &str = "AskUserQuestion";

/// Tool calls of the agent.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    calls: Vec<Call>,
    numbers: HashMap<String, usize>,
    /// Number of dropped earlier calls.
    forgotten: usize,
}

/// One tool call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Number for `/show`.
    pub(crate) number: usize,
    name: String,
    argument: String,
    input: String,
    /// Nesting depth.
    pub(crate) depth: usize,
    began: Option<Timestamp>,
    /// Whether its line, or a line about its start, was shown.
    is_shown: bool,
    outcome: Option<CallOutcome>,
}

/// Result of a call.
#[derive(Clone, Debug)]
struct CallOutcome {
    output: String,
    is_error: bool,
    nanos: Option<i64>,
}

impl Tools {
    /// Adds a call. The first call of a sub-agent shows the call it is nested in.
    pub(crate) fn began(&mut self, event: &ReceivedEvent) -> Option<Call> {
        let name = plain_line(event.text("name"));
        if name == QUESTION_TOOL {
            return None;
        }
        self.forget();
        let outer = self.call(event.text("parent"));
        let depth = match &outer {
            Some(outer) => outer.depth + 1,
            None => usize::from(!event.text("parent").is_empty()),
        };
        let unshown = outer.filter(|outer| !outer.is_shown).map(|outer| {
            outer.is_shown = true;
            outer.clone()
        });
        let input = &event.body["input"];
        let shown = serde_json::to_string_pretty(input).unwrap_or_default();
        let call = Call {
            number: self.forgotten + self.calls.len() + 1,
            name,
            argument: argument(input),
            input: plain(&elide(input["command"].as_str().unwrap_or(&shown), KEPT_BYTES)),
            depth,
            began: event.at,
            is_shown: false,
            outcome: None,
        };
        self.numbers.insert(event.text("id").to_owned(), call.number);
        self.calls.push(call);
        unshown
    }

    /// Adds the result of a call, whose line can be shown then.
    pub(crate) fn ended(&mut self, event: &ReceivedEvent) -> Option<Call> {
        let call = self.call(event.text("tool_use_id"))?;
        let nanos = event.at.zip(call.began).map(|(now, began)| now.since(began));
        let output = plain(&elide(&output_text(&event.body["output"]), KEPT_BYTES));
        let is_error = event.body["is_error"] == true;
        call.outcome = Some(CallOutcome { output, is_error, nanos });
        call.is_shown = true;
        Some(call.clone())
    }

    pub(crate) fn under_way(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.outcome.is_none())
    }

    /// Ends a turn: its open calls have no result.
    pub(crate) fn turn_ended(&mut self) {
        for call in self.calls.iter_mut().filter(|call| call.outcome.is_none() && call.depth == 0) {
            let output = "no result".to_owned();
            call.outcome = Some(CallOutcome { output, is_error: true, nanos: None });
        }
    }

    /// Input and output of a call.
    pub(crate) fn show(&self, number: &str) -> String {
        let last = self.forgotten + self.calls.len();
        if last == 0 {
            return "no tool was used yet\n".to_owned();
        }
        let wanted = if number.is_empty() { Some(last) } else { number.parse::<usize>().ok() };
        let index = wanted.and_then(|number| number.checked_sub(self.forgotten + 1));
        let Some(call) = index.and_then(|index| self.calls.get(index)) else {
            return format!("/show takes a number from {} to {last}\n", self.forgotten + 1);
        };
        let mut text = format!("{}\n", call.line());
        text.push_str(&indented(&call.input));
        if let Some(outcome) = &call.outcome {
            text.push_str(if outcome.is_error { "failed with\n" } else { "gave\n" });
            text.push_str(&indented(&outcome.output));
        }
        text
    }

    fn call(&mut self, id: &str) -> Option<&mut Call> {
        let number = *self.numbers.get(id)?;
        self.calls.get_mut(number.checked_sub(self.forgotten + 1)?)
    }

    fn forget(&mut self) {
        if self.calls.len() < KEPT_CALLS {
            return;
        }
        let half = KEPT_CALLS / 2;
        self.calls.drain(..half);
        self.forgotten += half;
        let first = self.forgotten;
        self.numbers.retain(|_, number| *number > first);
    }
}

impl Call {
    /// Name of the tool and short input.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.name, self.argument).trim_end().to_owned()
    }

    /// Whether it failed; `None` while it runs.
    pub(crate) fn has_failed(&self) -> Option<bool> {
        self.outcome.as_ref().map(|outcome| outcome.is_error)
    }

    /// Short result: its size, unless it is short.
    pub(crate) fn result_text(&self) -> String {
        let Some(outcome) = &self.outcome else { return String::new() };
        let said = outcome.output.trim();
        let mut text = match (outcome.is_error, said.lines().count()) {
            (true, _) => format!("failed: {}", plain_line(&elide(said, LINE_BYTES))),
            (false, 0) => "ok".to_owned(),
            (false, 1) if said.len() <= LINE_BYTES / 2 => plain_line(said),
            (false, 1) => format!("{} characters", said.chars().count()),
            (false, lines) => counted(lines, "line"),
        };
        if let Some(nanos) = outcome.nanos {
            text.push_str(&format!(" · {}", duration(nanos / 1_000_000)));
        }
        text
    }

    fn line(&self) -> String {
        match self.result_text() {
            came if came.is_empty() => self.title(),
            came => format!("{} · {came}", self.title()),
        }
    }
}

/// Text of a duration in milliseconds.
pub(crate) fn duration(millis: i64) -> String {
    let millis = millis.max(0);
    match millis / 1_000 {
        seconds @ 0..=59 => format!("{seconds}.{} s", millis % 1_000 / 100),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {}\n", line.replace('\t', "    "))).collect()
}

/// Short text of an input.
pub(crate) fn argument(input: &Value) -> String {
    best_known(input).map_or_else(|| short_input(input), in_a_line)
}

/// A value on one line.
pub(crate) fn short_input(value: &Value) -> String {
    in_a_line(&in_words(value))
}

pub(crate) fn in_a_line(text: &str) -> String {
    plain_line(&elide(text, LINE_BYTES))
}

/// Text of a tool's result, which is a text or a list of blocks.
fn output_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
