//! The application state that the API and the pages share.

use std::io;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ratchet_core::judge::offline::overrides::draft::OverrideDraft;
use ratchet_core::judge::offline::{SignalOverrides, SignalSet, SuccessModel};
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::permit_pool::PermitPool;
use ratchet_core::time::Timestamp;
use ratchet_store::Store;
use ratchet_store::blocking::BlockingPool;
use ratchet_store::project::ProjectId;
use tokio::sync::Notify;

use crate::chat::Chats;
use crate::clock::Clock;
use crate::experiment::worker::ExperimentWorker;
use crate::improve::settings::FeedbackSettings;
use crate::promote::PromotionWorker;
use crate::review::review_site::{ReviewSite, ReviewSiteResult};
use crate::review::signal_overrides::accepted;
use crate::schedule::JobEnvironment;
use crate::score::evaluators::EvaluationWorker;
use crate::score::judge_factory::own_signals;
use crate::score::rubrics::{ReadableRubrics, Rubrics};
use crate::score::signal_overrides::{self, signals_of};
use crate::score::success;
use crate::user_files::UserFileError;

/// Turns of chats with targets at a time.
const TARGET_TURNS: usize = 16;

/// What every handler of a server may need. Clones share it.
#[derive(Clone, Debug)]
pub struct AppState(Arc<StateParts>);

/// The parts of an [`AppState`].
#[derive(Debug)]
pub struct StateParts {
    /// `store.telemetry` and `store.catalog`.
    pub store: Store,
    pub clock: Clock,
    /// Which addresses that users enter the server may call.
    pub outbound: OutboundPolicy,
    /// Threads for CPU-bound work.
    pub workers: BlockingPool,
    /// The data folder, where users keep their own rubrics.
    data: PathBuf,
    is_closing: AtomicBool,
    closing: Notify,
    sweep: Notify,
    runs: Notify,
    chats: OnceLock<Arc<Chats>>,
    evaluators: OnceLock<Arc<EvaluationWorker>>,
    experiments: OnceLock<Arc<ExperimentWorker>>,
    /// Turns of chats with targets that wait for an answer.
    target_turns: PermitPool<String>,
    promotions: OnceLock<Arc<PromotionWorker>>,
    environment: OnceLock<Arc<dyn JobEnvironment>>,
}

impl AppState {
    /// The state of a server on an open data folder.
    pub fn new((store, data): (Store, PathBuf), clock: Clock, outbound: OutboundPolicy) -> Self {
        Self(Arc::new(StateParts {
            store,
            clock,
            outbound,
            workers: BlockingPool::per_core(),
            data,
            is_closing: AtomicBool::new(false),
            closing: Notify::new(),
            sweep: Notify::new(),
            runs: Notify::new(),
            chats: OnceLock::new(),
            evaluators: OnceLock::new(),
            experiments: OnceLock::new(),
            target_turns: PermitPool::new(TARGET_TURNS, 1),
            promotions: OnceLock::new(),
            environment: OnceLock::new(),
        }))
    }

    /// Wall-clock time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the rubrics that can be read, built-in ones first. They are read again each time:
    /// files may change while the server runs.
    pub fn rubrics(&self) -> ReadableRubrics {
        Rubrics::readable(&self.data)
    }

    /// Returns what was fitted to the labels of a project, and whether it is used with a rubric;
    /// `None` if nothing was fitted. It is read again each time.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is invalid.
    pub fn success_model(
        &self,
        project: &ProjectId,
        rubric: &Rubric,
    ) -> Result<Option<(SuccessModel, bool)>, UserFileError> {
        let Some((model, _)) = success::read(&self.data, project)? else { return Ok(None) };
        let own = signals_of(Some(&self.data), &self.data, project)?.unwrap_or_default();
        let is_used = model.fits(own.signals(), &rubric.name);
        Ok(Some((model, is_used)))
    }

    /// Returns the signal overrides of a project, and whether they are in use.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is invalid.
    pub fn signal_overrides(
        &self,
        project: &ProjectId,
    ) -> Result<Option<(SignalOverrides, bool)>, UserFileError> {
        let read = signal_overrides::read(&self.data, project)?;
        let Some((overrides, _)) = read else { return Ok(None) };
        let own = own_signals(Some(&self.data))?.unwrap_or_default();
        let is_used = overrides.fits(own.signals());
        Ok(Some((overrides, is_used)))
    }

    /// Returns the signals that the offline judge uses in a project.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is invalid.
    pub fn signals(&self, project: &ProjectId) -> Result<SignalSet, UserFileError> {
        let own = signals_of(Some(&self.data), &self.data, project)?.unwrap_or_default();
        Ok(own.signals().clone())
    }

