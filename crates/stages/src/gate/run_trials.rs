use std::collections::BTreeMap;

use ratchet_core::catalog::review::CORRECTNESS;
use ratchet_core::gate::outcomes::Trial;
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::record::trace::Content;
use ratchet_core::record::usage::Cost;
use ratchet_core::time::Timestamp;
use ratchet_store::experiment::{
    ExperimentItemQuery, ExperimentQuery, Outcome, StoredExperimentItem,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TimeRange,
};
use ratchet_store::{Store, StoreResult};
use sha2::{Digest, Sha256};

use super::GateContext;
use super::counted_traces::CountedTraces;
use super::items::DatasetItems;

/// Trials per query.
const PAGE: u64 = 200;
/// Scores per query.
const SCORES: u64 = 2_000;
/// Scores of a page of trials that are read.
const MAX_SCORES: usize = 100_000;
/// The most trials of a run that gates and comparisons read.
pub const MAX_TRIALS: usize = 100_000;

/// Reads the trials of a recorded run one by one, the newest first. Gates, comparisons and pages read
/// them here, so that the same trials and the same corrections count everywhere.
#[derive(Debug)]
pub struct RunTrials<'a> {
    context: GateContext<'a>,
    run: &'a str,
    only: &'a [String],
    counted: CountedTraces,
    page: std::vec::IntoIter<StoredExperimentItem>,
    scores: BTreeMap<TraceId, TrialScores>,
    cursor: Option<String>,
    is_last_page: bool,
}

/// One trial of a recorded run.
#[derive(Clone, Debug)]
pub struct RunTrial {
    /// With its content.
    pub stored: StoredExperimentItem,
    /// Start of the item's version, whatever time in it the client named.
    pub version: Option<Timestamp>,
    pub scores: TrialScores,
    /// Something in it failed, and it has no answer.
    pub is_fault: bool,
    /// Digest of the whole output; `None` without one.
    pub output: Option<String>,
    pub cost: Option<Money>,
    pub latency_nanos: Option<i64>,
}

/// The scores on a trace and its observations, newest first, without long texts.
#[derive(Clone, Debug, Default)]
pub struct TrialScores(pub Vec<Score>);

impl TrialScores {
    /// Returns the newest score of a name that an evaluator or a client gave.
    pub fn judged(&self, name: &str) -> Option<(f64, &Score)> {
        let found = self.0.iter().filter(|score| score.source != ScoreSource::Annotation);
        found.filter(|score| score.name == name).find_map(number)
    }

    /// Returns what a person says of the answer, which outweighs the score of an evaluator.
    pub fn correction(&self, name: &str) -> Option<f64> {
        let people = self.0.iter().filter(|score| score.source == ScoreSource::Annotation);
        let mut people = people.filter_map(number).map(|(value, score)| (&*score.name, value));
        newest_correction(&mut people, name)
    }
}

fn number(score: &Score) -> Option<(f64, &Score)> {
    Some((score.value.number()?, score))
}

/// Returns the newest correction among the scores that people gave, newest first: of `correctness`, or
/// of the score itself.
pub fn newest_correction<'a>(
    people: &mut impl Iterator<Item = (&'a str, f64)>,
    score: &str,
) -> Option<f64> {
    people.find(|(name, _)| *name == CORRECTNESS || *name == score).map(|(_, value)| value)
}

impl RunTrial {
    /// Returns the trial as gates count it, by the score of an evaluator; `None` without a score.
    pub fn outcome(&self, judged: Option<f64>, corrected: Option<f64>) -> Option<Trial> {
        let trial = Trial::counted(judged, corrected, self.is_fault)?;
        let trace = Some(self.stored.trace.to_string());
        Some(Trial { output: self.output.clone(), trace, ..trial })
    }

