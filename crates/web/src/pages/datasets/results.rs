//! Results of a run: outputs and scores, by item and trial.

use std::collections::BTreeMap;

use ratchet_core::catalog::review::CORRECTNESS;
use ratchet_core::catalog::run_comparison::ItemScores;
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::record::trace::Content;
use ratchet_core::record::usage::Cost;
use ratchet_core::time::Timestamp;
use ratchet_store::experiment::{
    ExperimentItemQuery, ExperimentQuery, Outcome, StoredExperimentItem,
};
use ratchet_store::query::{
    Condition, Detail, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TimeRange,
};

use super::{PREVIEW, as_read};
use crate::components::badge::Decider;
use crate::message_preview;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::score_summary;
use crate::web::Web;

/// Maximum number of trials of a run that are read; pages say if there are more.
pub(in crate::pages) const TRIALS: usize = 2_000;
/// Trials that are read at a time.
const SLICE: u64 = 250;
/// Scores of a slice that are read.
const SCORES: u64 = 5_000;

/// Maximum number of trials that are read where many runs are listed.
pub(in crate::pages) const LISTED_TRIALS: usize = 500;

/// How much of a run is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum RunDetail {
    /// Scores of the newest trials, without outputs and faults.
    Scores,
    Outputs,
}

impl RunDetail {
    const fn detail(self) -> Detail {
        match self {
            Self::Scores => Detail::Row,
            Self::Outputs => Detail::BoundedContent,
        }
    }

    const fn trials(self) -> usize {
        match self {
            Self::Scores => LISTED_TRIALS,
            Self::Outputs => TRIALS,
        }
    }
}

/// Result of one item in a run.
#[derive(Clone, Debug, Default)]
pub(in crate::pages) struct RunResult {
    /// Newest first; never empty.
    pub(in crate::pages) trials: Vec<TrialOutcome>,
    pub(in crate::pages) expected: Option<String>,
    /// Version of the item.
    pub(in crate::pages) version: Option<Timestamp>,
    /// Mean of each score over the trials.
    pub(in crate::pages) scores: ItemScores,
    /// Who judged, by the name of the score.
    pub(in crate::pages) deciders: BTreeMap<String, Decider>,
}

/// One trial of an item.
#[derive(Clone, Debug)]
pub(in crate::pages) struct TrialOutcome {
    pub(in crate::pages) trace: TraceId,
    /// The start of it, as people read it.
    pub(in crate::pages) output: String,
    /// The whole of it; `None` without an output.
    pub(in crate::pages) digest: Option<u64>,
    /// The target failed instead of answering.
    pub(in crate::pages) fault: Option<String>,
    pub(in crate::pages) latency_nanos: Option<i64>,
    pub(in crate::pages) cost: Option<Money>,
    pub(in crate::pages) scores: TrialScores,
}

/// The newest score of each name on a trial.
#[derive(Clone, Debug, Default)]
pub(in crate::pages) struct TrialScores {
    /// By evaluators and clients.
    pub(in crate::pages) judged: ItemScores,
    /// By people.
    pub(in crate::pages) people: ItemScores,
    pub(in crate::pages) deciders: BTreeMap<String, Decider>,
}

impl TrialScores {
    /// A person's word on whether the output is right, which outweighs the score of an evaluator.
    pub(in crate::pages) fn correction(&self, score: &str) -> Option<f64> {
        self.people.get(CORRECTNESS).or_else(|| self.people.get(score)).copied()
    }
}

impl RunResult {
    /// The newest trial.
    pub(in crate::pages) fn newest(&self) -> Option<&TrialOutcome> {
        self.trials.first()
    }

    /// Means over the trials: latency in nanoseconds, and cost in US dollars.
    pub(in crate::pages) fn means(&self) -> (Option<f64>, Option<f64>) {
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds far below 2^52")]
        let latencies =
            self.trials.iter().filter_map(|trial| trial.latency_nanos.map(|n| n as f64));
        let costs = self.trials.iter().filter_map(|trial| trial.cost.map(Money::dollars));
        (mean_of(latencies), mean_of(costs))
    }

    fn add(&mut self, trial: TrialOutcome) {
        for (name, decider) in &trial.scores.deciders {
            self.deciders.entry(name.clone()).or_insert(*decider);
        }
        self.trials.push(trial);
    }

    fn finish(&mut self) {
        let mut values: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
        for trial in &self.trials {
            let people = trial.scores.people.iter();
            let judged = trial.scores.judged.iter();
            let judged = judged.filter(|(name, _)| !trial.scores.people.contains_key(*name));
            for (name, value) in people.chain(judged) {
                values.entry(name).or_default().push(*value);
            }
        }
        let means = values
            .into_iter()
            .filter_map(|(name, values)| Some((name.clone(), mean_of(values.into_iter())?)));
        self.scores = means.collect();
    }
}

