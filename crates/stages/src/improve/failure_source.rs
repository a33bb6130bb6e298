use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::Week;
use ratchet_core::id::TraceId;
use ratchet_core::improve::observed::{ObservedToolCall, ObservedTrace};
use ratchet_core::improve::signals::{Scales, Signals, signals};
use ratchet_core::payload::Payload;
use ratchet_core::record::message_formats::{ChatMessage, MessageRole, Part, Reading, read};
use ratchet_core::record::observation::{Level, Observation, ObservationKind};
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_remote::langfuse::client::{
    ObservationFilter, Position, ScoreFilter, TimeWindow, TraceRef, TraceRefFilter,
};
use ratchet_store::catalog::Agent;

use crate::source::{Source, SourceResult};

/// Weeks before the reported one that are read, for trends.
const WEEKS_BEFORE: usize = 3;
/// Weeks that are read.
pub(super) const READ_WEEKS: usize = WEEKS_BEFORE + 1;
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
    /// Traces that were not read because there were too many.
    pub(super) left_out: usize,
}

/// What traces without an agent are listed under.
pub(super) const UNNAMED: &str = "unnamed";

/// Names of agents by their aliases.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentNames(BTreeMap<String, String>);

impl AgentNames {
    pub(super) fn new(agents: Vec<Agent>) -> Self {
        let named = agents.into_iter().flat_map(|agent| {
            let aliases = agent.settings.aliases.into_iter();
            aliases.map(move |alias| (alias, agent.name.clone())).collect::<Vec<_>>()
        });
        Self(named.collect())
    }

    pub(super) fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }

    /// The agent of a trace.
    pub(super) fn of_trace<'a>(&'a self, trace: &'a TraceRef) -> &'a str {
        trace.agent.as_ref().map_or(UNNAMED, |name| self.of(name))
    }
}

/// The traces and signals of the reported week and of those before it.
pub(super) struct WeekRecords {
    /// Production traces with the weeks since, the reported week first.
    pub(super) refs: Vec<(usize, TraceRef)>,
    pub(super) said: BTreeMap<TraceId, Signals>,
}

impl WeekRecords {
    pub(super) async fn read(source: &Source, week: &Week) -> SourceResult<Self> {
        let weeks: Vec<Week> =
            std::iter::successors(Some(week.clone()), |week| Some(week.before()))
                .take(READ_WEEKS)
                .collect();
        let from = weeks.last().map(Week::start);
        let refs = refs(source, TimeWindow { from, to: Some(week.end()) }).await?;
        let between = TimeWindow { from, to: None };
        let scores = source.all_scores(&ScoreFilter { between, ..ScoreFilter::default() }).await?;
        Ok(Self { refs: newest_first(refs, &weeks), said: by_trace(&scores) })
    }
}

/// Reads the traces by agent, the reported week first. `weights` are the inverse probabilities of drawn
/// traces.
pub(super) async fn collect(
    source: &Source,
    (agent, names): (Option<&str>, &AgentNames),
    records: &WeekRecords,
    weights: &BTreeMap<String, f64>,
) -> SourceResult<BTreeMap<String, AgentTraces>> {
    let (mut scored, mut unscored) = (0, 0);
    let mut found: BTreeMap<String, AgentTraces> = BTreeMap::new();
    for (weeks_ago, trace) in &records.refs {
        let name = names.of_trace(trace).to_owned();
        if agent.is_some_and(|agent| names.of(agent) != name) {
            continue;
        }
        let of_agent = found.entry(name).or_default();
        of_agent.traffic += usize::from(*weeks_ago == 0);
        let signals = records.said.get(&trace.trace);
        let (count, most) = if signals.is_some() {
            (&mut scored, MAX_SCORED)
        } else {
            (&mut unscored, MAX_UNSCORED)
        };
        if signals.is_none() && *weeks_ago > 0 {
            continue;
        }
        *count += 1;
        if *count > most {
            of_agent.left_out += 1;
            continue;
        }
        let Some(observed) = observe(source, &trace.trace).await? else { continue };
        let signals = signals.cloned().unwrap_or_default();
        of_agent.traces.push(ObservedTrace {
            session: trace.session.as_ref().map(ToString::to_string),
            user: trace.user.clone(),
            release: trace.release.clone(),
            weeks_ago: *weeks_ago,
            weight: weight(&signals, weights.get(&trace.trace.to_string())),
            signals,
            ..observed
        });
    }
    Ok(found)
}

