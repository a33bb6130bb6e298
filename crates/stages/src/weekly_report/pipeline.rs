//! The weekly pipeline: score the sessions of a week, report on them, notify. `ratchet week` and
//! schedules both run it.

use std::io;
use std::path::PathBuf;

use ratchet_agent::error::ModelError;
use ratchet_core::calendar::Week;
use ratchet_core::counted::{counted, verb_of};
use ratchet_core::id::SessionId;
use ratchet_core::message::Message;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::quality::label::DATASET;
use ratchet_core::quality::report::WeekReport;
use ratchet_core::quality::suggestion::Templates;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_remote::langfuse::client::TimeWindow;
use ratchet_remote::webhook::{Webhook, WebhookError};
use ratchet_store::catalog::ReportEffect;
use ratchet_store::project::ProjectId;
use uuid::Uuid;

use super::report_files::{self, REPORTS_FOLDER};
use super::session_scoring::{AT_ONCE, SessionScoring, WeekScored};
use super::{
    ReportStore, SuggestionModel, WeekDone, WeekError, WeekRequest, learnings_file, report,
};
use crate::review::sampling::{self, SamplePlan};
use crate::review::{ReviewError, labels, panel};
use crate::score::judge::Judge;
use crate::score::select_sessions::SessionFilter;
use crate::score::{self, JudgingCost, Rescore, ScoreError, ScoringContext, WritePolicy};
use crate::sink::Sink;

/// The pipeline of one week.
#[derive(Debug)]
pub struct WeeklyPipeline {
    pub week: Week,
    /// Name of the project.
    pub project: Option<String>,
    pub scoring: SessionScoring,
    /// Suggestions where no model makes them.
    pub templates: Templates,
    /// The instructions of the model that makes suggestions.
    pub instructions: String,
    /// The file that suggestions are appended to.
    pub learnings: Option<PathBuf>,
    /// The data folder that gets the report as a file, and the project that it is of. The report of
    /// a part of a project has files only.
    pub files: Option<(PathBuf, ProjectId)>,
    /// Notified of the report.
    pub hooks: Vec<Webhook>,
    pub outbound: OutboundPolicy,
    /// URL of the report's page.
    pub link: Option<String>,
    /// URL of the page where sessions are labelled: the week's sample is drawn for it, and people
    /// are notified.
    pub labelling: Option<String>,
}

/// The result of the pipeline.
#[derive(Debug)]
pub struct WeekDelivery {
    pub done: WeekDone,
    pub scoring: WeekScored,
    /// What came of judging the panel again.
    pub panel: score::Report,
    /// Sessions that wait for labels.
    pub waiting: usize,
    /// Notification of the report.
    pub message: Message,
}

