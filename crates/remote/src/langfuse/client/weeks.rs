use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::quality::report::WeekReport;
use ratchet_core::quality::suggestion::Progress;

use super::request::ApiRequest;
use super::{ClientError, LangfuseClient};
use crate::weekly_report::{
    SavedReportView, TrackedListView, TrackedRequest, TrackedView, WeekListView, WeekReportView,
};

/// Statuses of other servers for Ratchet's endpoints.
const MISSING_STATUSES: [u16; 2] = [404, 405];

impl LangfuseClient {
    /// Returns the weeks with a report on a Ratchet server, newest first; `None` from any other
    /// server.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn report_weeks(&self) -> Result<Option<Vec<String>>, ClientError> {
        let query: Result<WeekListView, _> = self.get(&ApiRequest::get(&["reports"]).own()).await;
        match query {
            Ok(list) => Ok(Some(list.weeks)),
            // Some servers respond to unknown paths with an HTML page.
            Err(ClientError::Unreadable { .. }) => Ok(None),
            Err(error) if is_not_there(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the report of a week on a Ratchet server, if there is one.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn week_report(&self, week: &str) -> Result<Option<WeekReportView>, ClientError> {
        match self.get(&ApiRequest::get(&["reports", week]).own()).await {
            Ok(report) => Ok(Some(report)),
            Err(error) if is_not_there(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Stores the report of a week on a Ratchet server, which tracks its suggestions.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn keep_week(&self, report: &WeekReport) -> Result<SavedReportView, ClientError> {
        self.get(&ApiRequest::put(&["reports", &report.week], report).own()).await
    }

    /// Stores an agent's week on a Ratchet server, and adds its proposals to the backlog there. Returns
    /// how many the backlog has of them.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn keep_feedback(
        &self,
        project: &str,
        (agent, report): (&str, &FeedbackReport),
    ) -> Result<usize, ClientError> {
        #[derive(serde::Deserialize)]
        struct Saved {
            proposals: Vec<String>,
        }
        let path = ["projects", project, "feedback", agent, &report.week];
        let saved: Saved = self.get(&ApiRequest::put(&path, report).own()).await?;
        Ok(saved.proposals.len())
    }

    /// Returns the suggestions of a project on a Ratchet server.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected.
    pub async fn tracked_suggestions(&self) -> Result<Vec<TrackedView>, ClientError> {
        let list: TrackedListView = self.get(&ApiRequest::get(&["suggestions"]).own()).await?;
        Ok(list.suggestions)
    }

    /// Sets the status of a suggestion on a Ratchet server.
    ///
    /// # Errors
    /// Fails if the request fails or is rejected, as for an unknown suggestion or a status
    /// transition that is not allowed.
    pub async fn decide_suggestion(
        &self,
        id: &str,
        progress: Progress,
    ) -> Result<TrackedView, ClientError> {
        self.get(&ApiRequest::put(&["suggestions", id], &TrackedRequest { progress }).own()).await
    }
}

fn is_not_there(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { status, .. } if MISSING_STATUSES.contains(status))
}
