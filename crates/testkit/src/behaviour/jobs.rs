//! Model checking of the job queue: random histories of workers that crash, stall and come back,
//! on a clock that jumps both ways, compared with a reference queue after each step.

/// The reference queue.
mod model;

use std::path::Path;
use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ratchet_core::job::{JobKind, MAX_LEASE, MAX_RETRY_DELAY, Retry};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{
    Catalog, JobFailure, JobQuery, JobRecord, JobRequest, LeaseStatus, NewJob,
};
use ratchet_store::project::ProjectId;

use self::model::{ModelClaim, ModelJob, ModelQueue};
use super::runtime;
use crate::build::{START, project};

const KIND: JobKind = JobKind::Notice;
const LEASE: Duration = Duration::from_secs(60);
const WORKERS: usize = 3;
const JOBS: u8 = 6;
/// Finished jobs of a group that survive pruning.
const KEPT: u64 = 1;

/// One step of a history. Workers are numbers, and so are jobs.
#[derive(Clone, Debug)]
enum JobStep {
    Enqueue {
        id: u8,
        in_group: bool,
        priority: i64,
        delay: u64,
        max_attempts: u32,
    },
    Claim {
        worker: usize,
        limit: u64,
        max_running: Option<u64>,
    },
    ClaimOne {
        worker: usize,
        id: u8,
    },
    /// Something done with one of the leases that a worker believes to hold.
    Use {
        worker: usize,
        which: usize,
        action: LeaseAction,
    },
    /// A worker forgets its leases.
    Crash {
        worker: usize,
    },
    /// All workers are gone, and a new server knows it.
    Restart,
    /// The clock jumps, in seconds.
    Jump(i64),
    Revive {
        id: u8,
    },
    Discard {
        id: u8,
    },
    /// The group is paused, or resumed.
    Hold(bool),
    Prune,
}

#[derive(Clone, Debug)]
enum LeaseAction {
    Renew,
    Complete,
    Fail { retry_in: Option<u64> },
    Release,
}

fn steps() -> impl Strategy<Value = Vec<JobStep>> {
    let worker = 0..WORKERS;
    let in_group = prop::bool::weighted(0.7);
    let enqueue = (0..JOBS, in_group, 0..2i64, 0..90u64, 1..4u32).prop_map(
        |(id, in_group, priority, delay, max_attempts)| {
            let delay = if delay < 60 { 0 } else { delay };
            JobStep::Enqueue { id, in_group, priority, delay, max_attempts }
        },
    );
    let claim = (worker.clone(), 1..4u64, option::weighted(0.3, 1..4u64))
        .prop_map(|(worker, limit, max_running)| JobStep::Claim { worker, limit, max_running });
    let claim_one =
        (worker.clone(), 0..JOBS).prop_map(|(worker, id)| JobStep::ClaimOne { worker, id });
    let action = prop_oneof![
        2 => Just(LeaseAction::Renew),
        3 => Just(LeaseAction::Complete),
        3 => option::weighted(0.8, prop_oneof![0..20u64, 0..200u64]).prop_map(|retry_in| LeaseAction::Fail { retry_in }),
        1 => Just(LeaseAction::Release),
    ];
    let act = (worker.clone(), any::<usize>(), action)
        .prop_map(|(worker, which, action)| JobStep::Use { worker, which, action });
    let jump = prop_oneof![
        6 => -90..120i64,
        1 => -10_000..10_000i64,
        1 => -400_000..400_000i64,
    ];
    let step = prop_oneof![
        5 => enqueue,
        5 => claim,
        1 => claim_one,
        8 => act,
        1 => worker.prop_map(|worker| JobStep::Crash { worker }),
        1 => Just(JobStep::Restart),
        4 => jump.prop_map(JobStep::Jump),
        1 => (0..JOBS).prop_map(|id| JobStep::Revive { id }),
        1 => (0..JOBS).prop_map(|id| JobStep::Discard { id }),
        1 => prop::bool::weighted(0.4).prop_map(JobStep::Hold),
        1 => Just(JobStep::Prune),
    ];
    vec(step, 1..60)
}

