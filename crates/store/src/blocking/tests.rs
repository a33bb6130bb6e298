use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, mpsc};
use std::thread::ThreadId;

use proptest::prelude::*;
use ratchet_testkit::wait;
use tracing::Instrument;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use super::*;

#[tokio::test]
async fn a_panic_is_an_error_with_its_message_and_returns_its_permit() {
    let pool = BlockingPool::new(1);
    let outcome = pool.run(|| -> u8 { panic!("number {}", 7) }).await;
    assert!(matches!(&outcome, Err(StoreError::Panicked(why)) if why == "number 7"), "{outcome:?}");
    assert_eq!(pool.run(|| 7).await.unwrap(), 7);
}

#[tokio::test]
async fn only_long_work_leaves_the_thread() {
    let pool = BlockingPool::new(1);
    let here = std::thread::current().id();
    let place = || -> ThreadId { std::thread::current().id() };
    assert_eq!(pool.run_sized(SMALL - 1, place).await.unwrap(), here);
    assert_ne!(pool.run_sized(SMALL, place).await.unwrap(), here);
}

/// The threads on which spans were entered.
#[derive(Clone, Debug, Default)]
struct Entered(Arc<Mutex<Vec<ThreadId>>>);

impl<S: tracing::Subscriber> Layer<S> for Entered {
    fn on_enter(&self, _: &tracing::span::Id, _: Context<'_, S>) {
        self.0.lock().unwrap().push(std::thread::current().id());
    }
}

#[tokio::test]
async fn work_runs_in_the_span_of_its_caller() {
    let entered = Entered::default();
    let subscriber = tracing_subscriber::registry().with(entered.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    let work = run_blocking(|| std::thread::current().id());
    let thread = work.instrument(tracing::info_span!("request")).await.unwrap();
    assert!(entered.0.lock().unwrap().contains(&thread));
}

#[tokio::test]
async fn dropping_the_future_cancels_work_and_drops_what_waits() {
    let pool = BlockingPool::new(1);
    let (started, has_started) = tokio::sync::oneshot::channel();
    let (ended, has_ended) = mpsc::channel();
    let running = pool.run_cancellable(move |cancellation| {
        started.send(()).unwrap();
        wait::until("the work is cancelled", || cancellation.is_requested());
        ended.send("cancelled").unwrap();
    });
    let has_run = Arc::new(AtomicBool::new(false));
    let runs = has_run.clone();
    let waiting = pool.run(move || runs.store(true, Ordering::SeqCst));
    tokio::select! {
        biased;
        _ = running => unreachable!("it runs until it is cancelled"),
        _ = waiting => unreachable!("it waits"),
        _ = has_started => {}
    }
    assert_eq!(wait::receive("end of the work", &has_ended), "cancelled");
    pool.run(|| ()).await.unwrap();
    assert!(!has_run.load(Ordering::SeqCst));
}

/// A page may begin a second query before it awaits the first.
#[tokio::test]
async fn work_that_waits_and_is_not_polled_does_not_block_the_rest() {
    let pool = BlockingPool::new(1);
    let (release, is_released) = mpsc::channel();
    let mut running = pin!(pool.run(move || wait::receive("the release", &is_released)));
    let mut waiting = pin!(pool.run(|| 7));
    tokio::select! {
        biased;
        _ = &mut running => unreachable!("it waits for its release"),
        _ = &mut waiting => unreachable!("it waits for the first"),
        () = std::future::ready(()) => {}
    }
    release.send(()).unwrap();
    running.await.unwrap();
    let third = wait::with_timeout("end of the third", pool.run(|| 8)).await;
    assert_eq!(third.unwrap(), 8);
    assert_eq!(waiting.await.unwrap(), 7);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// However much work arrives, the limit holds and all of it is done.
    #[test]
    fn the_limit_holds(limit in 1_usize..5, count in 1_usize..40) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (active, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let pool = BlockingPool::new(limit);
        let done = runtime.block_on(async {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..count {
                let (pool, active, most) = (pool.clone(), active.clone(), most.clone());
                tasks.spawn(async move {
                    let work = move || {
                        most.fetch_max(active.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        active.fetch_sub(1, Ordering::SeqCst);
                    };
                    pool.run(work).await.unwrap();
                });
            }
            tasks.join_all().await.len()
        });
        prop_assert_eq!(done, count);
        prop_assert!(most.load(Ordering::SeqCst) <= limit);
    }
}
