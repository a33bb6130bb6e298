use std::collections::HashMap;

/// A conversation so far: the keys of its items.
#[derive(Debug, Default)]
pub(super) struct Thread {
    keys: Vec<u64>,
    counts: HashMap<u64, usize>,
}

impl Thread {
    pub(super) fn add(&mut self, key: u64) {
        self.keys.push(key);
        *self.counts.entry(key).or_default() += 1;
    }

    /// Returns for each item of a list whether it is new, where the list may repeat the
    /// conversation.
    ///
    /// A list that starts as the conversation did is its full history: items that occur more often
    /// than before are new. Any other list may start with the last known items; what follows them
    /// is new.
    pub(super) fn find_new(&self, list: &[u64]) -> Vec<bool> {
        if self.is_whole(list) {
            let mut seen: HashMap<u64, usize> = HashMap::new();
            let is_new = |key: &u64| {
                let nth = seen.entry(*key).or_default();
                *nth += 1;
                *nth > self.counts.get(key).copied().unwrap_or(0)
            };
            return list.iter().map(is_new).collect();
        }
        let known = overlap(&self.keys, list);
        (0..list.len()).map(|index| index >= known).collect()
    }

    /// Returns whether a list starts as the conversation did and has at least half of its items.
    fn is_whole(&self, list: &[u64]) -> bool {
        if self.keys.is_empty() || list.first() != self.keys.first() {
            return false;
        }
        let mut seen: HashMap<u64, usize> = HashMap::new();
        let shared = list.iter().filter(|key| {
            let nth = seen.entry(**key).or_default();
            *nth += 1;
            self.counts.get(key).is_some_and(|known_keys| *nth <= *known_keys)
        });
        shared.count() * 2 >= self.keys.len()
    }
}

/// Returns the length of the longest suffix of `known_keys` that is a prefix of `next`, in time
/// linear in `next`.
fn overlap(known_keys: &[u64], next: &[u64]) -> usize {
    let end = &known_keys[known_keys.len().saturating_sub(next.len())..];
    let fallback = fallback(next);
    let mut matched = 0;
    for key in end {
        while matched > 0 && next.get(matched) != Some(key) {
            matched = fallback[matched - 1];
        }
        if next.get(matched) == Some(key) {
            matched += 1;
        }
    }
    matched
}

/// Returns the prefix function (Knuth–Morris–Pratt) of a list.
fn fallback(list: &[u64]) -> Vec<usize> {
    let mut lengths = vec![0; list.len()];
    let mut length = 0;
    for index in 1..list.len() {
        while length > 0 && list[index] != list[length] {
            length = lengths[length - 1];
        }
        if list[index] == list[length] {
            length += 1;
        }
        lengths[index] = length;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(known_keys: &[u64], list: &[u64], expected: &[u64]) {
        let mut thread = Thread::default();
        for key in known_keys {
            thread.add(*key);
        }
        let newness = thread.find_new(list);
        let new: Vec<u64> =
            list.iter().zip(newness).filter(|(_, is_new)| *is_new).map(|(key, _)| *key).collect();
        assert_eq!(new, expected);
    }

    #[test]
    fn a_growing_history_adds_only_its_end() {
        check(&[], &[1, 2], &[1, 2]);
        check(&[1, 2], &[1, 2, 3], &[3]);
        check(&[1, 2, 3], &[1, 2, 3, 2], &[2]);
    }

    #[test]
    fn a_shortened_history_adds_only_new_messages() {
        check(&[1, 9, 2], &[1, 2, 3], &[3]);
    }

    #[test]
    fn a_sliding_window_adds_what_follows() {
        check(&[1, 2, 3, 4], &[3, 4, 5], &[5]);
        check(&[1, 2, 3, 3], &[3, 3, 4], &[4]);
    }

    #[test]
    fn a_repeated_message_is_new() {
        check(&[1, 2, 3, 4, 5], &[1], &[1]);
        check(&[7, 2, 8], &[2], &[2]);
    }
}
