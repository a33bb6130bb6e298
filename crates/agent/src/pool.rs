use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// An adaptive concurrency limit shared by all clones: halved while the provider is overloaded, and
/// increased slowly (AIMD) afterwards.
///
/// ```
/// use ratchet_agent::pool::ModelPool;
///
/// assert_eq!(ModelPool::new(8).width(), 8);
/// ```
#[derive(Clone, Debug)]
pub struct ModelPool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    max_width: usize,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug)]
struct State {
    width: usize,
    busy: usize,
    /// Successful responses since the limit last changed.
    streak: usize,
    quiet_until: Option<Instant>,
}

/// A permit to send a request.
#[derive(Debug)]
pub(crate) struct ConcurrencyPermit<'a>(&'a ModelPool);

impl ModelPool {
    /// Creates a pool with a maximum concurrency of at least one.
    pub fn new(max_width: usize) -> Self {
        let max_width = max_width.max(1);
        let state = State { width: max_width, busy: 0, streak: 0, quiet_until: None };
        Self(Arc::new(Inner { max_width, state: Mutex::new(state), freed: Notify::new() }))
    }

    /// Returns the current concurrency limit.
    pub fn width(&self) -> usize {
        self.lock().width
    }

    /// Waits for a permit, and until the provider's pause is over.
    pub(crate) async fn enter(&self) -> ConcurrencyPermit<'_> {
        loop {
            let freed = self.0.freed.notified();
            match self.try_enter(Instant::now()) {
                Entry::Seated => return ConcurrencyPermit(self),
                Entry::Quiet(wait) => tokio::time::sleep(wait).await,
                Entry::Full => freed.await,
            }
        }
    }

    fn try_enter(&self, now: Instant) -> Entry {
        let mut state = self.lock();
        let quiet = state.quiet_until.map(|until| until.saturating_duration_since(now));
        if let Some(wait) = quiet.filter(|wait| !wait.is_zero()) {
            return Entry::Quiet(wait);
        }
        state.quiet_until = None;
        if state.busy >= state.width {
            return Entry::Full;
        }
        state.busy += 1;
        Entry::Seated
    }

    /// Halves the limit after an overload and pauses all requests.
    pub(crate) fn slow_down(&self, pause: Duration) {
        let mut state = self.lock();
        let until = Instant::now().checked_add(pause);
        // Requests that fail together halve the limit once.
        if state.quiet_until.is_none() {
            state.width = (state.width / 2).max(1);
        }
        state.quiet_until = state.quiet_until.max(until);
        state.streak = 0;
    }

    /// Counts a success; after as many as the limit, raises it by one.
    pub(crate) fn speed_up(&self) {
        let mut state = self.lock();
        state.streak += 1;
        if state.streak >= state.width && state.width < self.0.max_width {
            state.width += 1;
            state.streak = 0;
            drop(state);
            self.0.freed.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a permit is available.
enum Entry {
    Seated,
    Full,
    Quiet(Duration),
}

impl Drop for ConcurrencyPermit<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy = state.busy.saturating_sub(1);
        drop(state);
        self.0.0.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_place_is_free_again_when_its_holder_leaves() {
        let pool = ModelPool::new(1);
        let seat = pool.enter().await;
        assert!(matches!(pool.try_enter(Instant::now()), Entry::Full));
        let (next, ()) = tokio::join!(pool.enter(), async { drop(seat) });
        drop(next);
        assert!(matches!(pool.try_enter(Instant::now()), Entry::Seated));
    }

    #[test]
    fn it_slows_down_by_half_and_recovers_one_by_one() {
        let pool = ModelPool::new(8);
        let pause = Duration::from_secs(60);
        pool.slow_down(pause);
        pool.slow_down(pause);
        assert_eq!(pool.width(), 4);
        assert!(matches!(pool.try_enter(Instant::now()), Entry::Quiet(_)));
        assert!(matches!(pool.try_enter(Instant::now() + 2 * pause), Entry::Seated));
        (0..4).for_each(|_| pool.speed_up());
        assert_eq!(pool.width(), 5);
        (0..100).for_each(|_| pool.speed_up());
        assert_eq!(pool.width(), 8);
    }
}
