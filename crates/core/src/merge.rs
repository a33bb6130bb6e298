//! Merging is a join: commutative, associative and idempotent. The same patches in any order, any
//! number of times, give the same record. Everything below follows from "the greater wins".

use std::collections::{BTreeMap, BTreeSet};

use crate::field::{Field, Said};
use crate::payload::Json;
use crate::time::Timestamp;

/// Something of which two versions join into one.
pub trait Merge {
    /// Joins the two. Order and repetition do not matter.
    #[must_use]
    fn merge(self, other: Self) -> Self;
}

impl<T: Ord> Merge for Field<T> {
    fn merge(self, other: Self) -> Self {
        self.max(other)
    }
}

/// The least time anyone gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Earliest(pub Option<Timestamp>);

impl Merge for Earliest {
    fn merge(self, other: Self) -> Self {
        Self(self.0.into_iter().chain(other.0).min())
    }
}

/// The greatest time anyone gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latest(pub Option<Timestamp>);

impl Merge for Latest {
    fn merge(self, other: Self) -> Self {
        Self(self.0.into_iter().chain(other.0).max())
    }
}

/// Tags only ever join.
impl Merge for BTreeSet<String> {
    fn merge(self, other: Self) -> Self {
        let (mut larger, smaller) =
            if self.len() < other.len() { (other, self) } else { (self, other) };
        larger.extend(smaller);
        larger
    }
}

/// Metadata by key; each key is a field of its own, and null removes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata(BTreeMap<String, Said<Json>>);

impl Metadata {
    /// Takes what was said of each key; the last word on a repeated key wins.
    pub fn new(keys: impl IntoIterator<Item = (String, Said<Json>)>) -> Self {
        Self(keys.into_iter().collect())
    }

    /// Whether no key was ever spoken of.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What was said of each key, removed ones included.
    pub fn words(&self) -> impl Iterator<Item = (&str, &Said<Json>)> {
        self.0.iter().map(|(key, said)| (key.as_str(), said))
    }

    /// The keys that have a value.
    pub fn values(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.words().filter_map(|(key, said)| Some((key, said.value.as_ref()?)))
    }

    /// The value of one key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)?.value.as_ref()
    }

    /// Says a key, whatever was said before.
    pub fn insert(&mut self, key: String, said: Said<Json>) {
        self.0.insert(key, said);
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
