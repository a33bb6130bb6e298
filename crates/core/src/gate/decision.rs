use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::bounds::{self, Bounds};
use super::critical::{self, CriticalItem, CriticalState, PinnedItem};
use super::flip::{self, Flip};
use super::mcnemar::McNemar;
use super::outcomes::{ItemOutcomes, Pairing, faults, has_too_many_faults, means, pair};
use super::report;

/// What a gate decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Pass,
    Inconclusive,
    Block,
}

impl Verdict {
    /// Returns the JSON name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Block => "block",
        }
    }

    /// Parses a JSON name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Pass, Self::Inconclusive, Self::Block].into_iter().find(|one| one.as_str() == name)
    }
}

/// What a run must show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateRule {
    /// Minimum accuracy; `None` if only the comparison counts.
    pub min_accuracy: Option<f64>,
    /// 1 minus the error rate of each bound, over all looks.
    pub confidence: f64,
    /// Maximum accepted drop.
    pub margin: f64,
}

impl Default for GateRule {
    fn default() -> Self {
        Self { min_accuracy: None, confidence: 0.95, margin: 0.1 }
    }
}

impl GateRule {
    /// Checks the numbers.
    ///
    /// # Errors
    /// The field and what it must be.
    pub fn validated(self) -> Result<Self, String> {
        if self.min_accuracy.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
            return Err("min-accuracy: must be from 0 to 1, such as 0.7".to_owned());
        }
        if !(0.5..1.0).contains(&self.confidence) {
            return Err("confidence: must be at least 0.5 and less than 1, such as 0.95".to_owned());
        }
        if !(0.0..=1.0).contains(&self.margin) {
            return Err("margin: must be from 0 to 1, such as 0.1 for 10 points".to_owned());
        }
        Ok(self)
    }

    /// Returns the error rate of each bound at one look.
    pub fn tail(&self, look: Look) -> f64 {
        match look {
            Look::Only => 1.0 - self.confidence,
            Look::First | Look::Second => (1.0 - self.confidence) / 2.0,
        }
    }
}

/// Which look at the results this is. Two planned looks spend half of the error rate each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Look {
    Only,
    First,
    Second,
}

impl Look {
    /// Returns the look that the results of a first one allow. If no item varied between its
    /// repeats, more of them cannot tell more: there will be no second look, and this one spends
    /// the whole error rate.
    pub fn first(run: &[ItemOutcomes]) -> Self {
        let repeated = run.iter().any(|item| item.trials.len() > 1);
        let varies = run.iter().any(ItemOutcomes::varies);
        if repeated && !varies { Self::Only } else { Self::First }
    }
}

/// What a gate decides on.
#[derive(Clone, Copy, Debug, Default)]
pub struct GateEvidence<'a> {
    pub run: &'a [ItemOutcomes],
    pub baseline: Option<&'a [ItemOutcomes]>,
    /// The run with the highest accuracy that was ever promoted, unless it is the baseline.
    pub best: Option<&'a [ItemOutcomes]>,
    pub pinned: &'a [PinnedItem],
    /// Trials that every item of the run has by its plan; those of most items if `None`.
    pub planned_repeats: Option<usize>,
}

/// Why a gate cannot decide at all.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CouldNotRun {
    #[error(
        "the run has no scored items: run the experiment with an evaluator, or name another score"
    )]
    NoItems,
    #[error(
        "the target failed in {faults} of {trials} trials, and more than 10% say nothing about the \
         agent ({items}): fix the target; the same command with --run and this run's name then \
         repeats these trials only"
    )]
    TooManyFaults {
        faults: usize,
        trials: usize,
        /// The first ones by name.
        items: String,
    },
    #[error("item {item:?}: its score is {value}, and accuracy needs scores from 0 to 1")]
    NotAShare { item: String, value: f64 },
}

/// A difference to another run, over items whose version is the same in both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunDifference {
    #[serde(flatten)]
    pub bounds: Bounds,
    /// Items of both runs that changed in between.
    pub changed: usize,
    pub added: usize,
    pub removed: usize,
}

/// One finding, and what it means for the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    AccuracyClears { lower: f64, least: f64 },
    AccuracyBelow { upper: f64, least: f64 },
    AccuracyUnclear { value: f64, lower: f64, upper: f64, least: f64 },
    NoWorse { lower: f64, margin: f64 },
    Worse { value: f64, upper: f64 },
    DifferenceUnclear { value: f64, lower: f64, upper: f64, margin: f64 },
    NothingToCompare,
    NoWorseThanBest { lower: f64, margin: f64 },
    BelowBest { value: f64, upper: f64, margin: f64 },
    BestUnclear { lower: f64, margin: f64 },
    CriticalFailed { item: String, failures: usize, trials: usize },
    CriticalFailedOnce { item: String },
    CriticalRightAgain { item: String },
}

impl Reason {
    /// Returns what the finding means alone.
    pub const fn verdict(&self) -> Verdict {
        match self {
            Self::AccuracyClears { .. }
            | Self::NoWorse { .. }
            | Self::NoWorseThanBest { .. }
            | Self::CriticalRightAgain { .. } => Verdict::Pass,
            Self::AccuracyUnclear { .. }
            | Self::DifferenceUnclear { .. }
            | Self::NothingToCompare
            | Self::BestUnclear { .. }
            | Self::CriticalFailedOnce { .. } => Verdict::Inconclusive,
            Self::AccuracyBelow { .. }
            | Self::Worse { .. }
            | Self::BelowBest { .. }
            | Self::CriticalFailed { .. } => Verdict::Block,
        }
    }
}

