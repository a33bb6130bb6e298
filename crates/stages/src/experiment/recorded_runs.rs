use std::collections::BTreeMap;

use ratchet_core::experiment::plan::ExperimentProgress;
use ratchet_core::experiment::runner::{TrialScore, TrialSummary, TrialsPage};
use ratchet_core::experiment::score_comparison::ScoreComparison;
use ratchet_core::record::score::ScoreTarget;
use ratchet_core::record::trace::Content;
use ratchet_core::record::usage::Cost;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::Dataset;
use ratchet_store::experiment::{
    Experiment, ExperimentItemQuery, ExperimentQuery, Outcome, RunQuery, StoredExperimentItem,
};
use ratchet_store::query::{Detail, PageNumber, Paging, TimeRange};

use super::service::{ExperimentError, ExperimentService, ServiceResult};
use super::views::recorded_view;
use crate::gate::{GateContext, compare_runs, scores_of_traces};

/// Datasets read at a time.
const SLICE: u64 = 100;

/// Scores of a trace by name, the newest of each.
type NamedScores = BTreeMap<String, TrialScore>;

/// Runs that other clients recorded, such as the SDKs of Langfuse.
impl ExperimentService {
    /// Returns a run by id or name, with the name of its dataset.
    ///
    /// # Errors
    /// Fails without such a run.
    pub(super) async fn recorded(&self, run: &str) -> ServiceResult<(Experiment, String)> {
        let by_id = self.store.telemetry.experiments(self.only(run)).await?.rows;
        let known = by_id.into_iter().next().map(|found| found.experiment);
        for page in 1.. {
            let page = PageNumber { page, limit: SLICE };
            let datasets = self.catalog.datasets(self.project.clone(), page).await?.rows;
            for dataset in &datasets {
                let found = match &known {
                    Some(known) if known.dataset.as_ref() == Some(&dataset.id) => known.clone(),
                    Some(_) => continue,
                    None => match self.recorded_as(dataset, run).await? {
                        Some(found) => found,
                        None => continue,
                    },
                };
                return Ok((found, dataset.name.clone()));
            }
            if (datasets.len() as u64) < SLICE {
                break;
            }
        }
        let no_run = || ExperimentError::NotFound(format!("experiment run {run}"));
        known.map(|known| (known, String::new())).ok_or_else(no_run)
    }

    async fn recorded_as(
        &self,
        dataset: &Dataset,
        name: &str,
    ) -> ServiceResult<Option<Experiment>> {
        let query = RunQuery {
            project: self.project.clone(),
            dataset: dataset.id.clone(),
            name: Some(name.to_owned()),
            paging: Paging::After { cursor: None, limit: 1 },
        };
        Ok(self.store.telemetry.runs(query).await?.rows.into_iter().next())
    }

    fn only(&self, id: &str) -> ExperimentQuery {
        ExperimentQuery {
            project: self.project.clone(),
            range: TimeRange::default(),
            ids: vec![id.to_owned()],
            names: Vec::new(),
            datasets: Vec::new(),
            paging: Paging::After { cursor: None, limit: 1 },
        }
    }

    /// Returns such a run with the number of its trials.
    pub(super) async fn show_recorded(&self, run: &str) -> ServiceResult<ExperimentProgress> {
        let (run, dataset) = self.recorded(run).await?;
        let found = self.store.telemetry.experiments(self.only(&run.id)).await?.rows;
        let trials = found.first().map_or(0, |found| found.items);
        Ok(ExperimentProgress { trials, done: trials, ..recorded_view(&run, &dataset) })
    }

    /// Compares two runs by each of their scores, as gates read them.
    ///
    /// # Errors
    /// Fails without such runs.
    pub async fn compare(
        &self,
        before: &str,
        after: &str,
        now: Timestamp,
    ) -> ServiceResult<ScoreComparison> {
        let (before, after) = (self.run_id(before).await?, self.run_id(after).await?);
        let context = GateContext {
            store: &self.store,
            catalog: &self.catalog,
            project: &self.project,
            server: "",
            now,
        };
        Ok(compare_runs(context, [&before, &after]).await?)
    }

    /// The id of a run, of ours or of another client.
    pub(super) async fn run_id(&self, run: &str) -> ServiceResult<String> {
        match self.find(run).await {
            Err(ExperimentError::NotFound(_)) => Ok(self.recorded(run).await?.0.id),
            found => Ok(found?.id),
        }
    }

    /// Returns trials of such a run, with the scores that their traces have.
    pub(super) async fn recorded_trials(
        &self,
        run: &str,
        (cursor, limit): (Option<String>, u64),
    ) -> ServiceResult<TrialsPage> {
        let (run, _) = self.recorded(run).await?;
        let of = ExperimentQuery { paging: Paging::After { cursor, limit }, ..self.only(&run.id) };
        let query = ExperimentItemQuery { of, items: Vec::new(), detail: Detail::BoundedContent };
        let page = self.store.telemetry.experiment_items(query).await?;
        let traces = page.rows.iter().map(|item| item.trace.to_string()).collect();
        let mut scores: BTreeMap<String, NamedScores> = BTreeMap::new();
        for score in scores_of_traces((&self.store, &self.project), traces).await? {
            let (ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _)) = &score.target
            else {
                continue;
            };
            let Some(value) = score.value.number() else { continue };
            let of_trace = scores.entry(trace.to_string()).or_default();
            let named = TrialScore { name: score.name.clone(), value, ..TrialScore::default() };
            of_trace.entry(score.name).or_insert(named);
        }
        let mut trials = Vec::with_capacity(page.rows.len());
        for item in page.rows {
            let item = self.store.telemetry.whole_experiment_item(self.project.clone(), item);
            let Some(item) = item.await? else { continue };
            let scores = scores.remove(&item.trace.to_string()).unwrap_or_default();
            trials.push(summary(&item, scores));
        }
        Ok(TrialsPage { trials, cursor: page.cursor })
    }
}

fn summary(item: &StoredExperimentItem, scores: NamedScores) -> TrialSummary {
    let (content, cost, has_error, span) = match item.outcome.as_ref() {
        Some(Outcome::Run(trace)) => {
            let summary = &trace.summary;
            let span = summary.start.zip(summary.end);
            (trace.content.as_ref(), summary.cost, summary.levels.error > 0, span)
        }
        Some(Outcome::Step(step)) => {
            let cost = step.cost.as_ref().map(Cost::total);
            let has_error = step.level == ratchet_core::record::observation::Level::Error;
            (step.content.as_ref(), cost, has_error, None)
        }
        None => (None, None, false, None),
    };
    let has_no_answer = content.is_some_and(|content: &Content| content.output.is_none());
    let is_fault = has_error && has_no_answer;
    let span = item.ran.as_ref().map(|ran| (ran.start, ran.end)).or(span);
    let millis = |(start, end): (Timestamp, Timestamp)| u64::try_from(end.since(start) / 1_000_000);
    TrialSummary {
        id: item.id.clone(),
        item: item.item.clone(),
        version: item.version.unwrap_or(item.created_at).to_string(),
        repeat: 1,
        state: if is_fault { "fault" } else { "answered" }.to_owned(),
        calls: 1,
        cached: false,
        fault: is_fault.then(|| "an error and no answer".to_owned()),
        trace: Some(item.trace.to_string()),
        latency_ms: span.and_then(|span| millis(span).ok()),
        cost: cost.map(ratchet_core::money::Money::dollars),
        scores: scores.into_values().collect(),
        not_judged: Vec::new(),
        runner: None,
    }
}
