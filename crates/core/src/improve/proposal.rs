use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::affected::AffectedUsers;
use super::agent_week::AgentWeek;
use super::code::{
    CodeFile, CodeLine, find_judge, find_knowledge, find_model, find_prompt, find_registry,
    find_tool,
};
use super::diagnosis::{Cause, Component};
use super::features::is_identifier;
use super::group::{FailureGroup, GroupingContext, groups};
use super::insertion::inserted;
use super::observed::{ObservedTrace, Standing};
use super::tracking::{FadedPattern, TrackedProposal, carry_ids, faded, tracked_id, week_before};
use super::wording;
use crate::stats::float;
use crate::stats::interval::wilson_of;

/// The least evidence of a proposal.
pub(super) const MIN_TRACES: usize = 3;
pub(super) const MIN_SESSIONS: usize = 2;
/// Confirmed failures that an inferred cause needs.
const MIN_REVIEWED: usize = 2;
/// Traces that a proposal cites at most.
pub(super) const MAX_EVIDENCE: usize = 20;

/// How much work a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    Low,
    Medium,
    High,
}

impl Effort {
    /// Returns the usual effort of a change of a component.
    pub const fn of(component: Component) -> Self {
        match component {
            Component::Prompt | Component::Judge => Self::Low,
            Component::Tool => Self::Medium,
            Component::Model | Component::Knowledge => Self::High,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Returns its number: 1, 2 or 3.
    pub const fn number(self) -> f64 {
        match self {
            Self::Low => 1.0,
            Self::Medium => 2.0,
            Self::High => 3.0,
        }
    }
}

/// The share of traffic that a change would improve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Impact {
    pub value: f64,
    pub interval: [f64; 2],
    /// No fix rate is known yet: the value is the most that a change can gain.
    pub at_most: bool,
}

impl Impact {
    /// Returns the impact with its interval, for people.
    pub fn text(&self) -> String {
        let percent = |share: f64| format!("{:.1}%", 100.0 * share);
        let most = if self.at_most { "at most " } else { "" };
        let [lower, upper] = self.interval;
        let value = percent(self.value);
        format!("{most}+{value} of traffic (95% CI {} to {})", percent(lower), percent(upper))
    }
}

/// How a group of failures developed over weeks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trend {
    New,
    Growing,
    Steady,
    Shrinking,
    Back,
    /// No failure of the week; only of patterns that are no proposal any more.
    Gone,
}

/// A change that somebody should make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The same in every week.
    pub id: String,
    pub component: Component,
    pub agent: String,
    pub title: String,
    pub reason: String,
    pub change: String,
    /// The line to add to the prompt, where the change is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// Name of the recorded prompt that it is added to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The change as a unified diff, where it is an insertion into a file that exists.
    pub diff: Option<String>,
    /// Ids of traces; those that people commented first.
    pub evidence: Vec<String>,
    /// Failures of the week.
    pub failures: usize,
    pub affected: AffectedUsers,
    pub impact: Impact,
    pub effort: Effort,
    pub priority: f64,
    pub trend: Trend,
    /// `file:line`; empty if the code does not show it.
    pub files: Vec<String>,
    /// The model that wrote it; none for proposals from features and templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_by: Option<String>,
    /// What its component was decided by: with the component that a person confirms, a label that
    /// later diagnoses learn from.
    #[serde(default)]
    pub features: Vec<f64>,
}

/// The traffic that proposals are about.
#[derive(Clone, Copy, Debug)]
pub struct ProposalInput<'a> {
    pub agent: &'a str,
    pub traces: &'a [ObservedTrace],
    /// Traces of the week, also those that were not read.
    pub traffic: usize,
    pub code: &'a [CodeFile],
    pub grouping: GroupingContext<'a>,
    /// Proposals of earlier reports, the newest of each id: what is the same keeps its id. Without any,
    /// those that a report on the week before would have had.
    pub known: &'a [Proposal],
}

/// The proposals of a week, and what has become of earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrackedWeek {
    /// Highest priority first.
    pub proposals: Vec<Proposal>,
    pub faded: Vec<FadedPattern>,
    /// All groups of failures, also those with too little evidence for a proposal.
    pub counts: AgentWeek,
}

