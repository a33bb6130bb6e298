use std::collections::BTreeMap;

use super::float;

/// A histogram bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistogramBin {
    pub lower: f64,
    /// Exclusive, except for the last bin.
    pub upper: f64,
    pub count: u64,
}

/// Splits the range of values into about `about` bins of equal, round width.
///
/// Round widths keep edges readable: 0.05 and not 0.0473. Values that are not finite are skipped; a
/// single value gets one bin.
pub fn bins(values: &[f64], about: usize) -> Vec<HistogramBin> {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let Some(least) = finite().reduce(f64::min) else { return Vec::new() };
    let greatest = finite().fold(least, f64::max);
    let width = round_width((greatest - least) / float(about.max(1)));
    let Some(width) = width else {
        return vec![HistogramBin {
            lower: least,
            upper: greatest,
            count: finite().count() as u64,
        }];
    };
    let first = (least / width).floor();
    let last = (greatest / width).ceil().max(first + 1.0);
    // Rounding up the width may need one more bin on each side.
    let count = index(last - first).clamp(1, about.max(1) + 2);
    let edge = |at: usize| (first + float(at)) * width;
    let mut bins: Vec<HistogramBin> = (0..count)
        .map(|at| HistogramBin { lower: edge(at), upper: edge(at + 1), count: 0 })
        .collect();
    for value in finite() {
        let at = index((value / width).floor() - first).min(count - 1);
        if let Some(bin) = bins.get_mut(at) {
            bin.count += 1;
        }
    }
    bins
}

/// Rounds up to 1, 2 or 5 times a power of ten; `None` for zero width.
fn round_width(width: f64) -> Option<f64> {
    if width <= 0.0 || !width.is_normal() {
        return None;
    }
    let unit = 10_f64.powf(width.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * unit);
    let mut round = round.filter(|round| *round >= width * (1.0 - 1e-9) && round.is_finite());
    round.next()
}

/// Counts labels, the most frequent first.
pub fn labels<'a>(labels: impl Iterator<Item = &'a str>) -> Vec<(&'a str, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for label in labels {
        *counts.entry(label).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(_, a), (_, b)| b.cmp(a));
    counts
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of bins; casts stop at the edges of the type"
)]
fn index(number: f64) -> usize {
    number as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn edges_are_round() {
        let bins = bins(&[0.0, 0.21, 0.4, 0.97, 1.0], 10);
        let edges: Vec<f64> = bins.iter().map(|bin| (bin.lower * 100.0).round()).collect();
        assert_eq!(edges, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]);
        let counts: Vec<u64> = bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [1, 0, 1, 0, 1, 0, 0, 0, 0, 2]);
    }

    #[test]
    fn one_value_is_one_bin() {
        assert_eq!(bins(&[3.0, 3.0], 10), [HistogramBin { lower: 3.0, upper: 3.0, count: 2 }]);
        assert_eq!(bins(&[], 10), []);
        assert_eq!(bins(&[f64::NAN], 10), []);
    }

    #[test]
    fn frequent_labels_come_first() {
        assert_eq!(
            labels(["b", "a", "c", "b", "a", "b"].into_iter()),
            [("b", 3), ("a", 2), ("c", 1)]
        );
    }

    proptest! {
        #[test]
        fn no_value_is_lost(values in prop::collection::vec(any::<f64>(), 0..50), about in 0..30_usize) {
            let finite = values.iter().filter(|value| value.is_finite()).count() as u64;
            let bins = bins(&values, about);
            prop_assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), finite);
            prop_assert!(bins.len() <= about.max(1) + 2);
        }

        #[test]
        fn values_lie_in_their_bins(values in prop::collection::vec(-1000.0..1000.0_f64, 1..50)) {
            for bin in bins(&values, 12) {
                let slack = (bin.upper - bin.lower) * 1e-6;
                let inside = |value: &&f64| {
                    (bin.lower - slack..=bin.upper + slack).contains(*value)
                };
                prop_assert!(values.iter().filter(inside).count() as u64 >= bin.count);
            }
        }
    }
}
