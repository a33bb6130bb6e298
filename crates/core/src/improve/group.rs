use std::collections::{BTreeMap, BTreeSet};

use super::diagnosis::{Cause, diagnose};
use super::features::{GroupFeatures, is_identifier};
use super::judge_share::JudgeShares;
use super::label::labels;
use super::learned::DiagnosisModel;
use super::observed::{ObservedTrace, Standing};
use super::phrases::FailurePhrases;
use super::topic::{TopicSpace, TraceEmbeddings};
use crate::stats::interval::share;

/// Error rate of a tool from which on its errors count without a complaint.
const TOOL_ERRORS: f64 = 0.05;

/// Failures with the same cause and topic.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureGroup {
    pub cause: Cause,
    /// The innermost agent that its traces have in common.
    pub sub_agent: Option<String>,
    /// Indexes of traces.
    pub members: Vec<usize>,
    /// Terms that distinguish it; none for messages without content.
    pub terms: Vec<String>,
    /// Its topic, where others have the same cause: it is part of its identity.
    pub topic: Option<String>,
    /// What its cause was decided by; none for disagreements with the judge.
    pub features: Vec<f64>,
}

/// What groups are made and diagnosed with.
#[derive(Clone, Copy, Debug)]
pub struct GroupingContext<'a> {
    pub phrases: &'a FailurePhrases,
    /// What people confirmed, where there is enough of it.
    pub learned: Option<&'a DiagnosisModel>,
    /// Questions as vectors of a model; TF-IDF without.
    pub embeddings: Option<&'a TraceEmbeddings>,
}

impl<'a> GroupingContext<'a> {
    /// Creates a context without a model.
    pub const fn offline(phrases: &'a FailurePhrases) -> Self {
        Self { phrases, learned: None, embeddings: None }
    }
}

/// What failures have in common before their texts are looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FailureKind<'a> {
    sub_agent: Option<&'a str>,
    tool: Option<&'a str>,
    standing: Standing,
    fails: bool,
}

/// Groups the failures among traces of one agent: by agent, tool and error, then by topic, then by
/// cause.
pub fn groups(traces: &[ObservedTrace], context: GroupingContext<'_>) -> Vec<FailureGroup> {
    let space = TopicSpace::of(traces, context.phrases, context.embeddings);
    let shares = JudgeShares::of(traces);
    let mut found = Vec::new();
    for (kind, members) in by_kind(traces) {
        if kind.standing == Standing::Misjudged {
            if shares.is_strict(kind.sub_agent, kind.tool) {
                found.push(Found::judged(kind.sub_agent, Cause::Misjudged, members));
            }
            continue;
        }
        let is_lenient = !kind.fails && shares.is_lenient(kind.sub_agent, kind.tool);
        let (missed, failed): (Vec<usize>, Vec<usize>) = members
            .into_iter()
            .partition(|at| is_lenient && traces[*at].judged_good() == Some(true));
        if !missed.is_empty() {
            found.push(Found::judged(kind.sub_agent, Cause::Lenient, missed));
        }
        for part in space.split(failed, traces).into_iter().filter(|part| !part.is_empty()) {
            let (cause, features) = cause_of(&part, traces, (&space, context));
            found.push(Found { sub_agent: kind.sub_agent, cause, members: part, features });
        }
    }
    named(joined(found), &space)
}

/// The traces that count as failures, by kind. A tool's errors count without a complaint only where
/// they are frequent.
fn by_kind(traces: &[ObservedTrace]) -> BTreeMap<FailureKind<'_>, Vec<usize>> {
    let errors = failing_tools(traces);
    let mut found: BTreeMap<FailureKind<'_>, Vec<usize>> = BTreeMap::new();
    for (at, trace) in traces.iter().enumerate() {
        let failing = trace.failing_tool().map(|call| call.name.as_str());
        let standing = match trace.standing() {
            Standing::Fine => continue,
            Standing::ToolFailed if failing.is_none_or(|tool| !errors.contains(tool)) => continue,
            Standing::ToolFailed | Standing::Failed => Standing::Failed,
            Standing::Misjudged => Standing::Misjudged,
        };
        let tool = trace.main_tool().filter(|name| is_identifier(name));
        let kind = FailureKind {
            sub_agent: trace.sub_agent().filter(|name| is_identifier(name)),
            tool,
            standing,
            fails: standing == Standing::Failed && failing.is_some(),
        };
        found.entry(kind).or_default().push(at);
    }
    found
}

