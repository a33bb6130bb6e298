use std::collections::BTreeMap;

use crate::varint;

/// A latency histogram with exponential buckets.
///
/// Sixteen buckets per doubling, so that a percentile is off by at most three percent. Counts are
/// plain integers: values can be subtracted again, which quantile sketches do not allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(BTreeMap<u16, i64>);

const BUCKETS_PER_DOUBLING: u32 = 16;
const SUB_BITS: u32 = BUCKETS_PER_DOUBLING.trailing_zeros();

impl Histogram {
    /// Adds a latency in nanoseconds `times` times; a negative number subtracts it.
    pub fn add(&mut self, nanos: i64, times: i64) {
        self.add_to(bucket_of(nanos), times);
    }

    /// Adds another histogram `times` times.
    pub fn add_all(&mut self, other: &Self, times: i64) {
        for (bucket, count) in &other.0 {
            self.add_to(*bucket, count.saturating_mul(times));
        }
    }

    /// Number of values.
    pub fn total(&self) -> i64 {
        self.0.values().sum()
    }

    /// The latency in nanoseconds that so many percent do not exceed; `None` when empty.
    ///
    /// Computed with integers: 0.56 of 50 is a little more than 28 in floating point, and the next
    /// value may be far away.
    pub fn percentile(&self, percent: u8) -> Option<i64> {
        let total = u64::try_from(self.total()).ok()?;
        let wanted = total.saturating_mul(u64::from(percent.min(100))).div_ceil(100).max(1);
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        let mut below = 0_i64;
        let mut last = None;
        for (bucket, count) in &self.0 {
            below = below.saturating_add(*count);
            last = Some(middle_of(*bucket));
            if below >= wanted && *count > 0 {
                break;
            }
        }
        last.filter(|_| total > 0)
    }

    /// Compact encoding.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * 3);
        for (bucket, count) in &self.0 {
            bytes.extend_from_slice(&bucket.to_le_bytes());
            varint::write(&mut bytes, varint::zigzag(*count));
        }
        bytes
    }

    /// Decodes what [`Histogram::encode`] wrote; stops at the first invalid byte.
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

/// The power of two of a latency, and the sixteenth within it.
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
        fn a_percentile_is_within_three_percent(nanos in 0i64..i64::MAX / 2) {
            let mut histogram = Histogram::default();
            histogram.add(nanos, 1);
            let middle = histogram.percentile(50).unwrap();
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
            Histogram::decode(&bytes).percentile(99);
        }
    }

    #[test]
    fn percentiles_follow_the_order() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|ms| histogram.add(ms * 1_000_000, 1));
        let p50 = histogram.percentile(50).unwrap() / 1_000_000;
        let p99 = histogram.percentile(99).unwrap() / 1_000_000;
        assert!((48..=52).contains(&p50) && (96..=102).contains(&p99), "{p50} {p99}");
    }
}
