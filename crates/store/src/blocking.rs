//! Runs blocking work off the async runtime.

use std::any::Any;

use crate::{StoreError, StoreResult};

/// The type-erased result of blocking work.
pub(crate) type Outcome = Box<dyn Any + Send>;

/// Runs work that may block on a blocking thread.
///
/// A generic closure would have the runtime's task code compiled for it in every calling crate.
/// Boxed, all work shares one copy.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> StoreResult<T> {
    let work: Box<dyn FnOnce() -> Outcome + Send> = Box::new(move || Box::new(work()));
    downcast(tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Closing)?)
}

/// Downcasts an outcome to its type.
pub(crate) fn downcast<T: 'static>(outcome: Outcome) -> StoreResult<T> {
    // The closure produced exactly this type: the downcast cannot fail.
    outcome.downcast().map(|outcome| *outcome).map_err(|_| StoreError::Closing)
}
