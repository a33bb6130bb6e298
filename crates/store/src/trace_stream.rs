//! Streams the observations and scores of one trace of any size: in slices of bounded size, and
//! without a new scan for each of them.

use std::cmp::Reverse;
use std::collections::VecDeque;

use ratchet_core::id::TraceId;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::Score;

use crate::StoreResult;
use crate::project::ProjectId;
use crate::query::Detail;
use crate::telemetry::{Telemetry, TelemetryEngine};

/// Position in a stream of a trace's observations, ordered by start.
#[derive(Clone, Debug)]
pub struct ObservationCursor {
    pub(crate) project: ProjectId,
    pub(crate) trace: TraceId,
    pub(crate) detail: Detail,
    pub(crate) ahead: NextKeys<ObservationKey>,
}

/// Position in a stream of the scores on a trace and its observations, newest first.
#[derive(Clone, Debug)]
pub struct ScoreCursor {
    pub(crate) project: ProjectId,
    pub(crate) trace: TraceId,
    pub(crate) ahead: NextKeys<ScoreKey>,
}

/// The next rows of a stream, and the position after them.
#[derive(Clone, Debug)]
pub struct StreamedRows<T, W> {
    /// In order. May be empty although more follow.
    pub rows: Vec<T>,
    /// `None` after the last row.
    pub rest: Option<W>,
}

impl ObservationCursor {
    /// Starts at the first observation.
    pub fn new(project: ProjectId, trace: TraceId, detail: Detail) -> Self {
        Self { project, trace, detail, ahead: NextKeys::default() }
    }
}

impl ScoreCursor {
    /// Starts at the newest score.
    pub fn new(project: ProjectId, trace: TraceId) -> Self {
        Self { project, trace, ahead: NextKeys::default() }
    }
}

/// Sort key of a trace's observations. An observation whose start changes meanwhile may be missed
/// or returned twice, as in any list that is read in slices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObservationKey {
    pub(crate) start: i64,
    pub(crate) id: StoredId,
}

/// An id in database order: texts before bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StoredId {
    Text(String),
    Bytes(Vec<u8>),
}

/// Sort key of scores: time and number, descending.
pub(crate) type ScoreKey = Reverse<(i64, i64)>;

/// The keys of the next rows.
#[derive(Clone, Debug)]
pub(crate) struct NextKeys<K> {
    pub(crate) keys: VecDeque<K>,
    /// The last known key; later ones are unknown.
    pub(crate) found_up_to: Option<K>,
    /// Whether there are keys after that one.
    pub(crate) has_more: bool,
}

impl<K> Default for NextKeys<K> {
    fn default() -> Self {
        Self { keys: VecDeque::new(), found_up_to: None, has_more: true }
    }
}

impl<K> NextKeys<K> {
    /// Whether the next keys must be found.
    pub(crate) fn is_used_up(&self) -> bool {
        self.keys.is_empty() && self.has_more
    }

    /// Whether the stream has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.keys.is_empty() && !self.has_more
    }
}

/// Selects the next keys from an unordered scan, in bounded memory.
#[derive(Debug)]
pub(crate) struct Next<K> {
    after: Option<K>,
    limit: usize,
    kept: Vec<K>,
    /// Greater keys were dropped: they are not among the next ones.
    bound: Option<K>,
}

impl<K: Ord + Clone> Next<K> {
    /// At most `limit` keys after the known ones.
    pub(crate) fn after(ahead: &NextKeys<K>, limit: usize) -> Self {
        Self { after: ahead.found_up_to.clone(), limit, kept: Vec::new(), bound: None }
    }

    pub(crate) fn offer(&mut self, key: K) {
        let is_passed = self.after.as_ref().is_some_and(|after| key <= *after);
        let is_far = self.bound.as_ref().is_some_and(|bound| key > *bound);
        if is_passed || is_far {
            return;
        }
        self.kept.push(key);
        if self.kept.len() >= 2 * self.limit {
            let (_, last, _) = self.kept.select_nth_unstable(self.limit - 1);
            self.bound = Some(last.clone());
            self.kept.truncate(self.limit);
        }
    }

    pub(crate) fn finish(mut self) -> NextKeys<K> {
        self.kept.sort_unstable();
        let has_more = self.bound.is_some() || self.kept.len() > self.limit;
        self.kept.truncate(self.limit);
        let found_up_to = self.kept.last().cloned().or(self.after);
        NextKeys { keys: self.kept.into(), found_up_to, has_more }
    }
}

impl Telemetry {
    /// Returns the next observations of a trace, ordered by start, and the position after them. A
    /// slice has bounded memory, and all slices together take time in proportion to the trace.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn observations_after(
        &self,
        walk: ObservationCursor,
    ) -> StoreResult<StreamedRows<Observation, ObservationCursor>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.observations_after(walk).await,
        }
    }

    /// Returns the next scores on a trace and its observations, newest first, in the same way.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn scores_after(
        &self,
        walk: ScoreCursor,
    ) -> StoreResult<StreamedRows<Score, ScoreCursor>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.scores_after(walk).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_key_comes_once_and_in_order(
            keys in proptest::collection::btree_set(0..500u32, 0..60),
            order in any::<u64>(),
            limit in 1..8usize,
        ) {
            let mut shuffled: Vec<u32> = keys.iter().copied().collect();
            shuffled.sort_by_key(|key| u64::from(*key).wrapping_mul(order | 1));
            let (mut seen, mut ahead) = (Vec::new(), NextKeys::default());
            while !ahead.is_over() {
                if ahead.is_used_up() {
                    let mut next = Next::after(&ahead, limit);
                    shuffled.iter().for_each(|key| next.offer(*key));
                    ahead = next.finish();
                }
                prop_assert!(ahead.keys.len() <= limit);
                seen.extend(ahead.keys.pop_front());
            }
            prop_assert_eq!(seen, keys.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn ids_are_in_the_order_of_the_database() {
        let mut ids =
            [StoredId::Bytes(vec![0]), StoredId::Text("b".into()), StoredId::Text("a".into())];
        ids.sort();
        let expected =
            [StoredId::Text("a".into()), StoredId::Text("b".into()), StoredId::Bytes(vec![0])];
        assert_eq!(ids, expected);
    }
}
