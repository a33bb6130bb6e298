use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ratchet_agent::judge::JudgeName;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::money::Money;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::BackoffClock;
use ratchet_stages::schedule::{EnvironmentError, JobEnvironment, ReportSettings, SuggestionTexts};
use ratchet_stages::score::evaluators::{EvaluationLimits, EvaluationWorker};
use ratchet_stages::score::judge::Judge;
use ratchet_store::project::ProjectId;
use ratchet_testkit::wait;

use super::{Evaluating, FromStart, OfflineMachine};

/// A clock that tests set forward.
#[derive(Debug)]
pub(super) struct JumpingClock {
    pub(super) steady: FromStart,
    pub(super) seconds_ahead: AtomicI64,
}

impl BackoffClock for JumpingClock {
    fn now(&self) -> Timestamp {
        let ahead = self.seconds_ahead.load(Ordering::SeqCst);
        self.steady.now().plus_nanos(ahead * 1_000_000_000)
    }

    fn jitter(&self) -> f64 {
        self.steady.jitter()
    }

    fn pause(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.steady.pause(wait)
    }
}

/// A machine whose judge cannot be reached for a while.
#[derive(Debug, Default)]
struct JudgeOutage {
    is_over: AtomicBool,
    tries: AtomicU32,
    machine: OfflineMachine,
}

impl JobEnvironment for JudgeOutage {
    fn judge<'a>(
        &'a self,
        project: &'a ProjectId,
        name: &'a JudgeName,
        max_cost: Option<Money>,
    ) -> BoxFuture<'a, Result<Judge, EnvironmentError>> {
        self.tries.fetch_add(1, Ordering::SeqCst);
        if self.is_over.load(Ordering::SeqCst) {
            return self.machine.judge(project, name, max_cost);
        }
        let detail = "no route to the judge".to_owned();
        let error = EnvironmentError { public: detail.clone(), detail };
        Box::pin(std::future::ready(Err(error)))
    }

    fn rubric(&self, name: &str) -> Result<Rubric, EnvironmentError> {
        self.machine.rubric(name)
    }

    fn suggestion_texts(&self) -> Result<SuggestionTexts, EnvironmentError> {
        self.machine.suggestion_texts()
    }

    fn report_settings(&self, of: &ProjectId) -> Result<ReportSettings, EnvironmentError> {
        self.machine.report_settings(of)
    }

    fn webhook_secret(&self) -> Result<Secret, EnvironmentError> {
        self.machine.webhook_secret()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_an_hour_loses_no_verdict() {
    let mut shop = Evaluating::shipped().await;
    let steady = FromStart(Instant::now());
    let clock = Arc::new(JumpingClock { steady, seconds_ahead: AtomicI64::new(0) });
    let outage = Arc::new(JudgeOutage::default());
    let limits =
        EvaluationLimits { poll_every: Duration::from_millis(10), ..EvaluationLimits::default() };
    let pace: (Arc<dyn BackoffClock>, _) = (clock.clone(), limits);
    let (store, machine) = (shop.data.folder().clone(), outage.clone());
    shop.worker = Arc::new(EvaluationWorker::new(store, machine, pace, "worker".to_owned()));
    for number in 0..20 {
        shop.record(&format!("t-{number}"), 1, "default").await;
    }
    shop.start();
    // An hour in which the longest pause between two attempts, five minutes, passes again and again.
    for _ in 0..10 {
        let tries = outage.tries.load(Ordering::SeqCst);
        let was_tried = async || outage.tries.load(Ordering::SeqCst) > tries;
        wait::until_async("another attempt", was_tried).await;
        clock.seconds_ahead.fetch_add(6 * 60, Ordering::SeqCst);
    }
    assert!(shop.verdicts().await.is_empty());
    outage.is_over.store(true, Ordering::SeqCst);
    clock.seconds_ahead.fetch_add(6 * 60, Ordering::SeqCst);
    let all = async || shop.verdicts().await.len() == 20;
    wait::until_async("every trace is judged", all).await;
    shop.quiet().await;
    assert_eq!(shop.verdicts().await.len(), 20, "each is judged once");
}
