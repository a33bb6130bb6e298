use ratchet_core::limit::elide;
use ratchet_core::major::event::EventKind;
use serde_json::Value;

use super::heard::Heard;

/// How much of a tool's input or result is shown in its line.
const LINE_BYTES: usize = 160;
/// What a tool's input is best known by, in this order.
const TELLING: [&str; 10] = [
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "skill",
    "description",
    "prompt",
];

/// What a person sees of a session: the agent's words as they come, everything else in lines.
///
/// What agents and tools say may hold characters that move the cursor, recolour or retitle the
/// terminal, or paste into it. None of them reaches it.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    /// Whether the last thing shown was in the middle of a line.
    is_open: bool,
    style: Style,
}

/// Whether the terminal shows colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    /// A pipe, a file, or a terminal that cannot.
    #[default]
    Plain,
    /// One that can.
    Colours,
}

impl Screen {
    /// A screen on which nothing was shown yet.
    pub(crate) fn new(style: Style) -> Self {
        Self { is_open: false, style }
    }

    /// What is to be written for an event.
    pub(crate) fn show(&mut self, event: &Heard) -> String {
        let Some(kind) = event.kind else { return String::new() };
        match kind {
            EventKind::TextDelta if event.body["parent"].is_null() => {
                self.words(event.text("text"))
            }
            EventKind::ToolUse => self.line(&tool_line(event), Tint::Dim),
            EventKind::ToolResult => {
                result_line(event).map_or_else(String::new, |line| self.line(&line, Tint::Dim))
            }
            EventKind::Answered => self.line(&answer_line(event), Tint::Dim),
            EventKind::Done => self.done(event),
            EventKind::Error => {
                let said = ["message", "text", "error"].map(|key| event.text(key));
                let said = said.into_iter().find(|text| !text.is_empty());
                let line = format!("! {}", plain_line(said.unwrap_or("something failed")));
                self.line(&line, Tint::Red)
            }
            EventKind::Notice => {
                let text = shown(&event.body["text"]);
                self.line(&format!("· {} {text}", plain_line(event.text("what"))), Tint::Dim)
            }
            EventKind::State if event.text("state") == "failed" => {
                let why = plain_line(event.text("why"));
                self.line(&format!("! the agent has stopped: {why}"), Tint::Red)
            }
            EventKind::Raw
            | EventKind::State
            | EventKind::Message
            | EventKind::TextDelta
            | EventKind::ThinkingDelta
            | EventKind::Question
            | EventKind::Permission => String::new(),
        }
    }

    fn words(&mut self, text: &str) -> String {
        let text = plain(text);
        if !text.is_empty() {
            self.is_open = !text.ends_with('\n');
        }
        text
    }

    /// A line of its own.
    pub(crate) fn line(&mut self, line: &str, tint: Tint) -> String {
        let begin = self.fresh();
        format!("{begin}{}\n", self.tinted(line, tint))
    }

    /// What ends the line that is open, if one is.
    pub(crate) fn fresh(&mut self) -> &'static str {
        if std::mem::take(&mut self.is_open) { "\n" } else { "" }
    }

    fn done(&mut self, event: &Heard) -> String {
        let mut told = Vec::new();
        if event.body["is_error"] == true {
            let why = [event.text("reason"), event.text("subtype"), "failed"];
            let why = why.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
            told.push(format!("the turn ended early: {}", plain_line(why)));
            // What the provider said stands in the result then.
            let said = shown(&event.body["result"]);
            if !said.is_empty() {
                told.push(said);
            }
        }
        if let Some(cost) = event.body["cost"].as_f64() {
            told.push(format!("${cost:.4}"));
        }
        if let Some(millis) = event.body["duration_ms"].as_u64() {
            told.push(format!("{}.{} s", millis / 1000, millis % 1000 / 100));
        }
        let tint = if event.body["is_error"] == true { Tint::Red } else { Tint::Dim };
        self.line(&format!("— {}", told.join(" · ")), tint)
    }

    fn tinted(&self, line: &str, tint: Tint) -> String {
        match (self.style, tint) {
            (Style::Plain, _) => line.to_owned(),
            (Style::Colours, Tint::Dim) => format!("\u{1b}[2m{line}\u{1b}[0m"),
            (Style::Colours, Tint::Red) => format!("\u{1b}[31m{line}\u{1b}[0m"),
            (Style::Colours, Tint::Bold) => format!("\u{1b}[1m{line}\u{1b}[0m"),
        }
    }
}

/// How a line is set off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tint {
    /// It is beside the point.
    Dim,
    /// Something is wrong.
    Red,
    /// Someone is asked.
    Bold,
}

fn tool_line(event: &Heard) -> String {
    let inset = if event.body["parent"].is_null() { "" } else { "  " };
    let input = &event.body["input"];
    let known = TELLING.iter().map(|key| &input[*key]).find(|value| value.is_string());
    let told = known.map_or_else(|| shown(input), shown);
    format!("{inset}⚙ {} {told}", plain_line(event.text("name"))).trim_end().to_owned()
}

