use serde_json::{Value, json};

use crate::catalog::evaluator::document::{MappedVariable, MappingSource};
use crate::catalog::evaluator::json_path;
use crate::judge::evidence::{Evidence, NumberedTrace};
use crate::payload::{Json, Payload};
use crate::record::observation::{Observation, ObservationKind};
use crate::record::trace::Content;

/// The parts of a record that fill variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvaluatedRecord {
    pub input: Option<Value>,
    pub output: Option<Value>,
    pub metadata: Value,
    /// Name, input and output of each call of a tool, in order.
    pub tool_calls: Vec<Value>,
    /// Of the dataset item, if the record is its run.
    pub expected_output: Option<Value>,
    pub item_metadata: Option<Value>,
}

impl EvaluatedRecord {
    /// One trace, or a whole session: a session's input is the list of its traces' inputs, its
    /// output the list of their outputs.
    pub fn of(evidence: &Evidence) -> Self {
        let tool_calls = evidence.traces.iter().flat_map(|trace| &trace.steps);
        let tool_calls = tool_calls.filter_map(tool_call).collect();
        let contents: Vec<&Content> =
            evidence.traces.iter().filter_map(|trace| trace.trace.content.as_ref()).collect();
        let parts = match contents.as_slice() {
            [only] => Self::of_content(only),
            _ => Self {
                input: Some(contents.iter().map(|one| json_of(one.input.as_ref())).collect()),
                output: Some(contents.iter().map(|one| json_of(one.output.as_ref())).collect()),
                metadata: contents.first().map_or(Value::Null, |one| metadata(&one.metadata)),
                ..Self::default()
            },
        };
        Self { tool_calls, ..parts }
    }

    /// One observation of a trace, with the calls of tools below it.
    pub fn of_observation(trace: &NumberedTrace, observation: &Observation) -> Self {
        let parts = observation.content.as_ref().map(Self::of_content).unwrap_or_default();
        let below = |step: &&Observation| is_below(trace, step, observation);
        let tool_calls = trace.steps.iter().filter(below).filter_map(tool_call).collect();
        Self { tool_calls, ..parts }
    }

    fn of_content(content: &Content) -> Self {
        Self {
            input: content.input.as_ref().map(|input| json_of(Some(input))),
            output: content.output.as_ref().map(|output| json_of(Some(output))),
            metadata: metadata(&content.metadata),
            ..Self::default()
        }
    }

    /// Returns the record with what a dataset item says of it.
    #[must_use]
    pub fn of_item(self, expected: Option<&Json>, metadata: Option<&Json>) -> Self {
        let value = |json: &Json| serde_json::from_str(json.as_str()).ok();
        let (expected_output, item_metadata) = (expected.and_then(value), metadata.and_then(value));
        Self { expected_output, item_metadata, ..self }
    }

    fn source(&self, source: MappingSource) -> Option<Value> {
        match source {
            MappingSource::Input => self.input.clone(),
            MappingSource::Output => self.output.clone(),
            MappingSource::Metadata => Some(self.metadata.clone()),
            MappingSource::ToolCalls => Some(Value::Array(self.tool_calls.clone())),
            MappingSource::ExpectedOutput => self.expected_output.clone(),
            MappingSource::ExperimentItemMetadata => self.item_metadata.clone(),
        }
    }
}

/// Returns the values of a prompt's variables. A variable that nothing maps has the source of its
/// own name, if there is one.
pub fn values(
    variables: &[String],
    mapping: &[MappedVariable],
    record: &EvaluatedRecord,
) -> Vec<(String, String)> {
    let value = |name: &String| {
        let mapped = mapping.iter().find(|one| one.variable == *name);
        let source = mapped.map_or_else(|| by_name(name), |one| Some(one.source));
        let path = mapped.and_then(|one| one.json_path.as_deref()).filter(|path| *path != "$");
        let whole = record.source(source?)?;
        let part = match path {
            Some(path) => json_path::find(&whole, path)?,
            None => whole,
        };
        Some(text(&part))
    };
    variables.iter().map(|name| (name.clone(), value(name).unwrap_or_default())).collect()
}

fn by_name(name: &str) -> Option<MappingSource> {
    match name {
        "input" | "query" => Some(MappingSource::Input),
        "output" | "generation" => Some(MappingSource::Output),
        "metadata" => Some(MappingSource::Metadata),
        "tool_calls" => Some(MappingSource::ToolCalls),
        "expected_output" => Some(MappingSource::ExpectedOutput),
        _ => None,
    }
}

/// A text as it is, anything else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn json_of(payload: Option<&Payload>) -> Value {
    let Some(payload) = payload else { return Value::Null };
    serde_json::from_str(payload.to_json().as_str()).unwrap_or_else(|_| payload.as_str().into())
}

fn metadata(pairs: &[(String, Json)]) -> Value {
    let value = |json: &Json| serde_json::from_str(json.as_str()).unwrap_or(Value::Null);
    Value::Object(pairs.iter().map(|(key, json)| (key.clone(), value(json))).collect())
}

fn tool_call(step: &Observation) -> Option<Value> {
    if step.kind != ObservationKind::Tool {
        return None;
    }
    let content = step.content.as_ref();
    let input = json_of(content.and_then(|content| content.input.as_ref()));
    let output = json_of(content.and_then(|content| content.output.as_ref()));
    let mut call = json!({ "name": step.name, "input": input, "output": output });
    if let (Some(call), Some(error)) = (call.as_object_mut(), &step.status_message) {
        call.insert("status".to_owned(), error.as_str().into());
    }
    Some(call)
}

fn is_below(trace: &NumberedTrace, step: &Observation, top: &Observation) -> bool {
    let mut parent = step.parent.as_ref();
    // As many as there are at most, so that a loop of parents ends.
    for _ in 0..trace.steps.len() {
        let Some(id) = parent else { return false };
        if *id == top.id {
            return true;
        }
        parent = trace.steps.iter().find(|one| one.id == *id).and_then(|one| one.parent.as_ref());
    }
    false
}