/// Runs random histories on new catalogs, each open in two processes' stead, and fails on the first
/// that the reference queue would not have answered, after shrinking it.
#[track_caller]
pub fn check(histories: u32) {
    let runtime = runtime();
    let config = Config { cases: histories, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&steps(), |steps| {
        // In memory where there is such a folder: the model needs no disk, only many steps.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        runtime.block_on(async {
            let mut history = History::new(folder.path());
            for step in &steps {
                history.apply(step).await;
                history.compare().await;
            }
            history.drain().await;
        });
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// A queue, its model, and what the workers believe.
struct History {
    /// Worker 2 has its own connection.
    catalogs: [Catalog; 2],
    project: ProjectId,
    model: ModelQueue,
    leases: [Vec<JobRecord>; WORKERS],
    now: Timestamp,
}

fn name(id: u8) -> String {
    format!("j{id}")
}

impl History {
    fn new(folder: &Path) -> Self {
        let file = folder.join("catalog.db");
        let catalogs = [Catalog::apart(&file).unwrap(), Catalog::apart(&file).unwrap()];
        let (model, leases) = (ModelQueue::default(), Default::default());
        Self { catalogs, project: project("shop"), model, leases, now: START }
    }

    fn catalog(&self, worker: usize) -> &Catalog {
        &self.catalogs[usize::from(worker == WORKERS - 1)]
    }

    async fn apply(&mut self, step: &JobStep) {
        match step.clone() {
            JobStep::Enqueue { id, in_group, priority, delay, max_attempts } => {
                let run_at = self.now.plus(Duration::from_secs(delay));
                let job = ModelJob::new((in_group, priority), run_at, max_attempts, self.now);
                let new = new_job(id, &job);
                let catalog = self.catalog(0);
                let is_new = catalog.enqueue_job(self.project.clone(), new, self.now).await;
                assert_eq!(is_new.unwrap(), self.model.enqueue(&name(id), job));
            }
            JobStep::Claim { worker, limit, max_running } => {
                self.claim(worker, limit, max_running).await;
            }
            JobStep::ClaimOne { worker, id } => self.claim_one(worker, id).await,
            JobStep::Use { worker, which, action } => self.act(worker, which, &action).await,
            JobStep::Crash { worker } => self.leases[worker].clear(),
            JobStep::Restart => {
                self.leases = Default::default();
                self.model.expire_all(self.now);
                self.catalog(0).expire_leases(KIND, self.now).await.unwrap();
            }
            JobStep::Jump(seconds) => self.now = self.now.plus_nanos(seconds * 1_000_000_000),
            JobStep::Revive { id } => {
                let key = (KIND, name(id));
                let revived =
                    self.catalog(0).requeue_dead_job(self.project.clone(), key, self.now).await;
                assert_eq!(revived.is_ok(), self.model.revive(&name(id), self.now), "{revived:?}");
            }
            JobStep::Discard { id } => {
                let key = (KIND, name(id));
                let gone = self.catalog(0).discard_job(self.project.clone(), key, self.now).await;
                assert_eq!(gone.is_ok(), self.model.discard(&name(id)), "{gone:?}");
            }
            JobStep::Hold(is_held) => self.hold(is_held).await,
            JobStep::Prune => {
                let group = (KIND, "group".to_owned());
                self.catalog(0).prune_jobs(self.project.clone(), group, KEPT).await.unwrap();
                self.model.prune(KEPT);
            }
        }
    }

    async fn hold(&mut self, is_held: bool) {
        let group = (KIND, "group".to_owned());
        self.catalog(0).hold_jobs(self.project.clone(), group, is_held).await.unwrap();
        self.model.hold(is_held);
    }

    async fn claim(&mut self, worker: usize, limit: u64, max_running: Option<u64>) -> usize {
        let request = JobRequest {
            kind: KIND,
            owner: format!("w{worker}"),
            lease: LEASE,
            limit,
            max_running,
        };
        let expected = self.model.claim(ModelClaim { limit, max_running, lease: LEASE }, self.now);
        let claimed = self.catalog(worker).claim_jobs(request, self.now).await.unwrap();
        let ids: Vec<&str> = claimed.iter().map(|job| job.id.as_str()).collect();
        assert_eq!(ids, expected, "what is handed out");
        let count = claimed.len();
        self.leases[worker].extend(claimed);
        count
    }

    async fn claim_one(&mut self, worker: usize, id: u8) {
        let job = ModelJob::new((false, 0), self.now, 2, self.now);
        let new = new_job(id, &job);
        let expected = self.model.claim_one(&name(id), job, LEASE, self.now);
        let (catalog, owner) = (self.catalog(worker), (format!("w{worker}"), LEASE));
        let claimed = catalog.claim_job(self.project.clone(), new, owner, self.now).await.unwrap();
        assert_eq!(claimed.is_some(), expected, "whether {id} is handed out");
        self.leases[worker].extend(claimed);
    }

    /// Does something under a lease. The worker keeps the lease, as one that stalls would.
    async fn act(&mut self, worker: usize, which: usize, action: &LeaseAction) {
        let count = self.leases[worker].len().max(1);
        let Some(held) = self.leases[worker].get(which % count).cloned() else { return };
        let (catalog, lease, now) = (self.catalog(worker).clone(), held.lease(), self.now);
        let key = (held.id.as_str(), lease.number);
        let (status, expected) = match action {
            LeaseAction::Renew => (
                catalog.renew_job(lease.clone(), LEASE, now).await,
                self.model.renew(key, LEASE, now),
            ),
            LeaseAction::Complete => {
                let result = Some("{}".to_owned());
                (catalog.complete_job(lease.clone(), result, now).await, self.model.complete(key))
            }
            LeaseAction::Release => {
                (catalog.release_job(lease.clone(), now).await, self.model.release(key, now))
            }
            LeaseAction::Fail { retry_in } => {
                let retry_at = retry_in.map(|wait| now.plus(Duration::from_secs(wait)));
                let error = format!("lease {} failed", lease.number);
                let retry = retry_at.map_or(Retry::Never, Retry::At);
                let expected = self.model.fail(key, &error, retry_at);
                let failure = JobFailure { error, retry, result: None };
                (catalog.fail_job(lease.clone(), failure, now).await, expected)
            }
        };
        let expected = if expected { LeaseStatus::Held } else { LeaseStatus::Lost };
        assert_eq!(status.unwrap(), expected, "{action:?} under {lease:?}");
    }

    /// Checks that the catalog has exactly the jobs of the model, each in its state.
    async fn compare(&self) {
        let mut found = self.listed().await;
        found.sort_by(|a, b| a.id.cmp(&b.id));
        let ids: Vec<&str> = found.iter().map(|job| job.id.as_str()).collect();
        assert_eq!(ids, self.model.ids(), "no job is lost");
        for job in found {
            self.model.assert_same(&job);
        }
    }

    /// All jobs, as a reader of small pages finds them.
    async fn listed(&self) -> Vec<JobRecord> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let (project, query) = (self.project.clone(), JobQuery::default());
            let page = self.catalog(0).jobs(project, query, (cursor, 4)).await.unwrap();
            all.extend(page.rows);
            cursor = page.cursor;
            if cursor.is_none() {
                return all;
            }
        }
    }

    /// Has a last worker finish everything: whatever happened before, nothing is stuck.
    async fn drain(&mut self) {
        self.hold(false).await;
        for wait in [Duration::ZERO, MAX_LEASE, MAX_RETRY_DELAY, MAX_RETRY_DELAY] {
            self.now = self.now.max(START).plus(wait);
            while self.claim(0, 100, None).await > 0 {
                for _ in 0..self.leases[0].len() {
                    self.act(0, 0, &LeaseAction::Complete).await;
                    self.leases[0].remove(0);
                }
            }
        }
        self.compare().await;
        self.model.assert_finished();
    }
}

fn new_job(id: u8, job: &ModelJob) -> NewJob {
    NewJob {
        kind: KIND,
        id: name(id),
        group: job.in_group.then(|| "group".to_owned()),
        payload: "{}".to_owned(),
        priority: job.priority,
        run_at: job.run_at,
        max_attempts: job.max_attempts,
        is_held: false,
    }
}
