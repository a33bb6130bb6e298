use std::collections::BTreeMap;

use crate::varint;

/// How long things took: counts in buckets that grow by a constant factor.
///
/// Sixteen buckets to the doubling, so a quantile is off by at most three percent. Counts are plain
/// integers: what was added can be taken away again, which no sketch with a memory can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(BTreeMap<u16, i64>);

const BUCKETS_PER_DOUBLING: u32 = 16;
const SUB_BITS: u32 = BUCKETS_PER_DOUBLING.trailing_zeros();

impl Histogram {
    /// Counts a latency in nanoseconds `times` times; a negative number takes it away.
    pub fn add(&mut self, nanos: i64, times: i64) {
        self.add_to(bucket_of(nanos), times);
    }

    /// Adds another histogram `times` times.
    pub fn add_all(&mut self, other: &Self, times: i64) {
        for (bucket, count) in &other.0 {
            self.add_to(*bucket, count.saturating_mul(times));
        }
    }

    /// How many were counted.
    pub fn total(&self) -> i64 {
        self.0.values().sum()
    }

    /// The latency in nanoseconds below which that share (0 to 1) lies; `None` when empty.
    pub fn quantile(&self, share: f64) -> Option<i64> {
        let total = self.total();
        if total <= 0 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let wanted = share.clamp(0.0, 1.0) * total as f64;
        let mut below = 0.0;
        let mut last = None;
        for (bucket, count) in &self.0 {
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            let count = *count as f64;
            below += count;
            last = Some(middle_of(*bucket));
            if below >= wanted && count > 0.0 {
                break;
            }
        }
        last
    }

    /// Compact bytes for keeping.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * 3);
        for (bucket, count) in &self.0 {
            bytes.extend_from_slice(&bucket.to_le_bytes());
            varint::write(&mut bytes, varint::zigzag(*count));
        }
        bytes
    }

    /// Reads what [`Histogram::encode`] wrote; stops at the first byte that makes no sense.
    pub fn decode(mut bytes: &[u8]) -> Self {
        let mut histogram = Self::default();
        while let Some((bucket, rest)) = bytes.split_first_chunk::<2>() {
            let Some((count, rest)) = varint::read(rest) else { break };
            histogram.add_to(u16::from_le_bytes(*bucket), varint::unzigzag(count));
            bytes = rest;
        }
        histogram
    }

    fn add_to(&mut self, bucket: u16, times: i64) {
        let count = self.0.entry(bucket).or_insert(0);
        *count = count.saturating_add(times);
        if *count == 0 {
            self.0.remove(&bucket);
        }
    }
}

/// The doubling a latency lies in, and the sixteenth of it.
fn bucket_of(nanos: i64) -> u16 {
    let nanos = u64::try_from(nanos).unwrap_or(0);
    if nanos < u64::from(BUCKETS_PER_DOUBLING) {
        return u16::try_from(nanos).unwrap_or(0);
    }
    let doubling = nanos.ilog2();
    let sixteenth = (nanos >> (doubling - SUB_BITS)) & u64::from(BUCKETS_PER_DOUBLING - 1);
    let bucket = u64::from((doubling - SUB_BITS + 1) * BUCKETS_PER_DOUBLING) + sixteenth;
    u16::try_from(bucket).unwrap_or(u16::MAX)
}

fn middle_of(bucket: u16) -> i64 {
    let bucket = u32::from(bucket);
    if bucket < BUCKETS_PER_DOUBLING {
        return i64::from(bucket);
    }
    let shift = (bucket / BUCKETS_PER_DOUBLING - 1).min(58);
    let low = i64::from(BUCKETS_PER_DOUBLING + bucket % BUCKETS_PER_DOUBLING) << shift;
    low + (1i64 << shift) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_quantile_is_within_three_percent(nanos in 0i64..i64::MAX / 2) {
            let mut histogram = Histogram::default();
            histogram.add(nanos, 1);
            let middle = histogram.quantile(0.5).unwrap();
            let off = (middle - nanos).unsigned_abs();
            prop_assert!(off <= nanos.unsigned_abs() / 31 + 1, "{nanos} shown as {middle}");
        }

        #[test]
        fn what_is_added_can_be_taken_away(added in prop::collection::vec(0i64..1 << 40, 0..50)) {
            let mut histogram = Histogram::default();
            added.iter().for_each(|nanos| histogram.add(*nanos, 1));
            let copy = Histogram::decode(&histogram.encode());
            prop_assert_eq!(&copy, &histogram);
            histogram.add_all(&copy, -1);
            prop_assert_eq!(histogram, Histogram::default());
        }

        #[test]
        fn garbage_decodes_to_something(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            Histogram::decode(&bytes).quantile(0.99);
        }
    }

    #[test]
    fn quantiles_follow_the_order() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|ms| histogram.add(ms * 1_000_000, 1));
        let p50 = histogram.quantile(0.5).unwrap() / 1_000_000;
        let p99 = histogram.quantile(0.99).unwrap() / 1_000_000;
        assert!((48..=52).contains(&p50) && (96..=102).contains(&p99), "{p50} {p99}");
    }
}
