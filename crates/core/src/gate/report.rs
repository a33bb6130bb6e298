use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use super::critical::{CriticalItem, CriticalState};
use super::decision::{
    CouldNotRun, Decision, GateEvidence, GateRule, Look, Reason, RunDifference, Verdict, decide,
};
use super::flip::Flip;
use super::mcnemar::McNemar;
use super::outcomes::{ItemOutcomes, faults};
use super::{correction, explain, plan};
use crate::counted::{counted, verb_of};

/// Items that a sentence names.
const NAMED_ITEMS: usize = 10;

/// A gate's result, as it is stored, printed and served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateReport {
    pub verdict: Verdict,
    /// Name of the run.
    pub run: String,
    pub accuracy: Bounds,
    /// `None` without a baseline, and without common items.
    pub difference: Option<RunDifference>,
    pub flips: Vec<Flip>,
    /// Cost of the run in USD; `None` if it is unknown.
    pub cost: Option<f64>,
    pub dataset: String,
    /// Name of the baseline's run.
    pub baseline: Option<String>,
    /// Name of the best promoted run, unless it is the baseline.
    pub best_run: Option<String>,
    pub best: Option<RunDifference>,
    /// The score that counts.
    pub score: String,
    pub rule: GateRule,
    pub look: Look,
    pub sentence: String,
    pub reasons: Vec<Reason>,
    pub mcnemar: Option<McNemar>,
    pub critical: Vec<CriticalItem>,
    pub faults: FaultCount,
    /// Trials on which an evaluator had no verdict. They are not part of accuracy.
    #[serde(default)]
    pub not_judged: NotJudged,
    /// `None` if no person changed a score.
    pub corrections: Option<CorrectionSummary>,
    /// Smallest drop that was detectable before the run.
    pub smallest_drop: Option<f64>,
    /// Items that would decide, if they behave like these.
    pub items_needed: Option<usize>,
    /// How the runs were read, such as answers that were judged again.
    #[serde(default)]
    pub notes: Vec<String>,
    pub not_seen: Vec<String>,
    pub next_steps: Vec<String>,
}

/// Trials in which the target failed instead of answering. They count as wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultCount {
    pub trials: usize,
    pub of: usize,
    pub items: Vec<String>,
}

impl FaultCount {
    /// Returns what people read of it; `None` without faults.
    pub fn text(&self) -> Option<String> {
        (self.trials > 0).then(|| {
            format!(
                "{} of {} had no answer, because the target failed; {} as wrong: {}.",
                self.trials,
                counted(self.of, "trial"),
                verb_of(self.trials, ["it counts", "they count"]),
                named(&self.items)
            )
        })
    }
}

/// Trials with an answer on which an evaluator had no verdict, such as one whose judge failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotJudged {
    pub trials: usize,
    pub items: Vec<String>,
}

impl NotJudged {
    /// Counts a trial of an item.
    pub fn add(&mut self, item: &str) {
        self.trials += 1;
        if self.items.iter().all(|known| known != item) {
            self.items.push(item.to_owned());
        }
    }

    /// Returns what people read of it; `None` if all were judged.
    pub fn text(&self) -> Option<String> {
        (self.trials > 0).then(|| {
            format!(
                "{} {} not judged, because the evaluator failed; {} left out: {}.",
                counted(self.trials, "trial"),
                verb_of(self.trials, ["was", "were"]),
                verb_of(self.trials, ["it is", "they are"]),
                named(&self.items)
            )
        })
    }
}

/// The first items by name, and how many more there are.
pub(super) fn named(items: &[String]) -> String {
    let mut text = items.iter().take(NAMED_ITEMS).cloned().collect::<Vec<_>>().join(", ");
    if items.len() > NAMED_ITEMS {
        text += &format!(" and {} more", items.len() - NAMED_ITEMS);
    }
    text
}

/// What people's corrections changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CorrectionSummary {
    /// Items with a corrected score.
    pub items: usize,
    /// Items that were corrected in one run only and left the comparison.
    pub one_sided: usize,
    pub verdict_without: Verdict,
    pub accuracy_without: f64,
}

/// Facts on a gate that the decision does not need.
#[derive(Clone, Debug, Default)]
pub struct GateFacts {
    pub dataset: String,
    pub run: String,
    pub baseline: Option<String>,
    /// Why there is none although one was asked for.
    pub why_no_baseline: Option<String>,
    pub best_run: Option<String>,
    pub score: String,
    pub cost: Option<f64>,
    /// Items of the dataset that the run does not have.
    pub not_run: usize,
    /// Items of the run without this score.
    pub not_scored: usize,
    pub not_judged: NotJudged,
    /// How the runs were read, such as answers that were judged again.
    pub notes: Vec<String>,
    /// What the reader of the runs could not see.
    pub not_seen: Vec<String>,
}

