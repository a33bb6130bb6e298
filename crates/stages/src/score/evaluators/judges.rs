use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ratchet_agent::model::Model;
use ratchet_core::backoff::{Backoff, FailedAttempt};
use ratchet_core::judge::judge_prompt::Seed;
use ratchet_core::judge::offline::SignalSet;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::time::Timestamp;
use ratchet_store::project::ProjectId;
use tokio::sync::Semaphore;

use crate::schedule::{EnvironmentError, JobEnvironment, judge};
use crate::score::judge::Judge;

/// How long an open judge is used before its keys and files are read again.
const KEEP: Duration = Duration::from_secs(30);
/// One attempt: every call is counted before it is sent, and the queue retries.
const ONCE: Backoff = Backoff {
    max_attempts: 1,
    first: Duration::from_secs(1),
    cap: Duration::from_secs(1),
    max_retry_after: Duration::ZERO,
    max_elapsed: Duration::MAX,
};
/// How long a judge that cannot be reached is left alone.
pub(super) const OUTAGE: Backoff = Backoff {
    max_attempts: u32::MAX,
    first: Duration::from_secs(2),
    cap: Duration::from_secs(5 * 60),
    max_retry_after: Duration::from_secs(60 * 60),
    max_elapsed: Duration::MAX,
};

/// The judges in use.
pub(super) struct Judges {
    environment: Arc<dyn JobEnvironment>,
    calls_at_once: usize,
    open: Mutex<HashMap<JudgeKey, (Timestamp, Arc<OpenJudge>)>>,
    pub(super) circuits: JudgeCircuits,
}

/// Circuit breakers: whether each judge answers.
#[derive(Debug, Default)]
pub(super) struct JudgeCircuits(Mutex<HashMap<JudgeKey, JudgeHealth>>);

/// Permission for one call of a judge. Dropped without an outcome, because the call was not sent or
/// was given up, it says nothing of the judge, and the next call may find out.
#[must_use]
pub(super) struct CallPermit<'a> {
    circuits: &'a JudgeCircuits,
    key: &'a JudgeKey,
    is_probe: bool,
}

/// A judge of a project, by its name.
pub(super) type JudgeKey = (ProjectId, String);

/// A judge that is ready to be asked.
#[derive(Debug)]
pub(super) enum OpenJudge {
    Offline {
        signals: Box<SignalSet>,
        rubric: Rubric,
    },
    Model {
        name: String,
        model: Box<Model>,
        /// The general instructions.
        instructions: String,
        seed: Seed,
        calls: Semaphore,
    },
}

/// Whether a judge answers. After a failure it is left alone for a while, then one call finds out
/// whether it is back; all others wait for that call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JudgeHealth {
    failures: u32,
    until: Timestamp,
    is_probing: bool,
}

impl JudgeHealth {
    /// Allows a call and returns whether it is the one that finds out, or says when to ask again.
    fn admit(&mut self, now: Timestamp) -> Result<bool, Timestamp> {
        if self.failures == 0 {
            return Ok(false);
        }
        if self.until > now {
            return Err(self.until);
        }
        if self.is_probing {
            return Err(now.plus(OUTAGE.first));
        }
        self.is_probing = true;
        Ok(true)
    }

    fn failed(
        &mut self,
        is_probe: bool,
        retry_after: Option<Duration>,
        (now, jitter): (Timestamp, f64),
    ) {
        // Calls that were sent before the first of them failed are one failure, however long each took.
        if self.failures > 0 && !is_probe {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        let failed =
            FailedAttempt { attempt: self.failures, elapsed: Duration::ZERO, retry_after, jitter };
        self.until = now.plus(OUTAGE.delay(failed).unwrap_or(OUTAGE.cap));
        self.is_probing = false;
    }
}

impl Judges {
    pub(super) fn new(environment: Arc<dyn JobEnvironment>, calls_at_once: usize) -> Self {
        let (open, circuits) = (Mutex::default(), JudgeCircuits::default());
        Self { environment, calls_at_once, open, circuits }
    }

    /// Returns a judge; it is opened anew from time to time, because keys and files change.
    pub(super) async fn open(
        &self,
        key: &JudgeKey,
        now: Timestamp,
    ) -> Result<Arc<OpenJudge>, EnvironmentError> {
        let known = lock(&self.open).get(key).cloned();
        if let Some((opened_at, judge)) = known
            && opened_at.plus(KEEP) > now
        {
            return Ok(judge);
        }
        let opened = Arc::new(self.open_anew(key).await?);
        lock(&self.open).insert(key.clone(), (now, opened.clone()));
        Ok(opened)
    }

