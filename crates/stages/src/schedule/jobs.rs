use std::error::Error;
use std::path::PathBuf;

use ratchet_agent::error::ModelError;
use ratchet_agent::judge::JudgeNameError;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::counted::{counted, verb_of};
use ratchet_core::message::Message;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_remote::langfuse::client::TimeWindow;
use ratchet_remote::webhook::{Webhook, WebhookError};
use ratchet_store::StoreError;
use ratchet_store::catalog::{DrawEffect, NewNotice, ReportEffect, ScheduledJob, ScheduledScoring};
use ratchet_store::project::ProjectId;
use serde_json::json;
use uuid::Uuid;

use super::{DueRun, EnvironmentError, Scheduler, judge};
use crate::improve::publication::{self, PublicationTarget};
use crate::review::alerts::{self, AlertTarget};
use crate::review::review_site::{ReviewSite, ReviewSiteError};
use crate::review::weekly_draw::{self, DrawReport, QueuePage};
use crate::review::weekly_metrics;
use crate::score::ScoringContext;
use crate::score::attach::Attach;
use crate::score::judge::Judge;
use crate::source::Source;
use crate::weekly_report::{
    AT_ONCE, PipelineError, ReportStore, SessionScoring, WeekDelivery, WeeklyPipeline,
};

/// Seven days, in nanoseconds.
const SEVEN_DAYS: i64 = 7 * 86_400 * 1_000_000_000;
/// Event name of the message about a scoring run.
const SCORED: &str = "sessions.scored";