/// Error of the pipeline.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    #[error(transparent)]
    Score(#[from] ScoreError),
    #[error(transparent)]
    Review(#[from] ReviewError),
    #[error(transparent)]
    Report(#[from] WeekError),
    #[error("cannot append to {}", file.display())]
    Learnings {
        file: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot write the report to {}", data.join(REPORTS_FOLDER).display())]
    Files {
        data: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// A report of the sessions scored so far would pass for one of the week.
    #[error(
        "stopped before all sessions of the week were scored; run the same command to continue"
    )]
    Stopped,
}

impl PipelineError {
    /// The failure of a model, if that is the cause.
    pub const fn model_error(&self) -> Option<&ModelError> {
        match self {
            Self::Score(ScoreError::Judge(error))
            | Self::Review(
                ReviewError::Model(error) | ReviewError::Judging(ScoreError::Judge(error)),
            )
            | Self::Report(WeekError::Labels(
                ReviewError::Model(error) | ReviewError::Judging(ScoreError::Judge(error)),
            )) => Some(error),
            _ => None,
        }
    }
}

impl WeekDelivery {
    /// The cost of all model calls.
    pub fn cost(&self) -> JudgingCost {
        self.scoring.cost + self.panel.cost() + self.done.advice_cost
    }

    /// Whether calls were not made because they could have exceeded the budget: of sessions, of the
    /// panel or for suggestions.
    pub fn is_cut(&self) -> bool {
        self.scoring.is_cut || self.panel.is_over_budget || self.done.is_advice_cut
    }

    /// A summary in one line.
    pub fn line(&self) -> String {
        let effect = match self.done.saved.effect {
            ReportEffect::Made => "new report",
            ReportEffect::Changed => "report updated",
            ReportEffect::Same => "report unchanged",
        };
        let scored =
            WeekScored { cost: self.cost(), is_cut: self.is_cut(), ..self.scoring.clone() };
        let scored = scored.line();
        let (week, headline) = (&self.done.report.week, self.done.report.headline());
        let lead = self.done.report.lead().map(|lead| format!("{lead} ")).unwrap_or_default();
        let note = self.done.report.advice.note.as_deref();
        let note = note.map(|note| format!(" {note}.")).unwrap_or_default();
        let waiting = match self.waiting {
            0 => String::new(),
            waiting => format!("; {} for labels", counted_waiting(waiting)),
        };
        format!("week {week}: {scored}, {effect}; {lead}{headline}{note}{waiting}")
    }
}

/// Where the sample is: on another server it is a dataset, which pages of this one do not show.
async fn labels_page(sink: &Sink, here: &str) -> String {
    let Sink::Remote(client) = sink else { return here.to_owned() };
    let base = client.base().trim_end_matches('/');
    let page = match client.project().await {
        Ok(project) => format!("{base}/project/{}/datasets", project.id),
        Err(_) => base.to_owned(),
    };
    format!("{page} (dataset {DATASET}; `ratchet label --server {base}`)")
}

fn counted_waiting(sessions: usize) -> String {
    format!("{} {}", counted(sessions, "session"), verb_of(sessions, ["waits", "wait"]))
}

impl WeeklyPipeline {
    /// Scores, reports and notifies.
    ///
    /// # Errors
    /// Fails if a step does; scores until then remain.
    pub async fn run(
        &self,
        context: &ScoringContext<'_>,
        archive: ReportStore<'_>,
    ) -> Result<WeekDelivery, PipelineError> {
        let between = TimeWindow { from: Some(self.week.start()), to: Some(self.week.end()) };
        // Boxed: scoring and model calls are large futures.
        let scoring = Box::pin(self.scoring.run(context, between)).await?;
        let panel = match &self.scoring.judge {
            Some(judge) => Box::pin(self.rejudge_panel(context, judge.clone())).await?,
            None => score::Report::empty(),
        };
        let request = WeekRequest {
            week: self.week.clone(),
            rubric: self.scoring.rubric.clone(),
            scope: self.scoring.scope.clone(),
            templates: self.templates.clone(),
            adviser: self.adviser(),
            unscored: scoring.unscored.clone(),
            project: self.project.clone(),
        };
        let place = (context.source, context.sink);
        let done = Box::pin(report(place, archive, &request, (context.clock)())).await?;
        let is_whole = self.scoring.scope.is_all();
        if let Some((data, project)) = &self.files {
            let failed = |cause| PipelineError::Files { data: data.clone(), cause };
            report_files::write(data, project, &done.report).map_err(failed)?;
        }
        if let Some(file) = self.learnings.as_ref().filter(|_| is_whole) {
            let failed = |cause| PipelineError::Learnings { file: file.clone(), cause };
            learnings_file::append(file, &done).map_err(failed)?;
        }
        let (message, waiting) = self.message(context, &done.report).await?;
        for hook in &self.hooks {
            hook.send(&message, &self.outbound, &SystemBackoffClock).await?;
        }
        Ok(WeekDelivery { done, scoring, panel, waiting, message })
    }

    /// The message about the report, which says how many sessions wait for labels.
    async fn message(
        &self,
        context: &ScoringContext<'_>,
        report: &WeekReport,
    ) -> Result<(Message, usize), PipelineError> {
        let mut message = report.to_message(self.link.clone());
        let Some(page) = self.labelling.as_ref().filter(|_| self.scoring.scope.is_all()) else {
            return Ok((message, 0));
        };
        let waiting = self.draw_labels(context).await?;
        if waiting > 0 {
            let where_to = labels_page(context.sink, page).await;
            message.text += &format!(" {} for labels: {where_to}", counted_waiting(waiting));
        }
        Ok((message, waiting))
    }

    /// Draws the week's sample for people to label; returns how many sessions wait.
    async fn draw_labels(&self, context: &ScoringContext<'_>) -> Result<usize, ReviewError> {
        let rubric = &self.scoring.rubric;
        let plan = SamplePlan { dataset: DATASET, rubric, days: 7, size: None };
        let now = (context.clock)();
        let drawn = sampling::this_week(context.source, context.sink, plan, now).await?;
        let given = labels::read(context.sink, DATASET).await?;
        let is_open = |session: &SessionId| given.iter().all(|label| label.session != *session);
        Ok(drawn.iter().filter(|(session, _)| is_open(session)).count())
    }

    /// Has the judge score its panel again, so that the report can say whether it has drifted.
    async fn rejudge_panel(
        &self,
        context: &ScoringContext<'_>,
        judge: Judge,
    ) -> Result<score::Report, ReviewError> {
        let request = score::Request {
            run: Uuid::new_v4().to_string(),
            rubric: self.scoring.rubric.clone(),
            judge,
            wanted: SessionFilter::These(Vec::new()),
            again: Rescore::Always,
            keeping: WritePolicy::Anew,
            attach: self.scoring.attach,
            at_once: AT_ONCE,
            batch: None,
        };
        panel::rejudge_panel(context, DATASET, &request).await
    }

    /// A model that judges also makes suggestions.
    fn adviser(&self) -> Option<SuggestionModel> {
        match &self.scoring.judge {
            Some(Judge::Model(judge)) => {
                let (judge, words) = (judge.clone(), self.instructions.clone());
                Some(SuggestionModel { judge, words })
            }
            Some(Judge::Offline | Judge::OwnSignals(_) | Judge::HandedIn(_)) | None => None,
        }
    }
}