/// How many traces a trace stands for. What users said is known of all traces: only what the draw
/// alone made known stands for others.
fn weight(signals: &Signals, drawn: Option<&f64>) -> f64 {
    if signals.thumb.is_some() { 1.0 } else { drawn.copied().unwrap_or(1.0) }
}

/// Production traces with how many weeks ago they were, the reported week first: limits leave out old
/// ones.
fn newest_first(refs: BTreeMap<TraceId, TraceRef>, weeks: &[Week]) -> Vec<(usize, TraceRef)> {
    let week_of = |trace: &TraceRef| {
        weeks
            .iter()
            .position(|week| week.start() <= trace.timestamp && trace.timestamp < week.end())
    };
    let production = refs.into_values().filter(|trace| trace.environment.is_production_traffic());
    let mut sorted: Vec<(usize, TraceRef)> =
        production.filter_map(|trace| Some((week_of(&trace)?, trace))).collect();
    sorted.sort_by(|one, other| (one.0, &one.1.trace).cmp(&(other.0, &other.1.trace)));
    sorted
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
pub(super) async fn observe(source: &Source, id: &TraceId) -> SourceResult<Option<ObservedTrace>> {
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
    let text = |candidates: [Option<&Payload>; 3], role: &MessageRole| {
        let texts = candidates.into_iter().flatten().map(|payload| said_by(payload, role));
        texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
    };
    Ok(Some(ObservedTrace {
        id: id.to_string(),
        question: text(
            [content.input.as_ref(), root.input.as_ref(), spoken.input.as_ref()],
            &MessageRole::User,
        ),
        answer: text(
            [content.output.as_ref(), root.output.as_ref(), spoken.output.as_ref()],
            &MessageRole::Assistant,
        ),
        tools: tools(&observations),
        agents: agents(&observations),
        prompts: prompts(&observations),
        model: model_step.and_then(|one| one.model.clone()),
        latency_seconds: latency(&observations),
        cost_dollars: cost(&observations),
        ..ObservedTrace::default()
    }))
}

/// Seconds from the first start to the last end.
fn latency(observations: &[Observation]) -> Option<f64> {
    let start = observations.iter().map(|one| one.start).min()?;
    let end = observations.iter().filter_map(|one| one.end).max()?;
    #[expect(clippy::cast_precision_loss, reason = "a duration")]
    let seconds = end.since(start) as f64 / 1e9;
    (seconds >= 0.0).then_some(seconds)
}

/// The sum of the costs that are known; `None` without one.
fn cost(observations: &[Observation]) -> Option<f64> {
    let costs = observations.iter().filter_map(|one| one.cost.as_ref());
    costs.map(|cost| cost.total().dollars()).reduce(|sum, cost| sum + cost)
}

/// The last text of a role in a payload; of payloads without roles all text.
fn said_by(payload: &Payload, role: &MessageRole) -> String {
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

/// Agents in the order in which they began: an inner one begins after the outer one.
fn agents(observations: &[Observation]) -> Vec<String> {
    let agents = observations.iter().filter(|one| one.kind == ObservationKind::Agent);
    agents.filter_map(|one| one.name.clone()).collect()
}

fn prompts(observations: &[Observation]) -> Vec<String> {
    let links = observations.iter().filter_map(|one| one.prompt.as_ref());
    links.map(|link| link.name.clone()).collect()
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
