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
    health: Mutex<HashMap<JudgeKey, JudgeHealth>>,
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
    /// Allows a call, or says when to ask again.
    fn admit(&mut self, now: Timestamp) -> Result<(), Timestamp> {
        if self.failures == 0 {
            return Ok(());
        }
        if self.until > now {
            return Err(self.until);
        }
        if self.is_probing {
            return Err(now.plus(OUTAGE.first));
        }
        self.is_probing = true;
        Ok(())
    }

    fn failed(&mut self, retry_after: Option<Duration>, (now, jitter): (Timestamp, f64)) {
        // Calls that were sent before the first of them failed are one failure.
        if self.until > now {
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
        Self { environment, calls_at_once, open: Mutex::default(), health: Mutex::default() }
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

    /// Allows a call of a judge, or says when to ask again.
    pub(super) fn admit(&self, key: &JudgeKey, now: Timestamp) -> Result<(), Timestamp> {
        lock(&self.health).entry(key.clone()).or_default().admit(now)
    }

    pub(super) fn answered(&self, key: &JudgeKey) {
        lock(&self.health).remove(key);
    }

    pub(super) fn failed(
        &self,
        key: &JudgeKey,
        retry_after: Option<Duration>,
        at: (Timestamp, f64),
    ) {
        lock(&self.health).entry(key.clone()).or_default().failed(retry_after, at);
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
        health.failed(None, (at(1), 1.0));
        assert_eq!(health.admit(at(2)), Err(at(3)), "two seconds of rest");
        assert!(health.admit(at(3)).is_ok(), "the first finds out");
        assert!(health.admit(at(3)).is_err(), "the others wait for it");
        health.failed(None, (at(4), 1.0));
        assert_eq!(health.admit(at(5)), Err(at(8)), "the next rest is longer");
    }

    #[test]
    fn calls_that_fail_together_are_one_failure() {
        let mut health = JudgeHealth::default();
        for _ in 0..8 {
            health.failed(None, (at(1), 1.0));
        }
        assert_eq!((health.failures, health.until), (1, at(3)));
    }

    #[test]
    fn rests_grow_to_minutes_and_no_further() {
        let mut health = JudgeHealth::default();
        let mut now = at(0);
        for _ in 0..40 {
            health.failed(None, (now, 1.0));
            assert!(health.until <= now.plus(OUTAGE.cap));
            now = health.until;
        }
        assert_eq!(health.failures, 40);
    }
}
