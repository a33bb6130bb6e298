use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

/// A cache of catalog reads by key, invalidated on change, so that hot paths need no database.
#[derive(Debug)]
pub(super) struct Cache<K, V>(Arc<Mutex<Known<K, V>>>);

#[derive(Debug)]
struct Known<K, V> {
    values: FxHashMap<K, Arc<V>>,
    changes: u64,
}

/// The cache's generation before a read. A value is cached only if nothing was invalidated since: a
/// revoked key must not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheGeneration(u64);

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Known { values: FxHashMap::default(), changes: 0 })))
    }
}

impl<K, V> Clone for Cache<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Eq + Hash, V> Cache<K, V> {
    pub(super) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> (Option<Arc<V>>, CacheGeneration)
    where
        K: Borrow<Q>,
    {
        let Ok(known) = self.0.lock() else { return (None, CacheGeneration(u64::MAX)) };
        (known.values.get(key).cloned(), CacheGeneration(known.changes))
    }

    /// Caches a value that was read at a generation, unless something was invalidated since.
    pub(super) fn remember(&self, key: K, value: &Arc<V>, look: CacheGeneration) {
        if let Ok(mut known) = self.0.lock()
            && CacheGeneration(known.changes) == look
        {
            known.values.insert(key, value.clone());
        }
    }

    /// Invalidates a key.
    pub(super) fn invalidate<Q: Eq + Hash + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Ok(mut known) = self.0.lock() {
            known.changes += 1;
            known.values.remove(key);
        }
    }

    /// Invalidates every value that matches.
    pub(super) fn invalidate_where(&self, has_changed: impl Fn(&V) -> bool) {
        if let Ok(mut known) = self.0.lock() {
            known.changes += 1;
            known.values.retain(|_, value| !has_changed(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_while_it_was_read_is_not_remembered() {
        let keys: Cache<String, u32> = Cache::default();
        let (known, look) = keys.get("a");
        assert_eq!(known, None);
        let read_before_the_change = Arc::new(1);
        keys.invalidate("a");
        keys.remember("a".to_owned(), &read_before_the_change, look);
        assert_eq!(keys.get("a").0, None);
        let (_, look) = keys.get("a");
        keys.remember("a".to_owned(), &Arc::new(2), look);
        assert_eq!(keys.get("a").0.as_deref(), Some(&2));
        keys.invalidate_where(|value| *value == 2);
        assert_eq!(keys.get("a").0, None);
    }
}
