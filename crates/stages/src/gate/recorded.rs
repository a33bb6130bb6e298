use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::gate::outcomes::ItemOutcomes;
use ratchet_core::gate::report::NotJudged;
use ratchet_core::record::score::{Score, ScoreSource};
use ratchet_store::experiment::{Experiment, ExperimentItemQuery, ExperimentQuery};
use ratchet_store::query::{Detail, Paging, TimeRange};

use super::evaluator::{RunEvaluator, is_later_score};
use super::items::DatasetItems;
use super::run_trials::{MAX_TRIALS, RunTrial, RunTrials, scores_by_trace};
use super::stored_answers::{FittingAnswers, WantedAnswers};
use super::{GateContext, GateError};
use crate::experiment::EVALUATOR_VERSION;

/// Trials among whose scores the only one is looked for.
const NAMED: u64 = 200;

/// A recorded run as outcomes.
#[derive(Debug, Default)]
pub(super) struct RecordedRun {
    /// In the order of their ids.
    pub(super) items: Vec<ItemOutcomes>,
    /// Sum of the known costs of agents and judges in USD; `None` if none is known.
    pub(super) cost: Option<f64>,
    /// Trials without the score.
    pub(super) not_scored: usize,
    /// Those of them on which the evaluator failed.
    pub(super) not_judged: NotJudged,
    /// Version of the evaluator, if scores name one.
    pub(super) evaluator: Option<String>,
    /// Answers that were judged again.
    pub(super) judged_again: usize,
    /// The number of answers that another evaluator than the present one judged, or none.
    pub(super) not_judged_again: usize,
    /// Those of them that are wanted, as many as fit.
    pub(super) answers: FittingAnswers,
    trials: usize,
}

/// What is read of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'a> {
    /// Name of the score that counts.
    pub(super) score: &'a str,
    /// Ids of items; all if empty.
    pub(super) only: &'a [String],
    /// Judges the stored answers, where it can; the stored scores count otherwise.
    pub(super) judge: Option<&'a RunEvaluator>,
    /// Name of the score of answers that the present evaluator judged after their run; it counts
    /// where there is one.
    pub(super) later: Option<&'a str>,
    /// Answers without such a score to return; only their number if `None`.
    pub(super) wanted: Option<&'a WantedAnswers>,
}

impl<'a> Reading<'a> {
    /// All items, with the scores that are stored.
    pub(super) const fn stored(score: &'a str) -> Self {
        Self { score, only: &[], judge: None, later: None, wanted: None }
    }
}

impl RecordedRun {
    /// Reads the trials of a run.
    pub(super) async fn read(
        context: GateContext<'_>,
        run: &Experiment,
        reading: Reading<'_>,
        items: &mut DatasetItems<'_>,
    ) -> Result<Self, GateError> {
        let mut trials = RunTrials::open(context, &run.id, reading.only).await?;
        let mut read = Self { cost: trials.judge_cost(), ..Self::default() };
        let mut outcomes: BTreeMap<String, ItemOutcomes> = BTreeMap::new();
        while let Some(trial) = trials.next(items).await? {
            let value = read.value(&trial, reading);
            if !read.add(&mut outcomes, &trial, (value, reading.score))
                && trials.lacks_verdict(&trial.stored.trace, reading.score)
            {
                read.not_judged.add(&trial.stored.item);
            }
            if read.trials > MAX_TRIALS {
                return Err(GateError::Invalid(format!(
                    "run: {:?} has more than {MAX_TRIALS} trials",
                    run.name
                )));
            }
        }
        read.items = outcomes.into_values().collect();
        // Newest first as they are read; the order of trials is that in which they ran.
        read.items.iter_mut().for_each(|item| item.trials.reverse());
        Ok(read)
    }

