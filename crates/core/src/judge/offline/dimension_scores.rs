use std::collections::{BTreeMap, BTreeSet};

use super::detectors::{Detection, Detections, ToolCalls};
use super::file::{ScoringParameters, Weighing};
use super::signals::{Signal, SignalSet};
use crate::counted::counted;
use crate::judge::rubric::{Dimension, Grade, Scale};
use crate::judge::verdict::{Finding, Judgement};

/// The maximum number of signals in a rationale.
const MAX_NAMED_SIGNALS: usize = 4;
/// The maximum number of tools that are named.
const MAX_NAMED_TOOLS: usize = 3;
/// The maximum number of characters of a tool's name.
const MAX_TOOL_CHARS: usize = 60;
/// The maximum number of cited traces.
const MAX_CITED_TRACES: usize = 12;

/// A detected signal that affects a dimension.
#[derive(Clone, Copy, Debug)]
struct Cause<'a> {
    signal: Signal,
    weighing: &'a Weighing,
    detection: &'a Detection,
    effect: f64,
}

/// Scores one dimension.
pub(super) fn judge(set: &SignalSet, dimension: &Dimension, detections: &Detections) -> Judgement {
    let Some(marking) = set.dimensions.get(&dimension.name) else {
        let why = format!("The offline judge has no signals for {}.", dimension.name);
        return not_observable(dimension, why);
    };
    if !marking.needs.iter().any(|signal| detections.of(*signal).is_some()) {
        let named = marking.needs.iter().take(MAX_NAMED_SIGNALS);
        let needs: Vec<String> = named.map(|signal| missing(*signal)).collect();
        let more = if marking.needs.len() > needs.len() { " or the like" } else { "" };
        let why = format!("No signal: no {}{more}.", needs.join(", no "));
        return not_observable(dimension, why);
    }
    let causes = causes(set, dimension, detections);
    let sum: f64 = causes.iter().map(|cause| cause.effect).sum();
    let mark = (marking.base + sum).clamp(0.0, 1.0);
    Judgement {
        dimension: dimension.name.clone(),
        finding: finding(&dimension.scale, marking, mark),
        rationale: rationale(&causes, detections),
        evidence: evidence(&causes, detections, marking),
        signals: causes.iter().take(MAX_NAMED_SIGNALS).map(shown).collect(),
        confidence: confidence(marking, &causes),
    }
}

fn not_observable(dimension: &Dimension, rationale: String) -> Judgement {
    Judgement {
        dimension: dimension.name.clone(),
        finding: Finding::NotObservable,
        rationale,
        evidence: Vec::new(),
        signals: BTreeMap::new(),
        confidence: 0.0,
    }
}

/// Returns the signals that affect a dimension, strongest first.
fn causes<'a>(
    set: &'a SignalSet,
    dimension: &Dimension,
    detections: &'a Detections,
) -> Vec<Cause<'a>> {
    let cause = |(signal, detection): (Signal, &'a Detection)| {
        let weighing = set.signals.get(&signal)?;
        let effect =
            weighing.effects.get(&dimension.name)? * detection.strength.min(weighing.limit);
        Some(Cause { signal, weighing, detection, effect })
    };
    let mut causes: Vec<Cause<'_>> = detections.iter().filter_map(cause).collect();
    causes.sort_by(|one, other| {
        other.effect.abs().total_cmp(&one.effect.abs()).then(one.signal.cmp(&other.signal))
    });
    causes
}

pub(super) fn finding(scale: &Scale, marking: &ScoringParameters, mark: f64) -> Finding {
    let Scale::Ordered(grades) = scale else { return Finding::Number(mark) };
    let place = marking.cuts.iter().filter(|cut| mark >= **cut).count();
    let fits = !marking.cuts.is_empty() && grades.len() > marking.cuts.len();
    let nearest = |one: &&Grade, other: &&Grade| {
        (one.value - mark).abs().total_cmp(&(other.value - mark).abs())
    };
    let grade = if fits { grades.get(place) } else { grades.iter().min_by(nearest) };
    grade.map_or(Finding::NotObservable, |grade| Finding::Grade(grade.clone()))
}

