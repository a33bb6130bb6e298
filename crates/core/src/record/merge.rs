//! Merging of patches: a semilattice join, that is commutative, associative and idempotent. The
//! same patches in any order, any number of times, give the same record. All of it follows from
//! "the greater wins".

use std::collections::{BTreeMap, BTreeSet};

use crate::payload::Json;
use crate::record::field::{Field, Stamp, StampedValue};
use crate::time::Timestamp;

/// A type whose values can be merged.
pub trait Merge {
    /// Merges two values. Order and repetition do not matter.
    #[must_use]
    fn merge(self, other: Self) -> Self;
}

impl<T: Ord> Merge for Field<T> {
    fn merge(self, other: Self) -> Self {
        self.max(other)
    }
}

/// The minimum of all given times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Earliest(pub Option<Timestamp>);

impl Merge for Earliest {
    fn merge(self, other: Self) -> Self {
        Self(self.0.into_iter().chain(other.0).min())
    }
}

/// The maximum of all given times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latest(pub Option<Timestamp>);

impl Merge for Latest {
    fn merge(self, other: Self) -> Self {
        Self(self.0.into_iter().chain(other.0).max())
    }
}

/// Tags are only added, never removed.
impl Merge for BTreeSet<String> {
    fn merge(self, other: Self) -> Self {
        let (mut larger, smaller) =
            if self.len() < other.len() { (other, self) } else { (self, other) };
        larger.extend(smaller);
        larger
    }
}

/// Metadata; each key is a field with its own stamp, and null removes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata(BTreeMap<String, StampedValue<Json>>);

impl Metadata {
    /// Creates metadata; the last value of a repeated key wins.
    pub fn new(keys: impl IntoIterator<Item = (String, StampedValue<Json>)>) -> Self {
        Self(keys.into_iter().collect())
    }

    /// Returns whether no key was ever set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all keys, tombstones included.
    pub fn words(&self) -> impl Iterator<Item = (&str, &StampedValue<Json>)> {
        self.0.iter().map(|(key, stamped)| (key.as_str(), stamped))
    }

    /// Consumes the metadata and returns all keys, tombstones included.
    pub fn into_words(self) -> impl Iterator<Item = (String, StampedValue<Json>)> {
        self.0.into_iter()
    }

    /// Returns the keys that have a value.
    pub fn values(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.words().filter_map(|(key, stamped)| Some((key, stamped.value.as_ref()?)))
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)?.value.as_ref()
    }

    /// Returns the stamps of all keys for changes.
    pub fn stamps_mut(&mut self) -> impl Iterator<Item = &mut Stamp> {
        self.0.values_mut().map(|stamped| &mut stamped.stamp)
    }

    /// Returns the number of keys that lose because the stored value has a later time.
    pub fn outdated_by(&self, stored: &Self) -> usize {
        let is_outdated = |(key, ours): &(&String, &StampedValue<Json>)| {
            stored.0.get(*key).is_some_and(|theirs| {
                theirs.stamp.at > ours.stamp.at
                    && theirs.stamp.authority == ours.stamp.authority
                    && theirs.value != ours.value
            })
        };
        self.0.iter().filter(is_outdated).count()
    }

    /// Moves the stamps after those of known values.
    #[must_use]
    pub fn after(self, known: &Self) -> Self {
        let later = |(key, ours): (String, StampedValue<Json>)| {
            let theirs = Field::from_stamped(known.0.get(&key).cloned());
            let ours = Field::from_stamped(Some(ours)).after(&theirs);
            Some((key, ours.stamped()?.clone()))
        };
        Self(self.0.into_iter().filter_map(later).collect())
    }

    /// Sets a key, regardless of stamps.
    pub fn insert(&mut self, key: String, stamped: StampedValue<Json>) {
        self.0.insert(key, stamped);
    }
}

