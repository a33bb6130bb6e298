//! Who called whom: the runs of agents in traces that belong together.
//!
//! An agent that calls another one in the same process nests it as an observation. One that calls
//! another service hands it a `traceparent`: its spans arrive in the same trace, or in a trace of its
//! own that names the caller's span. Otherwise only the session connects them.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::observation::{Level, Observation, ObservationKind};
use super::trace::{Content, Trace};
use crate::id::{ObservationId, TraceId};
use crate::time::Timestamp;

/// What names of spans of agents begin with.
const AGENT_SPANS: [&str; 2] = ["invoke_agent ", "create_agent "];
/// Ancestors of an observation that are looked at: parents may form a loop.
const MAX_DEPTH: usize = 200;

/// How a call is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEvidence {
    /// It is recorded within its caller.
    Nested,
    /// Its `traceparent`, or a link, names the caller.
    Traceparent,
    /// It worked in the same session while its caller did.
    Session,
}

/// The run of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRun {
    pub agent: String,
    pub trace: TraceId,
    /// Where it is recorded; `None` for a trace without an observation of the agent itself.
    pub observation: Option<ObservationId>,
    pub start: Timestamp,
    pub end: Timestamp,
    pub failed: bool,
    /// Which run called it; runs are numbered from 0.
    pub caller: Option<(usize, CallEvidence)>,
    /// Calls of tools that it made itself, and how many of them failed.
    pub tools: BTreeMap<String, (u32, u32)>,
}

/// A span that a trace names as what it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanReference {
    pub trace: String,
    pub span: String,
}

/// A trace with its observations.
#[derive(Clone, Debug)]
pub struct TraceSteps<'a> {
    pub trace: &'a Trace,
    pub steps: Vec<&'a Observation>,
    pub references: Vec<SpanReference>,
}

/// Returns what metadata names as the origin: span links, and a `traceparent` that the client sent.
pub fn references(content: &Content) -> Vec<SpanReference> {
    let value = |wanted: &str| {
        let (_, json) = content.metadata.iter().find(|(key, _)| key == wanted)?;
        serde_json::from_str::<Value>(json.as_str()).ok()
    };
    let link = |link: &Value| {
        let text = |name: &str| link.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(SpanReference { trace: text("traceId")?, span: text("spanId")? })
    };
    let links = value("links").and_then(|links| links.as_array().cloned()).unwrap_or_default();
    let parent = value("traceparent").as_ref().and_then(Value::as_str).and_then(traceparent);
    parent.into_iter().chain(links.iter().filter_map(link)).collect()
}

/// Parses the header of the W3C's trace context: version, trace, span, flags.
fn traceparent(header: &str) -> Option<SpanReference> {
    let parts: Vec<&str> = header.trim().split('-').collect();
    let [_, trace, span, ..] = parts.as_slice() else { return None };
    let is_hex = |text: &str, len| text.len() == len && text.bytes().all(|b| b.is_ascii_hexdigit());
    (is_hex(trace, 32) && is_hex(span, 16))
        .then(|| SpanReference { trace: (*trace).to_owned(), span: (*span).to_owned() })
}

/// Returns the agent's own name; a span of it is called `invoke_agent NAME` by OpenTelemetry's
/// conventions.
pub fn agent_name(step: &Observation) -> String {
    let named = step.agent.as_deref().or(step.name.as_deref()).unwrap_or_default();
    let plain = AGENT_SPANS.iter().find_map(|prefix| named.strip_prefix(prefix));
    plain.unwrap_or(named).to_owned()
}