fn rationale(causes: &[Cause<'_>], detections: &Detections) -> String {
    let named: Vec<String> = causes.iter().take(MAX_NAMED_SIGNALS).map(describe).collect();
    if named.is_empty() {
        return format!("Unremarkable: {}.", calls(detections));
    }
    let mut sentence = named.join("; ") + ".";
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    sentence
}

/// Formats the tool calls of a session: how many, and the names of the tools.
pub(super) fn calls(detections: &Detections) -> String {
    let Some(Detection { count, tools, .. }) = detections.of(Signal::ToolCall) else {
        return "0 tool calls".to_owned();
    };
    let mut tools: Vec<(&String, &ToolCalls)> = tools.iter().collect();
    tools.sort_by(|one, other| other.1.count.cmp(&one.1.count).then(one.0.cmp(other.0)));
    let named = tools.iter().take(MAX_NAMED_TOOLS);
    let named: Vec<String> = named.map(|(tool, _)| format!("`{}`", plain_name(tool))).collect();
    let more = match tools.len().saturating_sub(MAX_NAMED_TOOLS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{} ({}{more})", counted(*count, "tool call"), named.join(", "))
}

fn describe(cause: &Cause<'_>) -> String {
    describe_signal(cause.weighing, cause.detection)
}

/// Formats a detected signal in words.
pub(super) fn describe_signal(weighing: &Weighing, detection: &Detection) -> String {
    let Detection { count, strength, .. } = detection;
    let text = if *count > 1 { &weighing.many } else { &weighing.one };
    let share = format!("{:.0}", strength * 100.0);
    let text = if share == "100" { text.replace("{p}% of", "all of") } else { text.clone() };
    let said = text.replace("{n}", &count.to_string()).replace("{p}", &share);
    said + &tool_words(detection)
}

/// Names the tool of most calls in which a signal was found, in parentheses.
fn tool_words(detection: &Detection) -> String {
    let Some((tool, calls)) = named_tool(detection) else { return String::new() };
    let mostly = if calls.count < detection.count { "mostly " } else { "" };
    format!(" ({mostly}`{}`)", plain_name(tool))
}

/// The tool of most calls in which a signal was found.
fn named_tool(detection: &Detection) -> Option<(&String, &ToolCalls)> {
    let most = detection
        .tools
        .iter()
        .max_by(|one, other| one.1.count.cmp(&other.1.count).then(other.0.cmp(one.0)));
    most.filter(|(_, calls)| 2 * calls.count > detection.count)
}

/// The traces that show a signal as the rationale describes it: where it names a tool, calls of
/// that tool.
fn shown(cause: &Cause<'_>) -> (Signal, Vec<u32>) {
    let all = &cause.detection.traces;
    let traces = named_tool(cause.detection).map_or(all, |(_, calls)| &calls.traces);
    (cause.signal, traces.iter().copied().take(MAX_CITED_TRACES).collect())
}

/// The name of a tool without what would end a sentence or a quotation: names come from traces.
fn plain_name(tool: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "_-/:.".contains(char);
    let plain = tool.chars().map(|char| if is_plain(char) { char } else { '_' });
    plain.take(MAX_TOOL_CHARS).collect()
}

/// Returns the traces to cite: those of the causes, or else those of the required signals.
fn evidence(
    causes: &[Cause<'_>],
    detections: &Detections,
    marking: &ScoringParameters,
) -> Vec<u32> {
    let shown: BTreeSet<u32> =
        causes.iter().flat_map(|cause| &cause.detection.traces).copied().collect();
    let looked_at = marking.needs.iter().filter_map(|signal| detections.of(*signal));
    let looked_at: BTreeSet<u32> =
        looked_at.flat_map(|detection| &detection.traces).copied().collect();
    let traces = if shown.is_empty() { looked_at } else { shown };
    traces.into_iter().take(MAX_CITED_TRACES).collect()
}

/// Returns the confidence: higher with more total weight, and with more of it on one side.
fn confidence(marking: &ScoringParameters, causes: &[Cause<'_>]) -> f64 {
    let [least, greatest] = marking.sure;
    let weight: f64 = causes.iter().map(|cause| cause.effect.abs()).sum();
    let net: f64 = causes.iter().map(|cause| cause.effect).sum::<f64>().abs();
    if weight <= 0.0 {
        return least;
    }
    let agreement = 0.5 + 0.5 * net / weight;
    least + (greatest - least) * (1.0 - (-3.0 * weight).exp()) * agreement
}

/// Formats a signal's name for the case that it was not detected.
fn missing(signal: Signal) -> String {
    match signal {
        Signal::AmongPeers => "peers to compare with".to_owned(),
        Signal::CostAmongPeers => "costs of peers".to_owned(),
        Signal::CostAlone => "cost of its own".to_owned(),
        other => other.name().replace('_', " "),
    }
}
