use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

use crate::error::{ApiError, ApiResult};

/// Work on less than this many bytes takes well under a millisecond: not worth another thread.
const SMALL: usize = 64 * 1024;

/// Runs work that takes real CPU time, beside the async runtime when it is long.
#[derive(Debug)]
pub struct CpuPool {
    slots: Arc<Semaphore>,
}

impl Default for CpuPool {
    /// One at a time for each core: more would only take turns and memory.
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self { slots: Arc::new(Semaphore::new(cores)) }
    }
}

impl CpuPool {
    /// Runs work on that many bytes. Dropping the future does not stop long work already begun.
    ///
    /// # Errors
    /// Passes the work's own errors on; 500 if it panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> ApiResult<T> + Send + 'static,
    ) -> ApiResult<T> {
        if bytes < SMALL {
            return work();
        }
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            let outcome = work();
            drop(slot);
            outcome
        });
        done.await.map_err(|error| ApiError::Internal(Box::new(error)))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_long_work_is_our_fault_and_not_the_end() {
        let workers = CpuPool::default();
        let outcome = workers.run(SMALL, || -> ApiResult<()> { panic!("on purpose") }).await;
        assert!(matches!(outcome, Err(ApiError::Internal(_))));
        assert_eq!(workers.run(SMALL, || Ok(7)).await.unwrap(), 7);
    }
}