/// Sorts proposals: highest priority first; of two with the same the one with the higher impact, then
/// by id.
pub fn sort(proposals: &mut [Proposal]) {
    proposals.sort_by(|one, other| {
        let by_priority = other.priority.total_cmp(&one.priority);
        let by_impact = other.impact.value.total_cmp(&one.impact.value);
        by_priority.then(by_impact).then_with(|| one.id.cmp(&other.id))
    });
}

/// Proposes changes, and says what has become of earlier proposals.
pub fn propose(input: ProposalInput<'_>) -> TrackedWeek {
    let earlier: Vec<Proposal>;
    let known: &[Proposal] = if input.known.is_empty() {
        let before = week_before(input.traces);
        let traffic = before.iter().filter(|trace| trace.weeks_ago == 0).count();
        let input = ProposalInput { traces: &before, traffic, ..input };
        earlier = found(input).0.into_iter().map(|one| one.proposal).collect();
        &earlier
    } else {
        input.known
    };
    let (mut found, groups) = found(input);
    carry_ids(&mut found, known);
    let faded = faded(&found, (&groups, input.traces), known);
    let mut counts = AgentWeek::new(input.agent, input.traffic, input.traces);
    for group in &groups {
        let topic = group.terms.first().map(String::as_str);
        let own = id(input.agent, group, topic);
        counts.count(
            tracked_id((group, own), &found, (input.traces, known)),
            &group.members,
            input.traces,
        );
    }
    let mut proposals: Vec<Proposal> = found.into_iter().map(|one| one.proposal).collect();
    sort(&mut proposals);
    TrackedWeek { proposals, faded, counts }
}

/// The groups of the traces, and those that are proposals.
fn found(input: ProposalInput<'_>) -> (Vec<TrackedProposal<'_>>, Vec<FailureGroup>) {
    let groups = groups(input.traces, input.grouping);
    let tracked = |group: &FailureGroup| {
        let topic = group.terms.first().map(String::as_str);
        Some(TrackedProposal {
            proposal: one(group, input)?,
            traces: group.members.iter().map(|at| input.traces[*at].id.as_str()).collect(),
            own_id: id(input.agent, group, topic),
        })
    };
    (groups.iter().filter_map(tracked).collect(), groups)
}

fn one(group: &FailureGroup, input: ProposalInput<'_>) -> Option<Proposal> {
    let members = group.members.iter().map(|at| &input.traces[*at]);
    let mut of_week: Vec<&ObservedTrace> = members.filter(|trace| trace.weeks_ago == 0).collect();
    of_week.sort_by_key(|trace| (trace.signals.comments.is_empty(), trace.id.as_str()));
    let sessions: BTreeSet<&str> =
        of_week.iter().map(|trace| trace.session.as_deref().unwrap_or(&trace.id)).collect();
    if of_week.len() < MIN_TRACES || sessions.len() < MIN_SESSIONS {
        return None;
    }
    let is_sure =
        |trace: &&&ObservedTrace| trace.signals.is_reviewed() || trace.judged_good() == Some(false);
    if group.cause.is_inferred() && of_week.iter().filter(is_sure).count() < MIN_REVIEWED {
        return None;
    }
    let component = group.cause.component();
    let (impact, effort) = (impact(&of_week, input.traffic), Effort::of(component));
    let known = match &group.cause {
        Cause::Behaviour(Some(name)) => input.grouping.phrases.instruction(name),
        _ => None,
    };
    let instruction = wording::instruction(&group.cause, &group.terms, known);
    let lines = lines(group, &of_week, input);
    let diff = lines.first().zip(instruction.as_deref());
    Some(Proposal {
        id: id(input.agent, group, group.topic.as_deref()),
        component,
        agent: input.agent.to_owned(),
        title: wording::title(&group.cause, &group.terms),
        reason: wording::reason(&group.cause),
        change: wording::change(&group.cause, &group.terms, instruction.as_deref()),
        diff: diff.and_then(|(line, instruction)| inserted(line, instruction)),
        prompt: recorded_prompt(component, &of_week),
        instruction,
        evidence: of_week.iter().take(MAX_EVIDENCE).map(|trace| trace.id.clone()).collect(),
        failures: of_week.len(),
        affected: AffectedUsers::of(group, input.traces),
        impact,
        effort,
        priority: impact.value / effort.number(),
        trend: trend(group, input.traces),
        files: lines.iter().map(CodeLine::cited).collect(),
        written_by: None,
        features: group.features.clone(),
    })
}

