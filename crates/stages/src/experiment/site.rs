use ratchet_core::experiment::run_summary::RunSummary;
use ratchet_core::time::Timestamp;
use ratchet_remote::ratchet::experiments::{
    ClaimRequest, ClaimView, ExperimentRequest, ExperimentRunView, ExperimentsView, ExtendRequest,
    FinishRequest, LeaseView, RenewRequest, RunSummaryView, TrialSummary, TrialsView,
};
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
        request: &ExperimentRequest,
        now: Timestamp,
    ) -> SiteResult<ExperimentRunView> {
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
        request: &ExtendRequest,
        now: Timestamp,
    ) -> SiteResult<ExperimentRunView> {
        match self {
            Self::Folder(folder) => Ok(folder.extend(run, request.clone(), now).await?),
            Self::Server(server, project) => {
                let path = ["v1", "projects", project, "experiments", run, "extend"];
                Ok(server.post(&path, request).await?)
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
        request: &ClaimRequest,
        now: Timestamp,
    ) -> SiteResult<ClaimView> {
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
        request: &RenewRequest,
        now: Timestamp,
    ) -> SiteResult<LeaseView> {
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
        request: &FinishRequest,
        now: Timestamp,
    ) -> SiteResult<LeaseView> {
        match self {
            Self::Folder(folder) => Ok(folder.finish(run, request.clone(), now).await?),
            Self::Server(server, project) => {
                Ok(server.finish_trials((project, run), request).await?)
            }
        }
    }

    /// Returns a run by id or name.
    ///
    /// # Errors
    /// Fails without such a run, and if the server cannot be reached.
    pub async fn show(&self, run: &str) -> SiteResult<ExperimentRunView> {
        match self {
            Self::Folder(folder) => Ok(folder.show(run).await?),
            Self::Server(server, project) => {
                Ok(server.get(&["v1", "projects", project, "experiments", run]).await?)
            }
        }
    }

    /// Returns runs, newest first.
    ///
    /// # Errors
    /// Fails without such a dataset, and if the server cannot be reached.
    pub async fn list(&self, dataset: Option<&str>) -> SiteResult<ExperimentsView> {
        match self {
            Self::Folder(folder) => Ok(folder.list(dataset).await?),
            Self::Server(server, project) => {
                let query: Vec<_> =
                    dataset.iter().map(|name| ("dataset", (*name).to_owned())).collect();
                Ok(server.get_with(&["v1", "projects", project, "experiments"], &query).await?)
            }
        }
    }

    /// Stops a run.
    ///
    /// # Errors
    /// Fails without such a run, and if the server cannot be reached.
    pub async fn cancel(&self, run: &str, now: Timestamp) -> SiteResult<ExperimentRunView> {
        match self {
            Self::Folder(folder) => Ok(folder.cancel(run, now).await?),
            Self::Server(server, project) => {
                let path = ["v1", "projects", project, "experiments", run, "cancel"];
                Ok(server.post(&path, &serde_json::json!({})).await?)
            }
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
            Self::Server(server, project) => {
                let path = ["v1", "projects", project, "experiments", run, "summary"];
                let view: RunSummaryView = server.get(&path).await?;
                Ok(view.summary)
            }
        }
    }

    async fn page(&self, run: &str, cursor: Option<String>) -> SiteResult<TrialsView> {
        match self {
            Self::Folder(folder) => Ok(folder.trials(run, (cursor, SLICE)).await?),
            Self::Server(server, project) => {
                let mut query = vec![("limit", SLICE.to_string())];
                query.extend(cursor.map(|cursor| ("cursor", cursor)));
                let path = ["v1", "projects", project, "experiments", run, "trials"];
                Ok(server.get_with(&path, &query).await?)
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
