use rustc_hash::FxHashSet;

use super::{Aggregation, Bin, Figure};
use crate::histogram::Histogram;

/// A metric while it is computed.
#[derive(Clone, Debug)]
pub(crate) enum Tally {
    Count(u64),
    Distinct(FxHashSet<Box<str>>),
    Sum(Sum),
    Average(Sum),
    Min(Option<f64>),
    Max(Option<f64>),
    /// Every value, for the exact percentile.
    Percentile(u8, Vec<f64>),
    /// Buckets of values in seconds, for percentiles from the rollup.
    Bucketed(u8, Histogram),
    Histogram(u8, Vec<f64>),
}

/// A sum with compensation for floating-point error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    total: f64,
    lost: f64,
    values: u64,
}

/// A single value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Number(f64),
    Text(&'a str),
}

/// Values that were aggregated before.
#[derive(Clone, Debug)]
pub(crate) struct Summed<'a> {
    pub(crate) values: u64,
    pub(crate) total: f64,
    /// A histogram of the values, if there is one.
    pub(crate) buckets: Option<&'a Histogram>,
}

impl Sum {
    fn add(&mut self, value: f64, values: u64) {
        let total = self.total + value;
        self.lost += if self.total.abs() >= value.abs() {
            (self.total - total) + value
        } else {
            (value - total) + self.total
        };
        self.total = total;
        self.values += values;
    }

    fn total(&self) -> Option<f64> {
        (self.values > 0).then_some(self.total + self.lost)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn mean(&self) -> Option<f64> {
        self.total().map(|total| total / self.values as f64)
    }
}

impl Tally {
    /// An empty tally for single values.
    pub(crate) fn exact(aggregation: Aggregation) -> Self {
        match aggregation {
            Aggregation::Count => Self::Count(0),
            Aggregation::Distinct => Self::Distinct(FxHashSet::default()),
            Aggregation::Sum => Self::Sum(Sum::default()),
            Aggregation::Average => Self::Average(Sum::default()),
            Aggregation::Min => Self::Min(None),
            Aggregation::Max => Self::Max(None),
            Aggregation::Percentile(percent) => Self::Percentile(percent, Vec::new()),
            Aggregation::Histogram { bins } => Self::Histogram(bins, Vec::new()),
        }
    }

    /// An empty tally for values that are mostly pre-aggregated.
    pub(crate) fn summed(aggregation: Aggregation) -> Self {
        match aggregation {
            Aggregation::Percentile(percent) => Self::Bucketed(percent, Histogram::default()),
            other => Self::exact(other),
        }
    }

    /// Whether every single value is stored.
    pub(crate) fn keeps_values(&self) -> bool {
        matches!(self, Self::Percentile(..) | Self::Histogram(..) | Self::Distinct(_))
    }

    /// Adds a value. Texts can only be counted.
    pub(crate) fn add(&mut self, value: Value<'_>) {
        let number = match value {
            Value::Number(number) => number,
            Value::Text(_) => f64::NAN,
        };
        match self {
            Self::Count(count) => *count += 1,
            Self::Distinct(seen) => {
                let text = match value {
                    Value::Text(text) => text.into(),
                    Value::Number(number) => number.to_string().into_boxed_str(),
                };
                seen.insert(text);
            }
            Self::Sum(sum) | Self::Average(sum) => sum.add(number, 1),
            Self::Min(least) => *least = Some(least.map_or(number, |known| known.min(number))),
            Self::Max(most) => *most = Some(most.map_or(number, |known| known.max(number))),
            Self::Percentile(_, values) | Self::Histogram(_, values) => values.push(number),
            Self::Bucketed(_, buckets) => buckets.add(nanos(number), 1),
        }
    }

    /// Adds pre-aggregated values.
    pub(crate) fn add_summed(&mut self, summed: &Summed<'_>) {
        if summed.values == 0 {
            return;
        }
        match self {
            Self::Count(count) => *count += summed.values,
            Self::Sum(sum) | Self::Average(sum) => sum.add(summed.total, summed.values),
            Self::Bucketed(_, buckets) => {
                if let Some(more) = summed.buckets {
                    buckets.add_all(more, 1);
                }
            }
            Self::Distinct(_)
            | Self::Min(_)
            | Self::Max(_)
            | Self::Percentile(..)
            | Self::Histogram(..) => {}
        }
    }

