use std::collections::BTreeSet;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::code::{CodeFile, find_judge, find_model, find_prompt, find_tool};
use super::diagnosis::{Cause, Component};
use super::group::{FailureGroup, groups};
use super::observed::{ObservedTrace, Standing};
use super::wording;
use crate::stats::float;
use crate::stats::interval::wilson_of;

/// The least evidence of a proposal.
const MIN_TRACES: usize = 3;
const MIN_SESSIONS: usize = 2;
/// Confirmed failures that an inferred cause needs.
const MIN_REVIEWED: usize = 2;
/// Traces that a proposal cites at most.
const MAX_EVIDENCE: usize = 20;

/// How much work a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    Low,
    Medium,
    High,
}

impl Effort {
    const fn of(component: Component) -> Self {
        match component {
            Component::Prompt | Component::Judge => Self::Low,
            Component::Tool => Self::Medium,
            Component::Model | Component::Knowledge => Self::High,
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Impact {
    pub value: f64,
    pub interval: [f64; 2],
    /// No fix rate is known yet: the value is the most that a change can gain.
    pub at_most: bool,
}

/// How a group of failures developed over weeks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trend {
    New,
    Growing,
    Steady,
    Shrinking,
    Back,
}

/// A change that somebody should make.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposal {
    /// The same in every week.
    pub id: String,
    pub component: Component,
    pub agent: String,
    pub title: String,
    pub reason: String,
    pub change: String,
    /// Ids of traces.
    pub evidence: Vec<String>,
    /// Failures of the week.
    pub failures: usize,
    pub impact: Impact,
    pub effort: Effort,
    pub priority: f64,
    pub trend: Trend,
    /// `file:line`; empty if the code does not show it.
    pub files: Vec<String>,
}

/// The traffic that proposals are about.
#[derive(Clone, Copy, Debug)]
pub struct ProposalInput<'a> {
    pub agent: &'a str,
    pub traces: &'a [ObservedTrace],
    /// Traces of the week, also those that were not read.
    pub traffic: usize,
    pub code: &'a [CodeFile],
}

/// Proposes changes, highest priority first.
pub fn propose(input: ProposalInput<'_>) -> Vec<Proposal> {
    let mut found: Vec<Proposal> = Vec::new();
    for group in groups(input.traces) {
        let Some(proposal) = one(&group, input) else { continue };
        if found.iter().all(|known| known.id != proposal.id) {
            found.push(proposal);
        }
    }
    found.sort_by(|one, other| other.priority.total_cmp(&one.priority).then(one.id.cmp(&other.id)));
    found
}

fn one(group: &FailureGroup, input: ProposalInput<'_>) -> Option<Proposal> {
    let members = group.members.iter().map(|at| &input.traces[*at]);
    let of_week: Vec<&ObservedTrace> = members.filter(|trace| trace.weeks_ago == 0).collect();
    let sessions: BTreeSet<&str> =
        of_week.iter().map(|trace| trace.session.as_deref().unwrap_or(&trace.id)).collect();
    if of_week.len() < MIN_TRACES || sessions.len() < MIN_SESSIONS {
        return None;
    }
    let is_sure = |trace: &&&ObservedTrace| {
        let judged_bad = trace.signals.quality.is_some_and(|quality| quality < 0.5);
        trace.signals.is_reviewed() || judged_bad
    };
    if group.cause.is_inferred() && of_week.iter().filter(is_sure).count() < MIN_REVIEWED {
        return None;
    }
    let component = group.cause.component();
    let (impact, effort) = (impact(&of_week, input.traffic), Effort::of(component));
    Some(Proposal {
        id: id(input.agent, &group.cause, &group.terms),
        component,
        agent: input.agent.to_owned(),
        title: wording::title(&group.cause, &group.terms),
        reason: wording::reason(&group.cause),
        change: wording::change(&group.cause, &group.terms),
        evidence: of_week.iter().take(MAX_EVIDENCE).map(|trace| trace.id.clone()).collect(),
        failures: of_week.len(),
        impact,
        effort,
        priority: impact.value / effort.number(),
        trend: trend(group, input.traces),
        files: files(&group.cause, &of_week, input.code),
    })
}

/// The weighted share of the week's traffic. Its fix rate is unknown, so it is the most that a change
/// can gain.
fn impact(members: &[&ObservedTrace], traffic: usize) -> Impact {
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
    let earlier = group.members.iter().any(|at| traces[*at].weeks_ago > 1);
    if last == 0 {
        return if earlier { Trend::Back } else { Trend::New };
    }
    // A difference of counts that chance rarely makes.
    let z = (float(now) - float(last)) / (float(now) + float(last)).sqrt();
    match z {
        z if z > 1.645 => Trend::Growing,
        z if z < -1.645 => Trend::Shrinking,
        _ => Trend::Steady,
    }
}

fn files(cause: &Cause, members: &[&ObservedTrace], code: &[CodeFile]) -> Vec<String> {
    let prompt = || find_prompt(code);
    let tool = cause.tool().and_then(|tool| find_tool(code, tool));
    let found = match cause {
        Cause::ToolFails(_) | Cause::ToolEmpty(_) | Cause::WrongData(_) => vec![tool],
        Cause::Ungrounded(_) => {
            let model = members.iter().find_map(|trace| trace.model.as_deref());
            vec![model.and_then(|model| find_model(code, model)).or_else(prompt)]
        }
        Cause::NotCalled(_) => vec![prompt(), tool],
        Cause::Unanswered | Cause::Behaviour => vec![prompt()],
        Cause::Misjudged => vec![find_judge(code)],
    };
    found.into_iter().flatten().collect()
}

fn id(agent: &str, cause: &Cause, terms: &[String]) -> String {
    let topic = if cause.is_by_topic() { terms.first().map_or("", String::as_str) } else { "" };
    let whole = [agent, &cause.key(), topic].join("\u{0}");
    let hash = Sha256::digest(whole.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns how many traces failed by a person's word.
pub fn failures(traces: &[ObservedTrace]) -> usize {
    let failed =
        |trace: &&ObservedTrace| trace.weeks_ago == 0 && trace.standing() == Standing::Failed;
    traces.iter().filter(failed).count()
}
