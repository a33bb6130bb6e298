//! Permits for a scarce resource, with a total limit and a limit per holder, so that no holder
//! takes all.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A pool of permits; clones share the same permits.
///
/// ```
/// use ratchet_core::permit_pool::{NoPermit, PermitPool};
///
/// let pool = PermitPool::new(3, 2);
/// let mine = [pool.take(Some("me")), pool.take(Some("me"))];
/// assert_eq!(pool.take(Some("me")).err(), Some(NoPermit::Each(2)));
/// assert!(pool.take(Some("you")).is_ok());
/// drop(mine);
/// assert!(pool.take(Some("me")).is_ok());
/// ```
pub struct PermitPool<K>(Arc<PermitLimits<K>>);

struct PermitLimits<K> {
    total: usize,
    each: usize,
    // A std mutex, held for a few instructions and never across an await.
    held: Mutex<HeldPermits<K>>,
}

struct HeldPermits<K> {
    total: usize,
    /// Counts of holders with at least one permit.
    each: HashMap<K, usize>,
}

/// A permit, released on drop.
pub struct Permit<K: Eq + Hash> {
    pool: PermitPool<K>,
    holder: Option<K>,
}

/// Error: no permit is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPermit {
    /// The total limit is reached.
    Total(usize),
    /// The holder's limit is reached.
    Each(usize),
}

impl<K: Clone + Eq + Hash> PermitPool<K> {
    /// Creates a pool of `total` permits, of which one holder gets at most `each`.
    pub fn new(total: usize, each: usize) -> Self {
        let held = Mutex::new(HeldPermits { total: 0, each: HashMap::new() });
        Self(Arc::new(PermitLimits { total, each, held }))
    }

    /// Takes a permit. Without a holder only the total limit applies.
    ///
    /// # Errors
    /// Returns the limit that is reached.
    pub fn take(&self, holder: Option<K>) -> Result<Permit<K>, NoPermit> {
        let mut held = self.held();
        if let Some(holder) = &holder
            && held.of(holder) >= self.0.each
        {
            return Err(NoPermit::Each(self.0.each));
        }
        if held.total >= self.0.total {
            return Err(NoPermit::Total(self.0.total));
        }
        held.total += 1;
        if let Some(holder) = &holder {
            *held.each.entry(holder.clone()).or_default() += 1;
        }
        Ok(Permit { pool: self.clone(), holder })
    }

    /// Returns the number of permits a holder has.
    pub fn held_by(&self, holder: &K) -> usize {
        self.held().of(holder)
    }
}

impl<K> PermitPool<K> {
    fn held(&self) -> MutexGuard<'_, HeldPermits<K>> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> HeldPermits<K> {
    fn of(&self, holder: &K) -> usize {
        self.each.get(holder).copied().unwrap_or_default()
    }
}

impl<K: Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut held = self.pool.held();
        held.total = held.total.saturating_sub(1);
        let Some(holder) = &self.holder else { return };
        if let Some(count) = held.each.get_mut(holder) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                held.each.remove(holder);
            }
        }
    }
}

impl<K> Clone for PermitPool<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for PermitPool<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, each) = (self.0.total, self.0.each);
        f.debug_struct("PermitPool").field("total", &total).field("each", &each).finish()
    }
}

impl<K: Eq + Hash> fmt::Debug for Permit<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("pool", &self.pool).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_counted_in_all_and_for_each_holder() {
        let pool = PermitPool::new(3, 2);
        let first = pool.take(Some("shop")).unwrap();
        let _second = pool.take(Some("shop")).unwrap();
        assert_eq!(pool.take(Some("shop")).unwrap_err(), NoPermit::Each(2));
        let third = pool.take(Some("bank")).unwrap();
        assert_eq!(pool.take(Some("bank")).unwrap_err(), NoPermit::Total(3));
        assert_eq!((pool.held_by(&"shop"), pool.held_by(&"bank")), (2, 1));
        drop((first, third));
        assert!(pool.take(Some("shop")).is_ok() && pool.take(Some("bank")).is_ok());
        assert_eq!(pool.held().each.len(), 1, "whoever has none is forgotten");
    }

    #[test]
    fn without_a_holder_only_the_total_limit_applies() {
        let pool = PermitPool::<&str>::new(2, 1);
        let all = [pool.take(None), pool.take(None)].map(Result::unwrap);
        assert_eq!(pool.take(None).unwrap_err(), NoPermit::Total(2));
        drop(all);
        assert!(pool.take(None).is_ok());
    }
}
