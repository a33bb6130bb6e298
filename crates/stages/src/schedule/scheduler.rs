use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_remote::langfuse::client::{ClientLimits, LangfuseClient};
use ratchet_store::Store;
use ratchet_store::StoreResult;
use ratchet_store::catalog::LeaseStatus;
use ratchet_store::project::ProjectId;

use super::{DueRun, EnvironmentError, JobEnvironment, Runner, ScheduledJobError};
use crate::improve::publication::PublicationTarget;
use crate::improve::{continuous, trace_comments};
use crate::review::alerts::{self, AlertTarget};
use crate::review::review_site::ReviewSite;
use crate::review::weekly_metrics;
use crate::score::ScoringContext;
use crate::score::journal::Journal;
use crate::sink::{LocalSink, Sink};
use crate::source::Source;

/// How often due runs are looked for.
const POLL_EVERY: Duration = Duration::from_secs(30);
/// How often the lease of a run is renewed.
const RENEW_EVERY: Duration = Duration::from_secs(60);
/// How often changes of state in weekly reviews are looked for.
const ALERTS_EVERY: Duration = Duration::from_secs(60 * 60);

/// Runs scheduled jobs while a server is up: one task, one run at a time.
#[derive(Clone)]
pub struct Scheduler {
    pub store: Store,
    pub environment: Arc<dyn JobEnvironment>,
    pub runner: Runner,
    /// Where connections and webhooks may lead.
    pub outbound: OutboundPolicy,
    /// Public URL of this server, without a slash at the end.
    pub server: String,
    pub clock: fn() -> Timestamp,
}

