//! Durable background jobs: the state machine of one job. The catalog stores it.
//!
//! A worker claims a job with a lease, renews the lease while it works, and completes or fails the
//! job. A lease that expires goes to the next worker, and every change names the lease it is made
//! under: a worker that lost its lease changes nothing.

use std::time::Duration;

use crate::time::Timestamp;

/// The longest lease. A lease that expires later than this was granted before the clock was set
/// back, and is shortened.
pub const MAX_LEASE: Duration = Duration::from_secs(60 * 60);
/// The longest delay before a first attempt. A job that is due later was enqueued or revived before
/// the clock was set back, and is due now.
pub const MAX_FIRST_DELAY: Duration = Duration::from_secs(5 * 60);
/// The longest delay before a retry, for the same reason.
pub const MAX_RETRY_DELAY: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// The kind of a job: which worker handles it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobKind {
    /// The delivery of a notification to one receiver.
    Notice,
    ScheduleRun,
    /// The scoring of a session by a run in the foreground, which claims the session by its id.
    ScoreSession,
    /// The review of a queue item by a person, who holds it while they look at it.
    Review,
    /// The verdict of one version of an evaluator on one trace, observation or session.
    Evaluation,
    /// One call of a target with the input of a dataset item, by the runner of an experiment.
    ExperimentTrial,
    /// A deployment of an agent version by a promotion or a rollback.
    Deployment,
    /// A comment on a trace of a Langfuse server.
    TraceComment,
}

impl JobKind {
    pub const ALL: [Self; 8] = [
        Self::Notice,
        Self::ScheduleRun,
        Self::ScoreSession,
        Self::Review,
        Self::Evaluation,
        Self::ExperimentTrial,
        Self::Deployment,
        Self::TraceComment,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::ScheduleRun => "schedule-run",
            Self::ScoreSession => "score-session",
            Self::Review => "review",
            Self::Evaluation => "evaluation",
            Self::ExperimentTrial => "experiment-trial",
            Self::Deployment => "deployment",
            Self::TraceComment => "trace-comment",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Where a job is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobPhase {
    /// Waits for a worker, from this time on.
    Queued {
        run_at: Timestamp,
    },
    /// A worker has it until the lease expires.
    Leased {
        owner: String,
        expires_at: Timestamp,
    },
    Done,
    /// A dead letter: it is not retried unless a person revives it. The error is the reason.
    Dead,
}

impl JobPhase {
    /// The name of a queued phase.
    pub const QUEUED: &'static str = "queued";
    /// The name of a leased phase.
    pub const LEASED: &'static str = "leased";
    /// The name of a finished phase.
    pub const DONE: &'static str = "done";
    /// The name of a dead letter's phase.
    pub const DEAD: &'static str = "dead";
    /// The names of all phases.
    pub const NAMES: [&'static str; 4] = [Self::QUEUED, Self::LEASED, Self::DONE, Self::DEAD];

    /// Returns the name that a word is, if it is one.
    pub fn parse_name(word: &str) -> Option<&'static str> {
        Self::NAMES.into_iter().find(|name| *name == word)
    }

    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Queued { .. } => Self::QUEUED,
            Self::Leased { .. } => Self::LEASED,
            Self::Done => Self::DONE,
            Self::Dead => Self::DEAD,
        }
    }
}

/// The state of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobState {
    pub phase: JobPhase,
    /// Leases granted since the job was enqueued or revived, without released ones.
    pub attempts: u32,
    /// The number of attempts after which a failure makes the job a dead letter.
    pub max_attempts: u32,
    /// Leases granted ever. Its value at the time of a lease identifies the lease.
    pub leases: u64,
    /// Whether workers skip the job, because its group is paused.
    pub is_held: bool,
    /// The last error; of a dead letter, the reason.
    pub error: Option<String>,
}

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Another attempt, if any is left.
    At(Timestamp),
    /// The job becomes a dead letter: no attempt can succeed.
    Never,
}

/// The result of a claim of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobClaim {
    /// The new state: the caller holds the lease.
    Granted(JobState),
    /// The new state: a dead letter, because its last attempt ended without a result.
    Exhausted(JobState),
    /// Finished, held, not due, or leased to another worker.
    Unavailable,
}

