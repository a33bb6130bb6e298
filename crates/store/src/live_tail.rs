//! The live tail: the latest records in order of arrival.
//!
//! In memory only. The order of arrival is not that of any timestamp in a record: an observation
//! that started long ago arrives when it ends, and clocks differ.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use ratchet_core::id::{ObservationId, TraceId};
use uuid::Uuid;

use crate::project::ProjectId;
use crate::telemetry::{Telemetry, TelemetryEngine};

/// Minimum number of records in memory.
const CAPACITY: usize = 20_000;

/// A position in the order of arrival, as an opaque cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivalCursor {
    /// Identifies one opening of the store: counting restarts when it is opened.
    opened: u64,
    /// Number of records that had arrived.
    count: u64,
}

/// Error for a malformed arrival cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a cursor of this server")]
pub struct ArrivalCursorError;

impl fmt::Display for ArrivalCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.opened, self.count)
    }
}

impl FromStr for ArrivalCursor {
    type Err = ArrivalCursorError;

    fn from_str(text: &str) -> Result<Self, ArrivalCursorError> {
        let (opened, count) = text.split_once('-').ok_or(ArrivalCursorError)?;
        let number = |digits| u64::from_str_radix(digits, 16).map_err(|_| ArrivalCursorError);
        Ok(Self { opened: number(opened)?, count: number(count)? })
    }
}

/// The kind of records to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// Traces, whenever one of them or a part of it changes.
    Traces,
    Observations,
}

/// A record that arrived or changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arrival {
    Trace(TraceId),
    Observation(TraceId, ObservationId),
}

/// Records that arrived or changed after a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    pub records: Vec<Arrival>,
    /// The cursor after the last of them.
    pub until: ArrivalCursor,
    /// Whether more have arrived since.
    pub has_more: bool,
    /// Whether some of them are no longer in memory.
    pub is_cut: bool,
}

/// A bounded log of arrivals.
#[derive(Debug)]
pub(crate) struct Log {
    opened: u64,
    /// Total number of arrivals, including dropped ones.
    count: u64,
    batches: VecDeque<Came>,
    remembered: usize,
}

#[derive(Debug)]
struct Came {
    project: ProjectId,
    /// Number of arrivals before.
    before: u64,
    records: Vec<Arrival>,
}

impl Default for Log {
    fn default() -> Self {
        let (opened, _) = Uuid::new_v4().as_u64_pair();
        Self { opened, count: 0, batches: VecDeque::new(), remembered: 0 }
    }
}

impl Log {
    pub(crate) fn add(&mut self, project: ProjectId, records: Vec<Arrival>) {
        let (before, length) = (self.count, records.len());
        self.count += length as u64;
        self.remembered += length;
        self.batches.push_back(Came { project, before, records });
        while let Some(oldest) = self.batches.front()
            && self.remembered - oldest.records.len() >= CAPACITY
        {
            self.remembered -= oldest.records.len();
            self.batches.pop_front();
        }
    }

    pub(crate) fn now(&self) -> ArrivalCursor {
        self.at(self.count)
    }

    /// Arrivals of one kind after a cursor, oldest first.
    pub(crate) fn after(
        &self,
        after: ArrivalCursor,
        (project, watched): (&ProjectId, RecordKind),
        at_most: usize,
    ) -> Arrivals {
        let oldest = self.batches.front().map_or(self.count, |came| came.before);
        let is_other = after.opened != self.opened;
        let from = if is_other { oldest } else { after.count };
        let mut found = Arrivals {
            records: Vec::new(),
            until: self.now(),
            has_more: false,
            is_cut: is_other || from < oldest,
        };
        let mut seen = BTreeSet::new();
        let is_wanted = |came: &&Came| {
            came.project == *project && came.before + came.records.len() as u64 > from
        };
        for came in self.batches.iter().filter(is_wanted) {
            for (record, number) in came.records.iter().zip(came.before + 1..) {
                if number <= from || record.watched() != watched || seen.contains(record) {
                    continue;
                }
                if seen.len() >= at_most {
                    let (until, has_more) = (self.at(number - 1), true);
                    return Arrivals { until, has_more, ..found };
                }
                seen.insert(record);
                found.records.push(record.clone());
            }
        }
        found
    }

    const fn at(&self, count: u64) -> ArrivalCursor {
        ArrivalCursor { opened: self.opened, count }
    }
}

impl Arrival {
    const fn watched(&self) -> RecordKind {
        match self {
            Self::Trace(_) => RecordKind::Traces,
            Self::Observation(..) => RecordKind::Observations,
        }
    }
}

impl Telemetry {
    /// Returns the cursor after the latest arrival.
    pub fn arrived(&self) -> ArrivalCursor {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.arrived(),
        }
    }

    /// Returns records of a project that arrived or changed after a cursor, oldest first, up to a
    /// limit.
    pub fn arrivals(
        &self,
        of: (&ProjectId, RecordKind),
        after: ArrivalCursor,
        at_most: usize,
    ) -> Arrivals {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.arrivals(of, after, at_most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ProjectId {
        ProjectId::parse(text).unwrap()
    }

    fn traces(ids: impl IntoIterator<Item = usize>) -> Vec<Arrival> {
        let id = |n: usize| TraceId::parse(&format!("t{n}")).unwrap();
        ids.into_iter().map(|n| Arrival::Trace(id(n))).collect()
    }

    #[test]
    fn what_came_is_told_once_and_in_order() {
        let (shop, other) = (id("shop"), id("other"));
        let mut log = Log::default();
        let start = log.now();
        log.add(shop.clone(), traces([1, 2]));
        log.add(other, traces([9]));
        log.add(shop.clone(), traces([2, 3]));
        let first = log.after(start, (&shop, RecordKind::Traces), 2);
        assert_eq!((first.records, first.has_more), (traces([1, 2]), true));
        let rest = log.after(first.until, (&shop, RecordKind::Traces), 2);
        assert_eq!((rest.records, rest.has_more, rest.is_cut), (traces([3]), false, false));
        assert_eq!(rest.until, log.now());
        let again = rest.until.to_string().parse().unwrap();
        assert_eq!(log.after(again, (&shop, RecordKind::Traces), 2).records, []);
        assert_eq!(log.after(start, (&shop, RecordKind::Observations), 2).records, []);
    }

    #[test]
    fn what_is_forgotten_is_admitted() {
        let shop = id("shop");
        let mut log = Log::default();
        let start = log.now();
        log.add(shop.clone(), traces(0..10));
        log.add(shop.clone(), traces(10..CAPACITY + 10));
        let found = log.after(start, (&shop, RecordKind::Traces), 1);
        assert_eq!((found.records, found.is_cut), (traces([10]), true));
        let of_another = ArrivalCursor { opened: start.opened ^ 1, count: 5 };
        assert!(log.after(of_another, (&shop, RecordKind::Traces), 1).is_cut);
    }

    #[test]
    fn anything_else_is_no_moment() {
        for text in ["", "-", "1", "1-", "x-1", "1-11111111111111111", "1700000000000000000"] {
            assert_eq!(text.parse::<ArrivalCursor>(), Err(ArrivalCursorError), "{text}");
        }
    }
}
