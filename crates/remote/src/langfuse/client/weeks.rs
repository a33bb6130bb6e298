use ratchet_core::quality::report::WeekReport;
use ratchet_core::quality::suggestion::Progress;

use super::ask::Ask;
use super::{ClientError, LangfuseClient};
use crate::weekly_report::{
    KeptWeekView, TrackedListView, TrackedRequest, TrackedView, WeekListView, WeekReportView,
};

/// What other servers than Ratchet's say to our own addresses.
const NOT_THERE: [u16; 2] = [404, 405];

impl LangfuseClient {
    /// The weeks that a Ratchet server has reports of, the newest first; `None` from a server that
    /// is not Ratchet's and knows of no reports.
    ///
    /// # Errors
    /// Fails if the server cannot be asked or refuses.
    pub async fn report_weeks(&self) -> Result<Option<Vec<String>>, ClientError> {
        let asked: Result<WeekListView, _> = self.get(&Ask::get(&["reports"]).own()).await;
        match asked {
            Ok(list) => Ok(Some(list.weeks)),
            // Some servers show a page of their own to whoever asks for what they do not have.
            Err(ClientError::Unreadable { .. }) => Ok(None),
            Err(error) if is_not_there(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The report of a week on a Ratchet server, if there is one.
    ///
    /// # Errors
    /// Fails if the server cannot be asked or refuses.
    pub async fn week_report(&self, week: &str) -> Result<Option<WeekReportView>, ClientError> {
        match self.get(&Ask::get(&["reports", week]).own()).await {
            Ok(report) => Ok(Some(report)),
            Err(error) if is_not_there(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Has a Ratchet server keep the report of a week, and track its suggestions.
    ///
    /// # Errors
    /// Fails if the server cannot be asked or refuses.
    pub async fn keep_week(&self, report: &WeekReport) -> Result<KeptWeekView, ClientError> {
        self.get(&Ask::put(&["reports", &report.week], report).own()).await
    }

    /// The suggestions of a project on a Ratchet server.
    ///
    /// # Errors
    /// Fails if the server cannot be asked or refuses.
    pub async fn tracked_suggestions(&self) -> Result<Vec<TrackedView>, ClientError> {
        let list: TrackedListView = self.get(&Ask::get(&["suggestions"]).own()).await?;
        Ok(list.suggestions)
    }

    /// Has a Ratchet server note what is decided about a suggestion.
    ///
    /// # Errors
    /// Fails if the server cannot be asked or refuses, as it does where there is no such
    /// suggestion, or where it cannot go there from where it is.
    pub async fn decide_suggestion(
        &self,
        id: &str,
        progress: Progress,
    ) -> Result<TrackedView, ClientError> {
        self.get(&Ask::put(&["suggestions", id], &TrackedRequest { progress }).own()).await
    }
}

fn is_not_there(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { status, .. } if NOT_THERE.contains(status))
}
