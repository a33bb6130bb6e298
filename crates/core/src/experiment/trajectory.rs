use std::collections::HashMap;

use serde_json::Value;

use super::runner::ReportedCall;
use crate::id::{ObservationId, TraceId};
use crate::judge::code_evaluator::EvaluatedCall;
use crate::payload::Payload;
use crate::record::agent_runs::agent_name;
use crate::record::observation::{Observation, ObservationKind};

/// Tools of Claude Code that start a sub-agent.
const AGENT_TOOLS: [&str; 2] = ["Task", "Agent"];

/// What an agent did on its way to an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// Calls of tools, in the order of their start.
    pub calls: Vec<CalledTool>,
    /// Sub-agents, in the order in which they were chosen.
    pub agents: Vec<SubAgent>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct CalledTool {
    pub name: String,
    pub arguments: Option<Value>,
}

/// The work of a sub-agent.
#[derive(Clone, Debug, PartialEq)]
pub struct SubAgent {
    pub name: String,
    /// Where it is recorded, if it is.
    pub observation: Option<ObservationId>,
    /// The trace that it has of its own; `None` within that of the agent.
    pub apart: Option<TraceId>,
    pub input: Value,
    pub output: Option<String>,
    /// Calls of tools below it.
    pub calls: Vec<CalledTool>,
}

impl CalledTool {
    /// Returns it as evaluators see it.
    pub fn evaluated(&self) -> EvaluatedCall<'_> {
        EvaluatedCall { name: &self.name, arguments: self.arguments.as_ref() }
    }
}

impl Trajectory {
    /// Reads it from the observations of a trace.
    ///
    /// A sub-agent is an agent within another one or within a tool, or a tool that starts one. Where
    /// there is none, the agents that were called directly are: then no agent chose among them, but a
    /// program.
    pub fn of_observations(steps: &[Observation]) -> Self {
        let mut steps: Vec<&Observation> = steps.iter().collect();
        steps.sort_by(|one, other| (one.start, &one.id).cmp(&(other.start, &other.id)));
        let by_id: HashMap<&ObservationId, &Observation> =
            steps.iter().map(|step| (&step.id, *step)).collect();
        let is_worker = |step: &Observation| {
            matches!(step.kind, ObservationKind::Agent | ObservationKind::Tool)
        };
        let agents = steps.iter().filter(|step| step.kind == ObservationKind::Agent);
        let (nested, direct): (Vec<&Observation>, Vec<&Observation>) =
            agents.copied().partition(|step| ancestors(step, &by_id).any(is_worker));
        let chosen = if nested.is_empty() { direct } else { nested };
        let agent = |(name, top): (String, &Observation)| SubAgent {
            name,
            observation: Some(top.id.clone()),
            apart: None,
            input: input(top).unwrap_or_default(),
            output: output(top),
            calls: steps
                .iter()
                .filter(|step| ancestors(step, &by_id).any(|above| above.id == top.id))
                .filter_map(|step| tool(step))
                .collect(),
        };
        let started: Vec<(String, &Observation)> =
            steps.iter().filter_map(|step| Some((started_agent(&tool(step)?)?, *step))).collect();
        // Where tools start sub-agents and these are recorded too, each counts once.
        let chosen: Vec<(String, &Observation)> = if started.is_empty() {
            chosen.into_iter().map(|top| (agent_name(top), top)).collect()
        } else {
            started
        };
        Self {
            agents: chosen.into_iter().map(agent).collect(),
            calls: steps.iter().filter_map(|step| tool(step)).collect(),
        }
    }

    /// Creates it from calls that a target reports itself. `observation` returns where a call is recorded.
    pub fn of_calls(
        calls: &[ReportedCall],
        observation: impl Fn(&str) -> Option<ObservationId>,
    ) -> Self {
        let parents: HashMap<&str, Option<&str>> =
            calls.iter().map(|call| (call.id.as_str(), call.parent.as_deref())).collect();
        let is_below = |call: &ReportedCall, top: &str| {
            let parent = |id: &&str| parents.get(id).copied().flatten();
            std::iter::successors(call.parent.as_deref(), parent)
                .take(calls.len())
                .any(|above| above == top)
        };
        let agent = |top: &ReportedCall| {
            let below = calls.iter().filter(|call| is_below(call, &top.id));
            Some(SubAgent {
                name: started_agent(&reported(top))?,
                observation: observation(&top.id),
                apart: None,
                input: top.input.clone(),
                output: top.output.as_ref().map(|text| text.trim_end().to_owned()),
                calls: below.map(reported).collect(),
            })
        };
        Self {
            agents: calls.iter().filter_map(agent).collect(),
            calls: calls.iter().map(reported).collect(),
        }
    }
}

