use std::collections::BTreeMap;

use ratchet_remote::ratchet::experiments::{ExperimentRunView, TrialSummary};
use serde::Serialize;

use crate::print::{one_line, table};

/// Trials without an answer that are listed.
const LISTED_FAULTS: usize = 20;

/// Two runs, item by item.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Comparison {
    /// Items of both runs, and their mean scores.
    items: Vec<ComparedItem>,
    /// Items that only one of them has.
    unpaired: usize,
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
        Self { items, unpaired }
    }
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
    let (paired, same) = (compared.items.len(), compared.items.len() - flips.len());
    text.push_str(&format!("{paired} scores of the same items, {same} of them equal"));
    text.push_str(&format!(", {} in one run only.\n", compared.unpaired));
    text
}

pub(super) fn list(runs: &[ExperimentRunView]) -> String {
    if runs.is_empty() {
        return "No runs. Start one: ratchet experiment run --dataset D --target FILE\n".to_owned();
    }
    let row = |run: &ExperimentRunView| {
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

pub(super) fn one(run: &ExperimentRunView, trials: &[TrialSummary]) -> String {
    let mut text = list(std::slice::from_ref(run));
    for (name, (mean, n)) in scores(trials) {
        text.push_str(&format!("{}: {mean:.3} of {n} trials\n", one_line(&name)));
    }
    let faults: Vec<&TrialSummary> = trials.iter().filter(|trial| trial.fault.is_some()).collect();
    for trial in faults.iter().take(LISTED_FAULTS) {
        let why = trial.fault.as_deref().unwrap_or_default();
        text.push_str(&format!("FAULT {}: {}\n", one_line(&trial.item), one_line(why)));
    }
    if faults.len() > LISTED_FAULTS {
        text.push_str(&format!("and {} more; see --json\n", faults.len() - LISTED_FAULTS));
    }
    text
}

/// The known cost; a trial without a price makes it a lower bound.
fn cost(run: &ExperimentRunView) -> String {
    match (run.unpriced, run.done) {
        (0, _) => format!("${:.4}", run.cost),
        (unpriced, done) if unpriced >= done => "unknown".to_owned(),
        _ => format!("≥${:.4}", run.cost),
    }
}

/// Mean and number of each score.
fn scores(trials: &[TrialSummary]) -> BTreeMap<String, (f64, u32)> {
    let mut sums: BTreeMap<String, (f64, u32)> = BTreeMap::new();
    for score in trials.iter().flat_map(|trial| &trial.scores) {
        let sum = sums.entry(score.name.clone()).or_default();
        sum.0 += score.value;
        sum.1 += 1;
    }
    sums.into_iter().map(|(name, (sum, n))| (name, (sum / f64::from(n), n))).collect()
}
