use std::collections::BTreeMap;

use ratchet_core::experiment::plan::ExperimentProgress;
use ratchet_core::experiment::run_summary::{RunSummary, ScoreSummary};
use ratchet_core::experiment::runner::TrialSummary;
use ratchet_core::gate::bounds::{self, Bounds};
use serde::Serialize;

use crate::print::{one_line, table};

/// Error rate of each bound: both together are a 95% interval.
const TAIL: f64 = 0.025;
/// Trials without an answer that are listed.
pub(super) const LISTED_FAULTS: usize = 20;

/// Two runs, item by item.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Comparison {
    /// Items of both runs, and their mean scores.
    items: Vec<ComparedItem>,
    /// Items that only one of them has.
    unpaired: usize,
    /// Paired differences over the items that did not change.
    scores: Vec<ComparedScore>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ComparedScore {
    score: String,
    /// Later minus earlier, with a 95% interval; null without items.
    difference: Option<Bounds>,
    /// Items that changed between the runs, and are not part of it.
    changed: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ComparedItem {
    item: String,
    score: String,
    before: f64,
    after: f64,
    /// Whether the item changed between the runs.
    is_changed: bool,
}

/// Mean scores of an item, by name, with its version.
type ItemMeans = BTreeMap<(String, String), (String, f64)>;

impl Comparison {
    pub(super) fn of(before: &[TrialSummary], after: &[TrialSummary]) -> Self {
        let (before, after) = (means(before), means(after));
        let mut items = Vec::new();
        for ((item, score), (version, mean)) in &before {
            let Some((other, later)) = after.get(&(item.clone(), score.clone())) else { continue };
            items.push(ComparedItem {
                item: item.clone(),
                score: score.clone(),
                before: *mean,
                after: *later,
                is_changed: version != other,
            });
        }
        let unpaired = before.len() + after.len() - 2 * items.len();
        let scores = differences(&items);
        Self { items, unpaired, scores }
    }
}

fn differences(items: &[ComparedItem]) -> Vec<ComparedScore> {
    let mut by_score: BTreeMap<&str, (Vec<f64>, usize)> = BTreeMap::new();
    for item in items {
        let (differences, changed) = by_score.entry(&item.score).or_default();
        match item.is_changed {
            true => *changed += 1,
            false => differences.push(item.after - item.before),
        }
    }
    let of_score = |(score, (differences, changed)): (&str, (Vec<f64>, usize))| ComparedScore {
        score: score.to_owned(),
        difference: bounds::difference(&differences, TAIL),
        changed,
    };
    by_score.into_iter().map(of_score).collect()
}

fn means(trials: &[TrialSummary]) -> ItemMeans {
    let mut sums: BTreeMap<(String, String), (String, f64, f64)> = BTreeMap::new();
    for trial in trials {
        for score in &trial.scores {
            let key = (trial.item.clone(), score.name.clone());
            let sum = sums.entry(key).or_insert_with(|| (trial.version.clone(), 0.0, 0.0));
            sum.1 += score.value;
            sum.2 += 1.0;
        }
    }
    sums.into_iter().map(|(key, (version, sum, n))| (key, (version, sum / n))).collect()
}

pub(super) fn comparison(compared: &Comparison) -> String {
    let mut flips: Vec<&ComparedItem> =
        compared.items.iter().filter(|one| (one.before - one.after).abs() > 1e-9).collect();
    flips.sort_by(|a, b| (a.after - a.before).total_cmp(&(b.after - b.before)));
    let row = |one: &&ComparedItem| {
        let changed = if one.is_changed { "item changed" } else { "" };
        [
            one_line(&one.item),
            one_line(&one.score),
            format!("{:.3}", one.before),
            format!("{:.3}", one.after),
            changed.to_owned(),
        ]
    };
    let rows: Vec<_> = flips.iter().map(row).collect();
    let mut text = String::new();
    if !rows.is_empty() {
        text.push_str(&table(["ITEM", "SCORE", "BEFORE", "AFTER", ""], &rows));
    }
    for one in &compared.scores {
        text.push_str(&score_difference(one));
    }
    let (paired, same) = (compared.items.len(), compared.items.len() - flips.len());
    text.push_str(&format!("{paired} scores of the same items, {same} of them equal"));
    text.push_str(&format!(", {} in one run only.\n", compared.unpaired));
    text
}

fn score_difference(one: &ComparedScore) -> String {
    let name = one_line(&one.score);
    let changed = match one.changed {
        0 => String::new(),
        changed => format!(", {changed} items changed and are left out"),
    };
    let Some(found) = &one.difference else {
        return format!("{name}: no unchanged item{changed}\n");
    };
    let (value, lower, upper) = (found.value, found.lower(), found.upper());
    let n = found.n;
    format!("{name}: {value:+.3}, 95% CI {lower:+.3} to {upper:+.3}, n = {n} items{changed}\n")
}

pub(super) fn list(runs: &[ExperimentProgress]) -> String {
    if runs.is_empty() {
        return "No runs. Start one: ratchet experiment run --dataset D --target FILE\n".to_owned();
    }
    let row = |run: &ExperimentProgress| {
        let target =
            run.target.as_ref().map_or_else(|| "-".to_owned(), |target| one_line(&target.name));
        let is_ours = run.state != "recorded";
        let number = |text: String| if is_ours { text } else { "-".to_owned() };
        [
            one_line(&run.name),
            one_line(&run.dataset),
            target,
            run.state.clone(),
            number(format!("{}/{}", run.done, run.trials)),
            number(run.faults.to_string()),
            number(run.calls.to_string()),
            number(cost(run)),
            run.created_at.clone(),
        ]
    };
    let rows: Vec<_> = runs.iter().map(row).collect();
    let head = ["RUN", "DATASET", "TARGET", "STATE", "DONE", "FAULTS", "CALLS", "COST", "CREATED"];
    table(head, &rows)
}

/// A run with the summary of its trials.
#[derive(Debug, Serialize)]
pub(super) struct SummarisedRun {
    #[serde(flatten)]
    pub(super) run: ExperimentProgress,
    pub(super) summary: RunSummary,
}

/// Summarises the finished trials of a run.
pub(super) fn summary(trials: &[TrialSummary]) -> RunSummary {
    let finished = trials.iter().filter(|one| matches!(one.state.as_str(), "answered" | "fault"));
    RunSummary::of(&finished.map(TrialSummary::facts).collect::<Vec<_>>())
}

fn summary_text(summary: &RunSummary) -> String {
    let mut text: String = summary.scores.iter().map(score_text).collect();
    let latency = summary.latency_ms.as_ref();
    let latency =
        latency.map(|of| format!("p50 {} ms, p95 {} ms, max {} ms", of.p50, of.p95, of.max));
    text.push_str(&format!("latency: {}\n", latency.as_deref().unwrap_or("unknown")));
    text
}

fn score_text(score: &ScoreSummary) -> String {
    let Some(mean) = score.mean else {
        return format!("{}: {} not judged\n", one_line(&score.name), score.not_judged);
    };
    let mut text = format!("{}: {mean:.3} of {} trials", one_line(&score.name), score.trials);
    if let Some([lower, upper]) = score.interval {
        text += &format!(", 95% CI {lower:.3} to {upper:.3}, n = {} items", score.items);
    }
    text += &format!(", {} passed, {} failed", score.passed, score.failed);
    if score.not_judged > 0 {
        text += &format!(", {} not judged", score.not_judged);
    }
    text + "\n"
}

/// A run; `trials` are all of them, or those that are listed.
pub(super) fn one(
    run: &ExperimentProgress,
    summary: &RunSummary,
    trials: &[TrialSummary],
) -> String {
    let mut text = list(std::slice::from_ref(run));
    text.push_str(&summary_text(summary));
    let missing = trials.iter().flat_map(|one| one.not_judged.iter().map(move |not| (one, not)));
    for (trial, not) in missing.take(LISTED_FAULTS) {
        let (item, name) = (one_line(&trial.item), one_line(&not.name));
        text.push_str(&format!("NOT JUDGED {item}: {name}: {}\n", one_line(&not.reason)));
    }
    let faults: Vec<&TrialSummary> = trials.iter().filter(|trial| trial.fault.is_some()).collect();
    for trial in faults.iter().take(LISTED_FAULTS) {
        let why = trial.fault.as_deref().unwrap_or_default();
        text.push_str(&format!("FAULT {}: {}\n", one_line(&trial.item), one_line(why)));
    }
    if summary.faults > LISTED_FAULTS {
        text.push_str(&format!(
            "and {} more: ratchet experiment show {} --json\n",
            summary.faults - LISTED_FAULTS,
            one_line(&run.name)
        ));
    }
    text
}

/// The known cost; a trial without a price makes it a lower bound.
fn cost(run: &ExperimentProgress) -> String {
    match (run.unpriced, run.done) {
        (0, _) => format!("${:.4}", run.cost),
        (unpriced, done) if unpriced >= done => "unknown".to_owned(),
        _ => format!("≥${:.4}", run.cost),
    }
}
