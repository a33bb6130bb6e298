/// One deployment, by command or webhook.
mod deployment;

use std::sync::Arc;
use std::time::Duration;

use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::backoff::{Backoff, FailedAttempt};
use ratchet_core::job::{JobKind, JobPhase, Retry};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::promotion::policy::{Signer, SignerKind};
use ratchet_core::promotion::state::{Action, PromotionState};
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::BackoffClock;
use ratchet_store::catalog::{
    JobFailure, JobRecord, JobRequest, LeaseStatus, PromotionCall, StoredPromotion,
};
use ratchet_store::{Store, StoreResult};

use super::{PromoteContext, PromoteError, ab, sessions};
use crate::gate::GateContext;
use deployment::{DeployOrder, deploy};

pub use deployment::DeployTarget;

/// Pauses between the attempts of a deployment, which the queue counts.
const RETRY: Backoff = Backoff {
    max_attempts: u32::MAX,
    first: Duration::from_secs(5),
    cap: Duration::from_secs(5 * 60),
    max_retry_after: Duration::ZERO,
    max_elapsed: Duration::MAX,
};

/// How often the worker looks, and how long a deployment may take.
#[derive(Clone, Copy, Debug)]
pub struct WorkerLimits {
    /// Time between two looks for deployments.
    pub poll_every: Duration,
    /// Time between two looks at production after a promotion.
    pub watch_every: Duration,
    /// Timeout of a deployment.
    pub deploy: Duration,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        Self {
            poll_every: Duration::from_millis(500),
            watch_every: Duration::from_secs(60),
            deploy: Duration::from_secs(15 * 60),
        }
    }
}

/// Deploys versions and watches production after promotions. One is enough for a data folder.
#[derive(Debug)]
pub struct PromotionWorker {
    pub store: Store,
    /// Public URL of this server, without a slash at the end.
    pub server: String,
    pub outbound: OutboundPolicy,
    /// Who ends a deployment by command with this process.
    pub supervision: Supervision,
    pub pace: Arc<dyn BackoffClock>,
    /// What the operator has set up.
    pub target: Option<DeployTarget>,
    pub limits: WorkerLimits,
}

