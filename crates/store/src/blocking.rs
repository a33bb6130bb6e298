//! Work beside the async runtime, on threads that may block.

use std::any::Any;

use crate::{StoreError, StoreResult};

/// What work comes to, whatever that is.
pub(crate) type Outcome = Box<dyn Any + Send>;

/// Does work that may block.
///
/// A closure that the runtime gets as it is has the runtime's tasks compiled for itself, in every
/// crate that asks for the work. Boxed, all work shares one copy of them.
pub(crate) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> StoreResult<T> {
    let work: Box<dyn FnOnce() -> Outcome + Send> = Box::new(move || Box::new(work()));
    unboxed(tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Closing)?)
}

/// An outcome as what it is.
pub(crate) fn unboxed<T: 'static>(outcome: Outcome) -> StoreResult<T> {
    // It is what the work made of it: it cannot be anything else.
    outcome.downcast().map(|outcome| *outcome).map_err(|_| StoreError::Closing)
}