impl GateReport {
    /// Decides on runs as people corrected them, and as they were.
    ///
    /// # Errors
    /// The results say nothing about the agent.
    pub fn of(
        facts: GateFacts,
        rule: GateRule,
        look: Look,
        evidence: &GateEvidence<'_>,
    ) -> Result<Self, CouldNotRun> {
        let plain = decide(&rule, look, evidence)?;
        let corrected = correction::apply(evidence.baseline.unwrap_or_default(), evidence.run);
        if corrected.items == 0 {
            return Ok(Self::build(facts, rule, look, evidence, plain));
        }
        let best = evidence.best.map(|best| correction::apply(best, evidence.run).before);
        let fixed = GateEvidence {
            run: &corrected.after,
            baseline: evidence.baseline.map(|_| corrected.before.as_slice()),
            best: best.as_deref(),
            ..*evidence
        };
        let decision = decide(&rule, look, &fixed)?;
        let summary = CorrectionSummary {
            items: corrected.items,
            one_sided: corrected.one_sided,
            verdict_without: plain.verdict,
            accuracy_without: plain.accuracy.value,
        };
        let report = Self::build(facts, rule, look, &fixed, decision);
        Ok(Self { corrections: Some(summary), ..report })
    }

    fn build(
        facts: GateFacts,
        rule: GateRule,
        look: Look,
        evidence: &GateEvidence<'_>,
        decision: Decision,
    ) -> Self {
        let tail = rule.tail(look);
        let repeats = evidence.run.iter().map(|item| item.trials.len()).max().unwrap_or(1);
        let pairs = decision.difference.as_ref().map_or(0, |difference| difference.bounds.n);
        let smallest_drop = evidence
            .baseline
            .and_then(|baseline| plan::smallest_drop(baseline, pairs, repeats, tail));
        let needed = plan::items_needed(&decision, &rule, tail);
        let not_seen = not_seen(&facts, &decision, smallest_drop);
        Self {
            sentence: explain::sentence(decision.verdict, &decision.reasons),
            next_steps: explain::next_steps(decision.verdict, needed, decision.accuracy.n),
            items_needed: needed.filter(|_| decision.verdict == Verdict::Inconclusive),
            verdict: decision.verdict,
            run: facts.run,
            accuracy: decision.accuracy,
            difference: decision.difference,
            flips: decision.flips,
            cost: facts.cost,
            dataset: facts.dataset,
            baseline: facts.baseline,
            best_run: facts.best_run,
            best: decision.best,
            score: facts.score,
            rule,
            look,
            reasons: decision.reasons,
            mcnemar: decision.mcnemar,
            critical: decision.critical,
            faults: fault_count(evidence.run),
            not_judged: facts.not_judged,
            corrections: None,
            smallest_drop,
            notes: facts.notes,
            not_seen,
        }
    }
}

fn fault_count(run: &[ItemOutcomes]) -> FaultCount {
    let (trials, of) = faults(run);
    FaultCount { trials, of, items: faulted(run) }
}

/// Items with a trial in which the target failed.
pub(super) fn faulted(run: &[ItemOutcomes]) -> Vec<String> {
    let failed = run.iter().filter(|item| item.trials.iter().any(|trial| trial.is_fault));
    failed.map(|item| item.item.clone()).collect()
}

fn not_seen(facts: &GateFacts, decision: &Decision, smallest_drop: Option<f64>) -> Vec<String> {
    let mut lines = Vec::new();
    match (&facts.baseline, &decision.difference) {
        (None, _) => {
            let why = facts.why_no_baseline.as_deref();
            let why = why.unwrap_or("There was no baseline. Name one with --baseline.");
            lines.push(format!("Whether it is worse than before. {why}"));
        }
        (Some(_), Some(difference)) => {
            let left_out = difference.changed + difference.added;
            if left_out > 0 {
                lines.push(format!(
                    "{left_out} of {} {} not compared: {} changed since the baseline, {} {} not \
                     in it.",
                    counted(decision.accuracy.n, "item"),
                    verb_of(left_out, ["was", "were"]),
                    difference.changed,
                    difference.added,
                    verb_of(difference.added, ["is", "are"])
                ));
            }
        }
        (Some(_), None) => {}
    }
    if let Some(drop) = smallest_drop {
        lines.push(format!(
            "A drop of less than {:.1} points: with {} items it is missed more often than once in \
             five gates.",
            drop * 100.0,
            decision.difference.as_ref().map_or(0, |difference| difference.bounds.n)
        ));
    }
    if facts.not_run > 0 {
        let are = verb_of(facts.not_run, ["is", "are"]);
        let items = counted(facts.not_run, "item");
        lines.push(format!("{items} of the dataset {are} not in this run."));
    }
    lines.extend(facts.not_judged.text());
    let not_scored = facts.not_scored.saturating_sub(facts.not_judged.trials);
    if not_scored > 0 {
        let have = verb_of(not_scored, ["has", "have"]);
        lines.push(format!("{} {have} no score {:?}.", counted(not_scored, "trial"), facts.score));
    }
    let unreliable = |item: &&CriticalItem| item.state == CriticalState::Unreliable;
    for item in decision.critical.iter().filter(unreliable) {
        lines.push(format!(
            "Critical item {} failed, but was right in {} of {} earlier trials; it blocks alone \
             from 5 of 5 on.",
            item.item, item.history_right, item.history_trials
        ));
    }
    lines.extend(facts.not_seen.iter().cloned());
    lines
}