    pub(crate) fn figure(self) -> Figure {
        let number = |value: Option<f64>| value.map_or(Figure::None, Figure::Number);
        match self {
            Self::Count(count) => Figure::Count(count),
            Self::Distinct(seen) => Figure::Count(seen.len() as u64),
            Self::Sum(sum) => number(sum.total()),
            Self::Average(sum) => number(sum.mean()),
            Self::Min(value) | Self::Max(value) => number(value),
            Self::Percentile(percent, values) => number(percentile(percent, values)),
            Self::Bucketed(percent, buckets) => number(buckets.percentile(percent).map(seconds)),
            Self::Histogram(bins, values) => histogram(bins, &values),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a latency, and casts stop at the edge")]
fn nanos(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

#[expect(clippy::cast_precision_loss, reason = "shown with three percent of error")]
fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// The lowest value that so many percent of all do not exceed.
fn percentile(percent: u8, mut values: Vec<f64>) -> Option<f64> {
    let wanted = values.len() * usize::from(percent.min(100));
    let rank = wanted.div_ceil(100).max(1) - 1;
    if values.is_empty() {
        return None;
    }
    let (_, value, _) = values.select_nth_unstable_by(rank, f64::total_cmp);
    Some(*value)
}

fn histogram(bins: u8, values: &[f64]) -> Figure {
    let least = values.iter().copied().reduce(f64::min);
    let most = values.iter().copied().reduce(f64::max);
    let (Some(least), Some(most)) = (least, most) else { return Figure::None };
    if least >= most {
        let count = values.len() as u64;
        return Figure::Histogram(vec![Bin { lower: least, upper: most, count }]);
    }
    let bins = bins.max(1);
    let width = (most - least) / f64::from(bins);
    let edge = |bin: u8| if bin == bins { most } else { least + width * f64::from(bin) };
    let bin = |bin: u8| Bin { lower: edge(bin), upper: edge(bin + 1), count: 0 };
    let mut counted: Vec<Bin> = (0..bins).map(bin).collect();
    for value in values {
        // The bin whose edges contain it: the width is rounded, the edges are what people see.
        let after = counted.partition_point(|bin| bin.lower <= *value).max(1);
        if let Some(bin) = counted.get_mut(after - 1) {
            bin.count += 1;
        }
    }
    Figure::Histogram(counted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn figure(aggregation: Aggregation, values: &[f64]) -> Figure {
        let mut tally = Tally::exact(aggregation);
        values.iter().for_each(|value| tally.add(Value::Number(*value)));
        tally.figure()
    }

    #[track_caller]
    fn check(aggregation: Aggregation, values: &[f64], expected: Option<f64>) {
        let expected = expected.map_or(Figure::None, Figure::Number);
        assert_eq!(figure(aggregation, values), expected);
    }

    #[test]
    fn figures_are_what_their_names_say() {
        let values = [3.0, 1.0, 2.0, 2.0];
        check(Aggregation::Sum, &values, Some(8.0));
        check(Aggregation::Average, &values, Some(2.0));
        check(Aggregation::Min, &values, Some(1.0));
        check(Aggregation::Max, &values, Some(3.0));
        check(Aggregation::Percentile(50), &values, Some(2.0));
        check(Aggregation::Percentile(75), &values, Some(2.0));
        check(Aggregation::Percentile(99), &values, Some(3.0));
        assert_eq!(figure(Aggregation::Count, &values), Figure::Count(4));
        assert_eq!(figure(Aggregation::Distinct, &values), Figure::Count(3));
    }

    #[test]
    fn nothing_has_no_figure() {
        for aggregation in [
            Aggregation::Sum,
            Aggregation::Average,
            Aggregation::Min,
            Aggregation::Max,
            Aggregation::Percentile(50),
            Aggregation::Histogram { bins: 3 },
        ] {
            check(aggregation, &[], None);
        }
    }

    #[test]
    fn tenths_add_up() {
        check(Aggregation::Sum, &[0.1; 10], Some(1.0));
    }

    #[test]
    fn bins_hold_everything_once() {
        let Figure::Histogram(bins) =
            figure(Aggregation::Histogram { bins: 4 }, &[0.0, 1.0, 2.0, 3.0, 4.0])
        else {
            panic!("not a histogram");
        };
        let counts: Vec<_> = bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [1, 1, 1, 2]);
        assert_eq!((bins[0].lower, bins[3].upper), (0.0, 4.0));
        let same = figure(Aggregation::Histogram { bins: 4 }, &[7.0, 7.0]);
        assert_eq!(same, Figure::Histogram(vec![Bin { lower: 7.0, upper: 7.0, count: 2 }]));
    }

    #[test]
    fn ranks_are_whole_numbers() {
        let values: Vec<f64> = (1..=50).map(|n| if n <= 28 { 1.0 } else { 1_000.0 }).collect();
        let mut rough = Tally::summed(Aggregation::Percentile(56));
        values.iter().for_each(|value| rough.add(Value::Number(*value)));
        let Figure::Number(rough) = rough.figure() else { panic!("no figure") };
        assert!(rough < 2.0, "{rough}");
        check(Aggregation::Percentile(56), &values, Some(1.0));
    }

    proptest! {
        #[test]
        fn histograms_lose_nothing(
            values in prop::collection::vec(-1e12..1e12f64, 1..60),
            bins in 1..=100u8,
        ) {
            let Figure::Histogram(counted) = figure(Aggregation::Histogram { bins }, &values) else {
                panic!("not a histogram");
            };
            let total: u64 = counted.iter().map(|bin| bin.count).sum();
            prop_assert_eq!(total, values.len() as u64);
        }

        #[test]
        fn buckets_are_off_by_three_percent_at_most(
            values in prop::collection::vec(1e-6..1e6f64, 1..60),
            percent in 1..=99u8,
        ) {
            let mut rough = Tally::summed(Aggregation::Percentile(percent));
            values.iter().for_each(|value| rough.add(Value::Number(*value)));
            let (Figure::Number(rough), Figure::Number(exact)) =
                (rough.figure(), figure(Aggregation::Percentile(percent), &values))
            else {
                panic!("no figure");
            };
            prop_assert!((rough / exact - 1.0).abs() <= super::super::PERCENTILE_ERROR);
        }
    }
}
