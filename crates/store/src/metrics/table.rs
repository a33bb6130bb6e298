use ratchet_core::time::Timestamp;
use rustc_hash::FxHashMap;

use super::MetricsRow;
use super::tally::Tally;
use crate::{StoreError, StoreResult};

/// Groups that one answer may have.
const MAX_GROUPS: usize = 50_000;
/// Single values that one answer may keep, for percentiles and the like.
const MAX_VALUES: usize = 20_000_000;

/// The groups of an answer in the making.
#[derive(Debug)]
pub(crate) struct Table {
    fresh: Vec<Tally>,
    places: FxHashMap<Box<[u8]>, usize>,
    groups: Vec<(Key, Vec<Tally>)>,
    keeping: usize,
    values: usize,
}

/// What a record is grouped under. Made anew for every record, so it allocates only at first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Key {
    at: Option<Timestamp>,
    words: Vec<u8>,
}

impl Key {
    /// Starts again with a step of time.
    pub(crate) fn begin(&mut self, at: Option<Timestamp>) {
        self.at = at;
        self.words.clear();
        self.words.extend(at.map_or(0, Timestamp::nanos).to_le_bytes());
    }

    /// Adds the value of the next dimension; an empty text counts as none.
    pub(crate) fn push(&mut self, word: Option<&str>) {
        let word = word.unwrap_or_default().as_bytes();
        let length = u32::try_from(word.len()).unwrap_or(u32::MAX);
        self.words.extend(length.to_le_bytes());
        self.words.extend(word);
    }

    fn words(&self) -> Vec<Option<String>> {
        let mut rest = self.words.get(8..).unwrap_or_default();
        let mut words = Vec::new();
        while let Some((length, text)) = rest.split_first_chunk::<4>() {
            let length = u32::from_le_bytes(*length) as usize;
            let (word, after) = text.split_at(length.min(text.len()));
            let word = String::from_utf8_lossy(word).into_owned();
            words.push((!word.is_empty()).then_some(word));
            rest = after;
        }
        words
    }
}

impl Table {
    /// An empty table, each group of which begins like this.
    pub(crate) fn new(fresh: Vec<Tally>) -> Self {
        let keeping = fresh.iter().filter(|tally| tally.keeps_values()).count();
        Self { fresh, places: FxHashMap::default(), groups: Vec::new(), keeping, values: 0 }
    }

    /// The tallies of the group that a record belongs to.
    pub(crate) fn group(&mut self, key: &Key) -> StoreResult<&mut [Tally]> {
        self.values += self.keeping;
        if self.values > MAX_VALUES {
            return Err(too_much(&format!("more than {MAX_VALUES} single values to keep")));
        }
        let place = match self.places.get(key.words.as_slice()) {
            Some(place) => *place,
            None => self.begin(key)?,
        };
        match self.groups.get_mut(place) {
            Some((_, tallies)) => Ok(tallies),
            None => Err(too_much("a group that is not there")),
        }
    }

    fn begin(&mut self, key: &Key) -> StoreResult<usize> {
        let place = self.groups.len();
        if place >= MAX_GROUPS {
            return Err(too_much(&format!("more than {MAX_GROUPS} groups")));
        }
        self.places.insert(key.words.clone().into_boxed_slice(), place);
        self.groups.push((key.clone(), self.fresh.clone()));
        Ok(place)
    }

    /// The rows, by time and key.
    pub(crate) fn into_rows(self) -> Vec<MetricsRow> {
        let row = |(key, tallies): (Key, Vec<Tally>)| MetricsRow {
            at: key.at,
            key: key.words(),
            figures: tallies.into_iter().map(Tally::figure).collect(),
        };
        let mut rows: Vec<_> = self.groups.into_iter().map(row).collect();
        rows.sort_by(|a, b| (a.at, &a.key).cmp(&(b.at, &b.key)));
        rows
    }
}

fn too_much(what: &str) -> StoreError {
    StoreError::BadQuery(format!("{what}: ask for a shorter time or fewer dimensions"))
}
