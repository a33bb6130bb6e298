use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;

/// A clock that a pause moves on.
#[derive(Debug, Default)]
struct JumpingClock(AtomicI64);

impl BackoffClock for JumpingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn jitter(&self) -> f64 {
        0.0
    }

    fn pause(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let nanos = i64::try_from(wait.as_nanos()).unwrap();
        self.0.fetch_add(nanos, Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn retries_count_towards_the_rate_limit() {
    let (clock, pace) = (JumpingClock::default(), Mutex::new(CallPace::new(Some(60))));
    pace.lock().await.sent(1, clock.now());
    for _ in 0..3 {
        take_permit(&pace, &clock).await;
    }
    assert_eq!(clock.now(), Timestamp::from_nanos(3_000_000_000));
    assert_eq!(pace.lock().await.permits(4, clock.now()), 0, "first calls wait, too");
}

#[test]
fn high_rates_are_reached() {
    let mut pace = CallPace::new(Some(6_000));
    let (mut now, mut calls) = (Timestamp::from_nanos(0), 0);
    // Each look is a millisecond late.
    while now < Timestamp::from_nanos(60_000_000_000) {
        assert_eq!(pace.permits(8, now), 1);
        pace.sent(1, now);
        calls += 1;
        now = now.plus(pace.until_next(now).unwrap() + Duration::from_millis(1));
    }
    assert!((5_990..=6_001).contains(&calls), "{calls}");
}

#[test]
fn a_pause_is_not_made_up_for() {
    let (mut pace, later) = (CallPace::new(Some(60)), Timestamp::from_nanos(90_000_000_000));
    pace.sent(1, Timestamp::from_nanos(0));
    pace.sent(1, later);
    assert_eq!(pace.until_next(later), Some(Duration::from_secs(1)));
    assert_eq!(CallPace::new(None).until_next(later), None);
}
