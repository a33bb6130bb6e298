use std::collections::{BTreeMap, BTreeSet};

use super::cluster::clusters;
use super::diagnosis::{Cause, cause};
use super::embedding::embed;
use super::label::labels;
use super::observed::{ObservedTrace, Standing};
use super::phrases::without_instructions;
use super::terms::terms;
use crate::stats::float;
use crate::stats::interval::share;

/// Similarity from which on two groups, or a question and another, are of one topic.
const SAME_TOPIC: f64 = 0.35;
/// Share of similar successful traces from which on a tool is the usual one.
const USUAL: f64 = 0.6;
/// Error rate of a tool from which on its errors count without a complaint.
const TOOL_ERRORS: f64 = 0.05;

/// Failures with the same cause and topic.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureGroup {
    pub cause: Cause,
    /// Indexes of traces.
    pub members: Vec<usize>,
    /// Terms that distinguish it; none for messages without content.
    pub terms: Vec<String>,
}

/// Groups the failures among traces of one agent.
pub fn groups(traces: &[ObservedTrace]) -> Vec<FailureGroup> {
    let texts: Vec<Vec<String>> = traces.iter().map(topic_terms).collect();
    let points = embed(&texts);
    let errors = failing_tools(traces);
    let mut by_cause: BTreeMap<Cause, Vec<usize>> = BTreeMap::new();
    for (at, trace) in traces.iter().enumerate() {
        if trace.standing() == Standing::Fine {
            continue;
        }
        let usual = usual_tool(traces, &points, at);
        let Some(cause) = cause(trace, usual.as_deref()) else { continue };
        let is_noise = trace.standing() == Standing::ToolFailed
            && cause.tool().is_none_or(|tool| !errors.contains(tool));
        if !is_noise && cause.tool().is_none_or(is_identifier) {
            by_cause.entry(cause).or_default().push(at);
        }
    }
    let split = by_cause.into_iter().flat_map(|(cause, members)| {
        let parts = if cause.is_by_topic() { by_topic(&points, members) } else { vec![members] };
        parts.into_iter().map(move |members| (cause.clone(), members))
    });
    let split: Vec<(Cause, Vec<usize>)> = split.collect();
    let class = |(_, members): &(Cause, Vec<usize>)| {
        members.iter().flat_map(|at| texts[*at].clone()).collect::<Vec<_>>()
    };
    let classes: Vec<Vec<String>> = split.iter().map(class).collect();
    let named = split.into_iter().zip(labels(&classes, 3));
    named.map(|((cause, members), terms)| FailureGroup { cause, members, terms }).collect()
}

/// Terms of the question, without instructions to readers of traces.
fn topic_terms(trace: &ObservedTrace) -> Vec<String> {
    let mut found = terms(&without_instructions(&trace.question));
    found.retain(|term| term.chars().all(|c| c.is_alphabetic() || c == '_') && term.len() <= 24);
    found
}

/// Returns whether a name has the form of an identifier: other names are not repeated.
pub fn is_identifier(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_part)
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
    calls
        .into_iter()
        .filter(|(_, count)| is_high(*count))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The tool that most successful traces with a similar question call.
fn usual_tool(traces: &[ObservedTrace], points: &[Option<Vec<f64>>], at: usize) -> Option<String> {
    let point = points[at].as_ref()?;
    let mut similar: Vec<(f64, usize)> = Vec::new();
    for (other, its) in points.iter().enumerate() {
        if traces[other].standing() == Standing::Fine
            && let Some(its) = its
        {
            let likeness = dot(point, its);
            if likeness >= SAME_TOPIC {
                similar.push((likeness, other));
            }
        }
    }
    similar.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    similar.truncate(15);
    if similar.len() < 3 {
        return None;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, other) in &similar {
        let names: BTreeSet<&str> =
            traces[*other].tools.iter().map(|call| call.name.as_str()).collect();
        names.into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
    }
    let (tool, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (float(count) >= USUAL * float(similar.len())).then(|| tool.to_owned())
}

/// Splits failures by topic: clusters, then those with close centres merged. Messages without terms
/// are one group.
fn by_topic(points: &[Option<Vec<f64>>], members: Vec<usize>) -> Vec<Vec<usize>> {
    let own: Vec<Option<Vec<f64>>> = members.iter().map(|at| points[*at].clone()).collect();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut wordless = Vec::new();
    for (at, group) in members.into_iter().zip(clusters(&own)) {
        match group {
            Some(group) => {
                if parts.len() <= group {
                    parts.resize(group + 1, Vec::new());
                }
                parts[group].push(at);
            }
            None => wordless.push(at),
        }
    }
    while let Some((one, other)) = closest_pair(points, &parts) {
        let moved = parts.remove(other);
        parts[one].extend(moved);
    }
    if !wordless.is_empty() {
        parts.push(wordless);
    }
    parts
}

fn closest_pair(points: &[Option<Vec<f64>>], parts: &[Vec<usize>]) -> Option<(usize, usize)> {
    let centres: Vec<Vec<f64>> = parts.iter().map(|part| centre(points, part)).collect();
    let mut best: Option<(f64, usize, usize)> = None;
    for one in 0..centres.len() {
        for other in one + 1..centres.len() {
            let likeness = dot(&centres[one], &centres[other]);
            if likeness >= SAME_TOPIC && best.is_none_or(|(most, ..)| likeness > most) {
                best = Some((likeness, one, other));
            }
        }
    }
    best.map(|(_, one, other)| (one, other))
}

/// The unit vector of a group's centre.
fn centre(points: &[Option<Vec<f64>>], part: &[usize]) -> Vec<f64> {
    let mut sum: Vec<f64> = Vec::new();
    for point in part.iter().filter_map(|at| points[*at].as_ref()) {
        sum.resize(point.len(), 0.0);
        sum.iter_mut().zip(point).for_each(|(sum, value)| *sum += value);
    }
    let length = dot(&sum, &sum).sqrt().max(1e-12);
    sum.into_iter().map(|value| value / length).collect()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}