/// Tools whose error rate is above the limit, with 95% confidence.
fn failing_tools(traces: &[ObservedTrace]) -> BTreeSet<String> {
    let mut calls: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for trace in traces.iter().filter(|trace| trace.weeks_ago == 0) {
        let names: BTreeSet<&str> = trace.tools.iter().map(|call| call.name.as_str()).collect();
        for name in names {
            let (failed, all) = calls.entry(name).or_default();
            *failed += u64::from(trace.failing_tool().is_some_and(|call| call.name == name));
            *all += 1;
        }
    }
    let is_high = |(failed, all): (u64, u64)| {
        let lower = share(failed, all).and_then(|share| share.interval).map(|bounds| bounds.lower);
        lower.is_some_and(|lower| lower > TOOL_ERRORS)
    };
    let high = calls.into_iter().filter(|(_, count)| is_high(*count));
    high.map(|(name, _)| name.to_owned()).collect()
}

/// The cause of a part, from its traces of the week; of all weeks where the week has too few.
fn cause_of(
    part: &[usize],
    traces: &[ObservedTrace],
    (space, context): (&TopicSpace, GroupingContext<'_>),
) -> (Cause, Vec<f64>) {
    let of_week: Vec<usize> =
        part.iter().copied().filter(|at| traces[*at].weeks_ago == 0).collect();
    let chosen = if of_week.len() < 3 { part } else { &of_week };
    let usual = space.usual_tool(chosen, traces).filter(|name| is_identifier(name));
    let members: Vec<&ObservedTrace> = chosen.iter().map(|at| &traces[*at]).collect();
    let features = GroupFeatures::of(&members, usual.as_deref(), context.phrases);
    let by_rules = diagnose(&features);
    let cause = match context.learned {
        Some(learned) => learned.cause(&features, by_rules),
        None => by_rules,
    };
    (cause, features.numbers())
}

/// A group before it has a name.
struct Found<'a> {
    sub_agent: Option<&'a str>,
    cause: Cause,
    members: Vec<usize>,
    features: Vec<f64>,
}

impl<'a> Found<'a> {
    fn judged(sub_agent: Option<&'a str>, cause: Cause, members: Vec<usize>) -> Self {
        Self { sub_agent, cause, members, features: Vec::new() }
    }

    fn kind(&self) -> (Option<&'a str>, Cause) {
        (self.sub_agent, self.cause.clone())
    }
}

/// Joins parts with a cause that names a tool or a behaviour: one change mends all of their topics.
fn joined(found: Vec<Found<'_>>) -> Vec<Found<'_>> {
    let mut whole: BTreeMap<(Option<&str>, Cause), Found<'_>> = BTreeMap::new();
    let mut apart = Vec::new();
    for one in found {
        if one.cause.tool().is_none() && !matches!(one.cause, Cause::Behaviour(Some(_))) {
            apart.push(one);
            continue;
        }
        match whole.remove(&one.kind()) {
            None => whole.insert(one.kind(), one),
            Some(known) => {
                // The features of the larger part: it decides what most of the traces have.
                let (mut larger, smaller) = if known.members.len() >= one.members.len() {
                    (known, one)
                } else {
                    (one, known)
                };
                larger.members.extend(smaller.members);
                whole.insert(larger.kind(), larger)
            }
        };
    }
    whole.into_values().chain(apart).collect()
}

fn named(found: Vec<Found<'_>>, space: &TopicSpace) -> Vec<FailureGroup> {
    let class = |one: &Found<'_>| {
        one.members.iter().flat_map(|at| space.texts[*at].clone()).collect::<Vec<_>>()
    };
    let classes: Vec<Vec<String>> = found.iter().map(class).collect();
    let mut same: BTreeMap<(Option<&str>, Cause), usize> = BTreeMap::new();
    for one in &found {
        *same.entry(one.kind()).or_default() += 1;
    }
    let named = found.into_iter().zip(labels(&classes, 3));
    let group = |(mut one, terms): (Found<'_>, Vec<String>)| {
        one.members.sort_unstable();
        let is_one = same.get(&one.kind()) == Some(&1);
        FailureGroup {
            topic: terms.first().filter(|_| !is_one).cloned(),
            sub_agent: one.sub_agent.map(str::to_owned),
            cause: one.cause,
            members: one.members,
            terms,
            features: one.features,
        }
    };
    named.map(group).collect()
}