/// Returns the runs of agents in traces, each trace's own one first, in the order of the traces.
pub fn agent_runs(traces: &[TraceSteps<'_>]) -> Vec<AgentRun> {
    let mut runs = Vec::new();
    let mut owners: HashMap<(String, String), usize> = HashMap::new();
    let mut roots = Vec::new();
    for one in traces {
        let root = runs.len();
        runs.push(own_run(one.trace));
        roots.push(root);
        add_steps(one, root, &mut runs, &mut owners);
    }
    for (one, root) in traces.iter().zip(&roots) {
        let caller =
            referred(one, traces, &roots, &owners).filter(|by| !leads_to(&runs, *by, *root));
        let caller = caller.map(|by| (by, CallEvidence::Traceparent));
        let meanwhile = || {
            let by = at_work_meanwhile(&runs, *root)?;
            (!leads_to(&runs, by, *root)).then_some((by, CallEvidence::Session))
        };
        let found = caller.or_else(meanwhile);
        if let Some(run) = runs.get_mut(*root) {
            run.caller = found;
        }
    }
    runs
}

fn own_run(trace: &Trace) -> AgentRun {
    let named = trace.agent.as_deref().or(trace.name.as_deref()).filter(|name| !name.is_empty());
    let start = trace.summary.start.unwrap_or(trace.timestamp);
    AgentRun {
        agent: named.unwrap_or("unnamed").to_owned(),
        trace: trace.id.clone(),
        observation: None,
        start,
        end: trace.summary.end.unwrap_or(start),
        failed: trace.summary.levels.error > 0,
        caller: None,
        tools: BTreeMap::new(),
    }
}

/// Adds the runs within a trace, and notes which run each observation belongs to.
fn add_steps(
    one: &TraceSteps<'_>,
    root: usize,
    runs: &mut Vec<AgentRun>,
    owners: &mut HashMap<(String, String), usize>,
) {
    let by_id: HashMap<&ObservationId, &Observation> =
        one.steps.iter().map(|step| (&step.id, *step)).collect();
    let depth = |step: &Observation| ancestors(step, &by_id).count();
    let mut steps = one.steps.clone();
    // Callers come before those whom they call.
    steps.sort_by_key(|step| (depth(step), step.start, step.id.clone()));
    let mut run_of: HashMap<&ObservationId, usize> = HashMap::new();
    for step in steps {
        let above = ancestors(step, &by_id).find_map(|above| run_of.get(&above.id).copied());
        let caller = above.unwrap_or(root);
        let is_other_app = step.app_root && step.parent.is_some();
        let name = agent_name(step);
        let starts = step.kind == ObservationKind::Agent || is_other_app;
        let is_wrapper = runs.get(caller).is_some_and(|run| run.agent == name);
        let run = if starts && !is_wrapper && !name.is_empty() {
            let evidence =
                if is_other_app { CallEvidence::Traceparent } else { CallEvidence::Nested };
            runs.push(AgentRun {
                agent: name,
                trace: step.trace.clone(),
                observation: Some(step.id.clone()),
                start: step.start,
                end: step.end.unwrap_or(step.start),
                failed: step.level == Level::Error,
                caller: Some((caller, evidence)),
                tools: BTreeMap::new(),
            });
            runs.len() - 1
        } else {
            caller
        };
        if let Some(found) = runs.get_mut(run) {
            note(found, step, starts && is_wrapper);
        }
        run_of.insert(&step.id, run);
        owners.insert((one.trace.id.to_string(), step.id.to_string()), run);
    }
}

/// Notes a step of a run: where the agent itself is recorded, and a call of a tool.
fn note(run: &mut AgentRun, step: &Observation, is_agent_itself: bool) {
    if is_agent_itself && run.observation.is_none() {
        run.observation = Some(step.id.clone());
    }
    if let (ObservationKind::Tool, Some(name)) = (step.kind, &step.name) {
        let (calls, failed) = run.tools.entry(name.clone()).or_default();
        *calls = calls.saturating_add(1);
        *failed = failed.saturating_add(u32::from(step.level == Level::Error));
    }
}

fn ancestors<'a>(
    step: &'a Observation,
    by_id: &'a HashMap<&ObservationId, &'a Observation>,
) -> impl Iterator<Item = &'a Observation> {
    let above = |step: &&'a Observation| by_id.get(step.parent.as_ref()?).copied();
    std::iter::successors(above(&step), above).take(MAX_DEPTH)
}

/// The run that a trace names as its origin.
fn referred(
    one: &TraceSteps<'_>,
    traces: &[TraceSteps<'_>],
    roots: &[usize],
    owners: &HashMap<(String, String), usize>,
) -> Option<usize> {
    one.references.iter().find_map(|reference| {
        let at = traces.iter().position(|other| other.trace.id.to_string() == reference.trace)?;
        if traces.get(at)?.trace.id == one.trace.id {
            return None;
        }
        let key = (reference.trace.clone(), reference.span.clone());
        // Its span may not be recorded; its trace is.
        owners.get(&key).or_else(|| roots.get(at)).copied()
    })
}

/// The run of another agent, in another trace, that was at work all the while: the shortest.
fn at_work_meanwhile(runs: &[AgentRun], root: usize) -> Option<usize> {
    let run = runs.get(root)?;
    let length = |run: &AgentRun| run.end.since(run.start);
    let is_caller = |other: &AgentRun| {
        other.trace != run.trace
            && other.agent != run.agent
            && other.start <= run.start
            && run.end <= other.end
            && length(other) > length(run)
    };
    let callers = runs.iter().enumerate().filter(|(_, other)| is_caller(other));
    callers.min_by_key(|(_, other)| length(other)).map(|(at, _)| at)
}

/// Whether the callers of a run lead to another one.
fn leads_to(runs: &[AgentRun], from: usize, to: usize) -> bool {
    let caller = |at: &usize| runs.get(*at)?.caller.map(|(by, _)| by);
    std::iter::successors(Some(from), caller).take(runs.len().saturating_add(1)).any(|at| at == to)
}

/// Returns runs with their depth, callers first, those of one caller in the order of their start.
pub fn in_call_order(runs: &[AgentRun]) -> Vec<(usize, usize)> {
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); runs.len()];
    let mut tops = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        match run.caller.and_then(|(by, _)| callees.get_mut(by)) {
            Some(called) => called.push(at),
            None => tops.push(at),
        }
    }
    let by_start =
        |list: &mut Vec<usize>| list.sort_by_key(|at| (runs.get(*at).map(|run| run.start), *at));
    callees.iter_mut().for_each(by_start);
    by_start(&mut tops);
    let mut waiting: Vec<(usize, usize)> = tops.into_iter().rev().map(|at| (at, 0)).collect();
    let mut ordered = Vec::new();
    while let Some((at, depth)) = waiting.pop() {
        ordered.push((at, depth));
        let called = callees.get(at).into_iter().flatten().rev();
        waiting.extend(called.map(|callee| (*callee, depth + 1)));
    }
    ordered
}

#[cfg(test)]
mod tests;