/// A verdict with all that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub verdict: Verdict,
    /// The worst first.
    pub reasons: Vec<Reason>,
    pub accuracy: Bounds,
    pub difference: Option<RunDifference>,
    pub best: Option<RunDifference>,
    /// For runs of one trial each.
    pub mcnemar: Option<McNemar>,
    pub flips: Vec<Flip>,
    pub critical: Vec<CriticalItem>,
}

/// Decides on a run.
///
/// # Errors
/// The results say nothing about the agent.
pub fn decide(
    rule: &GateRule,
    look: Look,
    evidence: &GateEvidence<'_>,
) -> Result<Decision, CouldNotRun> {
    check(evidence.run)?;
    let tail = rule.tail(look);
    let accuracy = bounds::accuracy(&means(evidence.run), tail).ok_or(CouldNotRun::NoItems)?;
    let pairing = evidence.baseline.map(|baseline| pair(baseline, evidence.run));
    let difference = pairing.as_ref().and_then(|pairing| compare(pairing, tail));
    let best = evidence.best.and_then(|best| compare(&pair(best, evidence.run), tail));
    let planned = evidence.planned_repeats.unwrap_or_else(|| critical::usual_repeats(evidence.run));
    let critical = critical::check(evidence.pinned, evidence.run, planned);
    let mut reasons = Vec::new();
    reasons.extend(rule.min_accuracy.map(|least| of_accuracy(&accuracy, least)));
    reasons.extend(pairing.as_ref().map(|_| of_difference(difference.as_ref(), rule.margin)));
    reasons.extend(best.as_ref().map(|best| of_best(&best.bounds, rule.margin)));
    reasons.extend(critical.iter().filter_map(of_critical));
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.verdict()));
    Ok(Decision {
        verdict: reasons.first().map_or(Verdict::Inconclusive, Reason::verdict),
        reasons,
        accuracy,
        difference,
        best,
        mcnemar: pairing.as_ref().and_then(McNemar::of_pairing),
        flips: pairing.as_ref().map(flip::flips).unwrap_or_default(),
        critical,
    })
}

fn check(run: &[ItemOutcomes]) -> Result<(), CouldNotRun> {
    let (faults, trials) = faults(run);
    if trials == 0 {
        return Err(CouldNotRun::NoItems);
    }
    if has_too_many_faults(faults as u64, trials as u64) {
        let items = report::named(&report::faulted(run));
        return Err(CouldNotRun::TooManyFaults { faults, trials, items });
    }
    for item in run {
        if let Some(trial) = item.trials.iter().find(|trial| !(0.0..=1.0).contains(&trial.value)) {
            return Err(CouldNotRun::NotAShare { item: item.item.clone(), value: trial.value });
        }
    }
    Ok(())
}

fn compare(pairing: &Pairing<'_>, tail: f64) -> Option<RunDifference> {
    Some(RunDifference {
        bounds: bounds::difference(&pairing.differences(), tail)?,
        changed: pairing.changed,
        added: pairing.added,
        removed: pairing.removed,
    })
}

/// Bounds are computed from shares of few items: the last bits do not decide.
const TOLERANCE: f64 = 1e-9;

fn of_accuracy(accuracy: &Bounds, least: f64) -> Reason {
    let (value, [lower, upper]) = (accuracy.value, accuracy.interval);
    if lower >= least - TOLERANCE {
        Reason::AccuracyClears { lower, least }
    } else if upper < least - TOLERANCE {
        Reason::AccuracyBelow { upper, least }
    } else {
        Reason::AccuracyUnclear { value, lower, upper, least }
    }
}

fn of_difference(difference: Option<&RunDifference>, margin: f64) -> Reason {
    let Some(RunDifference { bounds, .. }) = difference else { return Reason::NothingToCompare };
    let (value, [lower, upper]) = (bounds.value, bounds.interval);
    if upper < -TOLERANCE {
        Reason::Worse { value, upper }
    } else if lower >= -margin - TOLERANCE {
        Reason::NoWorse { lower, margin }
    } else {
        Reason::DifferenceUnclear { value, lower, upper, margin }
    }
}

fn of_best(bounds: &Bounds, margin: f64) -> Reason {
    let (value, [lower, upper]) = (bounds.value, bounds.interval);
    if upper < -margin - TOLERANCE {
        Reason::BelowBest { value, upper, margin }
    } else if lower >= -margin - TOLERANCE {
        Reason::NoWorseThanBest { lower, margin }
    } else {
        Reason::BestUnclear { lower, margin }
    }
}

fn of_critical(item: &CriticalItem) -> Option<Reason> {
    let name = item.item.clone();
    match item.state {
        CriticalState::FailedAgain => Some(Reason::CriticalFailed {
            item: name,
            failures: item.failures,
            trials: item.trials,
        }),
        CriticalState::FailedOnce => Some(Reason::CriticalFailedOnce { item: name }),
        CriticalState::RightAgain => Some(Reason::CriticalRightAgain { item: name }),
        CriticalState::Right | CriticalState::Unreliable | CriticalState::NotRun => None,
    }
}

#[cfg(test)]
mod tests;