/// The mean of numbers; `None` without any.
pub(in crate::pages) fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// Results of a run by item.
pub(in crate::pages) async fn results(
    web: &Web,
    ctx: &RequestContext,
    run: String,
    wanted: RunDetail,
) -> PageResult<BTreeMap<String, RunResult>> {
    let mut results: BTreeMap<String, RunResult> = BTreeMap::new();
    let (mut cursor, mut read) = (None, 0);
    loop {
        let of = ExperimentQuery {
            project: ctx.project_id(),
            range: TimeRange::default(),
            ids: vec![run.clone()],
            names: Vec::new(),
            datasets: Vec::new(),
            paging: Paging::After { cursor, limit: SLICE },
        };
        let query = ExperimentItemQuery { of, items: Vec::new(), detail: wanted.detail() };
        let page = web.store.telemetry.experiment_items(query).await?;
        let mut scores = scores(web, ctx, &page.rows).await?;
        read += page.rows.len();
        for item in page.rows {
            let item = web.store.telemetry.whole_experiment_item(ctx.project_id(), item);
            let Some(item) = item.await? else { continue };
            let given = scores.remove(&item.trace).unwrap_or_default();
            let result = results.entry(item.item.clone()).or_default();
            let expected = item.expected_output.as_ref().map(|json| shortened(json.as_str()));
            result.expected = result.expected.take().or(expected);
            result.version = result.version.max(item.version);
            result.add(trial(&item, given));
        }
        cursor = page.cursor;
        if cursor.is_none() || read >= wanted.trials() {
            break;
        }
    }
    results.values_mut().for_each(RunResult::finish);
    Ok(results)
}

pub(super) fn shortened(json: &str) -> String {
    elide(&as_read(json), PREVIEW * 4).into_owned()
}

/// The text of messages, else the output as it is.
fn said(json: &str) -> String {
    match message_preview::answer(json) {
        Some(text) => elide(&text, PREVIEW * 4).into_owned(),
        None => shortened(json),
    }
}

fn trial(item: &StoredExperimentItem, scores: TrialScores) -> TrialOutcome {
    let (content, cost, is_error, status): (Option<&Content>, _, _, _) = match &item.outcome {
        None => (None, None, false, None),
        Some(Outcome::Run(run)) => {
            (run.content.as_ref(), run.summary.cost, run.summary.levels.error > 0, None)
        }
        Some(Outcome::Step(step)) => {
            let cost = step.cost.as_ref().map(Cost::total);
            let is_error = step.level == Level::Error;
            (step.content.as_ref(), cost, is_error, step.status_message.clone())
        }
    };
    let span = match &item.outcome {
        Some(Outcome::Run(run)) => run.summary.start.zip(run.summary.end),
        Some(Outcome::Step(step)) => step.end.map(|end| (step.start, end)),
        None => None,
    };
    let span = item.ran.as_ref().map(|ran| (ran.start, ran.end)).or(span);
    let output = content.and_then(|content| content.output.as_ref());
    let fault = (is_error && output.is_none())
        .then(|| status.unwrap_or_else(|| "the target failed; its trace says why".to_owned()));
    TrialOutcome {
        trace: item.trace.clone(),
        output: output.map(|output| said(output.as_str())).unwrap_or_default(),
        digest: output.map(|output| digest(output.as_str())),
        fault,
        latency_nanos: span.map(|(start, end)| end.since(start)),
        cost,
        scores,
    }
}

/// Tells outputs of one page apart.
fn digest(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The newest scores on the traces of trials, and who judged.
async fn scores(
    web: &Web,
    ctx: &RequestContext,
    items: &[StoredExperimentItem],
) -> PageResult<BTreeMap<TraceId, TrialScores>> {
    let traces = items.iter().map(|item| item.trace.to_string()).collect();
    let query = ScoreQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        on: ScoresOn::Anything,
        conditions: vec![Condition { column: ScoreColumn::Trace, test: Test::AnyOf(traces) }],
        paging: Paging::After { cursor: None, limit: SCORES },
    };
    let mut judged: BTreeMap<TraceId, TrialScores> = BTreeMap::new();
    for score in web.store.telemetry.scores(query).await?.rows {
        let (Some(trace), Some(number)) = (trace_of(&score), score.value.number()) else {
            continue;
        };
        let found = judged.entry(trace).or_default();
        let decider = score_summary::decider(&score);
        let side = match score.source {
            ScoreSource::Annotation => {
                found.deciders.entry(score.name.clone()).or_insert(decider);
                &mut found.people
            }
            ScoreSource::Api | ScoreSource::Eval => {
                // A person's correction of the same name does not hide who the judge is.
                if !found.judged.contains_key(&score.name) {
                    found.deciders.insert(score.name.clone(), decider);
                }
                &mut found.judged
            }
        };
        side.entry(score.name).or_insert(number);
    }
    Ok(judged)
}

fn trace_of(score: &Score) -> Option<TraceId> {
    match &score.target {
        ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => Some(trace.clone()),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => None,
    }
}
