use crate::query::Direction;

const BUCKETS: usize = 65_536;

/// Number of observations by start, in equal time buckets.
#[derive(Debug)]
pub(super) struct Buckets {
    from: i64,
    width: i64,
    counts: Vec<u64>,
}

impl Buckets {
    /// Buckets from the first start to an exclusive end.
    pub(super) fn new(from: i64, to: i64) -> Self {
        let width = to.saturating_sub(from).max(0) / BUCKETS as i64 + 1;
        Self { from, width, counts: vec![0; BUCKETS] }
    }

    /// Counts a start. One outside is counted in the nearest bucket.
    pub(super) fn count(&mut self, start: i64) {
        let slice = start.saturating_sub(self.from).max(0) / self.width;
        let slice = usize::try_from(slice).map_or(BUCKETS - 1, |slice| slice.min(BUCKETS - 1));
        if let Some(count) = self.counts.get_mut(slice) {
            *count += 1;
        }
    }

    /// The edge of the bucket that contains a rank, `None` at the start of the order, and the
    /// number of observations before it; `None` if there are not so many.
    pub(super) fn of_rank(&self, rank: u64, direction: Direction) -> Option<(Option<i64>, u64)> {
        let mut before = 0;
        for nth in 0..BUCKETS {
            let (slice, edge) = match direction {
                Direction::Ascending => (nth, nth),
                Direction::Descending => (BUCKETS - 1 - nth, BUCKETS - nth),
            };
            let count = self.counts.get(slice).copied().unwrap_or(0);
            if before + count > rank {
                let edge = i64::try_from(edge).unwrap_or(i64::MAX).saturating_mul(self.width);
                return Some(((nth > 0).then_some(self.from.saturating_add(edge)), before));
            }
            before += count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_many_lie_before_the_edge_as_are_said(
            mut starts in proptest::collection::vec(-5_000_000_000..9_000_000_000_i64, 1..200),
            rank in 0..210_u64,
            is_ascending in any::<bool>(),
        ) {
            // The bounds of a trace may be slightly out of date.
            let mut buckets = Buckets::new(starts[0].min(0), 8_000_000_000);
            starts.iter().for_each(|start| buckets.count(*start));
            let direction = [Direction::Descending, Direction::Ascending][usize::from(is_ascending)];
            let found = buckets.of_rank(rank, direction);
            prop_assert_eq!(found.is_some(), rank < starts.len() as u64);
            if let Some((edge, before)) = found {
                let is_before = |start: &i64| match (edge, is_ascending) {
                    (None, _) => false,
                    (Some(edge), true) => *start < edge,
                    (Some(edge), false) => *start >= edge,
                };
                starts.retain(is_before);
                prop_assert_eq!(starts.len() as u64, before);
                prop_assert!(before <= rank);
            }
        }
    }
}
