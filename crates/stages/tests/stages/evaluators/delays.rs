use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use ratchet_core::job::{JobKind, JobPhase, Retry};
use ratchet_core::record::score::Score;
use ratchet_remote::backoff_clock::BackoffClock;
use ratchet_stages::score::evaluators::{EvaluationLimits, EvaluationWorker};
use ratchet_store::catalog::{
    DocumentKind, JobFailure, JobRecord, JobRequest, LeaseStatus, NewJob,
};
use ratchet_testkit::build::{START, batch, text, trace};
use ratchet_testkit::recording::RecordBatch as _;
use ratchet_testkit::wait;
use serde_json::json;

use super::outage::JumpingClock;
use super::{Evaluating, FromStart, OfflineMachine, evaluator, later, rule, said};

/// A project with an evaluator that judges at once and one that waits for ten minutes.
async fn quick_and_slow(clock: &Arc<JumpingClock>) -> Evaluating {
    let mut shop = Evaluating::new().await;
    for (id, name, delay) in [("e-1", "quick", 0), ("e-2", "slow", 600)] {
        let mut body = evaluator();
        (body["id"], body["name"]) = (json!(id), json!(name));
        shop.store(DocumentKind::Evaluator, body).await;
        let assigned = json!([{ "evaluatorId": id, "variableMapping": null }]);
        let changes = json!({ "id": format!("r-{name}"), "name": name, "delaySeconds": delay,
            "evaluatorAssignments": assigned });
        shop.store(DocumentKind::EvaluationRule, rule(&changes)).await;
    }
    let limits =
        EvaluationLimits { poll_every: Duration::from_millis(10), ..EvaluationLimits::default() };
    let pace: (Arc<dyn BackoffClock>, _) = (clock.clone(), limits);
    let (store, machine) = (shop.data.folder().clone(), Arc::new(OfflineMachine::default()));
    shop.worker = Arc::new(EvaluationWorker::new(store, machine, pace, "worker".to_owned()));
    shop.worker.prepare().await.unwrap();
    shop
}

fn clock() -> Arc<JumpingClock> {
    let steady = FromStart(Instant::now());
    Arc::new(JumpingClock { steady, seconds_ahead: AtomicI64::new(0) })
}

async fn slow_job(shop: &Evaluating) -> Option<JobRecord> {
    let id = "e-2.1/trace/t-1".to_owned();
    let kind = JobKind::Evaluation;
    shop.data.catalog().job(shop.shop.clone(), kind, id).await.unwrap()
}

/// Waits until the slow evaluator has looked at its job more often than before.
async fn looked_at(shop: &Evaluating, looks: u64) -> u64 {
    let seen = async || {
        let job = slow_job(shop).await;
        job.is_none_or(|job| {
            job.state.leases > looks && matches!(job.state.phase, JobPhase::Queued { .. })
        })
    };
    wait::until_async("the slow evaluator looks at its trace", seen).await;
    slow_job(shop).await.map_or(0, |job| job.state.leases)
}

async fn of(shop: &Evaluating, name: &str) -> Vec<Score> {
    shop.verdicts().await.into_iter().filter(|score| score.name == name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_two_evaluators_waits_for_its_own_delay() {
    let clock = clock();
    let mut shop = quick_and_slow(&clock).await;
    shop.record("t-1", 0, "default").await;
    shop.start();
    let quick = async || of(&shop, "quick").await.len() == 1;
    wait::until_async("the quick one judges at once", quick).await;
    // Later than any job waits without a look, and earlier than the delay.
    clock.seconds_ahead.store(300, Ordering::SeqCst);
    let looks = looked_at(&shop, 0).await;
    assert!(of(&shop, "slow").await.is_empty(), "its ten minutes are not over");

    // The trace grows; the quick one judges it again, the slow one waits for ten minutes from now.
    let changed = trace("t-1").named("agent").output(text("Done, and sent"));
    let mut all = batch(&shop.shop).with(changed).build();
    all.received_at = later(400);
    shop.data.telemetry().record(all).await.unwrap();
    clock.seconds_ahead.store(700, Ordering::SeqCst);
    let again = async || shop.judged().await >= 2;
    wait::until_async("the quick one judges again", again).await;
    let looks = looked_at(&shop, looks).await;
    assert!(looks > 0 && of(&shop, "slow").await.is_empty(), "it was written 300 s ago");
    for ahead in [950, 1_200] {
        clock.seconds_ahead.store(ahead, Ordering::SeqCst);
        if ahead < 1_000 {
            looked_at(&shop, looks).await;
        }
    }
    let slow = async || of(&shop, "slow").await.len() == 1;
    wait::until_async("the slow one judges", slow).await;
    assert_eq!(said(&of(&shop, "slow").await[0], "evaluator"), "\"slow\"");
}

/// Makes the job of a trace a dead letter, as if its judge had never given a usable answer.
async fn make_dead(shop: &Evaluating, id: &str) {
    let catalog = shop.data.catalog();
    let payload = json!({ "evaluator": "gone", "version": 1, "rule": "gone", "trace": "t-1",
        "changed_at": 0 });
    let new = NewJob {
        kind: JobKind::Evaluation,
        id: id.to_owned(),
        group: None,
        payload: payload.to_string(),
        priority: 0,
        run_at: START,
        max_attempts: 40,
        is_held: false,
    };
    assert!(catalog.enqueue_job(shop.shop.clone(), new, START).await.unwrap());
    let request = JobRequest {
        kind: JobKind::Evaluation,
        owner: "worker".to_owned(),
        lease: Duration::from_secs(60),
        limit: 1,
        max_running: None,
    };
    let job = catalog.claim_jobs(request, START).await.unwrap().remove(0);
    let error = "no usable answer".to_owned();
    let failure = JobFailure { error, retry: Retry::Never, result: None };
    let status = catalog.fail_job(job.lease(), failure, START).await.unwrap();
    assert_eq!(status, LeaseStatus::Held);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_does_not_keep_what_its_trace_became_from_being_judged() {
    let mut shop = Evaluating::new().await;
    shop.store(DocumentKind::Evaluator, evaluator()).await;
    shop.store(DocumentKind::EvaluationRule, rule(&json!({}))).await;
    shop.worker.prepare().await.unwrap();
    let id = "e-1.1/trace/t-1".to_owned();
    make_dead(&shop, &id).await;
    shop.record("t-1", 0, "default").await;
    shop.start();
    let judged = async || shop.verdicts().await.len() == 1;
    wait::until_async("the trace is judged as it is now", judged).await;
    shop.quiet().await;
    let job = shop.data.catalog().job(shop.shop.clone(), JobKind::Evaluation, id).await.unwrap();
    assert_eq!(job, None, "the dead letter became the verdict");
}
