use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many processes run at once. Each takes about 200 MB, so there is an end to them; who comes
/// later waits, first come first served.
///
/// ```
/// use ratchet_agent::claude::seats::ClaudeSeats;
///
/// let seats = ClaudeSeats::new(1);
/// let seat = seats.try_take().unwrap();
/// assert!(seats.try_take().is_none());
/// drop(seat);
/// assert!(seats.try_take().is_some());
/// ```
#[derive(Clone, Debug)]
pub struct ClaudeSeats {
    most: usize,
    free: Arc<Semaphore>,
}

/// Room for one process, until that has ended.
#[derive(Debug)]
pub struct ClaudeSeat {
    _permit: Option<OwnedSemaphorePermit>,
}

impl ClaudeSeats {
    /// So many at once; at least one.
    pub fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self { most, free: Arc::new(Semaphore::new(most)) }
    }

    /// Waits for a seat.
    pub async fn take(&self) -> ClaudeSeat {
        // It fails only when the semaphore is closed, which nobody does.
        ClaudeSeat { _permit: Arc::clone(&self.free).acquire_owned().await.ok() }
    }

    /// A seat, if one is free and nobody waits for it.
    pub fn try_take(&self) -> Option<ClaudeSeat> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(ClaudeSeat { _permit: Some(permit) })
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.most.saturating_sub(self.free.available_permits())
    }
}
