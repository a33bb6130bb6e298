use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

use crate::error::{ApiError, ApiResult};

/// Work on fewer bytes takes well under a millisecond: not worth another thread.
const SMALL: usize = 64 * 1024;

/// Runs CPU-bound work, on blocking threads if it is long.
#[derive(Debug)]
pub struct CpuPool {
    slots: Arc<Semaphore>,
}

impl Default for CpuPool {
    /// One permit per core: more would only cost memory.
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self { slots: Arc::new(Semaphore::new(cores)) }
    }
}

impl CpuPool {
    /// Runs work on that many bytes. Dropping the future does not stop work that has started.
    ///
    /// # Errors
    /// Passes on the work's own error; 500 if it panicked.
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
