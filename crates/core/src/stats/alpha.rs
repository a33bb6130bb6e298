use super::float;
use super::interval::{Estimate, Interval, student_95};
use super::undefined::Undefined;

/// The distance metric between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// Equal or not.
    Nominal,
    /// By the number of ratings between.
    Ordinal,
    Interval,
}

/// Returns Krippendorff's alpha: the agreement of any number of raters with missing values. Each
/// unit has the values that its raters gave.
///
/// 1 is perfect agreement, 0 is chance, less is worse than chance. The standard error is Gwet's,
/// over units with at least two values; raters who never differ give no interval.
///
/// # Errors
/// No unit has two values, or all values are the same.
pub fn alpha(things: &[Vec<f64>], distance: Distance) -> Result<Estimate, Undefined> {
    // A unit with one value does not count.
    let things: Vec<&Vec<f64>> = things.iter().filter(|values| values.len() > 1).collect();
    let mut values: Vec<f64> = things.iter().copied().flatten().copied().collect();
    Undefined::check(values.len(), 2)?;
    values.sort_by(f64::total_cmp);
    let scale = Scale::of(&values, distance);
    let n = float(values.len());
    let seen: f64 =
        things.iter().map(|values| scale.apart(values) / (float(values.len()) - 1.0)).sum();
    let chance = scale.apart(&values) / (n - 1.0);
    if chance <= 0.0 {
        return Err(Undefined::ConstantInput);
    }
    let value = 1.0 - seen / chance;
    let interval = (things.len() > 1)
        .then(|| scale.error(&things))
        .filter(|error| *error > 1e-12 && error.is_finite())
        .map(|error| {
            let half = student_95(float(things.len() - 1)) * error;
            Interval { lower: (value - half).max(-1.0), upper: (value + half).min(1.0) }
        });
    Ok(Estimate { value, interval, n: things.len() as u64 })
}

/// The distinct values in order, with their cumulative counts.
struct Scale {
    values: Vec<f64>,
    /// The number of lesser values and of equal values.
    places: Vec<(f64, f64)>,
    distance: Distance,
}

