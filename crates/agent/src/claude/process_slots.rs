use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Processes that may be there for each that may work: the others wait for a person.
const PROCESSES_PER_SLOT: usize = 4;

/// How many processes work at once, and how many there are. Each takes about 200 MB, so there is an
/// end to them; who comes later waits, first come first served.
///
/// ```
/// use ratchet_agent::claude::process_slots::ProcessSlots;
///
/// let seats = ProcessSlots::new(1);
/// let seat = seats.try_take().unwrap();
/// assert!(seats.try_take().is_none());
/// assert_eq!(seats.in_use(), (1, 1));
/// drop(seat);
/// assert!(seats.try_take().is_some());
/// ```
#[derive(Clone, Debug)]
pub struct ProcessSlots {
    most: usize,
    slots: Arc<Semaphore>,
    processes: Arc<Semaphore>,
}

/// Room for one process until that has ended, and leave to work until that is given back.
#[derive(Debug)]
pub struct ProcessSlot {
    slot: Option<WorkPermit>,
    _process: Option<OwnedSemaphorePermit>,
}

/// Leave for one process to work.
#[derive(Debug)]
pub struct WorkPermit {
    _permit: Option<OwnedSemaphorePermit>,
}

impl ProcessSlots {
    /// So many that work at once; at least one.
    pub fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS / PROCESSES_PER_SLOT);
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { most, slots: semaphore(most), processes: semaphore(most * PROCESSES_PER_SLOT) }
    }

    /// Waits for a seat.
    pub async fn take(&self) -> ProcessSlot {
        // The process first: whoever goes on after an answer needs a slot, and must not wait for
        // those who wait for processes to end. It fails only when the semaphore is closed, which
        // nobody does.
        let process = Arc::clone(&self.processes).acquire_owned().await.ok();
        ProcessSlot { slot: Some(self.slot().await), _process: process }
    }

    /// A seat, if one is free and nobody waits for it.
    pub fn try_take(&self) -> Option<ProcessSlot> {
        let process = Arc::clone(&self.processes).try_acquire_owned().ok()?;
        Some(ProcessSlot { slot: Some(self.try_slot()?), _process: Some(process) })
    }

    /// Waits for a slot, for a process that released its own.
    pub async fn slot(&self) -> WorkPermit {
        WorkPermit { _permit: Arc::clone(&self.slots).acquire_owned().await.ok() }
    }

    /// Acquires a slot if one is free and the queue is empty.
    pub fn try_slot(&self) -> Option<WorkPermit> {
        let permit = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        Some(WorkPermit { _permit: Some(permit) })
    }

    /// Slots in use and their limit; of processes, if those are what the queue waits for.
    pub fn in_use(&self) -> (usize, usize) {
        let taken = self.most.saturating_sub(self.slots.available_permits());
        if taken == self.most {
            return (taken, self.most);
        }
        let most = self.most * PROCESSES_PER_SLOT;
        match self.processes.available_permits() {
            0 => (most, most),
            _ => (taken, self.most),
        }
    }
}

/// The seat of a process that runs.
#[derive(Clone, Debug)]
pub(super) struct HeldSeat(Arc<Mutex<Option<ProcessSlot>>>);

impl HeldSeat {
    pub(super) fn new(seat: ProcessSlot) -> Self {
        Self(Arc::new(Mutex::new(Some(seat))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<ProcessSlot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_slot(&self) -> bool {
        self.lock().as_ref().is_some_and(|seat| seat.slot.is_some())
    }

    pub(super) fn rest(&self) {
        if let Some(seat) = self.lock().as_mut() {
            seat.slot = None;
        }
    }

    /// Takes a slot again; a process that has ended needs none.
    pub(super) fn work(&self, slot: WorkPermit) {
        if let Some(seat) = self.lock().as_mut() {
            seat.slot = Some(slot);
        }
    }

    pub(super) fn leave(&self) {
        *self.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_person_leaves_the_slot_to_others() {
        let seats = ProcessSlots::new(1);
        let first = HeldSeat::new(seats.try_take().unwrap());
        assert!(seats.try_take().is_none());
        first.rest();
        let second = HeldSeat::new(seats.try_take().unwrap());
        assert!(!first.has_slot() && second.has_slot());
        assert!(seats.try_slot().is_none());
        second.leave();
        first.work(seats.try_slot().unwrap());
        assert!(first.has_slot());
        second.work(WorkPermit { _permit: None });
        assert!(!second.has_slot(), "it has ended");
    }

    #[test]
    fn there_is_an_end_to_processes_that_wait() {
        let seats = ProcessSlots::new(1);
        let waiting: Vec<HeldSeat> = std::iter::from_fn(|| {
            let seat = HeldSeat::new(seats.try_take()?);
            seat.rest();
            Some(seat)
        })
        .collect();
        assert_eq!(waiting.len(), PROCESSES_PER_SLOT);
        assert_eq!(seats.in_use(), (PROCESSES_PER_SLOT, PROCESSES_PER_SLOT));
        waiting[0].work(seats.try_slot().unwrap());
        assert_eq!(seats.in_use(), (1, 1));
    }
}
