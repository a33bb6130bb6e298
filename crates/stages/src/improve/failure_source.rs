use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::Week;
use ratchet_core::id::TraceId;
use ratchet_core::improve::observed::{ObservedToolCall, ObservedTrace};
use ratchet_core::improve::signals::{Scales, Signals, signals};
use ratchet_core::payload::Payload;
use ratchet_core::record::message_formats::{ChatMessage, Part, Reading, Role, read};
use ratchet_core::record::observation::{Level, Observation, ObservationKind};
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_remote::langfuse::client::{
    ObservationFilter, Position, ScoreFilter, TimeWindow, TraceRef, TraceRefFilter,
};

use crate::source::{Source, SourceResult};

/// Weeks before the reported one that are read, for trends.
const WEEKS_BEFORE: usize = 3;
/// Traces that are read with their content at most: those with scores first.
const MAX_SCORED: usize = 5_000;
const MAX_UNSCORED: usize = 1_500;
/// Characters of a text that are read.
const MAX_TEXT: usize = 20_000;

/// The traces of one agent.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentTraces {
    /// Traces of the reported week.
    pub(super) traffic: usize,
    pub(super) traces: Vec<ObservedTrace>,
}

/// Reads the weeks up to the reported one, by agent. `weights` are the inverse probabilities of drawn
/// traces.
pub(super) async fn collect(
    source: &Source,
    week: &Week,
    agent: Option<&str>,
    weights: &BTreeMap<String, f64>,
) -> SourceResult<BTreeMap<String, AgentTraces>> {
    let weeks: Vec<Week> = std::iter::successors(Some(week.clone()), |week| Some(week.before()))
        .take(WEEKS_BEFORE + 1)
        .collect();
    let from = weeks.last().map(Week::start);
    let refs = refs(source, TimeWindow { from, to: Some(week.end()) }).await?;
    let scores = source
        .all_scores(&ScoreFilter {
            between: TimeWindow { from, to: None },
            ..ScoreFilter::default()
        })
        .await?;
    let said = by_trace(&scores);
    let (mut scored, mut unscored) = (0, 0);
    let mut found: BTreeMap<String, AgentTraces> = BTreeMap::new();
    for (id, trace) in refs {
        let name = trace.agent.clone().unwrap_or_else(|| "unnamed".to_owned());
        if agent.is_some_and(|agent| agent != name) || !trace.environment.is_production_traffic() {
            continue;
        }
        let Some(weeks_ago) = weeks
            .iter()
            .position(|week| week.start() <= trace.timestamp && trace.timestamp < week.end())
        else {
            continue;
        };
        let of_agent = found.entry(name).or_default();
        of_agent.traffic += usize::from(weeks_ago == 0);
        let signals = said.get(&id).cloned();
        let is_read = match &signals {
            Some(_) => {
                scored += 1;
                scored <= MAX_SCORED
            }
            None => {
                weeks_ago == 0 && {
                    unscored += 1;
                    unscored <= MAX_UNSCORED
                }
            }
        };
        if !is_read {
            continue;
        }
        let Some(observed) = observe(source, &id).await? else { continue };
        let weight = weights.get(&id.to_string()).copied().unwrap_or(1.0);
        of_agent.traces.push(ObservedTrace {
            session: trace.session.map(|session| session.to_string()),
            release: trace.release,
            weeks_ago,
            weight,
            signals: signals.unwrap_or_default(),
            ..observed
        });
    }
    Ok(found)
}

async fn refs(source: &Source, between: TimeWindow) -> SourceResult<BTreeMap<TraceId, TraceRef>> {
    let asked = TraceRefFilter { between, ..TraceRefFilter::default() };
    let mut found = BTreeMap::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = source.trace_refs(&asked, &at).await?;
        found.extend(slice.rows.into_iter().map(|row| (row.trace.clone(), row)));
        next = slice.next;
    }
    Ok(found)
}