/// Whether the server is stopping.
pub type SchedulerStop<'a> = &'a (dyn Fn() -> bool + Sync);

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("runner", &self.runner).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// Runs what is due, until `stop` ends. `wake` ends when someone requests a run.
    pub async fn run<W: Future<Output = ()>>(
        &self,
        stop: impl Future<Output = ()>,
        wake: impl Fn() -> W,
        is_stopping: SchedulerStop<'_>,
    ) {
        tokio::pin!(stop);
        let mut polls = tokio::time::interval(POLL_EVERY);
        polls.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut alerts = tokio::time::interval(ALERTS_EVERY);
        let mut comments = tokio::time::interval(POLL_EVERY);
        comments.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = &mut stop => return,
                () = wake() => {}
                _tick = polls.tick() => {}
                _tick = alerts.tick() => self.review_alerts().await,
                _tick = comments.tick() => self.write_comments().await,
            }
            if let Err(error) = self.poll(is_stopping).await {
                tracing::warn!(error.cause = %error, "cannot look for scheduled runs");
            }
        }
    }

    /// Tells the receivers of every project what changed in its weekly review.
    async fn review_alerts(&self) {
        let projects = match self.store.catalog.projects().await {
            Ok(projects) => projects,
            Err(error) => return tracing::warn!(error.cause = %error, "cannot list projects"),
        };
        for project in projects {
            match self.check_patterns(&project.id).await {
                Ok(titles) => {
                    for title in titles {
                        tracing::info!(project = %project.id, "new pattern of failures: {title}");
                    }
                }
                Err(error) => tracing::warn!(
                    project = %project.id,
                    error.cause = %error.detail(),
                    "cannot look for new patterns of failures"
                ),
            }
            match self.check_reviews(&project.id).await {
                Ok(titles) => {
                    for title in titles {
                        tracing::info!(project = %project.id, "{title}");
                    }
                }
                Err(error) => tracing::warn!(
                    project = %project.id,
                    error.cause = %error.detail(),
                    "cannot look for changes in the weekly review"
                ),
            }
        }
    }

    /// Writes the comments on traces of Langfuse servers that are due.
    async fn write_comments(&self) {
        let (environment, owner) = (self.environment.as_ref(), &self.runner.name);
        let written = trace_comments::write(&self.store, environment, owner, (self.clock)()).await;
        if let Err(error) = written {
            tracing::warn!(error.cause = %error, "cannot look for comments to write");
        }
    }

    /// Announces new patterns of failures of a project.
    async fn check_patterns(&self, project: &ProjectId) -> Result<Vec<String>, ScheduledJobError> {
        let settings = self.environment.report_settings(project)?.feedback;
        if settings.threshold.is_none() {
            return Ok(Vec::new());
        }
        let site = ReviewSite::of_project(&self.store, self.environment.as_ref(), project)?;
        let zone = weekly_metrics::zone(&site).await?;
        let target = PublicationTarget {
            project,
            server: &self.server,
            zone: &zone,
            is_remote: matches!(site.source(), Source::Remote(_)),
        };
        Ok(Box::pin(continuous::check(&site, target, &settings, (self.clock)())).await?)
    }

    async fn check_reviews(&self, project: &ProjectId) -> Result<Vec<String>, ScheduledJobError> {
        let site = ReviewSite::of_project(&self.store, self.environment.as_ref(), project)?;
        let zone = weekly_metrics::zone(&site).await?;
        let target = AlertTarget { project, server: &self.server, zone: &zone };
        Ok(alerts::check(&site, target, (self.clock)()).await?)
    }

    async fn poll(&self, is_stopping: SchedulerStop<'_>) -> StoreResult<()> {
        for project in self.store.catalog.projects().await? {
            for run in self.runner.claim_due(&project.id, (self.clock)()).await? {
                match self.run_one(&run, is_stopping).await {
                    Ok(line) => tracing::info!(schedule = run.schedule.name, "{line}"),
                    Err(error) => tracing::warn!(
                        schedule = run.schedule.name,
                        error.cause = %error.detail(),
                        "a scheduled run failed"
                    ),
                }
            }
        }
        Ok(())
    }

    /// Does a claimed run and records its result; returns a summary.
    ///
    /// # Errors
    /// Fails if the job does, or if the lease is lost.
    pub async fn run_one(
        &self,
        run: &DueRun,
        is_stopping: SchedulerStop<'_>,
    ) -> Result<String, ScheduledJobError> {
        let mut renewals = tokio::time::interval(RENEW_EVERY);
        // Boxed: a run is the largest future of a server.
        let mut work = Box::pin(self.in_context(run, is_stopping));
        let worked = loop {
            tokio::select! {
                worked = &mut work => break worked,
                _tick = renewals.tick() => {
                    if self.runner.renew(run, (self.clock)()).await? == LeaseStatus::Lost {
                        return Err(ScheduledJobError::LeaseLost);
                    }
                }
            }
        };
        let now = (self.clock)();
        let status = if worked.is_err() && is_stopping() {
            // It did not fail: the next server continues it.
            self.runner.release(run, now).await?
        } else {
            let outcome = worked.as_ref().map(String::clone).map_err(ScheduledJobError::public);
            self.runner.end(run, outcome, now).await?
        };
        match status {
            LeaseStatus::Held => worked,
            LeaseStatus::Lost => Err(ScheduledJobError::LeaseLost),
        }
    }

    async fn in_context(
        &self,
        run: &DueRun,
        is_stopping: SchedulerStop<'_>,
    ) -> Result<String, ScheduledJobError> {
        let (source, sink, journal) =
            work_place(&self.store, self.environment.as_ref(), run.project())?;
        let context = ScoringContext {
            source: &source,
            sink: &sink,
            journal: &journal,
            clock: &self.clock,
            is_stopping,
            watch: &|_| (),
        };
        self.work(run, &context).await
    }
}

/// Returns where the work of a project is read and written: here, or on the server that it names.
pub(crate) fn work_place(
    store: &Store,
    environment: &dyn JobEnvironment,
    project: &ProjectId,
) -> Result<(Source, Sink, Journal), EnvironmentError> {
    let project = project.clone();
    let (telemetry, catalog) = (store.telemetry.clone(), store.catalog.clone());
    if let Some(access) = environment.report_settings(&project)?.langfuse {
        let journal = Journal::of_server(catalog, &access.url, &access.public_key);
        let journal = journal.map_err(|error| unusable(&error))?;
        let pace = Box::new(SystemBackoffClock);
        let client = LangfuseClient::new(access, ClientLimits::default(), pace);
        let client = client.map_err(|error| unusable(&error))?;
        return Ok((Source::Remote(client.clone()), Sink::Remote(client), journal));
    }
    let source = Source::Local(telemetry.clone(), project.clone());
    let (here, owner) = (catalog.clone(), project.clone());
    let sink = Sink::Local(LocalSink { telemetry, catalog: here, project: owner });
    Ok((source, sink, Journal { catalog, project }))
}

/// The configured Langfuse server cannot be used.
fn unusable(error: &dyn std::error::Error) -> EnvironmentError {
    let detail = format!("langfuse.url: {error}");
    EnvironmentError { public: detail.clone(), detail }
}