impl PromotionWorker {
    /// Works until `stop` ends. A deployment that is cut off is run again by the next server, under
    /// the same idempotency key.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        let now = self.pace.now();
        if let Err(error) = self.store.catalog.expire_leases(JobKind::Deployment, now).await {
            tracing::warn!(%error, "cannot take over the deployments of an earlier server");
        }
        let mut watched: Option<Timestamp> = None;
        loop {
            let work = async {
                self.deployments().await?;
                let now = self.pace.now();
                let every = i64::try_from(self.limits.watch_every.as_nanos()).unwrap_or(i64::MAX);
                // The first look is as long after the start as any other after the one before it.
                if watched.is_none_or(|last| now.since(last) >= every || now < last) {
                    watched = Some(now);
                    self.settle_rollbacks().await?;
                    self.watch_all().await?;
                    self.look_at_ab_tests().await?;
                }
                StoreResult::Ok(())
            };
            tokio::select! {
                () = &mut stop => return,
                done = work => {
                    if let Err(error) = done {
                        tracing::warn!(%error, "cannot work on promotions");
                    }
                }
            }
            tokio::select! {
                () = &mut stop => return,
                () = self.pace.pause(self.limits.poll_every) => {}
            }
        }
    }

    /// Runs due deployments, and settles promotions whose deployment ended without a report.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn deployments(&self) -> StoreResult<()> {
        let request = JobRequest {
            kind: JobKind::Deployment,
            owner: "promotions".to_owned(),
            lease: self.limits.deploy.saturating_mul(2).min(ratchet_core::job::MAX_LEASE),
            limit: 1,
            max_running: None,
        };
        while let Some(job) =
            self.store.catalog.claim_jobs(request.clone(), self.pace.now()).await?.pop()
        {
            self.deployment(job).await?;
        }
        for stored in self.store.catalog.promotions_in(PromotionState::Deploying).await? {
            self.settle(&stored).await?;
        }
        Ok(())
    }

    async fn deployment(&self, job: JobRecord) -> StoreResult<()> {
        let lease = job.lease();
        let catalog = &self.store.catalog;
        let Ok(order) = serde_json::from_str::<DeployOrder>(&job.payload) else {
            let (error, retry) = ("malformed order".to_owned(), Retry::Never);
            let failure = JobFailure { error, retry, result: None };
            return catalog.fail_job(lease, failure, self.pace.now()).await.map(drop);
        };
        let stored = catalog.promotion(job.project.clone(), order.promotion.clone()).await?;
        let promotion = &stored.promotion;
        let is_wanted = match order.is_rollback {
            true => promotion.state != PromotionState::Deploying,
            false => promotion.state == PromotionState::Deploying,
        };
        if !is_wanted || promotion.attempts != order.attempt {
            let skipped = Some("{\"skipped\":true}".to_owned());
            return catalog.complete_job(lease, skipped, self.pace.now()).await.map(drop);
        }
        let deployed = match &self.target {
            Some(target) => deploy(self, target, &job.payload, &order).await,
            None => Err(deployment::DeployFault::last(
                "the server has none of promotion.command, promotion.agentcore and \
                 promotion.webhook"
                    .to_owned(),
            )),
        };
        let now = self.pace.now();
        match deployed {
            Ok(()) => {
                // Before the job ends: if this server ends in between, the next one repeats both.
                if !order.is_rollback {
                    self.act(&stored, Action::Deployed { attempt: order.attempt }).await?;
                }
                catalog.complete_job(lease, None, now).await.map(drop)
            }
            Err(fault) => {
                let (agent, reply) = (&promotion.agent, fault.reply.as_deref());
                tracing::warn!(agent, error = fault.why, reply, "a deployment failed");
                let retry = match fault.may_pass {
                    true => Retry::At(now.plus(self.delay(job.state.attempts))),
                    false => Retry::Never,
                };
                let failure = JobFailure { error: fault.why, retry, result: None };
                let status = catalog.fail_job(lease, failure, now).await?;
                if status == LeaseStatus::Held {
                    self.settle(&stored).await?;
                }
                Ok(())
            }
        }
    }

    fn delay(&self, attempt: u32) -> Duration {
        let jitter = self.pace.jitter();
        let failed = FailedAttempt { attempt, jitter, ..FailedAttempt::default() };
        RETRY.delay(failed).unwrap_or(RETRY.cap)
    }

    /// Reports rollbacks whose deployment failed while no server ran.
    async fn settle_rollbacks(&self) -> StoreResult<()> {
        for stored in self.store.catalog.promotions_in(PromotionState::RolledBack).await? {
            let outcome = stored.promotion.outcome.as_ref();
            if outcome.is_some_and(|outcome| outcome.restore_fault.is_none()) {
                self.settle(&stored).await?;
            }
        }
        Ok(())
    }

    /// Reports what became of the deployment of a promotion, from its job.
    async fn settle(&self, stored: &StoredPromotion) -> StoreResult<()> {
        let attempt = stored.promotion.attempts;
        let key = format!("{}-{attempt}", stored.id);
        let catalog = &self.store.catalog;
        let Some(job) = catalog.job(stored.project.clone(), JobKind::Deployment, key).await? else {
            return Ok(());
        };
        match job.state.phase {
            JobPhase::Dead => {
                let why = job.state.error.unwrap_or_else(|| "it ended without a result".to_owned());
                self.act(stored, Action::DeployFailed { attempt, why }).await
            }
            JobPhase::Queued { .. } | JobPhase::Leased { .. } | JobPhase::Done => Ok(()),
        }
    }

    /// Compares production before and after each live promotion.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn watch_all(&self) -> StoreResult<()> {
        for stored in self.store.catalog.promotions_in(PromotionState::Live).await? {
            self.watch(&stored).await?;
        }
        Ok(())
    }

    /// Looks at running A/B tests, and offers winners for promotion.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn look_at_ab_tests(&self) -> StoreResult<()> {
        for stored in self.store.catalog.running_ab_tests().await? {
            let gate = GateContext {
                store: &self.store,
                catalog: &self.store.catalog,
                project: &stored.project,
                server: &self.server,
                now: self.pace.now(),
            };
            let context = PromoteContext { gate, can_deploy: self.target.is_some() };
            match ab::look(context, &stored.id).await {
                Ok(_) => {}
                Err(PromoteError::Store(error)) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, test = stored.id, "cannot look at an A/B test")
                }
            }
        }
        Ok(())
    }

    async fn watch(&self, stored: &StoredPromotion) -> StoreResult<()> {
        let promotion = &stored.promotion;
        let Some(live_at) = promotion.live_at.map(Timestamp::from_nanos) else { return Ok(()) };
        let (catalog, project) = (&self.store.catalog, stored.project.clone());
        let responsible = catalog.responsible(project, promotion.agent.clone()).await?;
        let now = self.pace.now();
        let found = sessions::compare(&self.store, stored, (live_at, now)).await?;
        let is_over = {
            let hours = i64::from(responsible.policy.watch_hours);
            // The last sessions count when they have settled.
            let settled = now.plus_nanos(-settling());
            settled.since(live_at) >= hours.saturating_mul(3_600_000_000_000)
        };
        if !found.is_worse() && is_over {
            return self.act(stored, Action::Confirm(found)).await;
        }
        let reason = found.sentence();
        let is_worse = found.is_worse();
        if promotion.watch.as_ref() != Some(&found) {
            self.act(stored, Action::Watched(found)).await?;
        }
        if is_worse && responsible.policy.automatic_rollback {
            let by = Signer { kind: SignerKind::Server, name: "Ratchet".to_owned() };
            self.act(stored, Action::Rollback { by, reason }).await?;
        }
        Ok(())
    }

    async fn act(&self, stored: &StoredPromotion, action: Action) -> StoreResult<()> {
        let call = PromotionCall {
            project: stored.project.clone(),
            id: stored.id.clone(),
            action,
            can_deploy: self.target.is_some(),
            server: self.server.clone(),
            now: self.pace.now(),
        };
        if let Err(refused) = self.store.catalog.act_on_promotion(call).await? {
            tracing::info!(promotion = stored.id, why = %refused, "a promotion stays as it is");
        }
        Ok(())
    }
}

fn settling() -> i64 {
    i64::try_from(sessions::SETTLES_AFTER.as_nanos()).unwrap_or(i64::MAX)
}
