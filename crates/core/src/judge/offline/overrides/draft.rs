//! Drafts of overrides: for each dimension another base, and a factor for what its signals count.
//!
//! Two numbers for each dimension are what some thirty labels can bear. They keep the order of
//! signals, so that a person can read what changes and why.

use std::collections::BTreeSet;

use super::super::dimension_scores::finding;
use super::super::file::ScoringParameters;
use super::super::signals::{Signal, SignalSet};
use super::super::success::check::{draws, estimate_by_task};
use super::super::success::fit::{MIN_LABELS, tasks_of};
use super::super::success::{OUTCOME, SessionFeatures};
use crate::judge::rubric::{Dimension, Rubric};
use crate::quality::calibration::Marks;
use crate::stats::float;
use crate::stats::interval::Estimate;

/// The least number of different tasks.
const MIN_TASKS: usize = 5;
/// Folds of the cross-validation; fewer if there are fewer tasks.
const FOLDS: usize = 10;
/// Bases are tried in these steps, so far up and down.
const STEP: f64 = 0.05;
const MAX_STEPS: i32 = 8;
/// What signals count, against what they count now.
const FACTORS: [f64; 7] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0];
/// What a change must gain for each step of the base, and for each unit of the factor: of nearly
/// equal ones, the smallest change is taken.
const STEP_COST: f64 = 0.001;

/// The features of a labelled session, and the mean of its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledMarks {
    pub features: SessionFeatures,
    pub people: Marks,
}

/// A draft of the overrides of a dimension. Of two numbers, the first is the current one.
#[derive(Clone, Debug, PartialEq)]
pub struct OverrideDraft {
    pub dimension: String,
    pub base: [f64; 2],
    /// By how much signals count more or less than now.
    pub factor: f64,
    pub effects: Vec<(Signal, [f64; 2])>,
    pub labels: usize,
    pub tasks: usize,
    /// Mean absolute difference from people: now, and with overrides that were fitted to the labels
    /// of other tasks.
    pub error: [f64; 2],
    /// By how much the difference is smaller; 95% interval from drawing whole tasks.
    pub gain: Estimate,
}

impl OverrideDraft {
    /// Describes what the labels have shown.
    pub fn checked(&self) -> String {
        let interval =
            self.gain.interval.map(|it| format!(" ({:+.2} to {:+.2})", it.lower, it.upper));
        format!(
            "Mean difference from people {:.2} now, {:.2} with overrides; better by {:+.2}{}, \
             cross-validated on {} labels of {} tasks",
            self.error[0],
            self.error[1],
            self.gain.value,
            interval.unwrap_or_default(),
            self.labels,
            self.tasks
        )
    }

    /// Describes what changes.
    pub fn change(&self) -> String {
        let [before, after] = self.base;
        let base = match (after - before).abs() < 1e-9 {
            true => format!("base {before:.2} stays"),
            false => format!("base {before:.2} to {after:.2}"),
        };
        match (self.factor - 1.0).abs() < 1e-9 {
            true => format!("{base}; signals count as before"),
            false => format!("{base}; each signal counts {} times as much as before", self.factor),
        }
    }
}

/// Drafts overrides of the dimensions in which they gain beyond chance, except of the outcome, which
/// P(success) is fitted to. The same labels give the same drafts, in any order.
pub fn drafts(set: &SignalSet, rubric: &Rubric, labelled: &[LabelledMarks]) -> Vec<OverrideDraft> {
    let of = |dimension: &Dimension| {
        let marking = set.dimensions.get(&dimension.name)?;
        let fitted = Recalibration { set, dimension, marking };
        fitted.draft(labelled)
    };
    let gains = |draft: &OverrideDraft| draft.gain.interval.is_some_and(|it| it.lower > 0.0);
    let dimensions = rubric.dimensions.iter().filter(|dimension| dimension.name != OUTCOME);
    dimensions.filter_map(of).filter(gains).collect()
}

/// A base and a factor.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    base: f64,
    factor: f64,
    /// What it must gain against no change.
    cost: f64,
}

/// A session of which people and the judge can say something in a dimension.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// The sum of the effects of its signals.
    effects: f64,
    people: f64,
    task: usize,
}

struct Recalibration<'a> {
    set: &'a SignalSet,
    dimension: &'a Dimension,
    marking: &'a ScoringParameters,
}

