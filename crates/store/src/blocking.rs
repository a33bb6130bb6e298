//! Blocking work off the async runtime: file IO, database calls and long computations.
//!
//! Nothing else starts blocking threads, so that every kind of such work has a limit, its panics
//! are reported as panics, and its logs belong to the span of its caller.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, JoinSet};

use crate::{StoreError, StoreResult};

/// The limit of work that has no pool of its own. The runtime has 512 threads: pools with a limit
/// of their own always find one.
const SHARED_LIMIT: usize = 64;
/// Work on fewer bytes takes well under a millisecond: not worth another thread.
const SMALL: usize = 64 * 1024;

static SHARED: LazyLock<BlockingPool> = LazyLock::new(|| BlockingPool::new(SHARED_LIMIT));

/// The type-erased result of blocking work.
pub(crate) type Outcome = Box<dyn Any + Send>;

/// A generic closure would have the runtime's task code compiled for it in every calling crate.
/// Boxed, all work shares one copy.
type Work = Box<dyn FnOnce() -> Outcome + Send>;

/// Runs blocking work that has no pool of its own.
///
/// # Errors
/// See [`BlockingPool::run`].
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> StoreResult<T> {
    SHARED.run(work).await
}

/// Runs blocking work on threads, with a concurrency limit. Callers above it wait in order.
#[derive(Clone, Debug)]
pub struct BlockingPool {
    permits: Arc<Semaphore>,
}

impl BlockingPool {
    /// A pool that runs at most `limit` pieces of work at the same time.
    pub fn new(limit: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(limit.max(1))) }
    }

    /// A pool for CPU-bound work: more than one thread per core would only cost memory.
    pub fn per_core() -> Self {
        Self::new(available_parallelism().map_or(1, usize::from))
    }

    /// Runs work on a thread.
    ///
    /// Dropping the future drops work that waits for its turn. Work that has started is completed,
    /// and counts against the limit until then.
    ///
    /// # Errors
    /// Fails if the work panics, or if the runtime is shutting down. A panic is an error here and
    /// not a panic of the caller, because one damaged record must not end a background task.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> StoreResult<T> {
        downcast(self.run_boxed(Box::new(move || Box::new(work()))).await?)
    }

    /// Runs CPU-bound work on that many bytes: on the caller's thread if they are few.
    ///
    /// # Errors
    /// See [`BlockingPool::run`].
    pub async fn run_sized<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> StoreResult<T> {
        if bytes < SMALL {
            return Ok(work());
        }
        self.run(work).await
    }

    /// Runs work that ends early once its caller has dropped the future.
    ///
    /// # Errors
    /// See [`BlockingPool::run`].
    pub(crate) async fn run_cancellable<T: Send + 'static>(
        &self,
        work: impl FnOnce(Cancellation) -> T + Send + 'static,
    ) -> StoreResult<T> {
        let caller = CancelOnDrop::default();
        let cancellation = caller.0.clone();
        self.run(move || work(cancellation)).await
    }

    async fn run_boxed(&self, work: Work) -> StoreResult<Outcome> {
        let span = tracing::Span::current();
        let work = move || span.in_scope(work);
        let task = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => start(permit, work),
            Err(_) => self.wait_and_start(work).await?,
        };
        task.await.map_err(|error| match error.try_into_panic() {
            Ok(panic) => StoreError::Panicked(panic_message(panic.as_ref()).to_owned()),
            Err(_cancelled) => StoreError::Closing,
        })
    }

    /// Waits for a permit in a task of its own. The caller's future may be one that is polled only
    /// after another of this pool has completed: given a permit, it would keep it unused, and block
    /// the other for ever.
    async fn wait_and_start(
        &self,
        work: impl FnOnce() -> Outcome + Send + 'static,
    ) -> StoreResult<JoinHandle<Outcome>> {
        let permits = Arc::clone(&self.permits);
        // Unlike a task's handle, a set ends its task when the caller is dropped.
        let mut waiting = JoinSet::new();
        waiting.spawn(async move { Ok(start(permits.acquire_owned().await?, work)) });
        let started: Option<Result<Result<_, AcquireError>, _>> = waiting.join_next().await;
        match started {
            Some(Ok(Ok(task))) => Ok(task),
            _ => Err(StoreError::Closing),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where blocking work starts")]
fn start(
    permit: OwnedSemaphorePermit,
    work: impl FnOnce() -> Outcome + Send + 'static,
) -> JoinHandle<Outcome> {
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    })
}

/// Whether the caller of blocking work is gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
struct CancelOnDrop(Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Downcasts an outcome to its type.
pub(crate) fn downcast<T: 'static>(outcome: Outcome) -> StoreResult<T> {
    // The closure produced exactly this type: the downcast cannot fail.
    outcome.downcast().map(|outcome| *outcome).map_err(|_| StoreError::Closing)
}

/// Returns the message of a panic.
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests;
