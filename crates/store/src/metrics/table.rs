use ratchet_core::time::Timestamp;
use rustc_hash::FxHashMap;

use super::MetricsRow;
use super::tally::Tally;
use crate::{StoreError, StoreResult};

/// Maximum number of groups in an answer. Further ones are counted under [`OTHER_GROUP`], so that no
/// client can make a query fail by inventing names.
pub(crate) const MAX_GROUPS: usize = 50_000;
/// Name of the group for values beyond the limit.
pub const OTHER_GROUP: &str = "(other)";
/// Maximum number of single values in memory, for percentiles and the like.
const MAX_VALUES: usize = 20_000_000;

/// The groups of an answer while it is computed.
#[derive(Debug)]
pub(crate) struct Table {
    fresh: Vec<Tally>,
    indexes: FxHashMap<Box<[u8]>, usize>,
    groups: Vec<(Key, Vec<Tally>)>,
    keeping: usize,
    values: usize,
}

/// The group key of a record. Reused for every record, so that it rarely allocates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Key {
    at: Option<Timestamp>,
    words: Vec<u8>,
    /// The same key for the "other" group of its time bucket.
    rest: Vec<u8>,
}

impl Key {
    /// Starts a new key with a time bucket.
    pub(crate) fn begin(&mut self, at: Option<Timestamp>) {
        self.at = at;
        for words in [&mut self.words, &mut self.rest] {
            words.clear();
            words.extend(at.map_or(0, Timestamp::nanos).to_le_bytes());
        }
    }

    /// Appends the value of the next dimension; an empty text counts as none.
    pub(crate) fn push(&mut self, word: Option<&str>) {
        extend(&mut self.words, word.unwrap_or_default());
        extend(&mut self.rest, OTHER_GROUP);
    }

    /// Appends a day or a month.
    pub(crate) fn push_time(&mut self, word: &str) {
        extend(&mut self.words, word);
        extend(&mut self.rest, word);
    }

    /// The key of the "other" group of its time bucket.
    fn of_the_rest(&self) -> Self {
        Self { at: self.at, words: self.rest.clone(), rest: Vec::new() }
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

fn extend(words: &mut Vec<u8>, word: &str) {
    let length = u32::try_from(word.len()).unwrap_or(u32::MAX);
    words.extend(length.to_le_bytes());
    words.extend(word.as_bytes());
}

impl Table {
    /// An empty table with the initial tallies of a group.
    pub(crate) fn new(fresh: Vec<Tally>) -> Self {
        let keeping = fresh.iter().filter(|tally| tally.keeps_values()).count();
        Self { fresh, indexes: FxHashMap::default(), groups: Vec::new(), keeping, values: 0 }
    }

    /// The tallies of the group that a record belongs to.
    pub(crate) fn group(&mut self, key: &Key) -> StoreResult<&mut [Tally]> {
        self.values += self.keeping;
        if self.values > MAX_VALUES {
            return Err(too_much(&format!("more than {MAX_VALUES} single values in memory")));
        }
        let index = match self.indexes.get(key.words.as_slice()) {
            Some(index) => *index,
            None => self.begin(key)?,
        };
        match self.groups.get_mut(index) {
            Some((_, tallies)) => Ok(tallies),
            None => Err(too_much("a group that is not there")),
        }
    }

    /// Adds a new group, or returns the "other" group of its time bucket.
    fn begin(&mut self, key: &Key) -> StoreResult<usize> {
        if self.groups.len() < MAX_GROUPS {
            return Ok(self.insert(Key { rest: Vec::new(), ..key.clone() }));
        }
        let rest = key.of_the_rest();
        if let Some(index) = self.indexes.get(rest.words.as_slice()) {
            return Ok(*index);
        }
        // Only the query itself can require so many time buckets.
        if self.groups.len() >= 2 * MAX_GROUPS {
            return Err(too_many_steps());
        }
        Ok(self.insert(rest))
    }

    fn insert(&mut self, key: Key) -> usize {
        let index = self.groups.len();
        self.indexes.insert(key.words.clone().into_boxed_slice(), index);
        self.groups.push((key, self.fresh.clone()));
        index
    }

    /// The rows, ordered by time and key.
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

/// The error for a query with too many time buckets.
pub(crate) fn too_many_steps() -> StoreError {
    too_much(&format!("more than {MAX_GROUPS} time buckets"))
}

fn too_much(what: &str) -> StoreError {
    StoreError::BadQuery(format!("{what}: use a shorter time range or fewer dimensions"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tally::Value;
    use crate::metrics::{Aggregation, Figure};

    fn count(table: &mut Table, (at, day, name): (i64, &str, &str)) -> StoreResult<()> {
        let mut key = Key::default();
        key.begin(Some(Timestamp::from_nanos(at)));
        key.push_time(day);
        key.push(Some(name));
        table.group(&key)?.iter_mut().for_each(|tally| tally.add(Value::Number(1.0)));
        Ok(())
    }

    #[test]
    fn names_beyond_the_last_group_are_counted_together() {
        let mut table = Table::new(vec![Tally::exact(Aggregation::Count)]);
        for n in 0..MAX_GROUPS + 7 {
            count(&mut table, (0, "monday", &format!("name {n}"))).unwrap();
        }
        count(&mut table, (0, "monday", "name 3")).unwrap();
        count(&mut table, (1, "tuesday", "name 3")).unwrap();
        let rows = table.into_rows();
        assert_eq!(rows.len(), MAX_GROUPS + 2);
        let of = |key: [&str; 2]| {
            let key = key.map(|word| Some(word.to_owned()));
            rows.iter().find(|row| row.key == key).map(|row| row.figures.clone())
        };
        assert_eq!(of(["monday", "name 3"]), Some(vec![Figure::Count(2)]));
        assert_eq!(of(["monday", OTHER_GROUP]), Some(vec![Figure::Count(7)]));
        assert_eq!(of(["tuesday", OTHER_GROUP]), Some(vec![Figure::Count(1)]));
    }

    #[test]
    fn steps_of_time_have_an_end() {
        let mut table = Table::new(vec![Tally::exact(Aggregation::Count)]);
        let error = (0..).map(|at| count(&mut table, (at, "", ""))).find_map(Result::err);
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("50000 time buckets: use a shorter time range"), "{error}");
    }
}
