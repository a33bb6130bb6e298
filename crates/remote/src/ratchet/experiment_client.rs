use ratchet_core::experiment::plan::{AddedRepeats, ExperimentPlan, ExperimentProgress};
use ratchet_core::experiment::run_summary::RunSummary;
use ratchet_core::experiment::runner::{
    ClaimOrder, ClaimedTrials, LeaseOutcome, LeaseRenewals, RunAnswer, RunAnswers, TrialResult,
    TrialScore, TrialsPage,
};
use ratchet_core::experiment::score_comparison::ScoreComparison;

use super::convert::converted;
use super::experiments::{
    ClaimRequest, ClaimView, ExperimentRequest, ExperimentRunView, ExperimentsView, ExtendRequest,
    FinishRequest, LeaseView, RenewRequest, RunComparisonView, RunScoresRequest, RunSummaryView,
    TrialsView,
};
use super::{RatchetClient, RatchetResult};
use crate::langfuse::wire::experiment::{ExperimentItemView, ExperimentItems};
use crate::langfuse::wire::maybe::Maybe;

/// Experiments of a project.
impl RatchetClient {
    /// Creates a run or continues it.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn open_experiment(
        &self,
        project: &str,
        plan: &ExperimentPlan,
    ) -> RatchetResult<ExperimentProgress> {
        let request = ExperimentRequest::from(plan.clone());
        let path = ["v1", "projects", project, "experiments"];
        let view: ExperimentRunView = self.post(&path, &request).await?;
        Ok(view.into())
    }

    /// Adds repeats to a run.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn extend_experiment(
        &self,
        (project, run): (&str, &str),
        repeats: &AddedRepeats,
    ) -> RatchetResult<ExperimentProgress> {
        let request = ExtendRequest::from(repeats.clone());
        let path = ["v1", "projects", project, "experiments", run, "extend"];
        let view: ExperimentRunView = self.post(&path, &request).await?;
        Ok(view.into())
    }

    /// Requests trials.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn claim_trials(
        &self,
        (project, run): (&str, &str),
        order: &ClaimOrder,
    ) -> RatchetResult<ClaimedTrials> {
        let request = ClaimRequest::from(order.clone());
        let path = ["v1", "projects", project, "experiments", run, "claim"];
        let view: ClaimView = self.post(&path, &request).await?;
        Ok(view.into())
    }

    /// Extends leases.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn renew_trials(
        &self,
        (project, run): (&str, &str),
        renewals: &LeaseRenewals,
    ) -> RatchetResult<LeaseOutcome> {
        let request = RenewRequest::from(renewals.clone());
        let path = ["v1", "projects", project, "experiments", run, "renew"];
        let view: LeaseView = self.post(&path, &request).await?;
        Ok(view.into())
    }

    /// Reports results.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn finish_trials(
        &self,
        (project, run): (&str, &str),
        results: &[TrialResult],
    ) -> RatchetResult<LeaseOutcome> {
        let path = ["v1", "projects", project, "experiments", run, "finish"];
        let view: LeaseView = self.post(&path, &FinishRequest::from(results)).await?;
        Ok(view.into())
    }

    /// Returns a run by id or name.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn experiment(&self, project: &str, run: &str) -> RatchetResult<ExperimentProgress> {
        let path = ["v1", "projects", project, "experiments", run];
        let view: ExperimentRunView = self.get(&path).await?;
        Ok(view.into())
    }

    /// Returns runs, newest first.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn experiments(
        &self,
        project: &str,
        dataset: Option<&str>,
    ) -> RatchetResult<Vec<ExperimentProgress>> {
        let query: Vec<_> = dataset.iter().map(|name| ("dataset", (*name).to_owned())).collect();
        let path = ["v1", "projects", project, "experiments"];
        let view: ExperimentsView = self.get_with(&path, &query).await?;
        Ok(converted(view.experiments))
    }

    /// Stops a run.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn cancel_experiment(
        &self,
        project: &str,
        run: &str,
    ) -> RatchetResult<ExperimentProgress> {
        let path = ["v1", "projects", project, "experiments", run, "cancel"];
        let view: ExperimentRunView = self.post(&path, &serde_json::json!({})).await?;
        Ok(view.into())
    }

    /// Returns a run as a whole.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn experiment_summary(&self, project: &str, run: &str) -> RatchetResult<RunSummary> {
        let path = ["v1", "projects", project, "experiments", run, "summary"];
        let view: RunSummaryView = self.get(&path).await?;
        Ok(view.summary)
    }

    /// Records scores of a run as a whole.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn score_run(
        &self,
        (project, run): (&str, &str),
        scores: &[TrialScore],
    ) -> RatchetResult<()> {
        let path = ["v1", "projects", project, "experiments", run, "scores"];
        let request = RunScoresRequest { scores: converted(scores.to_vec()) };
        let _: ExperimentRunView = self.post(&path, &request).await?;
        Ok(())
    }

    /// Returns answers of a run by its id, with what was asked and expected.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn run_answers(
        &self,
        run: &str,
        cursor: Option<String>,
    ) -> RatchetResult<RunAnswers> {
        let mut query = vec![
            ("experimentId", run.to_owned()),
            ("fromStartTime", "1970-01-01T00:00:00Z".to_owned()),
            ("fields", "core,io".to_owned()),
            ("limit", "100".to_owned()),
        ];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let page: ExperimentItems = self.get_with(&["public", "experiment-items"], &query).await?;
        let answers = page.data.into_iter().map(answer).collect();
        Ok(RunAnswers { answers, cursor: page.meta.cursor })
    }

    /// Compares an earlier run with a later one.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn compare_experiments(
        &self,
        project: &str,
        [before, after]: [&str; 2],
    ) -> RatchetResult<ScoreComparison> {
        let path = ["v1", "projects", project, "experiments", after, "comparison"];
        let query = [("before", before.to_owned())];
        let view: RunComparisonView = self.get_with(&path, &query).await?;
        Ok(view.comparison)
    }

    /// Returns trials of a run in their order, from a cursor on.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn trials_page(
        &self,
        (project, run): (&str, &str),
        (cursor, limit): (Option<String>, u64),
    ) -> RatchetResult<TrialsPage> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let path = ["v1", "projects", project, "experiments", run, "trials"];
        let view: TrialsView = self.get_with(&path, &query).await?;
        Ok(view.into())
    }
}

fn answer(item: ExperimentItemView) -> RunAnswer {
    let texts = [item.input, item.output, item.expected_output].map(Maybe::value);
    let bytes = texts.iter().flatten().map(|raw| raw.get().len()).sum();
    let [input, output, expected_output] = texts
        .map(|raw| raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default());
    RunAnswer { trace: item.trace_id, input, output, expected_output, bytes }
}