impl SubAgent {
    /// Reads a sub-agent that has a trace of its own: its top span is what it was asked and said. `None`
    /// as long as that has not ended.
    pub fn of_trace(trace: &TraceId, name: Option<&str>, steps: &[Observation]) -> Option<Self> {
        let mut steps: Vec<&Observation> = steps.iter().collect();
        steps.sort_by(|one, other| (one.start, &one.id).cmp(&(other.start, &other.id)));
        let is_below =
            |step: &Observation| steps.iter().any(|other| step.parent.as_ref() == Some(&other.id));
        let top = steps.iter().copied().find(|step| !is_below(step))?;
        let of_agent = (top.kind == ObservationKind::Agent).then(|| agent_name(top));
        top.end?;
        Some(Self {
            name: of_agent.or_else(|| name.map(str::to_owned)).unwrap_or_else(|| agent_name(top)),
            observation: Some(top.id.clone()),
            apart: Some(trace.clone()),
            input: input(top).unwrap_or_default(),
            output: output(top),
            calls: steps.iter().filter_map(|step| tool(step)).collect(),
        })
    }
}

fn reported(call: &ReportedCall) -> CalledTool {
    CalledTool { name: call.name.clone(), arguments: Some(call.input.clone()) }
}

/// The sub-agent that a tool starts.
fn started_agent(call: &CalledTool) -> Option<String> {
    let named = call.arguments.as_ref()?.get("subagent_type").and_then(Value::as_str);
    named.filter(|_| AGENT_TOOLS.contains(&call.name.as_str())).map(str::to_owned)
}

/// The observations above one; as many as there are at most, so that a loop of parents ends.
fn ancestors<'a>(
    step: &'a Observation,
    by_id: &'a HashMap<&ObservationId, &'a Observation>,
) -> impl Iterator<Item = &'a Observation> {
    let above = |step: &&'a Observation| by_id.get(step.parent.as_ref()?).copied();
    std::iter::successors(above(&step), above).take(by_id.len())
}

fn tool(step: &Observation) -> Option<CalledTool> {
    let name = step.name.clone().filter(|_| step.kind == ObservationKind::Tool)?;
    Some(CalledTool { name, arguments: input(step).map(arguments) })
}

fn input(step: &Observation) -> Option<Value> {
    json(step.content.as_ref()?.input.as_ref()?)
}

fn output(step: &Observation) -> Option<String> {
    let value = json(step.content.as_ref()?.output.as_ref()?)?;
    Some(said(&value).map_or_else(|| value.to_string(), |text| text.trim_end().to_owned()))
}

/// The arguments of a call: some libraries record them as a message to the tool.
fn arguments(input: Value) -> Value {
    match input {
        Value::Array(mut messages) if messages.len() == 1 => match messages.pop() {
            Some(Value::Object(mut message)) if message.contains_key("role") => {
                message.remove("content").unwrap_or(Value::Object(message))
            }
            other => Value::Array(other.into_iter().collect()),
        },
        other => other,
    }
}

/// The text of an answer, which may be recorded as messages with parts: that of the last message.
fn said(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(message) => {
            let keys = ["content", "parts", "text", "message"];
            keys.iter().find_map(|key| message.get(*key)).and_then(said)
        }
        Value::Array(list) if list.iter().any(|one| one.get("role").is_some()) => {
            said(list.last()?)
        }
        Value::Array(parts) => {
            let texts: Vec<String> = parts.iter().filter_map(said).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        _ => None,
    }
}

fn json(payload: &Payload) -> Option<Value> {
    serde_json::from_str(payload.to_json().as_str()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_and_arguments_are_found_in_messages() {
        let message =
            json!([{ "role": "assistant", "content": [{ "text": "Re" }, { "text": "funded." }] }]);
        assert_eq!(said(&message).unwrap(), "Refunded.");
        assert_eq!(said(&json!("plain")).unwrap(), "plain");
        let strands =
            json!({ "role": "assistant", "message": "Done.", "finish_reason": "end_turn" });
        assert_eq!(said(&strands).unwrap(), "Done.");
        let genai =
            json!([{ "role": "assistant", "parts": [{ "type": "text", "content": "Hi" }] }]);
        assert_eq!(said(&genai).unwrap(), "Hi");
        assert_eq!(said(&json!({ "total": 3 })), None);
        let wrapped = json!([{ "role": "tool", "content": { "q": 1 }, "id": "x" }]);
        assert_eq!(arguments(wrapped), json!({ "q": 1 }));
        for plain in [json!({ "q": 1 }), json!([1]), json!([{ "q": 1 }]), json!("text")] {
            assert_eq!(arguments(plain.clone()), plain);
        }
    }

    #[test]
    fn a_task_of_claude_chooses_a_sub_agent() {
        let call = |id: &str, parent: Option<&str>, name: &str, input: Value| ReportedCall {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            name: name.to_owned(),
            input,
            output: Some("Done.\n".to_owned()),
            ..ReportedCall::default()
        };
        let calls = [
            call("a", None, "Task", json!({ "subagent_type": "planner", "prompt": "plan" })),
            call("b", Some("a"), "Read", json!({ "file_path": "x" })),
            call("c", None, "Read", json!({ "file_path": "y" })),
        ];
        let found = Trajectory::of_calls(&calls, |_| None);
        let [planner] = found.agents.as_slice() else { panic!("{found:?}") };
        assert_eq!((planner.name.as_str(), planner.output.as_deref()), ("planner", Some("Done.")));
        assert_eq!((planner.calls.len(), found.calls.len()), (1, 3));
    }
}