impl Recalibration<'_> {
    fn draft(&self, labelled: &[LabelledMarks]) -> Option<OverrideDraft> {
        let cases = self.cases(labelled);
        let tasks = cases.iter().map(|case| case.task).collect::<BTreeSet<_>>().len();
        if cases.len() < MIN_LABELS || tasks < MIN_TASKS {
            return None;
        }
        let now = Parameters { base: self.marking.base, factor: 1.0, cost: 0.0 };
        let folds = FOLDS.min(tasks);
        let mut gains: Vec<(usize, f64)> = Vec::with_capacity(cases.len());
        let mut after = 0.0;
        for fold in 0..folds {
            let (held, others): (Vec<Case>, Vec<Case>) =
                cases.iter().partition(|case| case.task % folds == fold);
            let fitted = self.best(&others);
            for case in held {
                let error = self.error(&case, fitted);
                after += error;
                gains.push((case.task, self.error(&case, now) - error));
            }
        }
        let mean = |sum: f64| sum / float(cases.len());
        let before: f64 = cases.iter().map(|case| self.error(case, now)).sum();
        let count = cases.iter().map(|case| case.task).max().unwrap_or_default() + 1;
        let fitted = self.best(&cases);
        Some(OverrideDraft {
            dimension: self.dimension.name.clone(),
            base: [self.marking.base, rounded(fitted.base)],
            factor: fitted.factor,
            effects: self.effects(fitted.factor),
            labels: cases.len(),
            tasks,
            error: [mean(before), mean(after)],
            gain: estimate_by_task(&gains, &draws(count)),
        })
    }

    fn cases(&self, labelled: &[LabelledMarks]) -> Vec<Case> {
        let tasks = tasks_of(labelled.iter().map(|one| one.features.group.as_str()));
        let case = |(one, task): (&LabelledMarks, usize)| {
            let is_seen = self.marking.needs.iter().any(|signal| one.features.has(*signal));
            let people = one.people.get(&self.dimension.name).copied().filter(|_| is_seen)?;
            let effect = |(signal, before): (Signal, f64)| {
                before * one.features.values.get(&signal.name()).copied().unwrap_or_default()
            };
            let effects = self.current_effects().map(effect).sum();
            Some(Case { effects, people, task })
        };
        let mut cases: Vec<Case> = labelled.iter().zip(tasks).filter_map(case).collect();
        cases.sort_by(|one, other| {
            let key = |case: &Case| (case.task, case.effects, case.people);
            key(one).partial_cmp(&key(other)).unwrap_or(std::cmp::Ordering::Equal)
        });
        cases
    }

    fn current_effects(&self) -> impl Iterator<Item = (Signal, f64)> {
        let name = &self.dimension.name;
        let signals = self.set.signals.iter();
        signals.filter_map(move |(signal, weighing)| Some((*signal, *weighing.effects.get(name)?)))
    }

    fn effects(&self, factor: f64) -> Vec<(Signal, [f64; 2])> {
        let scaled = |(signal, before): (Signal, f64)| {
            (signal, [before, rounded((before * factor).clamp(-1.0, 1.0))])
        };
        self.current_effects().map(scaled).collect()
    }

    /// The difference between the judge, with these parameters, and people.
    fn error(&self, case: &Case, with: Parameters) -> f64 {
        let mark = (with.base + with.factor * case.effects).clamp(0.0, 1.0);
        let said = finding(&self.dimension.scale, self.marking, mark).value();
        said.map_or(0.0, |said| (said - case.people).abs())
    }

    /// The parameters with the smallest mean difference from people.
    fn best(&self, cases: &[Case]) -> Parameters {
        let candidates = (-MAX_STEPS..=MAX_STEPS).flat_map(|step| {
            let base = (self.marking.base + f64::from(step) * STEP).clamp(0.0, 1.0);
            FACTORS.map(|factor| {
                let cost = STEP_COST * (f64::from(step.abs()) + (factor - 1.0).abs());
                Parameters { base, factor, cost }
            })
        });
        let loss = |with: &Parameters| {
            let sum: f64 = cases.iter().map(|case| self.error(case, *with)).sum();
            sum / float(cases.len()).max(1.0) + with.cost
        };
        let best = candidates.min_by(|one, other| loss(one).total_cmp(&loss(other)));
        best.unwrap_or(Parameters { base: self.marking.base, factor: 1.0, cost: 0.0 })
    }
}

/// Numbers of a file have four digits at the most.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}
