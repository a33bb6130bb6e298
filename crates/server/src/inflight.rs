use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes of all bodies in memory, so that many clients together cannot exhaust it.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    bytes: Arc<AtomicUsize>,
    limit: usize,
}

/// Bytes that one body takes, given back when dropped.
#[derive(Debug)]
pub(crate) struct Held {
    of: InFlight,
    bytes: usize,
}

/// There is no room now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl InFlight {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: Arc::default(), limit }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::SeqCst)
    }

    pub(crate) fn hold(&self) -> Held {
        Held { of: self.clone(), bytes: 0 }
    }
}

impl Held {
    /// Takes more bytes, if there is room.
    pub(crate) fn grow(&mut self, by: usize) -> Result<(), NoRoom> {
        let limit = self.of.limit;
        let fits = |held: usize| held.checked_add(by).filter(|sum| *sum <= limit);
        let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
        self.of.bytes.fetch_update(set, fetch, fits).map_err(|_| NoRoom)?;
        self.bytes += by;
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
        let room = InFlight::new(10);
        let mut first = room.hold();
        let mut second = room.hold();
        assert_eq!(first.grow(6), Ok(()));
        assert_eq!(second.grow(5), Err(NoRoom));
        assert_eq!(second.grow(4), Ok(()));
        assert_eq!(second.grow(usize::MAX), Err(NoRoom));
        drop(first);
        assert_eq!(second.grow(6), Ok(()));
    }
}