impl Merge for Metadata {
    fn merge(mut self, other: Self) -> Self {
        for (key, theirs) in other.0 {
            match self.0.remove(&key) {
                Some(ours) => self.0.insert(key, ours.max(theirs)),
                None => self.0.insert(key, theirs),
            };
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::test_runner::TestCaseResult;

    use super::*;
    use crate::arbitrary::{observation_patch, score_patch, trace_patch};

    /// Checks all three laws at once: the record does not depend on grouping, order or repetition.
    fn check<T: Merge + Clone + Debug + PartialEq>(
        patches: &[T],
        shuffled: &[T],
    ) -> TestCaseResult {
        let fold = |patches: &[T]| patches.iter().cloned().reduce(Merge::merge);
        let folded = fold(patches);
        let from_the_right =
            patches.iter().cloned().rev().reduce(|later, earlier| earlier.merge(later));
        prop_assert_eq!(&folded, &from_the_right);
        prop_assert_eq!(&folded, &fold(shuffled));
        prop_assert_eq!(&folded, &fold(&[patches, shuffled].concat()));
        Ok(())
    }

    fn shuffled<T: Clone + Debug + 'static>(
        patch: impl Strategy<Value = T> + 'static,
    ) -> impl Strategy<Value = (Vec<T>, Vec<T>)> {
        vec(patch, 1..5).prop_flat_map(|patches| {
            let shuffled = Just(patches.clone()).prop_shuffle();
            (Just(patches), shuffled)
        })
    }

    proptest! {
        #[test]
        fn observations_do_not_care_about_order_or_repetition(
            (patches, shuffled) in shuffled(observation_patch())
        ) {
            check(&patches, &shuffled)?;
        }

        #[test]
        fn traces_do_not_care_about_order_or_repetition(
            (patches, shuffled) in shuffled(trace_patch())
        ) {
            check(&patches, &shuffled)?;
        }

        #[test]
        fn scores_do_not_care_about_order_or_repetition(
            (patches, shuffled) in shuffled(score_patch())
        ) {
            check(&patches, &shuffled)?;
        }
    }

    use crate::record::field::{Authority, WriteKind};

    fn word(authority: Authority, at: i64, act: WriteKind, value: Option<&str>) -> Field<String> {
        let stamp = Stamp { authority, at: Timestamp::from_nanos(at), act };
        Field::from_stamped(Some(StampedValue { stamp, value: value.map(str::to_owned) }))
    }

    #[track_caller]
    fn wins(winner: &Field<String>, loser: &Field<String>) {
        assert_eq!(&winner.clone().merge(loser.clone()), winner);
        assert_eq!(&loser.clone().merge(winner.clone()), winner);
    }

    #[test]
    fn authority_beats_time_beats_act_beats_value() {
        use Authority::{Child, Root, Stated};
        use WriteKind::{Create, Update};
        wins(&word(Root, 1, Create, Some("a")), &word(Child, 9, Update, Some("z")));
        wins(&word(Stated, 1, Create, Some("a")), &word(Root, 9, Update, Some("z")));
        wins(&word(Stated, 2, Create, Some("a")), &word(Stated, 1, Update, Some("z")));
        wins(&word(Stated, 1, Update, Some("a")), &word(Stated, 1, Create, Some("z")));
        wins(&word(Stated, 1, Create, Some("b")), &word(Stated, 1, Create, Some("a")));
    }

    #[test]
    fn null_clears_earlier_values_and_yields_to_later_ones() {
        use Authority::Stated;
        use WriteKind::Update;
        wins(&word(Stated, 2, Update, None), &word(Stated, 1, Update, Some("a")));
        wins(&word(Stated, 2, Update, Some("a")), &word(Stated, 1, Update, None));
        wins(&word(Stated, 1, Update, None), &Field::unset());
    }

    #[test]
    fn metadata_merges_by_key() {
        let stamped = |at, value| {
            let stamp = Stamp::stated(Timestamp::from_nanos(at), WriteKind::Create);
            StampedValue { stamp, value: Json::parse(value) }
        };
        let older =
            Metadata::new([("a".to_owned(), stamped(1, "1")), ("b".to_owned(), stamped(1, "1"))]);
        let newer =
            Metadata::new([("a".to_owned(), stamped(2, "2")), ("c".to_owned(), stamped(2, "2"))]);
        let merged = newer.merge(older);
        let values: Vec<_> = merged.values().map(|(key, json)| (key, json.as_str())).collect();
        assert_eq!(values, [("a", "2"), ("b", "1"), ("c", "2")]);
    }
}
