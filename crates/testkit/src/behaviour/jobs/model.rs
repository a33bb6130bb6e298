use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use ratchet_core::job::{JobPhase, MAX_FIRST_DELAY, MAX_LEASE, MAX_RETRY_DELAY};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::JobRecord;

/// A job as the reference queue knows it.
#[derive(Clone, Debug)]
pub(super) struct ModelJob {
    pub(super) in_group: bool,
    pub(super) priority: i64,
    pub(super) max_attempts: u32,
    /// When it became due last.
    pub(super) run_at: Timestamp,
    enqueued_at: Timestamp,
    is_at: Place,
    attempts: u32,
    /// Number of the last lease.
    lease: u64,
    completions: u32,
    is_held: bool,
    /// Why the last attempt failed.
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Waiting(Timestamp),
    /// Until a time.
    Out(Timestamp),
    Done,
    Dead,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ModelClaim {
    pub(super) limit: u64,
    pub(super) max_running: Option<u64>,
    pub(super) lease: Duration,
}

/// A queue of a few jobs in memory, written without a thought for speed or storage.
#[derive(Debug, Default)]
pub(super) struct ModelQueue {
    jobs: BTreeMap<String, ModelJob>,
}

impl ModelJob {
    pub(super) fn new(
        (in_group, priority): (bool, i64),
        run_at: Timestamp,
        max_attempts: u32,
        enqueued_at: Timestamp,
    ) -> Self {
        Self {
            in_group,
            priority,
            max_attempts,
            enqueued_at,
            is_at: Place::Waiting(run_at),
            run_at,
            attempts: 0,
            lease: 0,
            completions: 0,
            is_held: false,
            reason: None,
        }
    }

    fn wait_until(&mut self, run_at: Timestamp) {
        self.run_at = run_at;
        self.is_at = Place::Waiting(run_at);
    }

    fn is_out(&self, now: Timestamp) -> bool {
        matches!(self.is_at, Place::Out(until) if until > now)
    }

    fn is_due(&self, now: Timestamp) -> bool {
        !self.is_held && matches!(self.is_at, Place::Waiting(at) | Place::Out(at) if at <= now)
    }

    /// Marks a job as lost that is due and has no attempt left.
    fn mark_lost(&mut self, now: Timestamp) {
        if self.is_due(now) && self.attempts >= self.max_attempts {
            self.is_at = Place::Dead;
            self.reason = Some("ended without a result".to_owned());
        }
    }

    fn hand_out(&mut self, lease: Duration, now: Timestamp) {
        self.is_at = Place::Out(now.plus(lease));
        self.attempts += 1;
        self.lease += 1;
    }
}

impl ModelQueue {
    pub(super) fn enqueue(&mut self, id: &str, job: ModelJob) -> bool {
        let is_new = !self.jobs.contains_key(id);
        self.jobs.entry(id.to_owned()).or_insert(job);
        is_new
    }

    pub(super) fn claim(&mut self, claim: ModelClaim, now: Timestamp) -> Vec<String> {
        self.shorten(now);
        let running = self.jobs.values().filter(|job| job.is_out(now)).count() as u64;
        let room = claim.max_running.map_or(u64::MAX, |most| most.saturating_sub(running));
        self.jobs.values_mut().for_each(|job| job.mark_lost(now));
        let mut due: Vec<(&String, &mut ModelJob)> = Vec::new();
        let mut is_group_busy = self.jobs.values().any(|job| job.in_group && job.is_out(now));
        for (id, job) in &mut self.jobs {
            if job.is_due(now) {
                due.push((id, job));
            }
        }
        due.sort_by_key(|(id, job)| (Reverse(job.priority), job.enqueued_at, (*id).clone()));
        let mut handed_out = Vec::new();
        for (id, job) in due {
            // The first of a group keeps the others waiting, whether or not there is room for it.
            let is_blocked = job.in_group && std::mem::replace(&mut is_group_busy, true);
            if !is_blocked && (handed_out.len() as u64) < claim.limit.min(room) {
                job.hand_out(claim.lease, now);
                handed_out.push(id.clone());
            }
        }
        handed_out
    }

    pub(super) fn claim_one(
        &mut self,
        id: &str,
        new: ModelJob,
        lease: Duration,
        now: Timestamp,
    ) -> bool {
        self.shorten(now);
        let job = self.jobs.entry(id.to_owned()).or_insert(new);
        job.mark_lost(now);
        let is_granted = job.is_due(now);
        if is_granted {
            job.hand_out(lease, now);
        }
        is_granted
    }

    pub(super) fn renew(&mut self, key: (&str, u64), lease: Duration, now: Timestamp) -> bool {
        self.held(key, |job| job.is_at = Place::Out(now.plus(lease)))
    }

    pub(super) fn complete(&mut self, key: (&str, u64)) -> bool {
        self.held(key, |job| {
            job.is_at = Place::Done;
            job.completions += 1;
            job.reason = None;
        })
    }