impl JobState {
    /// Returns the state of a new job.
    pub const fn new(run_at: Timestamp, max_attempts: u32) -> Self {
        Self {
            phase: JobPhase::Queued { run_at },
            attempts: 0,
            max_attempts,
            leases: 0,
            is_held: false,
            error: None,
        }
    }

    /// Returns whether a worker holds an unexpired lease.
    pub fn is_leased(&self, now: Timestamp) -> bool {
        matches!(self.phase, JobPhase::Leased { expires_at, .. } if expires_at > now)
    }

    /// Returns whether it is done or a dead letter.
    pub const fn is_finished(&self) -> bool {
        matches!(self.phase, JobPhase::Done | JobPhase::Dead)
    }

    /// Decides whether a worker may have the job.
    #[must_use]
    pub fn claim(&self, owner: &str, lease: Duration, now: Timestamp) -> JobClaim {
        let is_due = match &self.phase {
            JobPhase::Queued { run_at } => *run_at <= now,
            JobPhase::Leased { expires_at, .. } => *expires_at <= now,
            JobPhase::Done | JobPhase::Dead => false,
        };
        if !is_due || self.is_held {
            return JobClaim::Unavailable;
        }
        if self.attempts >= self.max_attempts {
            let attempts = format!("attempt {} of {}", self.attempts, self.max_attempts);
            let earlier = self.error.as_ref().map(|error| format!("; before it: {error}"));
            let reason =
                format!("{attempts} ended without a result{}", earlier.unwrap_or_default());
            let dead = Self { phase: JobPhase::Dead, error: Some(reason), ..self.clone() };
            return JobClaim::Exhausted(dead);
        }
        JobClaim::Granted(Self {
            phase: leased(owner, lease, now),
            attempts: self.attempts.saturating_add(1),
            leases: self.leases.saturating_add(1),
            ..self.clone()
        })
    }

    /// Extends a lease; `None` if it is lost.
    #[must_use]
    pub fn renew(&self, lease: u64, length: Duration, now: Timestamp) -> Option<Self> {
        let owner = self.holder(lease)?;
        Some(Self { phase: leased(owner, length, now), ..self.clone() })
    }

    /// Finishes the job; `None` if the lease is lost.
    #[must_use]
    pub fn complete(&self, lease: u64) -> Option<Self> {
        self.holder(lease)?;
        Some(Self { phase: JobPhase::Done, error: None, ..self.clone() })
    }

    /// Records a failed attempt; `None` if the lease is lost.
    #[must_use]
    pub fn fail(&self, lease: u64, error: String, retry: Retry) -> Option<Self> {
        self.holder(lease)?;
        let phase = match retry {
            Retry::At(run_at) if self.attempts < self.max_attempts => JobPhase::Queued { run_at },
            Retry::At(_) | Retry::Never => JobPhase::Dead,
        };
        Some(Self { phase, error: Some(error), ..self.clone() })
    }

    /// Returns the job to the queue without an attempt; `None` if the lease is lost.
    #[must_use]
    pub fn release(&self, lease: u64, run_at: Timestamp) -> Option<Self> {
        self.holder(lease)?;
        let attempts = self.attempts.saturating_sub(1);
        Some(Self { phase: JobPhase::Queued { run_at }, attempts, ..self.clone() })
    }

    /// Returns a dead letter to the queue, with all its attempts; `None` for other jobs. The error
    /// stays until an attempt succeeds.
    #[must_use]
    pub fn revive(&self, now: Timestamp) -> Option<Self> {
        let is_dead = self.phase == JobPhase::Dead;
        let phase = JobPhase::Queued { run_at: now };
        is_dead.then(|| Self { phase, attempts: 0, ..self.clone() })
    }

    /// Returns a finished job to the queue, with all its attempts, to be done once more; `None` for
    /// other jobs.
    #[must_use]
    pub fn repeat(&self, now: Timestamp) -> Option<Self> {
        let is_done = self.phase == JobPhase::Done;
        let phase = JobPhase::Queued { run_at: now };
        is_done.then(|| Self { phase, attempts: 0, ..self.clone() })
    }

