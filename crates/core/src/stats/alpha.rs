use super::float;
use super::undefined::Undefined;

/// How far apart two values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// Names: the same or not.
    Nominal,
    /// Grades: by how many verdicts lie between.
    Ordinal,
    /// Numbers: by their difference.
    Interval,
}

/// Returns Krippendorff's alpha: how far any number of raters agree, some of whom skipped some
/// things. Each thing has the values that its raters gave.
///
/// 1 is agreement, 0 what chance would do, less is worse than chance.
///
/// # Errors
/// No thing has two values, or every value is the same.
pub fn alpha(things: &[Vec<f64>], distance: Distance) -> Result<f64, Undefined> {
    // A thing with one value says nothing about agreement.
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
    Ok(1.0 - seen / chance)
}

/// The values that occur, in order, and how many came before each.
struct Scale {
    values: Vec<f64>,
    /// How many values are less, and how many are equal.
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

    /// The sum of the distances of all ordered pairs.
    ///
    /// By kinds of values and not by pairs: a thousand things have millions of pairs, and a handful
    /// of kinds.
    fn apart(&self, values: &[f64]) -> f64 {
        let mut counts = vec![0.0; self.values.len()];
        for value in values {
            let at = self.values.binary_search_by(|known| known.total_cmp(value));
            if let Some(count) = at.ok().and_then(|at| counts.get_mut(at)) {
                *count += 1.0;
            }
        }
        let kinds: Vec<(usize, f64)> =
            counts.into_iter().enumerate().filter(|(_, count)| *count > 0.0).collect();
        let of = |(a, count): &(usize, f64)| -> f64 {
            kinds.iter().map(|(b, other)| count * other * self.squared(*a, *b)).sum()
        };
        kinds.iter().map(of).sum()
    }

    fn squared(&self, a: usize, b: usize) -> f64 {
        let value = |at: usize| self.values.get(at).copied().unwrap_or_default();
        // The middle of a value's places: between two middles lie half of both and all between.
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
    use crate::stats::near;

    /// The example of Krippendorff 2011: four raters, twelve things, with gaps.
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
        near(alpha(&published(), Distance::Nominal).unwrap(), 0.743_421_052_631_579);
        near(alpha(&published(), Distance::Ordinal).unwrap(), 0.815_387_503_754_881_4);
        near(alpha(&published(), Distance::Interval).unwrap(), 0.849_107_142_857_142_8);
    }

    #[test]
    fn what_cannot_be_told_says_why() {
        assert_eq!(alpha(&[], Distance::Nominal), Err(Undefined::Empty));
        assert_eq!(alpha(&[vec![1.0]], Distance::Nominal), Err(Undefined::Empty));
        let same = vec![vec![5.0, 5.0]; 6];
        assert_eq!(alpha(&same, Distance::Interval), Err(Undefined::ConstantInput));
        let differ = vec![vec![5.0, 4.0]; 6];
        near(alpha(&differ, Distance::Interval).unwrap(), -0.833_333_333_333_333_3);
        let constant: Vec<_> = (1..=5).map(|value| vec![f64::from(value), 3.0]).collect();
        near(alpha(&constant, Distance::Interval).unwrap(), 0.1);
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
                        prop_assert!((one - other).abs() < 1e-9 && one <= 1.0 + 1e-9);
                    }
                    (one, other) => prop_assert_eq!(one, other),
                }
            }
        }
    }
}