    /// Returns what the overrides of a project become when drafts for these signals are accepted.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is invalid.
    pub fn accepted_overrides(
        &self,
        project: &ProjectId,
        about: (&SignalSet, &Rubric),
        drafts: &[OverrideDraft],
    ) -> Result<SignalOverrides, UserFileError> {
        accepted((Some(&self.data), &self.data), project, about, drafts)
    }

    /// Writes the signal overrides of a project; judges use them from now on.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write_signal_overrides(
        &self,
        project: &ProjectId,
        overrides: &SignalOverrides,
    ) -> io::Result<()> {
        signal_overrides::write(&self.data, project, overrides).map(drop)
    }

    /// Wakes the retention sweep before its next hourly run.
    pub fn request_sweep(&self) {
        self.sweep.notify_one();
    }

    /// Waits until [`Self::request_sweep`] is called.
    pub async fn sweep_requested(&self) {
        self.sweep.notified().await;
    }

    /// Wakes the scheduler before its next poll.
    pub fn run_soon(&self) {
        self.runs.notify_one();
    }

    /// Waits until [`Self::run_soon`] is called.
    pub async fn run_wanted(&self) {
        self.runs.notified().await;
    }

    /// Starts shutdown: the readiness check fails from now on.
    pub fn begin_closing(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
        self.closing.notify_waiters();
    }

    /// Waits for the start of shutdown.
    pub async fn closing(&self) {
        let closed = self.closing.notified();
        if !self.is_closing() {
            closed.await;
        }
    }

    /// Whether the server is shutting down.
    pub fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::SeqCst)
    }

    /// Enables chats. Takes effect once.
    pub fn run_agents(&self, chats: Chats) {
        // A second call would be a bug, and the first one wins.
        drop(self.chats.set(Arc::new(chats)));
    }

    /// Enables online evaluators. Takes effect once.
    pub fn run_evaluators(&self, worker: Arc<EvaluationWorker>) {
        drop(self.evaluators.set(worker));
    }

    /// The worker that runs evaluators, if enabled.
    pub fn evaluators(&self) -> Option<&Arc<EvaluationWorker>> {
        self.evaluators.get()
    }

    /// Enables experiments that the server runs by itself. Takes effect once.
    pub fn run_experiments(&self, worker: Arc<ExperimentWorker>) {
        drop(self.experiments.set(worker));
    }

    /// The worker that runs experiments, if enabled.
    pub fn experiments(&self) -> Option<&Arc<ExperimentWorker>> {
        self.experiments.get()
    }

    /// Permits for turns of chats with targets: one at a time in a chat, so that each knows those
    /// before it.
    pub fn target_turns(&self) -> &PermitPool<String> {
        &self.target_turns
    }

    /// Enables deployments and the watch of promotions. Takes effect once.
    pub fn run_promotions(&self, worker: Arc<PromotionWorker>) {
        drop(self.promotions.set(worker));
    }

    /// The worker of promotions, if enabled.
    pub fn promotions(&self) -> Option<&Arc<PromotionWorker>> {
        self.promotions.get()
    }

    /// Whether the operator has set up a deployment.
    pub fn can_deploy(&self) -> bool {
        self.promotions().is_some_and(|worker| worker.target.is_some())
    }

    /// Sets what the operator has configured for scheduled jobs, which pages about them show. Takes
    /// effect once.
    pub fn use_environment(&self, environment: Arc<dyn JobEnvironment>) {
        drop(self.environment.set(environment));
    }

    /// Returns where the reviews of a project work: here, or on the Langfuse server that its reports
    /// name.
    ///
    /// # Errors
    /// Fails if the operator's settings are incomplete.
    pub fn review_site(&self, project: &ProjectId) -> ReviewSiteResult<ReviewSite> {
        match self.environment.get() {
            Some(environment) => {
                Ok(ReviewSite::of_project(&self.store, environment.as_ref(), project)?)
            }
            None => Ok(ReviewSite::local(&self.store, project)),
        }
    }

    /// Returns what a project's weekly documents are made from besides recordings.
    pub fn feedback_settings(&self, project: &ProjectId) -> FeedbackSettings {
        let environment = self.environment.get();
        // Without them the document is only shorter.
        let settings = environment.and_then(|known| known.report_settings(project).ok());
        settings.map(|settings| settings.feedback).unwrap_or_default()
    }

    /// The chats that the server runs, if enabled.
    pub fn chats(&self) -> Option<&Arc<Chats>> {
        self.chats.get()
    }
}

impl Deref for AppState {
    type Target = StateParts;

    fn deref(&self) -> &StateParts {
        &self.0
    }
}
