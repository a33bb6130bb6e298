use ratchet_core::payload::Json;
use ratchet_core::quality::report::WeekReport;
use ratchet_core::quality::suggestion::Progress;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::LangfuseClient;
use ratchet_remote::weekly_report::{SaveEffect, TrackedStepView, TrackedView};
use ratchet_store::catalog::{
    Catalog, NewReport, ReportEffect, SavedReport, StoredSuggestion, SuggestionStep,
};
use ratchet_store::project::ProjectId;

use super::WeekError;

/// Storage of reports and tracked suggestions.
#[derive(Clone, Copy, Debug)]
pub enum ReportStore<'a> {
    Catalog {
        catalog: &'a Catalog,
        project: &'a ProjectId,
    },
    /// On a Ratchet server, in the project of its key.
    Server(&'a LangfuseClient),
}

impl ReportStore<'_> {
    /// Returns the report of a week; `None` also for one in words we do not know.
    ///
    /// # Errors
    /// Fails when the store does, or the server is unreachable.
    pub async fn report(&self, week: &str) -> Result<Option<WeekReport>, WeekError> {
        Ok(match self {
            Self::Catalog { catalog, project } => {
                let kept = catalog.report((*project).clone(), week.to_owned()).await?;
                kept.and_then(|kept| serde_json::from_str(kept.document.as_str()).ok())
            }
            Self::Server(server) => {
                let kept = server.week_report(week).await?;
                kept.and_then(|kept| serde_json::from_value(kept.report).ok())
            }
        })
    }

    /// The suggestions of the project.
    ///
    /// # Errors
    /// Fails when the store does, or the server is unreachable.
    pub async fn suggestions(&self) -> Result<Vec<StoredSuggestion>, WeekError> {
        match self {
            Self::Catalog { catalog, project } => {
                Ok(catalog.suggestions((*project).clone()).await?)
            }
            Self::Server(server) => {
                Ok(server.tracked_suggestions().await?.into_iter().map(kept).collect())
            }
        }
    }

    /// Decides about a suggestion. What is so already stays.
    ///
    /// # Errors
    /// Fails if there is no such suggestion, or if it cannot go there from where it is.
    pub async fn decide(
        &self,
        id: &str,
        to: Progress,
        now: Timestamp,
    ) -> Result<StoredSuggestion, WeekError> {
        match self {
            Self::Catalog { catalog, project } => {
                let project = (*project).clone();
                Ok(catalog.decide_suggestion(project, id.to_owned(), to, now).await?)
            }
            Self::Server(server) => Ok(kept(server.decide_suggestion(id, to).await?)),
        }
    }

    /// Keeps a report. The same once more changes nothing.
    pub(super) async fn keep(
        &self,
        report: &WeekReport,
        now: Timestamp,
    ) -> Result<SavedReport, WeekError> {
        match self {
            Self::Catalog { catalog, project } => {
                let document = Json::from_value(&serde_json::to_value(report)?);
                let suggestions = report.suggestions.clone();
                let new = NewReport { week: report.week.clone(), document, suggestions };
                Ok(catalog.save_report((*project).clone(), new, now).await?)
            }
            Self::Server(server) => {
                let saved = server.keep_week(report).await?;
                let effect = match saved.effect {
                    SaveEffect::Made => ReportEffect::Made,
                    SaveEffect::Changed => ReportEffect::Changed,
                    SaveEffect::Same => ReportEffect::Same,
                };
                let suggestions = saved.suggestions.into_iter().map(kept).collect();
                Ok(SavedReport { effect, suggestions })
            }
        }
    }
}

fn kept(view: TrackedView) -> StoredSuggestion {
    let moment = |text: &str| Timestamp::parse(text).unwrap_or_default();
    let step = |step: TrackedStepView| SuggestionStep {
        at: moment(&step.at),
        progress: step.progress,
        actor: step.actor,
    };
    StoredSuggestion {
        created_at: moment(&view.created_at),
        id: view.id,
        suggestion: view.suggestion,
        first_week: view.first_week,
        last_week: view.last_week,
        progress: view.progress,
        steps: view.steps.into_iter().map(step).collect(),
    }
}