#[derive(Debug, thiserror::Error)]
pub enum ScheduledJobError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Judge(#[from] JudgeNameError),
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    #[error(transparent)]
    Review(#[from] ReviewSiteError),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    #[error("another server has taken the run over")]
    LeaseLost,
}

impl ScheduledJobError {
    /// The error and its causes, for the log.
    pub fn detail(&self) -> String {
        chain(self)
    }

    /// The error for everyone who may see the project: without a provider's response.
    pub fn public(&self) -> String {
        match self {
            Self::Environment(error) => error.public.clone(),
            Self::Pipeline(error) => {
                error.model_error().map_or_else(|| chain(self), ModelError::without_reply)
            }
            Self::Store(_)
            | Self::Judge(_)
            | Self::Review(_)
            | Self::Webhook(_)
            | Self::LeaseLost => chain(self),
        }
    }
}

fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl Scheduler {
    /// Does the job of a run; returns a summary.
    pub(super) async fn work(
        &self,
        run: &DueRun,
        context: &ScoringContext<'_>,
    ) -> Result<String, ScheduledJobError> {
        match &run.schedule.job {
            ScheduledJob::WeeklyReport { scoring, learnings } => {
                let learnings = learnings.as_ref().map(PathBuf::from);
                Box::pin(self.report_week(run, (scoring, learnings), context)).await
            }
            ScheduledJob::Scoring(scoring) => {
                Box::pin(self.score_sessions(run, scoring, context)).await
            }
            ScheduledJob::ReviewDraw => self.draw_review(run, context).await,
            ScheduledJob::Feedback => Box::pin(self.publish(run, context)).await,
        }
    }

    async fn report_week(
        &self,
        run: &DueRun,
        (scoring, learnings): (&ScheduledScoring, Option<PathBuf>),
        context: &ScoringContext<'_>,
    ) -> Result<String, ScheduledJobError> {
        let week = run.week();
        let texts = self.environment.suggestion_texts()?;
        let (project, server) = (run.project(), &self.server);
        let settings = self.environment.report_settings(project)?;
        let projects = self.store.catalog.projects().await?;
        let name = projects.into_iter().find(|known| known.id == *project).map(|known| known.name);
        let pipeline = WeeklyPipeline {
            project: name,
            scoring: self.session_scoring(run, scoring).await?,
            week: week.clone(),
            templates: texts.templates,
            instructions: texts.instructions,
            learnings: learnings.or(settings.learnings),
            files: settings.data.map(|data| (data, project.clone())),
            hooks: self.hooks(run).await?,
            outbound: self.outbound.clone(),
            link: Some(format!("{server}/project/{project}/reports/{}", week.days().0))
                .filter(|_| scoring.scope.is_all()),
            labelling: Some(format!("{server}/project/{project}/labels")),
        };
        // The report is the project's, also where its sessions are on another server.
        let archive = ReportStore::Catalog { catalog: &self.store.catalog, project };
        let delivered = pipeline.run(context, archive).await?;
        if !scoring.scope.is_all() {
            return Ok(format!("{}: {}", scoring.scope.words(), delivered.line()));
        }
        if delivered.done.saved.effect == ReportEffect::Made {
            self.notify_report(run, &delivered, (context.clock)()).await?;
        }
        Ok(delivered.line())
    }

    async fn score_sessions(
        &self,
        run: &DueRun,
        scoring: &ScheduledScoring,
        context: &ScoringContext<'_>,
    ) -> Result<String, ScheduledJobError> {
        let scoring = self.session_scoring(run, scoring).await?;
        let from = run.due_at.plus_nanos(-SEVEN_DAYS);
        let between = TimeWindow { from: Some(from), to: Some(run.due_at) };
        let scored = Box::pin(scoring.run(context, between)).await?;
        let line = scored.line();
        let project = run.project();
        let message = Message {
            event: SCORED.to_owned(),
            title: format!("Scheduled scoring: {}", run.schedule.name),
            text: line.clone(),
            sections: Vec::new(),
            link: Some(format!("{}/project/{project}/sessions", self.server)),
            data: json!({
                "scored": scored.scored,
                "failed": scored.failed,
                "cost": scored.cost.total.dollars(),
                "approximate_cost": scored.cost.approximate.dollars(),
            }),
        };
        for hook in self.hooks(run).await? {
            hook.send(&message, &self.outbound, &SystemBackoffClock).await?;
        }
        Ok(line)
    }

    /// Draws the week's sample of every agent and announces what is new.
    async fn draw_review(
        &self,
        run: &DueRun,
        context: &ScoringContext<'_>,
    ) -> Result<String, ScheduledJobError> {
        let (project, week, now) = (run.project(), run.week(), (context.clock)());
        let site = ReviewSite::of_place((context.source, context.journal), project);
        let mut lines = Vec::new();
        for target in weekly_draw::targets(&site, &week).await? {
            let report = weekly_draw::draw(&site, &week, &target, now).await?;
            lines.push(match report.effect {
                DrawEffect::Made => {
                    format!(
                        "{} of {} drawn into {}",
                        report.drawn,
                        counted(report.traces, "trace"),
                        report.queue
                    )
                }
                DrawEffect::Known => format!("{} was drawn before", report.queue),
            });
            if report.effect == DrawEffect::Made && report.drawn > 0 {
                self.notify_draw(project, (&report, &week.to_string()), now).await?;
            }
        }
        let zone = &run.schedule.zone;
        let target = AlertTarget { project, server: &self.server, zone };
        alerts::check(&site, target, now).await?;
        if lines.is_empty() {
            return Ok(format!("no traces in the week of {week}"));
        }
        Ok(lines.join("; "))
    }

    /// Publishes the documents of weeks whose review is closed.
    async fn publish(
        &self,
        run: &DueRun,
        context: &ScoringContext<'_>,
    ) -> Result<String, ScheduledJobError> {
        let (project, now) = (run.project(), (context.clock)());
        let site = ReviewSite::of_place((context.source, context.journal), project);
        // Weeks are those of the reviews.
        let zone = weekly_metrics::zone(&site).await?;
        let target = PublicationTarget {
            project,
            server: &self.server,
            zone: &zone,
            is_remote: matches!(context.source, Source::Remote(_)),
        };
        let settings = self.environment.report_settings(project)?.feedback;
        let published = publication::publish(&site, target, &settings, now).await?;
        if published.is_empty() {
            return Ok("no new document: no further week has a finished review".to_owned());
        }
        let line = |one: &publication::Published| {
            let (agent, week) = (&one.agent, &one.week);
            format!(
                "{agent}: week {week}, {}, {}",
                counted(one.proposals, "proposal"),
                counted(one.tasks, "task")
            )
        };
        Ok(published.iter().map(line).collect::<Vec<_>>().join("; "))
    }

    async fn notify_draw(
        &self,
        project: &ProjectId,
        (report, week): (&DrawReport, &str),
        now: Timestamp,
    ) -> Result<(), ScheduledJobError> {
        // A notice leads to pages of this server only; the link of other messages leads anywhere.
        let (path, url) = match &report.page {
            QueuePage::Here(queue) => {
                let path = format!("/project/{project}/queues/{queue}");
                (path.clone(), format!("{}{path}", self.server))
            }
            QueuePage::There(page) => (format!("/project/{project}/metrics"), page.clone()),
        };
        let title = format!(
            "{} {} for review in {}",
            counted(report.drawn, "trace"),
            verb_of(report.drawn, ["waits", "wait"]),
            report.queue
        );
        let mut text =
            format!("Drawn from {} of the week of {week}.", counted(report.traces, "trace"));
        if let Some(person) = &report.on_call {
            text += &format!(" On call: {person}.");
        }
        let data = json!({
            "project": project.as_str(),
            "week": week,
            "queue": report.queue,
            "agent": report.agent,
            "drawn": report.drawn,
            "onCall": report.on_call,
            "title": title,
            "text": text,
            "path": path,
            "url": url,
        });
        let kind = NotificationKind::ReviewDrawn;
        let message = Message {
            event: kind.as_str().to_owned(),
            title,
            text,
            sections: Vec::new(),
            link: Some(url),
            data,
        };
        let new = NewNotice {
            // A draw is made once: the id need not tell draws apart again.
            id: format!("review-{}", Uuid::new_v4()),
            kind,
            session: None,
            is_minor: false,
            message: message.payload(now).to_string(),
        };
        self.store.catalog.post_notice(project.clone(), new, now).await?;
        self.store.catalog.wake_delivery();
        Ok(())
    }

    async fn session_scoring(
        &self,
        run: &DueRun,
        scoring: &ScheduledScoring,
    ) -> Result<SessionScoring, ScheduledJobError> {
        let rubric = self.environment.rubric(&scoring.rubric)?;
        let judge: Option<Judge> = match judge(&scoring.judge)? {
            Some(name) => {
                Some(self.environment.judge(run.project(), &name, scoring.max_cost).await?)
            }
            None => None,
        };
        let run = Uuid::new_v4().to_string();
        Ok(SessionScoring {
            run,
            rubric,
            scope: scoring.scope.clone(),
            judge,
            at_once: AT_ONCE,
            batch: None,
            attach: Attach::Session,
        })
    }

    /// The webhooks of a run's schedule.
    async fn hooks(&self, run: &DueRun) -> Result<Vec<Webhook>, ScheduledJobError> {
        let (project, name) = (run.project().clone(), run.schedule.name.clone());
        let secrets = self.store.secrets.clone();
        let known = self.store.catalog.schedule_webhooks(project, name, secrets).await?;
        let signed = match known.webhook {
            Some(url) => Some(Webhook::Signed(url, self.environment.webhook_secret()?)),
            None => None,
        };
        Ok(known.slack.map(Webhook::Slack).into_iter().chain(signed).collect())
    }

    /// Notifies the project's receivers of a new report.
    async fn notify_report(
        &self,
        run: &DueRun,
        delivered: &WeekDelivery,
        now: Timestamp,
    ) -> Result<(), ScheduledJobError> {
        let (project, report) = (run.project(), &delivered.done.report);
        let path = format!("/project/{project}/reports/{}", report.week);
        let url = format!("{}{path}", self.server);
        let message = delivered.message.clone();
        // The report itself is too large for a push service.
        let data = json!({
            "project": project.as_str(),
            "week": report.week,
            "title": message.title,
            "text": message.text,
            "path": path,
            "url": url,
        });
        let new = NewNotice {
            id: format!("week-{}", report.week),
            kind: NotificationKind::WeekReport,
            session: None,
            is_minor: false,
            message: Message { data, ..message }.payload(now).to_string(),
        };
        self.store.catalog.post_notice(project.clone(), new, now).await?;
        self.store.catalog.wake_delivery();
        Ok(())
    }
}
