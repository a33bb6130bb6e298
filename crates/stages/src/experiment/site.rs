use ratchet_core::experiment::plan::{AddedRepeats, ExperimentPlan, ExperimentProgress};
use ratchet_core::experiment::run_summary::RunSummary;
use ratchet_core::experiment::runner::{
    ClaimOrder, ClaimedTrials, LeaseOutcome, LeaseRenewals, RunAnswers, TrialResult, TrialScore,
    TrialSummary, TrialsPage,
};
use ratchet_core::experiment::score_comparison::ScoreComparison;
use ratchet_core::time::Timestamp;
use ratchet_remote::ratchet::{RatchetClient, RatchetError};

use super::service::{ExperimentError, ExperimentService};

/// Trials read at a time.
const SLICE: u64 = 500;

/// Where runs and trials are: a data folder, or a project of a server.
#[derive(Clone, Debug)]
pub enum ExperimentSite {
    Folder(Box<ExperimentService>),
    /// A server, and the project's id.
    Server(RatchetClient, String),
}

/// why a site did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    #[error(transparent)]
    Local(#[from] ExperimentError),
    #[error(transparent)]
    Remote(#[from] RatchetError),
}

type SiteResult<T> = Result<T, SiteError>;

impl ExperimentSite {
    /// Creates a run, or continues it.
    ///
    /// # Errors
    /// As [`ExperimentService::open`], and if the server cannot be reached.
    pub async fn open(
        &self,
        request: &ExperimentPlan,
        now: Timestamp,
    ) -> SiteResult<ExperimentProgress> {
        match self {
            Self::Folder(folder) => Ok(folder.open(request.clone(), now).await?),
            Self::Server(server, project) => Ok(server.open_experiment(project, request).await?),
        }
    }

    /// Adds repeats to a run.
    ///
    /// # Errors
    /// As [`ExperimentService::extend`], and if the server cannot be reached.
    pub async fn extend(
        &self,
        run: &str,
        request: &AddedRepeats,
        now: Timestamp,
    ) -> SiteResult<ExperimentProgress> {
        match self {
            Self::Folder(folder) => Ok(folder.extend(run, request.clone(), now).await?),
            Self::Server(server, project) => {
                Ok(server.extend_experiment((project, run), request).await?)
            }
        }
    }

    /// Claims trials.
    ///
    /// # Errors
    /// As [`ExperimentService::claim`], and if the server cannot be reached.
    pub async fn claim(
        &self,
        run: &str,
        request: &ClaimOrder,
        now: Timestamp,
    ) -> SiteResult<ClaimedTrials> {
        match self {
            Self::Folder(folder) => Ok(folder.claim(run, request.clone(), now).await?),
            Self::Server(server, project) => {
                Ok(server.claim_trials((project, run), request).await?)
            }
        }
    }

    /// Extends leases, and counts further calls.
    ///
    /// # Errors
    /// As [`ExperimentService::renew`], and if the server cannot be reached.
    pub async fn renew(
        &self,
        run: &str,
        request: &LeaseRenewals,
        now: Timestamp,
    ) -> SiteResult<LeaseOutcome> {
        match self {
            Self::Folder(folder) => Ok(folder.renew(run, request.clone(), now).await?),
            Self::Server(server, project) => {
                Ok(server.renew_trials((project, run), request).await?)
            }
        }
    }

    /// Reports results.
    ///
    /// # Errors
    /// As [`ExperimentService::finish`], and if the server cannot be reached.
    pub async fn finish(
        &self,
        run: &str,
        results: &[TrialResult],
        now: Timestamp,
    ) -> SiteResult<LeaseOutcome> {
        match self {
            Self::Folder(folder) => Ok(folder.finish(run, results.to_vec(), now).await?),
            Self::Server(server, project) => {
                Ok(server.finish_trials((project, run), results).await?)
            }
        }
    }

    /// Returns a run by id or name.
    ///
    /// # Errors
    /// Fails without such a run, and if the server cannot be reached.
    pub async fn show(&self, run: &str) -> SiteResult<ExperimentProgress> {
        match self {
            Self::Folder(folder) => Ok(folder.show(run).await?),
            Self::Server(server, project) => Ok(server.experiment(project, run).await?),
        }
    }

    /// Returns runs, newest first.
    ///
    /// # Errors
    /// Fails without such a dataset, and if the server cannot be reached.
    pub async fn list(&self, dataset: Option<&str>) -> SiteResult<Vec<ExperimentProgress>> {
        match self {
            Self::Folder(folder) => Ok(folder.list(dataset).await?),
            Self::Server(server, project) => Ok(server.experiments(project, dataset).await?),
        }
    }

    /// Stops a run.
    ///
    /// # Errors
    /// Fails without such a run, and if the server cannot be reached.
    pub async fn cancel(&self, run: &str, now: Timestamp) -> SiteResult<ExperimentProgress> {
        match self {
            Self::Folder(folder) => Ok(folder.cancel(run, now).await?),
            Self::Server(server, project) => Ok(server.cancel_experiment(project, run).await?),
        }
    }

    /// Returns all trials of a run, in their order.
    ///
    /// # Errors
    /// Fails without such a run, and if the server cannot be reached.
    pub async fn trials(&self, run: &str) -> SiteResult<Vec<TrialSummary>> {
        let mut trials = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.page(run, cursor).await?;
            trials.extend(page.trials);
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(trials);
            }
        }
    }

    /// Returns the first trials of a run without an answer or a verdict, at most `limit` of each.
    ///
    /// # Errors
    /// Fails without such a run, and if the server cannot be reached.
    pub async fn incomplete_trials(
        &self,
        run: &str,
        limit: usize,
    ) -> SiteResult<Vec<TrialSummary>> {
        let (mut found, mut cursor, mut left) = (Vec::new(), None, [limit, limit]);
        loop {
            let page = self.page(run, cursor).await?;
            for trial in page.trials {
                let kinds = [trial.fault.is_some(), !trial.not_judged.is_empty()];
                let is_wanted = kinds.iter().zip(&left).any(|(is_it, left)| *is_it && *left > 0);
                for (is_it, left) in kinds.iter().zip(&mut left) {
                    *left = left.saturating_sub(usize::from(*is_it));
                }
                found.extend(is_wanted.then_some(trial));
            }
            cursor = page.cursor;
            if cursor.is_none() || left == [0, 0] {
                return Ok(found);
            }
        }
    }

    /// Returns a run as a whole.
    ///
    /// # Errors
    /// Fails without such a run, and if the server cannot be reached.
    pub async fn summary(&self, run: &str) -> SiteResult<RunSummary> {
        match self {
            Self::Folder(folder) => Ok(folder.summary(run).await?),
            Self::Server(server, project) => Ok(server.experiment_summary(project, run).await?),
        }
    }

    /// Records scores of a run as a whole; the same names again replace them.
    ///
    /// # Errors
    /// As [`ExperimentService::score_run`], and if the server cannot be reached.
    pub async fn score_run(
        &self,
        run: &str,
        scores: &[TrialScore],
        now: Timestamp,
    ) -> SiteResult<()> {
        match self {
            Self::Folder(folder) => Ok(folder.score_run(run, scores.to_vec(), now).await?),
            Self::Server(server, project) => Ok(server.score_run((project, run), scores).await?),
        }
    }

    /// Returns answers of a run by its id, with what was asked and expected.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    pub async fn answers(&self, run: &str, cursor: Option<String>) -> SiteResult<RunAnswers> {
        match self {
            Self::Folder(folder) => Ok(folder.answers(run, cursor).await?),
            Self::Server(server, _) => Ok(server.run_answers(run, cursor).await?),
        }
    }

    /// Compares two runs by each of their scores.
    ///
    /// # Errors
    /// Fails without such runs, and if the server cannot be reached.
    pub async fn compare(
        &self,
        before: &str,
        after: &str,
        now: Timestamp,
    ) -> SiteResult<ScoreComparison> {
        match self {
            Self::Folder(folder) => Ok(folder.compare(before, after, now).await?),
            Self::Server(server, project) => {
                Ok(server.compare_experiments(project, [before, after]).await?)
            }
        }
    }

    async fn page(&self, run: &str, cursor: Option<String>) -> SiteResult<TrialsPage> {
        match self {
            Self::Folder(folder) => Ok(folder.trials(run, (cursor, SLICE)).await?),
            Self::Server(server, project) => {
                Ok(server.trials_page((project, run), (cursor, SLICE)).await?)
            }
        }
    }
}

impl SiteError {
    /// Whether the same request may succeed later: the server is restarting or overloaded.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Local(_) => false,
            Self::Remote(RatchetError::Unreached { .. } | RatchetError::Interrupted(_)) => true,
            Self::Remote(RatchetError::Refused { status, .. }) => {
                *status == 429 || (500..600).contains(status)
            }
            Self::Remote(_) => false,
        }
    }
}