fn by_trace(scores: &[Score]) -> BTreeMap<TraceId, Signals> {
    let scales = Scales::of(scores.iter());
    let mut sorted: BTreeMap<TraceId, Vec<&Score>> = BTreeMap::new();
    for score in scores {
        if let ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) = &score.target {
            sorted.entry(trace.clone()).or_default().push(score);
        }
    }
    let of = |(trace, mut scores): (TraceId, Vec<&Score>)| {
        scores.sort_by_key(|score| score.timestamp);
        (trace, signals(scores.into_iter(), &scales))
    };
    sorted.into_iter().map(of).collect()
}

/// Reads the content of a trace.
async fn observe(source: &Source, id: &TraceId) -> SourceResult<Option<ObservedTrace>> {
    let Some(trace) = source.trace(id).await? else { return Ok(None) };
    let asked = ObservationFilter { trace: Some(id.clone()), ..ObservationFilter::default() };
    let mut observations = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = source.observations(&asked, &at).await?;
        observations.extend(slice.rows);
        next = slice.next;
    }
    observations.sort_by(|one, other| (one.start, &one.id).cmp(&(other.start, &other.id)));
    let content = trace.content.unwrap_or_default();
    let root = observations
        .iter()
        .find(|one| one.is_root())
        .and_then(|one| one.content.clone())
        .unwrap_or_default();
    let model_step = observations.iter().rev().find(|one| one.kind == ObservationKind::Generation);
    let spoken = model_step.and_then(|one| one.content.clone()).unwrap_or_default();
    let text = |candidates: [Option<&Payload>; 3], role: &Role| {
        let texts = candidates.into_iter().flatten().map(|payload| said_by(payload, role));
        texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
    };
    Ok(Some(ObservedTrace {
        id: id.to_string(),
        question: text(
            [content.input.as_ref(), root.input.as_ref(), spoken.input.as_ref()],
            &Role::User,
        ),
        answer: text(
            [content.output.as_ref(), root.output.as_ref(), spoken.output.as_ref()],
            &Role::Assistant,
        ),
        tools: tools(&observations),
        model: model_step.and_then(|one| one.model.clone()),
        ..ObservedTrace::default()
    }))
}

/// The last text of a role in a payload; of payloads without roles all text.
fn said_by(payload: &Payload, role: &Role) -> String {
    let text = match read(payload.as_str()) {
        Reading::Text(text) | Reading::Data(text) => text,
        Reading::Messages(messages) => {
            let of_role = messages.iter().rev().filter(|message| message.role == *role);
            of_role.map(message_text).find(|text| !text.is_empty()).unwrap_or_default()
        }
    };
    text.chars().take(MAX_TEXT).collect()
}

fn message_text(message: &ChatMessage) -> String {
    let text = |part: &Part| match part {
        Part::Text(text) => Some(text.clone()),
        _ => None,
    };
    message.parts.iter().filter_map(text).collect::<Vec<_>>().join(" ")
}

/// The tool calls of a trace. Clients without tool observations record them as spans.
fn tools(observations: &[Observation]) -> Vec<ObservedToolCall> {
    let is_tool =
        |one: &&Observation| matches!(one.kind, ObservationKind::Tool | ObservationKind::Retriever);
    let has_tools = observations.iter().any(|one| is_tool(&one));
    let parents: BTreeSet<_> = observations.iter().filter_map(|one| one.parent.as_ref()).collect();
    let is_leaf_span = |one: &&Observation| {
        one.kind == ObservationKind::Span && !one.is_root() && !parents.contains(&one.id)
    };
    let chosen =
        observations.iter().filter(|one| if has_tools { is_tool(one) } else { is_leaf_span(one) });
    let call = |one: &Observation| {
        let output = one.content.as_ref().and_then(|content| content.output.as_ref());
        let output: String = output
            .map(|output| output.as_str().chars().take(MAX_TEXT).collect())
            .unwrap_or_default();
        let failed = one.level == Level::Error || says_error(&output);
        Some(ObservedToolCall { name: one.name.clone()?, output, failed })
    };
    chosen.filter_map(call).collect()
}

/// Whether an output is an error in JSON.
fn says_error(output: &str) -> bool {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(output) else { return false };
    let has = |name: &str| {
        fields.get(name).is_some_and(|value| !value.is_null() && value != false && value != "")
    };
    let status = fields.get("status").and_then(serde_json::Value::as_str);
    has("error") || has("is_error") || status.is_some_and(|status| status == "error")
}
