use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The memory budget of all request bodies, so that many clients together cannot exhaust it.
#[derive(Clone, Debug)]
pub(crate) struct BodyBudget {
    bytes: Arc<AtomicUsize>,
    limit: usize,
}

/// The memory of one request body in all its forms: raw, decompressed, parsed. Returned to the
/// budget when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct BodyReservation(Arc<Mutex<Held>>);

/// Bytes taken from the budget, returned on drop.
#[derive(Debug)]
struct Held {
    of: BodyBudget,
    bytes: usize,
}

/// Why a body gets no more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverBudget {
    /// Other bodies have it now.
    Now,
    /// It exceeds the whole budget.
    Ever {
        /// The whole budget.
        limit: usize,
    },
}

impl BodyBudget {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: Arc::default(), limit }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::SeqCst)
    }

    /// A share for one more body, empty at first.
    pub(crate) fn reservation(&self) -> BodyReservation {
        BodyReservation(Arc::new(Mutex::new(Held { of: self.clone(), bytes: 0 })))
    }
}

impl BodyReservation {
    /// Takes more bytes from the budget.
    pub(crate) fn grow(&self, by: usize) -> Result<(), OverBudget> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).grow(by)
    }
}

impl Held {
    fn grow(&mut self, by: usize) -> Result<(), OverBudget> {
        let limit = self.of.limit;
        let whole = self.bytes.checked_add(by).filter(|whole| *whole <= limit);
        let whole = whole.ok_or(OverBudget::Ever { limit })?;
        let fits = |held: usize| held.checked_add(by).filter(|sum| *sum <= limit);
        let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
        self.of.bytes.fetch_update(set, fetch, fits).map_err(|_| OverBudget::Now)?;
        self.bytes = whole;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.of.bytes.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_the_room_and_give_it_back() {
        let all = BodyBudget::new(10);
        let (first, second) = (all.reservation(), all.reservation());
        assert_eq!(first.grow(6), Ok(()));
        assert_eq!(second.grow(5), Err(OverBudget::Now));
        assert_eq!(second.grow(4), Ok(()));
        assert_eq!(second.grow(usize::MAX), Err(OverBudget::Ever { limit: 10 }));
        let still_used = first.clone();
        drop(first);
        assert_eq!(second.grow(6), Err(OverBudget::Now));
        drop(still_used);
        assert_eq!(second.grow(6), Ok(()));
        assert_eq!(second.grow(1), Err(OverBudget::Ever { limit: 10 }));
        drop(second);
        assert_eq!(all.bytes(), 0);
    }
}