    fn of(stored: StoredExperimentItem, scores: TrialScores) -> Self {
        let (content, cost, is_error, span) = match stored.outcome.as_ref() {
            None => (None, None, false, None),
            Some(Outcome::Run(trace)) => {
                let summary = &trace.summary;
                let span = summary.start.zip(summary.end);
                (trace.content.as_ref(), summary.cost, summary.levels.error > 0, span)
            }
            Some(Outcome::Step(step)) => {
                let cost = step.cost.as_ref().map(Cost::total);
                let span = step.end.map(|end| (step.start, end));
                (step.content.as_ref(), cost, step.level == Level::Error, span)
            }
        };
        let output = content.and_then(|content: &Content| content.output.as_ref());
        let is_fault = is_error && output.is_none();
        let output = output.map(|output| digest(output.as_str()));
        let span = stored.ran.as_ref().map(|ran| (ran.start, ran.end)).or(span);
        let latency_nanos = span.map(|(start, end)| end.since(start));
        let version = stored.version;
        Self { version, scores, is_fault, output, cost, latency_nanos, stored }
    }
}

fn digest(output: &str) -> String {
    let digest = Sha256::digest(output);
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl<'a> RunTrials<'a> {
    /// Starts to read a run by its id, or only some of its items.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn open(
        context: GateContext<'a>,
        run: &'a str,
        only: &'a [String],
    ) -> StoreResult<Self> {
        let counted = CountedTraces::of(context, run).await?;
        let page = Vec::new().into_iter();
        let (scores, cursor) = (BTreeMap::new(), None);
        Ok(Self { context, run, only, counted, page, scores, cursor, is_last_page: false })
    }

    /// Returns the next trial; `None` after the last.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn next(&mut self, items: &mut DatasetItems<'_>) -> StoreResult<Option<RunTrial>> {
        let telemetry = &self.context.store.telemetry;
        loop {
            let Some(stored) = self.page.next() else {
                if self.is_last_page {
                    return Ok(None);
                }
                self.read_page().await?;
                continue;
            };
            if !self.counted.includes(&stored.trace) {
                continue;
            }
            let project = self.context.project.clone();
            let whole = telemetry.whole_experiment_item(project, stored).await?;
            let Some(stored) = whole else { continue };
            let at = stored.version.unwrap_or(stored.created_at);
            let scores = self.scores.get(&stored.trace).cloned().unwrap_or_default();
            let trial = RunTrial::of(stored, scores);
            let version = items.version(&trial.stored.item, at).await?.or(trial.version);
            return Ok(Some(RunTrial { version, ..trial }));
        }
    }

    async fn read_page(&mut self) -> StoreResult<()> {
        let (store, project) = (self.context.store, self.context.project);
        let of = ExperimentQuery {
            project: project.clone(),
            range: TimeRange::default(),
            ids: vec![self.run.to_owned()],
            names: Vec::new(),
            datasets: Vec::new(),
            paging: Paging::After { cursor: self.cursor.take(), limit: PAGE },
        };
        let items = self.only.to_vec();
        let query = ExperimentItemQuery { of, items, detail: Detail::BoundedContent };
        let page = store.telemetry.experiment_items(query).await?;
        self.scores = scores_by_trace((store, project), &page.rows).await?;
        self.is_last_page = page.cursor.is_none();
        self.cursor = page.cursor;
        self.page = page.rows.into_iter();
        Ok(())
    }

    /// What judges cost in US dollars; `None` if no cost is known.
    pub(super) fn judge_cost(&self) -> Option<f64> {
        self.counted.judge_cost
    }

    /// Whether an evaluator failed to give a score.
    pub(super) fn lacks_verdict(&self, trace: &TraceId, score: &str) -> bool {
        self.counted.lacks_verdict(trace, score)
    }
}

/// Returns the scores of trials by their traces.
///
/// # Errors
/// Fails only when the database does.
pub async fn scores_by_trace(
    at: (&Store, &ProjectId),
    items: &[StoredExperimentItem],
) -> StoreResult<BTreeMap<TraceId, TrialScores>> {
    let traces = items.iter().map(|item| item.trace.to_string()).collect();
    let mut found: BTreeMap<TraceId, TrialScores> = BTreeMap::new();
    for score in scores_of_traces(at, traces).await? {
        if let ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) = &score.target {
            found.entry(trace.clone()).or_default().0.push(score);
        }
    }
    Ok(found)
}

/// Returns the scores on traces and on their observations, newest first, without long texts.
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
        let page = store.telemetry.score_values(query).await?;
        all.extend(page.rows);
        cursor = page.cursor;
        if cursor.is_none() || all.len() > MAX_SCORES {
            return Ok(all);
        }
    }
}
