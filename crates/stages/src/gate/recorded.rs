use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::catalog::review::CORRECTNESS;
use ratchet_core::gate::outcomes::{ItemOutcomes, Trial};
use ratchet_core::gate::report::NotJudged;
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::record::trace::Content;
use ratchet_core::record::usage::Cost;
use ratchet_core::time::Timestamp;
use ratchet_store::experiment::{
    Experiment, ExperimentItemQuery, ExperimentQuery, Outcome, StoredExperimentItem,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TimeRange,
};
use ratchet_store::{Store, StoreResult};
use sha2::{Digest, Sha256};

use super::counted_traces::CountedTraces;
use super::evaluator::{RunEvaluator, content, is_later_score};
use super::items::DatasetItems;
use super::stored_answers::{FittingAnswers, WantedAnswers};
use super::{GateContext, GateError};
use crate::experiment::EVALUATOR_VERSION;

/// Trials per query.
const PAGE: u64 = 200;
/// Scores per query.
const SCORES: u64 = 2_000;
/// Trials of a run that are read.
const MAX_TRIALS: usize = 100_000;

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
        let counted = CountedTraces::of(context, run).await?;
        let mut read = Self { cost: counted.judge_cost, ..Self::default() };
        let mut outcomes: BTreeMap<String, ItemOutcomes> = BTreeMap::new();
        let mut cursor = None;
        loop {
            let page =
                context.store.telemetry.experiment_items(query(context, run, reading.only, cursor));
            let page = page.await?;
            let mut scores = scores(context, &page.rows, (reading.score, reading.later)).await?;
            for trial in page.rows {
                if !counted.includes(&trial.trace) {
                    continue;
                }
                let project = context.project.clone();
                let whole = context.store.telemetry.whole_experiment_item(project, trial);
                let Some(trial) = &whole.await? else { continue };
                if let Some(value) = reading.judge.and_then(|judge| judge.judge(trial)) {
                    scores.entry(trial.trace.clone()).or_default().judged = Some(value);
                    read.judged_again += 1;
                }
                let at = trial.version.unwrap_or(trial.created_at);
                let version = items.version(&trial.item, at).await?.or(trial.version);
                if reading.later.is_some() {
                    read.take_later(trial, (version, reading.wanted), &mut scores);
                }
                if !read.add(&mut outcomes, trial, (version, &scores))
                    && counted.lacks_verdict(&trial.trace, reading.score)
                {
                    read.not_judged.add(&trial.item);
                }
            }
            cursor = page.cursor;
            if cursor.is_none() {
                break;
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

    /// Takes the verdict that the present evaluator gave after the run; counts the answer if there is
    /// none.
    fn take_later(
        &mut self,
        trial: &StoredExperimentItem,
        (version, wanted): (Option<Timestamp>, Option<&WantedAnswers>),
        scores: &mut TraceScores,
    ) {
        let found = scores.entry(trial.trace.clone()).or_default();
        if let Some(value) = found.later {
            found.judged = Some(value);
            self.judged_again += 1;
            return;
        }
        if content(trial).is_none_or(|content| content.output.is_none()) {
            return;
        }
        self.not_judged_again += 1;
        let is_wanted = |wanted: &WantedAnswers| wanted.includes(trial, version);
        if !wanted.is_some_and(is_wanted) {
            return;
        }
        self.answers.add(trial);
    }

    /// Adds a trial; returns false if it has no score.
    fn add(
        &mut self,
        outcomes: &mut BTreeMap<String, ItemOutcomes>,
        item: &StoredExperimentItem,
        (version, scores): (Option<Timestamp>, &TraceScores),
    ) -> bool {
        self.trials += 1;
        let facts = OutcomeFacts::of(item.outcome.as_ref());
        if let Some(cost) = facts.cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost.dollars());
        }
        let found = scores.get(&item.trace);
        let judged = found.and_then(|scores| scores.judged);
        let corrected = found.and_then(|scores| scores.corrected);
        self.evaluator = self.evaluator.take().or_else(|| found?.evaluator.clone());
        if judged.is_none() && corrected.is_none() && !facts.is_fault {
            self.not_scored += 1;
            return false;
        }
        let trial = Trial {
            value: if facts.is_fault { 0.0 } else { judged.or(corrected).unwrap_or(0.0) },
            corrected,
            is_fault: facts.is_fault,
            output: facts.output,
            trace: Some(item.trace.to_string()),
        };
        let entry = outcomes.entry(item.item.clone()).or_insert_with(|| ItemOutcomes {
            item: item.item.clone(),
            version,
            trials: Vec::new(),
        });
        // Versions of one item in one run are the newest: an item that changed while it ran is
        // another item.
        entry.version = entry.version.max(version);
        entry.trials.push(trial);
        true
    }

    /// Returns the cost of so many trials by the mean of this run.
    pub(super) fn cost_of(&self, items: usize, repeats: usize) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let ratio = (items * repeats) as f64 / self.trials.max(1) as f64;
        Some(self.cost? * ratio)
    }
}

