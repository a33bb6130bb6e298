/// Rendering of inputs and outputs.
mod payloads;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;

use super::quoting::QuotedText;
use super::session_facts::duration;
use crate::id::ObservationId;
use crate::judge::evidence::NumberedTrace;
use crate::record::observation::{Level, Observation, ObservationKind};
use crate::record::trace::{Content, TraceSummary};
use payloads::Side;

/// Limit for a name or a tag.
const NAME_BYTES: usize = 200;
/// The maximum number of tags.
const TAGS: usize = 20;
/// Limit for a status message.
const STATUS_BYTES: usize = 1_000;
/// Limit for a trace's metadata.
const METADATA_BYTES: usize = 600;
/// Metadata keys with the name of the called tool.
const TOOL_NAMES: [&str; 3] = ["gen_ai.tool.name", "tool_name", "ai.toolCall.name"];

/// Renders traces for a judge, one after the other.
///
/// Recordings repeat content: the input of a generation contains the conversation so far, and a
/// trace repeats its first input and last output. Repeated messages of a conversation are omitted;
/// repetitions within a trace are replaced by a reference.
#[derive(Debug, Default)]
pub(super) struct TraceWriter {
    out: QuotedText,
    /// Hashes of messages already rendered.
    rendered: HashSet<u64>,
    /// Hashes of texts already rendered in this trace.
    shown: HashSet<u64>,
}

impl TraceWriter {
    /// Renders one more trace and returns its byte range.
    pub(super) fn render(&mut self, numbered: &NumberedTrace) -> Range<usize> {
        self.shown.clear();
        let start = self.out.next_line();
        self.heading(numbered);
        let content = numbered.trace.content.as_ref();
        self.metadata(content);
        self.payload(content.and_then(|content| content.input.as_ref()), Side::ModelInput);
        let numbers = numbered.steps.iter().map(|step| &step.id).zip(1..).collect();
        for step in &numbered.steps {
            self.step(step, &numbers);
        }
        self.payload(content.and_then(|content| content.output.as_ref()), Side::TraceOutput);
        start..self.out.len()
    }

    pub(super) fn into_text(self) -> String {
        self.out.into_text()
    }

    fn heading(&mut self, NumberedTrace { number, trace, steps }: &NumberedTrace) {
        let summary = TraceSummary::of(steps);
        self.out.line(format_args!("# Trace {number} at {}", trace.timestamp));
        if let Some(nanos) = summary.latency() {
            self.out.ours(format_args!(", {}", duration(nanos)));
        }
        self.out.ours(format_args!(", {} steps", steps.len()));
        if summary.levels.error > 0 {
            self.out.ours(format_args!(", {} with errors", summary.levels.error));
        }
        if let Some(name) = &trace.name {
            self.out.ours(", named ").word(name, NAME_BYTES);
        }
        for (tag, before) in trace.tags.iter().zip([", tags"].into_iter().chain([""; TAGS - 1])) {
            self.out.ours(before).ours(" ").word(tag, NAME_BYTES);
        }
    }

    /// Renders scalar metadata; nested values are noise.
    fn metadata(&mut self, content: Option<&Content>) {
        let mut text = String::new();
        for (key, value) in content.iter().flat_map(|content| &content.metadata) {
            let value = value.as_str();
            let is_plain = !value.starts_with(['{', '[']) && value != "null";
            if is_plain && text.len() < METADATA_BYTES {
                // Writing to a string cannot fail.
                let written = writeln!(text, "{key}: {value}");
                debug_assert!(written.is_ok());
            }
        }
        if !text.is_empty() {
            self.out.line("metadata:").block(&text, METADATA_BYTES);
        }
    }

    fn step(&mut self, step: &Observation, numbers: &HashMap<&ObservationId, usize>) {
        let number = |id: &ObservationId| numbers.get(id).copied();
        self.out.line(format_args!("[{}] ", number(&step.id).unwrap_or_default()));
        self.out.ours(step.kind.as_str());
        if let Some(name) = &step.name {
            self.out.ours(" ").word(name, NAME_BYTES);
        }
        if let Some(tool) = tool(step).filter(|tool| Some(tool) != step.name.as_ref()) {
            self.out.ours(", tool ").word(&tool, NAME_BYTES);
        }
        if let Some(model) = &step.model {
            self.out.ours(", model ").word(model, NAME_BYTES);
        }
        if let Some(nanos) = step.latency() {
            self.out.ours(format_args!(", {}", duration(nanos)));
        }
        match (step.usage.input(), step.usage.output(), step.usage.total()) {
            (0, 0, 0) => {}
            (0, 0, total) => {
                self.out.ours(format_args!(", {total} tokens"));
            }
            (input, output, _) => {
                self.out.ours(format_args!(", {input} tokens in, {output} out"));
            }
        }
        if let Some(parent) = step.parent.as_ref().and_then(number) {
            self.out.ours(format_args!(", in [{parent}]"));
        }
        self.ending(step);
        let Some(content) = &step.content else { return };
        let is_tool = matches!(step.kind, ObservationKind::Tool | ObservationKind::Retriever);
        let sides = if is_tool {
            [Side::ToolInput, Side::ToolOutput]
        } else {
            [Side::ModelInput, Side::ModelOutput]
        };
        for (payload, side) in [&content.input, &content.output].into_iter().zip(sides) {
            self.payload(payload.as_ref(), side);
        }
    }

    /// Renders the status of an observation, where it matters.
    fn ending(&mut self, step: &Observation) {
        if matches!(step.level, Level::Error | Level::Warning) {
            self.out.ours(format_args!(", {}", step.level.as_str()));
        }
        if let Some(status) = step.status_message.as_ref().filter(|status| !status.is_empty()) {
            self.out.ours(", status ").word(status, STATUS_BYTES);
        }
    }
}

/// Returns the tool that an observation called, where it differs from the observation's name.
fn tool(step: &Observation) -> Option<String> {
    let metadata = &step.content.as_ref()?.metadata;
    let is_tool = step.kind == ObservationKind::Tool;
    let named =
        metadata.iter().filter(|_| is_tool).find(|(key, _)| TOOL_NAMES.contains(&key.as_str()));
    match serde_json::from_str(named?.1.as_str()) {
        Ok(Value::String(name)) => Some(name),
        _ => None,
    }
}