/// Results are told shortly if they went well: how long they are, unless they are short.
fn result_line(event: &Heard) -> Option<String> {
    let inset = if event.body["parent"].is_null() { "  " } else { "    " };
    let output = output_text(&event.body["output"]);
    let lines = output.lines().count();
    let said = match (event.body["is_error"] == true, lines) {
        (true, _) => format!("failed: {}", plain_line(&elide(output.trim(), LINE_BYTES))),
        (false, 0) => return None,
        (false, 1) => plain_line(&elide(output.trim(), LINE_BYTES)),
        (false, lines) => format!("{lines} lines"),
    };
    Some(format!("{inset}↳ {said}"))
}

/// The text of a tool's result, which is a text or a list of blocks.
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

fn answer_line(event: &Heard) -> String {
    let by = plain_line(event.text("by"));
    let by = if by.is_empty() { String::new() } else { format!(" by {by}") };
    let what = match event.text("decision") {
        "allow" if event.body["always"] == true => "allowed for this session",
        "allow" => "allowed",
        "deny" => "denied",
        "timeout" => "nobody answered in time",
        "answer" => "answered",
        _ => "no longer asked",
    };
    format!("✓ {what}{by}")
}

/// Any JSON value in one short line.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Object(map) if map.is_empty() => String::new(),
        other => other.to_string(),
    };
    plain_line(&elide(&text, LINE_BYTES))
}

/// A text that cannot do anything to a terminal but be read.
pub(crate) fn plain(text: &str) -> String {
    let safe = |c: char| match c {
        '\n' | '\t' => c,
        // Bidirectional overrides make a command read as another one.
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.replace("\r\n", "\n").chars().map(safe).collect()
}

/// The same in one line.
pub(crate) fn plain_line(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn heard(kind: EventKind, body: Value) -> Heard {
        Heard { seq: 1, kind: Some(kind), body, line: String::new() }
    }

    #[test]
    fn a_turn_reads_like_a_story() {
        let events = [
            heard(EventKind::State, json!({"state": "running"})),
            heard(EventKind::TextDelta, json!({"text": "Let me "})),
            heard(EventKind::TextDelta, json!({"text": "look."})),
            heard(EventKind::ThinkingDelta, json!({"text": "hm"})),
            heard(EventKind::ToolUse, json!({"name": "Bash", "input": {"command": "ls\n-la"}})),
            heard(EventKind::ToolResult, json!({"output": "a\nb\nc", "is_error": false})),
            heard(EventKind::ToolUse, json!({"name": "mcp__lake__find", "input": {"n": 3}})),
            heard(EventKind::ToolResult, json!({"output": [{"type": "text", "text": "one"}]})),
            heard(EventKind::ToolUse, json!({"name": "Task", "input": {"description": "dig"}})),
            heard(
                EventKind::ToolUse,
                json!({"name": "Read", "parent": "t", "input": {"path": "x"}}),
            ),
            heard(EventKind::ToolResult, json!({"parent": "t", "output": "no", "is_error": true})),
            heard(EventKind::TextDelta, json!({"text": "not shown", "parent": "t"})),
            heard(EventKind::Answered, json!({"decision": "allow", "always": true, "by": "web"})),
            heard(EventKind::Notice, json!({"what": "api_retry", "text": "overloaded"})),
            heard(EventKind::TextDelta, json!({"text": "Done.\n"})),
            heard(EventKind::Done, json!({"is_error": false, "cost": 0.0123, "duration_ms": 4250})),
            heard(EventKind::Done, json!({"is_error": true, "reason": "max_turns"})),
        ];
        let mut screen = Screen::new(Style::Plain);
        let shown: String = events.iter().map(|event| screen.show(event)).collect();
        insta::assert_snapshot!(shown, @r#"
        Let me look.
        ⚙ Bash ls -la
          ↳ 3 lines
        ⚙ mcp__lake__find {"n":3}
          ↳ one
        ⚙ Task dig
          ⚙ Read x
            ↳ failed: no
        ✓ allowed for this session by web
        · api_retry overloaded
        Done.
        — $0.0123 · 4.2 s
        — the turn ended early: max_turns
        "#);
    }

    proptest! {
        #[test]
        fn nothing_reaches_the_terminal_but_text(text in any::<String>()) {
            let mut screen = Screen::new(Style::Plain);
            let all = [
                heard(EventKind::TextDelta, json!({"text": text})),
                heard(EventKind::ToolUse, json!({"name": text, "input": {"command": text}})),
                heard(EventKind::ToolResult, json!({"output": text, "is_error": true})),
                heard(EventKind::Error, json!({"message": text})),
                heard(EventKind::Notice, json!({"what": text, "text": text})),
                heard(EventKind::Answered, json!({"by": text})),
                heard(EventKind::Done, json!({"is_error": true, "reason": text, "result": text})),
            ];
            let shown: String = all.iter().map(|event| screen.show(event)).collect();
            let bad = |c: char| c.is_control() && c != '\n' && c != '\t';
            prop_assert!(!shown.contains(bad), "{shown:?}");
        }
    }
}
