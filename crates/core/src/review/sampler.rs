use std::collections::{BTreeMap, BinaryHeap};

use sha2::{Digest, Sha256};

/// Position of an item in the random order of a seed.
pub type OrderKey = [u8; 32];

/// Returns the position of an item in the random order of a seed: it depends on the seed and the
/// id only.
pub fn order_key(seed: &str, id: &str) -> OrderKey {
    let mut hash = Sha256::new();
    hash.update(seed.len().to_be_bytes());
    hash.update(seed.as_bytes());
    hash.update(id.as_bytes());
    hash.finalize().into()
}

/// Samples items of strata in one pass: counts every item, and keeps those of each stratum that
/// come first in the seed's random order, up to a limit. Its memory does not grow with the number
/// of items.
///
/// The first `n` of a stratum are a simple random sample of it, for any `n`: sizes
/// can be chosen after the pass, when populations are known. Each id must be added once.
#[derive(Clone, Debug)]
pub struct Sampler<'a, K, T> {
    seed: &'a str,
    limit: usize,
    strata: BTreeMap<K, SampledStratum<T>>,
}

#[derive(Clone, Debug)]
struct SampledStratum<T> {
    population: u64,
    first: BinaryHeap<Entry<T>>,
}

/// An item with its position, ordered by position.
#[derive(Clone, Debug)]
struct Entry<T> {
    key: OrderKey,
    item: T,
}

impl<'a, K: Ord, T> Sampler<'a, K, T> {
    /// Returns an empty sampler that keeps at most `limit` items of each stratum.
    pub const fn new(seed: &'a str, limit: usize) -> Self {
        Self { seed, limit, strata: BTreeMap::new() }
    }

    /// Counts an item, and keeps it if it is among the first of its stratum.
    pub fn add(&mut self, stratum: K, id: &str, item: T) {
        let strata = self.strata.entry(stratum);
        let stratum =
            strata.or_insert_with(|| SampledStratum { population: 0, first: BinaryHeap::new() });
        stratum.population += 1;
        if self.limit == 0 {
            return;
        }
        let key = order_key(self.seed, id);
        if stratum.first.len() < self.limit {
            stratum.first.push(Entry { key, item });
        } else if let Some(mut last) = stratum.first.peek_mut()
            && key < last.key
        {
            *last = Entry { key, item };
        }
    }

    /// Returns the population of each stratum.
    pub fn populations(&self) -> BTreeMap<K, u64>
    where
        K: Clone,
    {
        self.strata.iter().map(|(key, stratum)| (key.clone(), stratum.population)).collect()
    }

    /// Returns the first items of each stratum with their position, in random order.
    pub fn take(self, size: impl Fn(&K) -> usize) -> Vec<(OrderKey, K, T)>
    where
        K: Clone,
    {
        let mut taken = Vec::new();
        for (key, stratum) in self.strata {
            let size = size(&key);
            let first = stratum.first.into_sorted_vec().into_iter().take(size);
            taken.extend(first.map(|entry| (entry.key, key.clone(), entry.item)));
        }
        // Mixed, so that the order does not reveal the stratum.
        taken.sort_by_key(|(key, ..)| *key);
        taken
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A limit only saves memory: the sample is that of sorting everything.
        #[test]
        fn the_first_of_each_stratum_are_taken_whatever_the_order_of_arrival(
            strata in prop::collection::vec(0..4_u8, 0..80),
            limit in 0..20_usize,
            size in 0..20_usize,
        ) {
            let ids: Vec<(String, u8)> =
                strata.iter().enumerate().map(|(n, stratum)| (format!("t{n}"), *stratum)).collect();
            let size = size.min(limit);
            let run = |ids: &mut dyn Iterator<Item = &(String, u8)>| {
                let mut sampler = Sampler::new("seed", limit);
                ids.for_each(|(id, stratum)| sampler.add(*stratum, id, id.clone()));
                let populations = sampler.populations();
                let taken = sampler.take(|_| size);
                (populations, taken.into_iter().map(|(_, _, id)| id).collect::<Vec<_>>())
            };
            let (populations, taken) = run(&mut ids.iter());
            prop_assert_eq!(&run(&mut ids.iter().rev()).1, &taken);
            prop_assert_eq!(populations.values().sum::<u64>(), ids.len() as u64);
            let mut sorted: Vec<_> = ids.iter().collect();
            sorted.sort_by_key(|(id, _)| order_key("seed", id));
            let mut left: BTreeMap<u8, usize> = (0..4).map(|stratum| (stratum, size)).collect();
            let mut want = Vec::new();
            for (id, stratum) in sorted {
                let left = left.get_mut(stratum).unwrap();
                if *left > 0 {
                    *left -= 1;
                    want.push(id.clone());
                }
            }
            prop_assert_eq!(taken, want);
        }
    }
}
