use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratchet_agent::budget::Budget;
use ratchet_core::id::SessionId;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{
    Catalog, PaidVerdict, RunOutcome, RunTally, ScoringBatch, ScoringClaim, ScoringRun,
};
use ratchet_store::project::{ProjectId, ProjectIdError};

use super::outcome::{Outcome, ScoringProgress};
use super::select_sessions::SessionFilter;
use super::write_scores::hash;
use super::{JudgingCost, Request, Rescore, ScoringContext, WritePolicy};

/// Lease of a session, renewed by the run. Longer than any model call.
const LEASE: Duration = Duration::from_secs(15 * 60);

/// The share of a budget that is enough to stop at the first call that does not fit.
const ENOUGH_SPENT: f64 = 0.8;
/// How long an interrupted rescoring can be continued, in nanoseconds.
const RESUMABLE_NANOS: i64 = 7 * 24 * 60 * 60 * 1_000_000_000;

/// Journal of model calls, verdicts and costs: a project's part of a catalog.
#[derive(Clone, Debug)]
pub struct Journal {
    pub catalog: Catalog,
    /// The project, or a hash for one on another server.
    pub project: ProjectId,
}

impl Journal {
    /// The journal of work on another server, which names its projects by the keys that open them.
    ///
    /// # Errors
    /// Never: the hash is a valid project id.
    pub fn of_server(
        catalog: Catalog,
        url: &str,
        public_key: &str,
    ) -> Result<Self, ProjectIdError> {
        let place = hash(&[url.trim_end_matches('/'), public_key]);
        Ok(Self { catalog, project: ProjectId::parse(&format!("at-{place}"))? })
    }

    /// Writes down that runs are gone whose process does not live any more, so that others can
    /// have their sessions at once.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn mark_lost(
        &self,
        is_alive: &(dyn Fn(&str) -> bool + Sync),
        now: Timestamp,
    ) -> StoreResult<()> {
        for run in self.catalog.open_scoring_runs(self.project.clone()).await? {
            if !is_alive(&run.id) {
                self.catalog.mark_run_lost(self.project.clone(), run.id, now).await?;
            }
        }
        Ok(())
    }
}

/// Journal of one run. In a dry run it only counts.
pub(super) struct RunJournal<'a> {
    journal: &'a Journal,
    keeping: WritePolicy,
    run: ScoringRun,
    progress: Mutex<ScoringProgress>,
    watch: &'a (dyn Fn(&ScoringProgress) + Sync),
    /// Whether nothing more is tried.
    is_spent: AtomicBool,
    /// Whether a call was not made for lack of money.
    is_over_budget: AtomicBool,
}

impl<'a> RunJournal<'a> {
    pub(super) async fn open(
        ctx: &ScoringContext<'a>,
        request: &Request,
        now: Timestamp,
    ) -> StoreResult<Self> {
        let mut ledger = Self::idle(ctx, request, now);
        let is_whole = matches!(request.wanted, SessionFilter::Active(_));
        if request.again == Rescore::Always && request.keeping == WritePolicy::Write && is_whole {
            ledger.run.rescore_since = Some(ledger.interrupted_rescoring().await?.unwrap_or(now));
        }
        ledger.write(None).await?;
        Ok(ledger)
    }

    /// Returns when a rescoring began that did not come to its end, so that the run goes on there.
    async fn interrupted_rescoring(&self) -> StoreResult<Option<Timestamp>> {
        let by = (self.run.rubric.clone(), self.run.judge.clone());
        let last = self.journal.catalog.last_rescoring(self.project(), by).await?;
        Ok(last.and_then(|last| {
            let is_recent = self.run.started_at.since(last.started_at) < RESUMABLE_NANOS;
            last.rescore_since.filter(|_| is_recent && last.outcome != RunOutcome::Done)
        }))
    }

    /// Returns when the rescoring began; sessions that were scored since are left alone.
    pub(super) fn rescore_since(&self) -> Option<Timestamp> {
        self.run.rescore_since
    }

    /// A ledger of no run: nothing is written down about it.
    pub(super) fn idle(ctx: &ScoringContext<'a>, request: &Request, now: Timestamp) -> Self {
        let run = ScoringRun {
            id: request.run.clone(),
            rubric: request.rubric.name.clone(),
            judge: request.judge.name().to_owned(),
            started_at: now,
            ended_at: None,
            outcome: RunOutcome::Running,
            tally: RunTally::default(),
            rescore_since: None,
        };
        Self {
            journal: ctx.journal,
            keeping: request.keeping,
            run,
            progress: Mutex::default(),
            watch: ctx.watch,
            is_spent: AtomicBool::new(false),
            is_over_budget: AtomicBool::new(false),
        }
    }

    pub(super) async fn close(&self, outcome: RunOutcome, now: Timestamp) -> StoreResult<()> {
        self.write(Some((outcome, now))).await
    }

    async fn write(&self, end: Option<(RunOutcome, Timestamp)>) -> StoreResult<()> {
        if self.keeping == WritePolicy::Nothing {
            return Ok(());
        }
        let mut run = ScoringRun { tally: self.tally(), ..self.run.clone() };
        if let Some((outcome, ended_at)) = end {
            run.outcome = outcome;
            run.ended_at = Some(ended_at);
        }
        self.journal.catalog.save_scoring_run(self.project(), run).await
    }

    pub(super) fn project(&self) -> ProjectId {
        self.journal.project.clone()
    }

    fn of(&self, session: &SessionId) -> ScoringClaim {
        ScoringClaim {
            session: session.to_string(),
            rubric: self.run.rubric.clone(),
            run: self.run.id.clone(),
        }
    }

