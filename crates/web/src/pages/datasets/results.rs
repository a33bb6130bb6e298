//! Results of a run: outputs and scores, by item and trial.

use std::collections::BTreeMap;

use ratchet_core::catalog::run_comparison::ItemScores;
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::ScoreSource;
use ratchet_core::time::Timestamp;
use ratchet_stages::gate::{
    self, DatasetItems, GateContext, MAX_TRIALS, RunTrial, RunTrials, newest_correction,
    scores_by_trace,
};
use ratchet_store::StoreResult;
use ratchet_store::experiment::{
    ExperimentItemQuery, ExperimentQuery, Outcome, StoredExperimentItem,
};
use ratchet_store::query::{Detail, Paging, TimeRange};

use super::{PREVIEW, as_read};
use crate::components::badge::Decider;
use crate::message_preview;
use crate::request_context::RequestContext;
use crate::score_summary;
use crate::web::Web;

/// Maximum number of trials of a run that are read; pages say if there are more.
pub(in crate::pages) const TRIALS: usize = 2_000;
/// Trials that are read at a time where many runs are listed.
const SLICE: u64 = 250;

/// Maximum number of trials that are read where many runs are listed.
pub(in crate::pages) const LISTED_TRIALS: usize = 500;

/// How much of a run is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum RunDetail {
    /// Scores of the newest trials, without outputs and faults.
    Scores,
    Outputs,
    /// All trials, as the gate reads them, without the texts of outputs.
    Outcomes,
}

impl RunDetail {
    const fn trials(self) -> usize {
        match self {
            Self::Scores => LISTED_TRIALS,
            Self::Outputs => TRIALS,
            Self::Outcomes => MAX_TRIALS,
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
    pub(in crate::pages) digest: Option<String>,
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
    /// By people, newest first.
    pub(in crate::pages) people: Vec<(String, f64)>,
    pub(in crate::pages) deciders: BTreeMap<String, Decider>,
}

impl TrialScores {
    /// A person's word on whether the output is right, which outweighs the score of an evaluator.
    pub(in crate::pages) fn correction(&self, score: &str) -> Option<f64> {
        let mut people = self.people.iter().map(|(name, value)| (name.as_str(), *value));
        newest_correction(&mut people, score)
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
            let people = || trial.scores.people.iter().map(|(name, value)| (name, value));
            let judged = trial.scores.judged.iter();
            let judged = judged.filter(|(name, _)| !people().any(|(said, _)| said == *name));
            for (name, value) in people().chain(judged) {
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

/// Results of a run by item; of some items, unless none is named.
pub(in crate::pages) async fn results(
    web: &Web,
    ctx: &RequestContext,
    run: &str,
    (wanted, only): (RunDetail, &[String]),
) -> StoreResult<BTreeMap<String, RunResult>> {
    if wanted == RunDetail::Scores {
        return listed(web, ctx, run).await;
    }
    let (catalog, project) = (ctx.viewer.catalog(web), ctx.project_id());
    let context = GateContext {
        store: &web.store,
        catalog: &catalog,
        project: &project,
        server: "",
        now: ctx.now,
    };
    let mut trials = RunTrials::open(context, run, only).await?;
    let mut items = DatasetItems::new(context);
    let (mut results, mut read) = (BTreeMap::new(), 0);
    while read < wanted.trials()
        && let Some(trial) = trials.next(&mut items).await?
    {
        read += 1;
        add(&mut results, &trial, wanted);
    }
    results.values_mut().for_each(RunResult::finish);
    Ok(results)
}

fn add(results: &mut BTreeMap<String, RunResult>, trial: &RunTrial, wanted: RunDetail) {
    let stored = &trial.stored;
    let result = results.entry(stored.item.clone()).or_default();
    if wanted == RunDetail::Outputs {
        let expected = stored.expected_output.as_ref().map(|json| shortened(json.as_str()));
        result.expected = result.expected.take().or(expected);
    }
    result.version = result.version.max(trial.version);
    let (output, status) = match wanted {
        RunDetail::Outputs => texts(stored),
        RunDetail::Scores | RunDetail::Outcomes => (String::new(), None),
    };
    let fault = || status.unwrap_or_else(|| "the target failed; its trace says why".to_owned());
    result.add(TrialOutcome {
        trace: stored.trace.clone(),
        output,
        digest: trial.output.clone(),
        fault: trial.is_fault.then(fault),
        latency_nanos: trial.latency_nanos,
        cost: trial.cost,
        scores: TrialScores::of(&trial.scores),
    });
}

/// Scores of the newest trials of a run, for a list of runs.
async fn listed(
    web: &Web,
    ctx: &RequestContext,
    run: &str,
) -> StoreResult<BTreeMap<String, RunResult>> {
    let mut results: BTreeMap<String, RunResult> = BTreeMap::new();
    let (mut cursor, mut read) = (None, 0);
    loop {
        let of = ExperimentQuery {
            project: ctx.project_id(),
            range: TimeRange::default(),
            ids: vec![run.to_owned()],
            names: Vec::new(),
            datasets: Vec::new(),
            paging: Paging::After { cursor, limit: SLICE },
        };
        let query = ExperimentItemQuery { of, items: Vec::new(), detail: Detail::Row };
        let page = web.store.telemetry.experiment_items(query).await?;
        let scores = scores_by_trace((&web.store, &ctx.project_id()), &page.rows).await?;
        read += page.rows.len();
        for item in page.rows {
            let given = scores.get(&item.trace).map(TrialScores::of).unwrap_or_default();
            let span = item.ran.as_ref().map(|ran| (ran.start, ran.end));
            let result = results.entry(item.item.clone()).or_default();
            result.version = result.version.max(item.version);
            result.add(TrialOutcome {
                trace: item.trace,
                output: String::new(),
                digest: None,
                fault: None,
                latency_nanos: span.map(|(start, end)| end.since(start)),
                cost: None,
                scores: given,
            });
        }
        cursor = page.cursor;
        if cursor.is_none() || read >= RunDetail::Scores.trials() {
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

/// The beginning of a trial's output, and what its status says.
fn texts(item: &StoredExperimentItem) -> (String, Option<String>) {
    let (content, status) = match &item.outcome {
        None => (None, None),
        Some(Outcome::Run(run)) => (run.content.as_ref(), None),
        Some(Outcome::Step(step)) => (step.content.as_ref(), step.status_message.clone()),
    };
    let output = content.and_then(|content| content.output.as_ref());
    (output.map(|output| said(output.as_str())).unwrap_or_default(), status)
}

impl TrialScores {
    /// The newest scores of a trial, and who judged.
    fn of(scores: &gate::TrialScores) -> Self {
        let mut found = Self::default();
        for score in &scores.0 {
            let Some(number) = score.value.number() else { continue };
            let (name, decider) = (score.name.clone(), score_summary::decider(score));
            match score.source {
                ScoreSource::Annotation => {
                    found.deciders.entry(name.clone()).or_insert(decider);
                    if !found.people.iter().any(|(known, _)| *known == name) {
                        found.people.push((name, number));
                    }
                }
                ScoreSource::Api | ScoreSource::Eval => {
                    // A person's correction of the same name does not hide who the judge is.
                    if !found.judged.contains_key(&name) {
                        found.deciders.insert(name.clone(), decider);
                    }
                    found.judged.entry(name).or_insert(number);
                }
            }
        }
        found
    }
}