    /// The owner of a lease, if it is the current one. An expired lease counts until another
    /// worker claims the job: the work is done all the same.
    fn holder(&self, lease: u64) -> Option<&str> {
        match &self.phase {
            JobPhase::Leased { owner, .. } if lease == self.leases => Some(owner),
            _ => None,
        }
    }
}

fn leased(owner: &str, lease: Duration, now: Timestamp) -> JobPhase {
    JobPhase::Leased { owner: owner.to_owned(), expires_at: now.plus(lease.min(MAX_LEASE)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(60);

    const fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[track_caller]
    fn granted(state: &JobState, owner: &str, now: Timestamp) -> JobState {
        match state.claim(owner, LEASE, now) {
            JobClaim::Granted(state) => state,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_job_is_handed_out_when_due_and_once() {
        let new = JobState::new(at(10), 3);
        assert_eq!(new.claim("a", LEASE, at(9)), JobClaim::Unavailable);
        let first = granted(&new, "a", at(10));
        assert_eq!(first.claim("b", LEASE, at(69)), JobClaim::Unavailable);
        let second = granted(&first, "b", at(70));
        assert_eq!((second.attempts, second.leases), (2, 2));
        assert_eq!(first.leases, 1);
        let held = JobState { is_held: true, ..new };
        assert_eq!(held.claim("a", LEASE, at(10)), JobClaim::Unavailable);
    }

    #[test]
    fn a_lost_lease_changes_nothing() {
        let first = granted(&JobState::new(at(0), 3), "a", at(0));
        let second = granted(&first, "a", at(60));
        let lease = first.leases;
        assert_eq!(second.renew(lease, LEASE, at(61)), None);
        assert_eq!(second.complete(lease), None);
        assert_eq!(second.fail(lease, "late".into(), Retry::Never), None);
        assert_eq!(second.release(lease, at(61)), None);
        assert_eq!(second.complete(second.leases).unwrap().phase, JobPhase::Done);
    }

    #[test]
    fn an_expired_lease_counts_until_another_is_granted() {
        let first = granted(&JobState::new(at(0), 3), "a", at(0));
        assert!(!first.is_leased(at(60)));
        assert!(first.renew(1, LEASE, at(90)).unwrap().is_leased(at(149)));
        assert_eq!(first.complete(1).unwrap().phase, JobPhase::Done);
    }

    #[test]
    fn the_last_failure_makes_a_dead_letter_with_its_reason() {
        let mut state = JobState::new(at(0), 2);
        for (attempt, expected) in [(1, "queued"), (2, "dead")] {
            state = granted(&state, "a", at(attempt));
            state = state.fail(state.leases, format!("error {attempt}"), Retry::At(at(0))).unwrap();
            assert_eq!(state.phase.as_str(), expected);
        }
        assert_eq!(state.error.as_deref(), Some("error 2"));
        let again = state.revive(at(5)).unwrap();
        assert_eq!((again.attempts, again.error.as_deref()), (0, Some("error 2")));
        assert_eq!(again.revive(at(5)), None, "it is not dead");
        assert_eq!(granted(&again, "a", at(5)).leases, 3, "no lease is ever granted twice");
    }

    #[test]
    fn a_worker_that_dies_uses_up_its_attempts() {
        let mut state = JobState::new(at(0), 2);
        state = granted(&state, "a", at(0));
        state = state.fail(1, "busy".into(), Retry::At(at(1))).unwrap();
        state = granted(&state, "a", at(1));
        let JobClaim::Exhausted(dead) = state.claim("b", LEASE, at(61)) else {
            panic!("{state:?}")
        };
        assert_eq!(dead.phase, JobPhase::Dead);
        let reason = "attempt 2 of 2 ended without a result; before it: busy";
        assert_eq!(dead.error.as_deref(), Some(reason));
    }

    #[test]
    fn a_release_is_no_attempt() {
        let state = granted(&JobState::new(at(0), 1), "a", at(0));
        let state = state.release(1, at(1)).unwrap();
        assert_eq!((state.attempts, state.leases), (0, 1));
        granted(&state, "b", at(1));
    }
}