    pub(super) fn fail(
        &mut self,
        key: (&str, u64),
        error: &str,
        retry_at: Option<Timestamp>,
    ) -> bool {
        self.held(key, |job| {
            let has_another = job.attempts < job.max_attempts;
            match retry_at.filter(|_| has_another) {
                Some(at) => job.wait_until(at),
                None => job.is_at = Place::Dead,
            }
            job.reason = Some(error.to_owned());
        })
    }

    pub(super) fn release(&mut self, key: (&str, u64), now: Timestamp) -> bool {
        self.held(key, |job| {
            job.wait_until(job.run_at.min(now));
            job.attempts -= 1;
        })
    }

    pub(super) fn revive(&mut self, id: &str, now: Timestamp) -> bool {
        let dead = self.jobs.get_mut(id).filter(|job| job.is_at == Place::Dead);
        let Some(job) = dead else { return false };
        job.wait_until(now);
        job.attempts = 0;
        true
    }

    pub(super) fn discard(&mut self, id: &str) -> bool {
        let is_dead = self.jobs.get(id).is_some_and(|job| job.is_at == Place::Dead);
        is_dead && self.jobs.remove(id).is_some()
    }

    pub(super) fn hold(&mut self, is_held: bool) {
        for job in self.jobs.values_mut().filter(|job| job.in_group && job.is_at != Place::Done) {
            job.is_held = is_held;
        }
    }

    pub(super) fn expire_all(&mut self, now: Timestamp) {
        for job in self.jobs.values_mut().filter(|job| job.is_out(now)) {
            job.is_at = Place::Out(now);
        }
    }

    pub(super) fn prune(&mut self, keep: u64) {
        let is_finished = |job: &ModelJob| matches!(job.is_at, Place::Done | Place::Dead);
        let finished = self.jobs.iter().filter(|(_, job)| job.in_group && is_finished(job));
        let mut finished: Vec<(Timestamp, String)> =
            finished.map(|(id, job)| (job.enqueued_at, id.clone())).collect();
        finished.sort_by(|a, b| b.cmp(a));
        for (_, id) in finished.iter().skip(usize::try_from(keep).unwrap()) {
            self.jobs.remove(id);
        }
    }

    pub(super) fn ids(&self) -> Vec<&str> {
        self.jobs.keys().map(String::as_str).collect()
    }

    /// Checks that a stored job is in the model's state, and that the state is a possible one.
    #[track_caller]
    pub(super) fn assert_same(&self, stored: &JobRecord) {
        let job = &self.jobs[&stored.id];
        let (state, at) = (&stored.state, job.is_at);
        let is_same = match &state.phase {
            JobPhase::Queued { run_at } => at == Place::Waiting(*run_at),
            JobPhase::Leased { expires_at, .. } => at == Place::Out(*expires_at),
            JobPhase::Done => at == Place::Done,
            JobPhase::Dead => at == Place::Dead,
        };
        assert!(is_same, "{stored:?} is not {job:?}");
        assert_eq!((state.attempts, state.leases), (job.attempts, job.lease), "{stored:?}");
        assert_eq!(state.is_held, job.is_held, "{stored:?}");
        assert!(state.attempts <= state.max_attempts, "{stored:?}");
        assert!(job.completions <= 1, "{} is completed twice", stored.id);
        let reason = job.reason.as_deref().unwrap_or_default();
        assert!(state.error.as_deref().unwrap_or_default().contains(reason), "{stored:?}");
        assert!(at != Place::Dead || !reason.is_empty(), "{} died without a reason", stored.id);
    }

    #[track_caller]
    pub(super) fn assert_finished(&self) {
        for (id, job) in &self.jobs {
            assert!(matches!(job.is_at, Place::Done | Place::Dead), "{id} is stuck: {job:?}");
        }
    }

    /// Changes a job, if the lease is its last and nothing has ended it.
    fn held(&mut self, (id, lease): (&str, u64), change: impl FnOnce(&mut ModelJob)) -> bool {
        let is_held = |job: &ModelJob| job.lease == lease && matches!(job.is_at, Place::Out(_));
        match self.jobs.get_mut(id) {
            Some(job) if is_held(job) => {
                change(job);
                true
            }
            _ => false,
        }
    }

    fn shorten(&mut self, now: Timestamp) {
        for job in self.jobs.values_mut() {
            match job.is_at {
                Place::Out(until) => job.is_at = Place::Out(until.min(now.plus(MAX_LEASE))),
                Place::Waiting(at) if job.attempts > 0 => {
                    job.wait_until(at.min(now.plus(MAX_RETRY_DELAY)));
                }
                Place::Waiting(at) if at > now.plus(MAX_FIRST_DELAY) => job.wait_until(now),
                Place::Waiting(_) | Place::Done | Place::Dead => {}
            }
        }
    }
}