    async fn open_anew(&self, (project, name): &JudgeKey) -> Result<OpenJudge, EnvironmentError> {
        let invalid = |why: String| EnvironmentError { detail: why.clone(), public: why };
        let name = judge(name).map_err(|why| invalid(format!("judge: {why}")))?;
        let name = name.ok_or_else(|| invalid("judge: must not be none".to_owned()))?;
        let rubric = || self.environment.rubric(rubric::DEFAULT);
        match self.environment.judge(project, &name, None).await? {
            Judge::Offline => Ok(OpenJudge::Offline {
                signals: Box::new(SignalSet::shipped().clone()),
                rubric: rubric()?,
            }),
            Judge::OwnSignals(own) => Ok(OpenJudge::Offline {
                signals: Box::new(own.signals().clone()),
                rubric: rubric()?,
            }),
            Judge::Model(judge) => {
                let model = Arc::into_inner(judge.model);
                let model = model.ok_or_else(|| invalid("the model is in use".to_owned()))?;
                Ok(OpenJudge::Model {
                    name: judge.name,
                    model: Box::new(model.with_backoff(ONCE)),
                    instructions: self.environment.evaluator_instructions()?,
                    seed: judge.briefing.seed,
                    calls: Semaphore::new(self.calls_at_once),
                })
            }
            Judge::HandedIn(_) => Err(invalid("judge: must answer by itself".to_owned())),
        }
    }
}

impl JudgeCircuits {
    /// Allows a call of a judge, or says when to ask again.
    pub(super) fn admit<'a>(
        &'a self,
        key: &'a JudgeKey,
        now: Timestamp,
    ) -> Result<CallPermit<'a>, Timestamp> {
        let is_probe = lock(&self.0).entry(key.clone()).or_default().admit(now)?;
        Ok(CallPermit { circuits: self, key, is_probe })
    }
}

impl CallPermit<'_> {
    /// The judge answered.
    pub(super) fn answered(mut self) {
        self.is_probe = false;
        lock(&self.circuits.0).remove(self.key);
    }

    /// The judge did not answer.
    pub(super) fn failed(mut self, retry_after: Option<Duration>, at: (Timestamp, f64)) {
        let is_probe = std::mem::take(&mut self.is_probe);
        let mut health = lock(&self.circuits.0);
        health.entry(self.key.clone()).or_default().failed(is_probe, retry_after, at);
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        if self.is_probe
            && let Some(health) = lock(&self.circuits.0).get_mut(self.key)
        {
            health.is_probing = false;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn after_an_outage_one_call_finds_out_whether_the_judge_is_back() {
        let mut health = JudgeHealth::default();
        assert!(health.admit(at(0)).is_ok() && health.admit(at(0)).is_ok());
        health.failed(false, None, (at(1), 1.0));
        assert_eq!(health.admit(at(2)), Err(at(3)), "two seconds of rest");
        assert!(health.admit(at(3)).is_ok(), "the first finds out");
        assert!(health.admit(at(3)).is_err(), "the others wait for it");
        health.failed(true, None, (at(4), 1.0));
        assert_eq!(health.admit(at(5)), Err(at(8)), "the next rest is longer");
    }

    #[test]
    fn a_call_that_is_never_sent_leaves_the_next_one_to_find_out() {
        let (circuits, key) =
            (JudgeCircuits::default(), (ProjectId::parse("p").unwrap(), "j".into()));
        circuits.admit(&key, at(0)).unwrap().failed(None, (at(1), 1.0));
        let probe = circuits.admit(&key, at(3)).unwrap();
        assert!(circuits.admit(&key, at(3)).is_err(), "one finds out");
        // The store failed before the call was counted, or the evaluator is at its cost cap.
        drop(probe);
        let next = circuits.admit(&key, at(3)).unwrap();
        assert!(circuits.admit(&key, at(3)).is_err(), "the judge still counts as unreachable");
        next.answered();
        assert!(circuits.admit(&key, at(3)).is_ok() && circuits.admit(&key, at(3)).is_ok());
    }

    #[test]
    fn calls_that_fail_together_are_one_failure() {
        let mut health = JudgeHealth::default();
        for second in 1..=8 {
            health.failed(false, None, (at(second), 1.0));
        }
        assert_eq!((health.failures, health.until), (1, at(3)));
    }

    #[test]
    fn rests_grow_to_minutes_and_no_further() {
        let mut health = JudgeHealth::default();
        let mut now = at(0);
        for _ in 0..40 {
            health.failed(true, None, (now, 1.0));
            assert!(health.until <= now.plus(OUTAGE.cap));
            now = health.until;
        }
        assert_eq!(health.failures, 40);
    }
}
