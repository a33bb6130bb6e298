use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Processes that may be there for each that may work: the others wait for a person.
const PROCESSES_PER_SLOT: usize = 4;

/// Limits how many processes exist, and how many of them work at once. Each takes about 200 MB.
/// Waiters are served in the order of arrival.
///
/// ```
/// use ratchet_agent::claude::process_slots::ProcessSlots;
///
/// let slots = ProcessSlots::new(1);
/// let slot = slots.try_take().unwrap();
/// assert!(slots.try_take().is_none());
/// assert_eq!(slots.in_use(), (1, 1));
/// drop(slot);
/// assert!(slots.try_take().is_some());
/// ```
#[derive(Clone, Debug)]
pub struct ProcessSlots {
    most: usize,
    slots: Arc<Semaphore>,
    processes: Arc<Semaphore>,
}

/// Slot of one process until it has ended, with a permit to work until that is released.
#[derive(Debug)]
pub struct ProcessSlot {
    permit: Option<WorkPermit>,
    _process: Option<OwnedSemaphorePermit>,
}

/// Permit for one process to work.
#[derive(Debug)]
pub struct WorkPermit {
    _permit: Option<OwnedSemaphorePermit>,
}

impl ProcessSlots {
    /// Allows this many processes to work at once; at least one.
    pub fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS / PROCESSES_PER_SLOT);
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { most, slots: semaphore(most), processes: semaphore(most * PROCESSES_PER_SLOT) }
    }

    /// Waits for a slot.
    pub async fn take(&self) -> ProcessSlot {
        // The process first: a process that continues after an answer needs a permit, and must not
        // wait for those that wait for processes to end. It fails only when the semaphore is
        // closed, which never happens.
        let process = Arc::clone(&self.processes).acquire_owned().await.ok();
        ProcessSlot { permit: Some(self.work_permit().await), _process: process }
    }

    /// Acquires a slot, if one is free and nothing is queued for it.
    pub fn try_take(&self) -> Option<ProcessSlot> {
        let process = Arc::clone(&self.processes).try_acquire_owned().ok()?;
        Some(ProcessSlot { permit: Some(self.try_work_permit()?), _process: Some(process) })
    }

    /// Waits for a permit, for a process that released its own.
    pub async fn work_permit(&self) -> WorkPermit {
        WorkPermit { _permit: Arc::clone(&self.slots).acquire_owned().await.ok() }
    }

    /// Acquires a permit, if one is free and nothing is queued for it.
    pub fn try_work_permit(&self) -> Option<WorkPermit> {
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

/// Slot of a running process.
#[derive(Clone, Debug)]
pub(super) struct HeldSlot(Arc<Mutex<Option<ProcessSlot>>>);

impl HeldSlot {
    pub(super) fn new(slot: ProcessSlot) -> Self {
        Self(Arc::new(Mutex::new(Some(slot))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<ProcessSlot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_slot(&self) -> bool {
        self.lock().as_ref().is_some_and(|slot| slot.permit.is_some())
    }

    pub(super) fn release_slot(&self) {
        if let Some(slot) = self.lock().as_mut() {
            slot.permit = None;
        }
    }

    /// Takes a permit again; a process that has ended needs none.
    pub(super) fn take_slot(&self, permit: WorkPermit) {
        if let Some(slot) = self.lock().as_mut() {
            slot.permit = Some(permit);
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
        let slots = ProcessSlots::new(1);
        let first = HeldSlot::new(slots.try_take().unwrap());
        assert!(slots.try_take().is_none());
        first.release_slot();
        let second = HeldSlot::new(slots.try_take().unwrap());
        assert!(!first.has_slot() && second.has_slot());
        assert!(slots.try_work_permit().is_none());
        second.leave();
        first.take_slot(slots.try_work_permit().unwrap());
        assert!(first.has_slot());
        second.take_slot(WorkPermit { _permit: None });
        assert!(!second.has_slot(), "it has ended");
    }

    #[test]
    fn there_is_an_end_to_processes_that_wait() {
        let slots = ProcessSlots::new(1);
        let waiting: Vec<HeldSlot> = std::iter::from_fn(|| {
            let slot = HeldSlot::new(slots.try_take()?);
            slot.release_slot();
            Some(slot)
        })
        .collect();
        assert_eq!(waiting.len(), PROCESSES_PER_SLOT);
        assert_eq!(slots.in_use(), (PROCESSES_PER_SLOT, PROCESSES_PER_SLOT));
        waiting[0].take_slot(slots.try_work_permit().unwrap());
        assert_eq!(slots.in_use(), (1, 1));
    }
}