fn query(
    context: GateContext<'_>,
    run: &Experiment,
    only: &[String],
    cursor: Option<String>,
) -> ExperimentItemQuery {
    let of = ExperimentQuery {
        project: context.project.clone(),
        range: TimeRange::default(),
        ids: vec![run.id.clone()],
        names: Vec::new(),
        datasets: Vec::new(),
        paging: Paging::After { cursor, limit: PAGE },
    };
    ExperimentItemQuery { of, items: only.to_vec(), detail: Detail::BoundedContent }
}

/// What a trace or an observation says about a trial.
#[derive(Default)]
struct OutcomeFacts {
    cost: Option<Money>,
    is_fault: bool,
    output: Option<String>,
}

impl OutcomeFacts {
    /// A trial is a fault if something in it failed and it has no answer.
    fn of(outcome: Option<&Outcome>) -> Self {
        let (content, cost, is_error) = match outcome {
            None => return Self::default(),
            Some(Outcome::Run(trace)) => {
                (trace.content.as_ref(), trace.summary.cost, trace.summary.levels.error > 0)
            }
            Some(Outcome::Step(step)) => {
                let cost = step.cost.as_ref().map(Cost::total);
                (step.content.as_ref(), cost, step.level == Level::Error)
            }
        };
        let output = content.and_then(|content: &Content| content.output.as_ref());
        let digest = output.map(|output| {
            let digest = Sha256::digest(output.as_str());
            digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
        });
        Self { cost, is_fault: is_error && output.is_none(), output: digest }
    }
}

#[derive(Debug, Default)]
struct FoundScores {
    judged: Option<f64>,
    /// That of the present evaluator, given after the run.
    later: Option<f64>,
    corrected: Option<f64>,
    evaluator: Option<String>,
}

type TraceScores = BTreeMap<TraceId, FoundScores>;

/// The scores of a page of trials: the newest of the evaluator, and the newest of a person.
async fn scores(
    context: GateContext<'_>,
    items: &[StoredExperimentItem],
    (name, later): (&str, Option<&str>),
) -> Result<TraceScores, GateError> {
    let mut found = TraceScores::new();
    for score in all_scores(context, items).await? {
        let (Some(trace), Some(number)) = (trace_of(&score), score.value.number()) else {
            continue;
        };
        let is_it = score.name == name;
        let by_person = score.source == ScoreSource::Annotation;
        let is_correction = by_person && score.name == CORRECTNESS;
        let is_later = later == Some(score.name.as_str()) && !by_person;
        if !is_it && !is_correction && !is_later {
            continue;
        }
        let entry = found.entry(trace).or_default();
        if is_later {
            entry.later.get_or_insert(number);
        } else if by_person {
            entry.corrected.get_or_insert(number);
        } else {
            if entry.judged.is_none() {
                entry.evaluator = version_of(&score);
            }
            entry.judged.get_or_insert(number);
        }
    }
    Ok(found)
}

fn version_of(score: &Score) -> Option<String> {
    let entry = score.metadata.iter().find(|(key, _)| key == EVALUATOR_VERSION);
    entry.map(|(_, value)| value.as_str().trim_matches('"').to_owned())
}

fn trace_of(score: &Score) -> Option<TraceId> {
    match &score.target {
        ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => Some(trace.clone()),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => None,
    }
}

/// The scores on the traces of trials, newest first.
async fn all_scores(
    context: GateContext<'_>,
    items: &[StoredExperimentItem],
) -> Result<Vec<Score>, GateError> {
    let traces = items.iter().map(|item| item.trace.to_string()).collect();
    Ok(scores_of_traces((context.store, context.project), traces).await?)
}

/// Returns the scores on traces and on their observations, newest first.
pub(crate) async fn scores_of_traces(
    (store, project): (&Store, &ProjectId),
    traces: Vec<String>,
) -> StoreResult<Vec<Score>> {
    if traces.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let query = ScoreQuery {
            project: project.clone(),
            range: TimeRange::default(),
            on: ScoresOn::Anything,
            conditions: vec![Condition {
                column: ScoreColumn::Trace,
                test: Test::AnyOf(traces.clone()),
            }],
            paging: Paging::After { cursor, limit: SCORES },
        };
        let page = store.telemetry.scores(query).await?;
        all.extend(page.rows);
        cursor = page.cursor;
        if cursor.is_none() || all.len() > MAX_TRIALS {
            return Ok(all);
        }
    }
}

/// Returns the name of the only score of a run.
///
/// # Errors
/// It has none, or several: the message lists them.
pub(super) async fn only_score(
    context: GateContext<'_>,
    run: &Experiment,
) -> Result<String, GateError> {
    let page = context.store.telemetry.experiment_items(query(context, run, &[], None)).await?;
    let judged = all_scores(context, &page.rows).await?;
    let names: BTreeSet<String> = judged
        .into_iter()
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
