use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Ids of keys that this process handed out to commands on its own machine.
///
/// Kept in memory only: a key that outlives the process that handed it out is a key like any
/// other. A clone is one more pointer to the same set.
#[derive(Clone, Debug, Default)]
pub struct LocalKeys(Arc<Mutex<HashSet<String>>>);

impl LocalKeys {
    /// Notes a key, named by its id, until the value that is returned is dropped.
    #[must_use]
    pub fn note(&self, key: &str) -> LocalKey {
        self.set(|keys| keys.insert(key.to_owned()));
        LocalKey { keys: self.clone(), key: key.to_owned() }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.set(|keys| keys.contains(key))
    }

    fn set(&self, change: impl FnOnce(&mut HashSet<String>) -> bool) -> bool {
        // A set of texts is whole whatever its holder did.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A key that counts as one of this machine for as long as this lives.
#[derive(Debug)]
pub struct LocalKey {
    keys: LocalKeys,
    key: String,
}

impl Drop for LocalKey {
    fn drop(&mut self) {
        self.keys.set(|keys| keys.remove(&self.key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_local_until_its_holder_leaves() {
        let keys = LocalKeys::default();
        let held = keys.note("a");
        assert!(keys.clone().has("a") && !keys.has("b"));
        drop(held);
        assert!(!keys.has("a"));
    }
}
