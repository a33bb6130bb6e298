use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Ids of keys that this process issued to commands on its own machine.
///
/// In memory only: a key that outlives the process is an ordinary key. Clones share the set.
#[derive(Clone, Debug, Default)]
pub struct LocalKeys(Arc<Mutex<HashSet<String>>>);

impl LocalKeys {
    /// Registers a key by id, until the returned guard is dropped.
    #[must_use]
    pub fn register(&self, key: &str) -> LocalKey {
        self.set(|keys| keys.insert(key.to_owned()));
        LocalKey { keys: self.clone(), key: key.to_owned() }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.set(|keys| keys.contains(key))
    }

    fn set(&self, change: impl FnOnce(&mut HashSet<String>) -> bool) -> bool {
        // The set stays consistent after a panic in another thread.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Keeps a key registered as local until dropped.
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
        let held = keys.register("a");
        assert!(keys.clone().has("a") && !keys.has("b"));
        drop(held);
        assert!(!keys.has("a"));
    }
}