impl Scale {
    fn of(sorted: &[f64], distance: Distance) -> Self {
        let mut scale = Self { values: Vec::new(), places: Vec::new(), distance };
        let mut before = 0;
        for equal in sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
            scale.values.extend(equal.first());
            scale.places.push((float(before), float(equal.len())));
            before += equal.len();
        }
        scale
    }

    /// Returns the sum of the distances of all ordered pairs.
    ///
    /// By distinct values and not by pairs: a thousand units have millions of pairs, and a handful
    /// of distinct values.
    fn apart(&self, values: &[f64]) -> f64 {
        let kinds = self.count(values);
        let of = |(a, count): &(usize, f64)| -> f64 {
            kinds.iter().map(|(b, other)| count * other * self.squared(*a, *b)).sum()
        };
        kinds.iter().map(of).sum()
    }

    /// Returns the frequency of each distinct value.
    fn count(&self, values: &[f64]) -> Vec<(usize, f64)> {
        let mut counts = vec![0.0; self.values.len()];
        for value in values {
            let at = self.values.binary_search_by(|known| known.total_cmp(value));
            if let Some(count) = at.ok().and_then(|at| counts.get_mut(at)) {
                *count += 1.0;
            }
        }
        counts.into_iter().enumerate().filter(|(_, count)| *count > 0.0).collect()
    }

    /// Returns the standard error of alpha, from each unit's contribution.
    fn error(&self, things: &[&Vec<f64>]) -> f64 {
        let ends = self.squared(0, self.values.len().saturating_sub(1));
        let total: f64 = self.places.iter().map(|(_, equal)| equal).sum();
        let n = float(things.len());
        let mean = total / n;
        // The mean distance of a value to all others, as a share of the scale.
        let far: Vec<f64> = (0..self.values.len())
            .map(|a| {
                let from = self.places.iter().enumerate();
                from.map(|(b, (_, equal))| equal * self.squared(a, b)).sum::<f64>() / total / ends
            })
            .collect();
        let of = |kinds: &[(usize, f64)]| -> f64 {
            kinds.iter().map(|(at, count)| count * far.get(*at).copied().unwrap_or_default()).sum()
        };
        let all: Vec<_> = self.places.iter().map(|(_, equal)| *equal).enumerate().collect();
        let chance = 1.0 - of(&all) / total;
        let own_agreement = |values: &Vec<f64>| {
            let raters = float(values.len());
            (raters - self.apart(values) / ends / (raters - 1.0)) / mean
        };
        let plain = things.iter().map(|values| own_agreement(values)).sum::<f64>() / n;
        let agreement = plain + (1.0 - plain) / total;
        let alpha = (plain - chance) / (1.0 - chance);
        let squares = things.iter().map(|values| {
            let raters = float(values.len());
            let more = (raters - mean) / mean;
            let own = (own_agreement(values) - agreement * more - chance) / (1.0 - chance);
            let own_chance = (raters - of(&self.count(values))) / mean - chance * more;
            let own = own - 2.0 * (1.0 - alpha) * (own_chance - chance) / (1.0 - chance);
            (own - alpha).powi(2)
        });
        (squares.sum::<f64>() / (n * (n - 1.0))).sqrt()
    }

    fn squared(&self, a: usize, b: usize) -> f64 {
        let value = |at: usize| self.values.get(at).copied().unwrap_or_default();
        // The mean rank of a value: between two mean ranks lie half of both counts and all counts
        // between.
        let middle = |at: usize| {
            let (before, equal) = self.places.get(at).copied().unwrap_or_default();
            before + equal / 2.0
        };
        match self.distance {
            Distance::Nominal => f64::from(u8::from(a != b)),
            Distance::Ordinal => (middle(a) - middle(b)).powi(2),
            Distance::Interval => (value(a) - value(b)).powi(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::{near, near_by};

    /// The example of Krippendorff 2011: four raters, twelve units, with missing values.
    fn published() -> Vec<Vec<f64>> {
        const GAP: u8 = 0;
        let raters = [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, GAP, GAP, GAP],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, GAP, 3],
            [GAP, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, GAP],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, GAP],
        ];
        let thing = |at: usize| -> Vec<f64> {
            let values = raters.iter().map(|rater| rater[at]);
            values.filter(|value| *value != GAP).map(f64::from).collect()
        };
        (0..12).map(thing).collect()
    }

    #[test]
    fn the_published_example() {
        let value = |distance| alpha(&published(), distance).unwrap().value;
        near(value(Distance::Nominal), 0.743_421_052_631_579);
        near(value(Distance::Ordinal), 0.815_387_503_754_881_4);
        near(value(Distance::Interval), 0.849_107_142_857_142_8);
    }

    /// Reference values of irrCAC, which rounds to five places.
    #[test]
    fn intervals_are_gwets() {
        #[track_caller]
        fn check(things: &[Vec<f64>], distance: Distance, lower: f64, upper: f64) {
            let interval = alpha(things, distance).unwrap().interval.unwrap();
            near_by(interval.lower, lower, 1e-5);
            near_by(interval.upper, upper, 1e-5);
        }
        check(&published(), Distance::Nominal, 0.419_06, 1.0);
        let human = [1, 2, 3, 4, 5, 3, 4, 2, 5, 4, 3, 3, 2, 1, 5, 4, 4, 3, 2, 5];
        let judge = [1, 2, 4, 4, 5, 3, 5, 3, 5, 4, 3, 2, 2, 2, 4, 4, 5, 3, 3, 5];
        let pair = |(human, judge)| vec![f64::from(human), f64::from(judge)];
        let grades: Vec<_> = human.into_iter().zip(judge).map(pair).collect();
        check(&grades, Distance::Nominal, 0.195_62, 0.802_78);
        check(&grades, Distance::Interval, 0.774_94, 0.969_74);
        near(alpha(&grades, Distance::Ordinal).unwrap().value, 0.875_933_609_958_506_2);
        let agreed = alpha(&[vec![1.0, 1.0], vec![2.0, 2.0]], Distance::Nominal).unwrap();
        assert_eq!((agreed.value, agreed.interval), (1.0, None), "who never differ show no error");
    }

    #[test]
    fn unknown_values_have_a_reason() {
        assert_eq!(alpha(&[], Distance::Nominal), Err(Undefined::Empty));
        assert_eq!(alpha(&[vec![1.0]], Distance::Nominal), Err(Undefined::Empty));
        let same = vec![vec![5.0, 5.0]; 6];
        assert_eq!(alpha(&same, Distance::Interval), Err(Undefined::ConstantInput));
        let differ = vec![vec![5.0, 4.0]; 6];
        near(alpha(&differ, Distance::Interval).unwrap().value, -0.833_333_333_333_333_3);
        let constant: Vec<_> = (1..=5).map(|value| vec![f64::from(value), 3.0]).collect();
        near(alpha(&constant, Distance::Interval).unwrap().value, 0.1);
    }

    proptest! {
        #[test]
        fn the_order_of_raters_and_things_does_not_matter(
            things in prop::collection::vec(prop::collection::vec(0..5_u8, 1..4), 1..20),
        ) {
            let read = |values: &Vec<u8>| values.iter().copied().map(f64::from).collect::<Vec<_>>();
            let forth: Vec<_> = things.iter().map(read).collect();
            let mut back: Vec<_> = forth.clone();
            back.reverse();
            back.iter_mut().for_each(|values| values.reverse());
            for distance in [Distance::Nominal, Distance::Ordinal, Distance::Interval] {
                match (alpha(&forth, distance), alpha(&back, distance)) {
                    (Ok(one), Ok(other)) => {
                        prop_assert!((one.value - other.value).abs() < 1e-9);
                        prop_assert!(one.value <= 1.0 + 1e-9);
                        if let Some(Interval { lower, upper }) = one.interval {
                            prop_assert!(lower <= one.value + 1e-9 && one.value <= upper + 1e-9);
                        }
                    }
                    (one, other) => prop_assert_eq!(one, other),
                }
            }
        }
    }
}
