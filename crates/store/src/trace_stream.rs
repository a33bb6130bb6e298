//! Reading all that hangs on one trace, however much it is: in slices of bounded size, and without
//! looking at every row again for each of them.

use std::cmp::Reverse;
use std::collections::VecDeque;

use ratchet_core::id::TraceId;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::Score;

use crate::StoreResult;
use crate::project::ProjectId;
use crate::query::Detail;
use crate::telemetry::Telemetry;

/// Where a walk through the observations of a trace stands, by start.
#[derive(Clone, Debug)]
pub struct ObservationWalk {
    pub(crate) project: ProjectId,
    pub(crate) trace: TraceId,
    pub(crate) detail: Detail,
    pub(crate) ahead: Ahead<ObservationKey>,
}

/// Where a walk through the scores on a trace and its observations stands, newest first.
#[derive(Clone, Debug)]
pub struct ScoreWalk {
    pub(crate) project: ProjectId,
    pub(crate) trace: TraceId,
    pub(crate) ahead: Ahead<ScoreKey>,
}

/// The next rows of a walk, and the walk behind them.
#[derive(Clone, Debug)]
pub struct StreamedRows<T, W> {
    /// The rows, in order. There may be none although there are more behind.
    pub rows: Vec<T>,
    /// Where to go on; `None` behind the last row.
    pub rest: Option<W>,
}

impl ObservationWalk {
    /// A walk that begins with the first observation.
    pub fn new(project: ProjectId, trace: TraceId, detail: Detail) -> Self {
        Self { project, trace, detail, ahead: Ahead::default() }
    }
}

impl ScoreWalk {
    /// A walk that begins with the newest score.
    pub fn new(project: ProjectId, trace: TraceId) -> Self {
        Self { project, trace, ahead: Ahead::default() }
    }
}

/// What orders the observations of a trace. An observation that changes its start meanwhile may be
/// passed by or come twice, as in any list that is read in slices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObservationKey {
    pub(crate) start: i64,
    pub(crate) id: StoredId,
}

/// An id as the database orders it: texts before bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StoredId {
    Text(String),
    Bytes(Vec<u8>),
}

/// What orders scores: their time and their number, the greatest first.
pub(crate) type ScoreKey = Reverse<(i64, i64)>;

/// The keys of the next rows.
#[derive(Clone, Debug)]
pub(crate) struct Ahead<K> {
    pub(crate) keys: VecDeque<K>,
    /// The last key that was found; what comes later is not known yet.
    pub(crate) found_up_to: Option<K>,
    /// Whether there are keys behind that one.
    pub(crate) has_more: bool,
}

impl<K> Default for Ahead<K> {
    fn default() -> Self {
        Self { keys: VecDeque::new(), found_up_to: None, has_more: true }
    }
}

impl<K> Ahead<K> {
    /// Whether the next keys must be looked for.
    pub(crate) fn is_used_up(&self) -> bool {
        self.keys.is_empty() && self.has_more
    }

    /// Whether there is nothing ahead.
    pub(crate) fn is_over(&self) -> bool {
        self.keys.is_empty() && !self.has_more
    }
}

/// Finds the next keys among all, which come in any order, in bounded memory.
#[derive(Debug)]
pub(crate) struct Next<K> {
    after: Option<K>,
    limit: usize,
    kept: Vec<K>,
    /// Greater keys are certainly not among the next ones, and some were dropped.
    bound: Option<K>,
}

impl<K: Ord + Clone> Next<K> {
    /// So many keys at most, all behind those that a walk knows.
    pub(crate) fn after(ahead: &Ahead<K>, limit: usize) -> Self {
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

    pub(crate) fn finish(mut self) -> Ahead<K> {
        self.kept.sort_unstable();
        let has_more = self.bound.is_some() || self.kept.len() > self.limit;
        self.kept.truncate(self.limit);
        let found_up_to = self.kept.last().cloned().or(self.after);
        Ahead { keys: self.kept.into(), found_up_to, has_more }
    }
}

impl Telemetry {
    /// Returns the next observations of a trace, by start, and where to go on. What a slice takes in
    /// memory is bounded, and all slices together take time in proportion to the trace.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn walk_observations(
        &self,
        walk: ObservationWalk,
    ) -> StoreResult<StreamedRows<Observation, ObservationWalk>> {
        match self {
            Self::Embedded(engine) => engine.walk_observations(walk).await,
        }
    }

    /// Returns the next scores on a trace and its observations, newest first, in the same way.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn walk_scores(
        &self,
        walk: ScoreWalk,
    ) -> StoreResult<StreamedRows<Score, ScoreWalk>> {
        match self {
            Self::Embedded(engine) => engine.walk_scores(walk).await,
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
            let (mut seen, mut ahead) = (Vec::new(), Ahead::default());
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