    /// The evaluator's score of a trial: the stored one, unless its answer was judged again.
    fn value(&mut self, trial: &RunTrial, reading: Reading<'_>) -> Option<f64> {
        let stored = trial.scores.judged(reading.score).map(|(value, _)| value);
        let again = reading.judge.and_then(|judge| judge.judge(&trial.stored));
        self.judged_again += usize::from(again.is_some());
        let later = reading.later.and_then(|later| self.later(trial, (later, reading.wanted)));
        later.or(again).or(stored)
    }

    /// The verdict that the present evaluator gave after the run; counts the answer if there is none.
    fn later(
        &mut self,
        trial: &RunTrial,
        (later, wanted): (&str, Option<&WantedAnswers>),
    ) -> Option<f64> {
        if let Some((value, _)) = trial.scores.judged(later) {
            self.judged_again += 1;
            return Some(value);
        }
        if trial.output.is_some() {
            self.not_judged_again += 1;
            if wanted.is_some_and(|wanted| wanted.includes(&trial.stored, trial.version)) {
                self.answers.add(&trial.stored);
            }
        }
        None
    }

    /// Adds a trial; returns false if it has no score.
    fn add(
        &mut self,
        outcomes: &mut BTreeMap<String, ItemOutcomes>,
        trial: &RunTrial,
        (value, score): (Option<f64>, &str),
    ) -> bool {
        self.trials += 1;
        if let Some(cost) = trial.cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost.dollars());
        }
        let version_of = |(_, score): (f64, &Score)| version_of(score);
        self.evaluator =
            self.evaluator.take().or_else(|| trial.scores.judged(score).and_then(version_of));
        let Some(outcome) = trial.outcome(value, trial.scores.correction(score)) else {
            self.not_scored += 1;
            return false;
        };
        let (item, version) = (&trial.stored.item, trial.version);
        let entry = outcomes.entry(item.clone()).or_insert_with(|| ItemOutcomes {
            item: item.clone(),
            version,
            trials: Vec::new(),
        });
        // Versions of one item in one run are the newest: an item that changed while it ran is
        // another item.
        entry.version = entry.version.max(version);
        entry.trials.push(outcome);
        true
    }

    /// Returns the cost of so many trials by the mean of this run.
    pub(super) fn cost_of(&self, items: usize, repeats: usize) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let ratio = (items * repeats) as f64 / self.trials.max(1) as f64;
        Some(self.cost? * ratio)
    }
}

fn version_of(score: &Score) -> Option<String> {
    let entry = score.metadata.iter().find(|(key, _)| key == EVALUATOR_VERSION);
    entry.map(|(_, value)| value.as_str().trim_matches('"').to_owned())
}

/// Returns the name of the only score of a run.
///
/// # Errors
/// It has none, or several: the message lists them.
pub(super) async fn only_score(
    context: GateContext<'_>,
    run: &Experiment,
) -> Result<String, GateError> {
    let of = ExperimentQuery {
        project: context.project.clone(),
        range: TimeRange::default(),
        ids: vec![run.id.clone()],
        names: Vec::new(),
        datasets: Vec::new(),
        paging: Paging::After { cursor: None, limit: NAMED },
    };
    let query = ExperimentItemQuery { of, items: Vec::new(), detail: Detail::Row };
    let page = context.store.telemetry.experiment_items(query).await?;
    let judged = scores_by_trace((context.store, context.project), &page.rows).await?;
    let names: BTreeSet<String> = judged
        .into_values()
        .flat_map(|scores| scores.0)
        .filter(|score| score.source != ScoreSource::Annotation && score.value.number().is_some())
        .filter(|score| !is_later_score(&score.name))
        .map(|score| score.name)
        .collect();
    let mut names: Vec<String> = names.into_iter().collect();
    match (names.pop(), names.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(GateError::Invalid(format!(
            "score: run {:?} has no scores; run it with an evaluator",
            run.name
        ))),
        (Some(last), false) => {
            names.push(last);
            let names = names.join(", ");
            Err(GateError::Invalid(format!(
                "score: run {:?} has several; name one of: {names}",
                run.name
            )))
        }
    }
}
