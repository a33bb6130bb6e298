use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refusal::{PageResult, Refusal};

/// Questions that pages ask models at once: each holds a visitor's request for as long as the
/// provider takes.
const AT_ONCE: usize = 8;

/// Room for questions to models, so that slow providers do not hold up everything else.
#[derive(Debug)]
pub(crate) struct AskRoom(Arc<Semaphore>);

impl Default for AskRoom {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl AskRoom {
    /// Takes room for one page's questions, until it is dropped.
    pub(crate) fn take(&self) -> PageResult<OwnedSemaphorePermit> {
        let busy = |_| Refusal::Waiting("models".to_owned());
        Arc::clone(&self.0).try_acquire_owned().map_err(busy)
    }
}