    /// Takes a session, or goes on having it; false if another run has it.
    pub(super) async fn claim(&self, session: &SessionId, now: Timestamp) -> StoreResult<bool> {
        let claim = (self.of(session), LEASE);
        self.journal.catalog.claim_session(self.project(), claim, now).await
    }

    /// Releases the lease of a session; its verdicts stay for the next run.
    pub(super) async fn release(&self, session: &SessionId) -> StoreResult<()> {
        let claim = self.of(session);
        self.journal.catalog.release_session(self.project(), claim).await
    }

    /// Lets a session go whose scores are written.
    pub(super) async fn settle(&self, session: &SessionId) -> StoreResult<()> {
        let claim = self.of(session);
        self.journal.catalog.finish_session(self.project(), claim).await
    }

    /// The stored verdict on a prompt, if the run may use it.
    pub(super) async fn said(&self, prompt: &str) -> StoreResult<Option<PaidVerdict>> {
        let said = self.journal.catalog.verdict_of(self.project(), prompt.to_owned()).await?;
        let is_new = |said: &PaidVerdict| said.created_at >= self.run.started_at;
        Ok(said.filter(|said| self.keeping != WritePolicy::Anew || is_new(said)))
    }

    /// Records the start of a model call.
    pub(super) async fn begin_call(&self, prompt: &str, now: Timestamp) -> StoreResult<()> {
        let call = (prompt.to_owned(), self.run.id.clone());
        if self.journal.catalog.begin_scoring_call(self.project(), call, now).await? {
            self.lock().tally.repeated += 1;
        }
        Ok(())
    }

    /// Writes down that a judge will not answer.
    pub(super) async fn end_call(&self, prompt: &str) -> StoreResult<()> {
        self.journal.catalog.end_scoring_call(self.project(), prompt.to_owned()).await
    }

    /// Saves a verdict.
    pub(super) async fn keep(&self, said: JudgeAnswer<'_>, now: Timestamp) -> StoreResult<()> {
        let paid = PaidVerdict {
            prompt: said.prompt.to_owned(),
            session: said.session.to_string(),
            rubric: self.run.rubric.clone(),
            judge: self.run.judge.clone(),
            answer: said.answer.to_owned(),
            cost: said.cost.total,
            approximate_cost: said.cost.approximate,
            created_at: now,
        };
        self.journal.catalog.save_verdict(self.project(), paid).await
    }

    /// Counts a finished call and its cost, and reports progress.
    pub(super) fn pay(&self, cost: JudgingCost) {
        let mut progress = self.lock();
        let tally = &mut progress.tally;
        tally.calls += 1;
        tally.cost = tally.cost + cost.total;
        tally.approximate_cost = tally.approximate_cost + cost.approximate;
        self.tell(progress);
    }

    /// Notes that a call could have exceeded the budget. Other sessions may take less: they are
    /// tried until most of it is spent.
    pub(super) fn refuse_call(&self, budget: &Budget) {
        self.is_over_budget.store(true, Ordering::Relaxed);
        if budget.spent_share().is_none_or(|share| share >= ENOUGH_SPENT) {
            self.is_spent.store(true, Ordering::Relaxed);
        }
    }

    /// Begins nothing more, because the budget is used up.
    pub(super) fn stop_for_budget(&self) {
        self.is_over_budget.store(true, Ordering::Relaxed);
        self.is_spent.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over_budget(&self) -> bool {
        self.is_over_budget.load(Ordering::Relaxed)
    }

    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }

    /// Says how many sessions there are.
    pub(super) fn begin(&self, sessions: usize) {
        self.lock().of = u64::try_from(sessions).unwrap_or(u64::MAX);
    }

    /// Counts a finished session, and reports progress.
    pub(super) fn count(&self, outcome: &Outcome) {
        let mut progress = self.lock();
        progress.done += 1;
        match outcome {
            Outcome::Scored(_) => progress.tally.scored += 1,
            Outcome::Skipped(_) => progress.tally.skipped += 1,
            Outcome::Failed(_) => progress.tally.failed += 1,
        }
        self.tell(progress);
    }

    fn tell(&self, progress: MutexGuard<'_, ScoringProgress>) {
        let now = *progress;
        drop(progress);
        (self.watch)(&now);
    }

    pub(super) fn tally(&self) -> RunTally {
        self.lock().tally
    }

    pub(super) async fn save_batch(&self, batch: ScoringBatch) -> StoreResult<()> {
        self.journal.catalog.save_scoring_batch(self.project(), batch).await
    }

    pub(super) async fn open_batches(&self) -> StoreResult<Vec<ScoringBatch>> {
        let judge = self.run.judge.clone();
        self.journal.catalog.open_scoring_batches(self.project(), judge).await
    }

    pub(super) async fn collect_batch(&self, id: &str, answered: Vec<String>) -> StoreResult<()> {
        let id = id.to_owned();
        self.journal.catalog.collect_scoring_batch(self.project(), id, answered).await
    }

    pub(super) async fn close_batch(&self, id: &str) -> StoreResult<()> {
        self.journal.catalog.close_scoring_batch(self.project(), id.to_owned()).await
    }

    fn lock(&self) -> MutexGuard<'_, ScoringProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The response of a judge to a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct JudgeAnswer<'a> {
    /// Hash of the prompt.
    pub(super) prompt: &'a str,
    pub(super) session: &'a SessionId,
    pub(super) answer: &'a str,
    pub(super) cost: JudgingCost,
}