/// The prompt that most of the traces used, where the change is one of the agent's prompt.
pub(super) fn recorded_prompt(component: Component, members: &[&ObservedTrace]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for prompt in members.iter().flat_map(|trace| &trace.prompts) {
        *counts.entry(prompt).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(name, count)| (*count, Reverse(*name)));
    most.filter(|_| component == Component::Prompt).map(|(name, _)| name.to_owned())
}

/// The weighted share of the week's traffic. Its fix rate is unknown, so it is the most that a change
/// can gain.
pub(super) fn impact(members: &[&ObservedTrace], traffic: usize) -> Impact {
    let sum: f64 = members.iter().map(|trace| trace.weight).sum();
    let squares: f64 = members.iter().map(|trace| trace.weight * trace.weight).sum();
    let traffic = float(traffic.max(members.len()));
    let value = (sum / traffic).clamp(0.0, 1.0);
    // Few traces that stand for many say less.
    let effective = (traffic * sum / squares.max(1e-9)).max(1.0);
    let upper = wilson_of(value, effective).upper;
    Impact { value, interval: [0.0, upper.max(value)], at_most: true }
}

fn trend(group: &FailureGroup, traces: &[ObservedTrace]) -> Trend {
    let count =
        |week: usize| group.members.iter().filter(|at| traces[**at].weeks_ago == week).count();
    let (now, last) = (count(0), count(1));
    // Single failures are no pattern yet, and none any more.
    if last < MIN_TRACES {
        let oldest = traces.iter().map(|trace| trace.weeks_ago).max().unwrap_or(0);
        let was_there = (2..=oldest).any(|week| count(week) >= MIN_TRACES);
        return if was_there { Trend::Back } else { Trend::New };
    }
    // A difference of counts that chance rarely makes.
    let z = (float(now) - float(last)) / (float(now) + float(last)).sqrt();
    match z {
        z if z > 1.645 => Trend::Growing,
        z if z < -1.645 => Trend::Shrinking,
        _ => Trend::Steady,
    }
}

/// Lines of the code that the change is about, the one to change first.
fn lines<'a>(
    group: &FailureGroup,
    members: &[&ObservedTrace],
    input: ProposalInput<'a>,
) -> Vec<CodeLine<'a>> {
    let code = input.code;
    let sub_agent = group.sub_agent.as_deref();
    let prompt = || {
        let recorded = members.iter().flat_map(|trace| &trace.prompts).map(String::as_str);
        let names: Vec<&str> = sub_agent.into_iter().chain(recorded).chain([input.agent]).collect();
        find_prompt(code, &names)
    };
    let tool = || group.cause.tool().and_then(|tool| find_tool(code, tool));
    let found = match &group.cause {
        Cause::ToolFails(_) | Cause::ToolEmpty(_) | Cause::WrongData(_) => vec![tool()],
        Cause::Ungrounded(_) => {
            let model = members.iter().find_map(|trace| trace.model.as_deref());
            let line = model.and_then(|model| find_model(code, model, sub_agent));
            vec![line.or_else(prompt)]
        }
        Cause::MissingTool(_) => {
            let calls = input.traces.iter().flat_map(|trace| &trace.tools);
            let names: BTreeSet<&str> =
                calls.map(|call| call.name.as_str()).filter(|name| is_identifier(name)).collect();
            vec![find_registry(code, &names), tool()]
        }
        Cause::NotCalled(_) => vec![prompt(), tool()],
        Cause::Unanswered => vec![find_knowledge(code).or_else(prompt)],
        Cause::Behaviour(_) => vec![prompt()],
        Cause::Misjudged | Cause::Lenient => vec![find_judge(code)],
    };
    found.into_iter().flatten().collect()
}

/// Of what does not depend on counts: the same in every week.
pub(super) fn id(agent: &str, group: &FailureGroup, topic: Option<&str>) -> String {
    let sub_agent = group.sub_agent.as_deref().unwrap_or_default();
    let topic = topic.unwrap_or_default();
    let whole = [agent, sub_agent, &group.cause.key(), topic].join("\u{0}");
    let hash = Sha256::digest(whole.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns how many traces failed by a person's word.
pub fn failures(traces: &[ObservedTrace]) -> usize {
    let failed =
        |trace: &&ObservedTrace| trace.weeks_ago == 0 && trace.standing() == Standing::Failed;
    traces.iter().filter(failed).count()
}
