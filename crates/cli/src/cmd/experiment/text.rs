use ratchet_core::experiment::plan::ExperimentProgress;
use ratchet_core::experiment::run_summary::{RunSummary, ScoreSummary};
use ratchet_core::experiment::runner::TrialSummary;
use ratchet_core::experiment::score_comparison::{ComparedItem, ComparedScore, ScoreComparison};
use ratchet_stages::experiment::service::MAX_LISTED;
use serde::Serialize;

use crate::print::{one_line, table};

/// Trials without an answer that are listed.
pub(super) const LISTED_FAULTS: usize = 20;

pub(super) fn comparison(compared: &ScoreComparison) -> String {
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
    let mut changed = match one.changed {
        0 => String::new(),
        changed => format!(", {changed} items changed and are left out"),
    };
    if one.corrected > 0 {
        changed += &format!(", {} items corrected by people", one.corrected);
    }
    if one.corrected_once > 0 {
        changed += &format!(" ({} in one run only, which are left out)", one.corrected_once);
    }
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
    let mut text = table(head, &rows);
    if runs.len() >= MAX_LISTED {
        text.push_str(&format!("The newest {MAX_LISTED} runs; --dataset lists those of one.\n"));
    }
    text
}

/// A run with the summary of its trials.
#[derive(Debug, Serialize)]
pub(super) struct SummarisedRun {
    #[serde(flatten)]
    pub(super) run: ExperimentProgress,
    pub(super) summary: RunSummary,
}

fn summary_text(summary: &RunSummary) -> String {
    let mut text: String = summary.scores.iter().map(score_text).collect();
    for score in &summary.run_scores {
        text.push_str(&format!("{}: {:.3}, the whole run\n", one_line(&score.name), score.value));
    }
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
