use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::Call;
use super::item::key_of;
use crate::id::ObservationId;
use crate::json_size::small_tree;
use crate::judge::evidence::{Evidence, NumberedTrace};
use crate::judge::notations::{CallOutcome, Notations};
use crate::payload::Payload;
use crate::record::observation::{Level, Observation, ObservationKind};

/// Metadata keys with the id of the tool call that an observation executed.
const CALL_IDS: [&str; 4] =
    ["gen_ai.tool.call.id", "tool_use_id", "tool_call_id", "ai.toolCall.id"];
/// Metadata keys with the tool name.
const TOOL_NAMES: [&str; 3] = ["gen_ai.tool.name", "tool_name", "ai.toolCall.name"];
/// Prefix of tool names in some conventions.
const OPERATION: &str = "execute_tool ";

/// Tool calls recorded as observations, so that the same calls in messages are skipped.
#[derive(Debug, Default)]
pub(super) struct Observed {
    ids: HashSet<String>,
    /// The number of unmatched calls of a trace, by input.
    open: HashMap<(u32, u64), usize>,
    /// Unmatched calls of a trace whose input was not recorded, by tool.
    open_without_input: HashMap<(u32, String), usize>,
    /// Inputs of the messages that matched those.
    inputs: HashMap<(u32, String), VecDeque<Value>>,
}

impl Observed {
    pub(super) fn of(evidence: &Evidence) -> Self {
        let mut observed = Self::default();
        for trace in &evidence.traces {
            let calls = calls(trace);
            for step in trace.steps.iter().filter(|step| calls.contains(&step.id)) {
                observed.ids.insert(step.id.to_string());
                observed.ids.extend(CALL_IDS.iter().filter_map(|key| metadata(step, key)));
                let (tool, input) = (name(step), input(step));
                if input.is_null() {
                    let key = (trace.number, tool);
                    *observed.open_without_input.entry(key).or_default() += 1;
                } else {
                    let key = (trace.number, match_key(&tool, &input));
                    *observed.open.entry(key).or_default() += 1;
                }
            }
        }
        observed
    }

    /// Returns whether a call in a message matches an observation; each observation matches once.
    pub(super) fn matches_observation(
        &mut self,
        trace: u32,
        id: Option<&str>,
        tool: &str,
        input_value: &Value,
    ) -> bool {
        let open =
            self.open.get_mut(&(trace, match_key(tool, input_value))).filter(|open| **open > 0);
        let is_known = id.is_some_and(|id| self.ids.contains(id));
        if let Some(open) = open {
            *open -= 1;
            return true;
        }
        is_known || self.matches_without_input(trace, tool, input_value)
    }

    /// Matches a call in a message with an observation of the same tool that has no input.
    fn matches_without_input(&mut self, trace: u32, tool: &str, input_value: &Value) -> bool {
        let key = (trace, tool.to_owned());
        let open = self.open_without_input.get_mut(&key).filter(|open| **open > 0);
        let Some(open) = open else { return false };
        *open -= 1;
        self.inputs.entry(key).or_default().push_back(input_value.clone());
        true
    }

    /// Adds to a call from an observation without input the one that its message has.
    pub(super) fn add_input(&mut self, trace: u32, call: &mut Call) {
        if call.input.is_null()
            && let Some(known) = self.inputs.get_mut(&(trace, call.tool.clone()))
        {
            call.input = known.pop_front().unwrap_or_default();
        }
    }
}

/// Returns a key that a call and its observation share. Names differ between conventions, so they
/// count only where the input is empty.
fn match_key(tool: &str, input_value: &Value) -> u64 {
    match input_value {
        Value::Null => key_of(&tool),
        Value::Object(object) if object.is_empty() => key_of(&tool),
        other => key_of(&other.to_string()),
    }
}

/// Returns the observations that are tool calls, except those nested in a call of the same name.
pub(super) fn calls(trace: &NumberedTrace) -> HashSet<&ObservationId> {
    let is_tool = |step: &&Observation| {
        matches!(step.kind, ObservationKind::Tool | ObservationKind::Retriever)
    };
    let names: HashMap<&ObservationId, &Option<String>> =
        trace.steps.iter().filter(is_tool).map(|step| (&step.id, &step.name)).collect();
    let is_part = |step: &&Observation| {
        step.parent.as_ref().and_then(|parent| names.get(parent)) == Some(&&step.name)
    };
    let whole = trace.steps.iter().filter(is_tool).filter(|step| !is_part(step));
    whole.map(|step| &step.id).collect()
}

/// Converts an observation to a call. Its outcome is what the record states beside the output.
pub(super) fn call(step: &Observation, notations: &Notations) -> Call {
    let output = step.content.as_ref().and_then(|content| content.output.as_ref()).map(text);
    let outcome = if step.level == Level::Error {
        CallOutcome::Failed
    } else {
        let metadata = step.content.iter().flat_map(|content| &content.metadata);
        notations.read_metadata(metadata.map(|(key, value)| (key.as_str(), value.as_str())))
    };
    let output = output.or_else(|| step.status_message.clone());
    Call { tool: name(step), input: input(step), output, outcome }
}

fn name(step: &Observation) -> String {
    let tool_name = TOOL_NAMES.iter().find_map(|key| metadata(step, key));
    let name = tool_name.or_else(|| step.name.clone()).unwrap_or_default();
    name.strip_prefix(OPERATION).map_or(name.clone(), str::to_owned)
}

fn metadata(step: &Observation, key: &str) -> Option<String> {
    let wrapped = &step.content.as_ref()?.metadata;
    let (_, value) = wrapped.iter().find(|(known, _)| known == key)?;
    serde_json::from_str::<String>(value.as_str()).ok()
}

/// Returns the input without the wrappers of function decorators.
fn input(step: &Observation) -> Value {
    let payload = step.content.as_ref().and_then(|content| content.input.as_ref());
    let Some(payload) = payload else { return Value::Null };
    let input_value = serde_json::from_str(payload.to_json().as_str()).unwrap_or(Value::Null);
    match input_value {
        Value::Object(mut object) if object.len() == 2 => {
            let is_wrapped = object.get("args") == Some(&Value::Array(Vec::new()));
            match object.remove("kwargs") {
                Some(wrapped) if is_wrapped => wrapped,
                Some(wrapped) => {
                    object.insert("kwargs".to_owned(), wrapped);
                    Value::Object(object)
                }
                None => Value::Object(object),
            }
        }
        // Arguments are JSON or JSON in a string.
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    }
}

/// Returns the text of a tool output.
fn text(payload: &Payload) -> String {
    match small_tree(payload.to_json().as_str()) {
        Ok(Value::String(text)) => text,
        Ok(Value::Array(blocks)) if !blocks.is_empty() && blocks.iter().all(is_text) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => payload.as_str().to_owned(),
    }
}

fn is_text(block: &Value) -> bool {
    block.get("text").is_some_and(Value::is_string)
}
