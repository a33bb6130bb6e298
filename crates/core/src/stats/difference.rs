use super::float;
use super::interval::{Interval, student_95};
use super::undefined::Undefined;

/// Size, mean and standard deviation of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleStats {
    pub n: usize,
    pub mean: f64,
    /// `None` for a single value.
    pub deviation: Option<f64>,
    pub least: f64,
    pub greatest: f64,
}

/// A difference of two means with its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The later mean minus the earlier.
    pub value: f64,
    pub interval: Interval,
}

impl SampleStats {
    /// Summarises values; `None` without any. Values must be finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let (first, n) = (*values.first()?, float(values.len()));
        let mean = values.iter().map(|value| value / n).sum::<f64>();
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        Some(Self {
            n: values.len(),
            mean,
            deviation: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
            least: values.iter().copied().fold(first, f64::min),
            greatest: values.iter().copied().fold(first, f64::max),
        })
    }

    /// Returns Student's confidence interval of the mean; `None` for a single value and for equal
    /// ones.
    pub fn interval(&self) -> Option<Interval> {
        let deviation = self.deviation.filter(|deviation| deviation * deviation > SAME)?;
        let error = deviation / float(self.n).sqrt();
        let half = student_95(float(self.n) - 1.0) * error;
        Some(Interval { lower: self.mean - half, upper: self.mean + half })
    }

    /// Returns the variance of the mean.
    fn error(&self) -> f64 {
        self.deviation.unwrap_or_default().powi(2) / float(self.n)
    }
}

/// Equal values still differ in the last bit once they are summed and divided.
const SAME: f64 = 1e-24;

/// Returns the difference of two means with Welch's interval, which allows unequal variances.
///
/// # Errors
/// Fewer than two values on a side, or no variance on both sides.
pub fn difference(earlier: &SampleStats, later: &SampleStats) -> Result<Difference, Undefined> {
    Undefined::check(earlier.n.min(later.n), 2)?;
    let (before, after) = (earlier.error(), later.error());
    let error = before + after;
    if error <= SAME {
        return Err(Undefined::ConstantInput);
    }
    let rest = |error: f64, n: usize| error * error / (float(n) - 1.0);
    let freedom = error * error / (rest(before, earlier.n) + rest(after, later.n));
    let (value, half) = (later.mean - earlier.mean, student_95(freedom) * error.sqrt());
    Ok(Difference { value, interval: Interval { lower: value - half, upper: value + half } })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::near_by;

    /// Reference values computed from the formulas with thirty digits.
    #[test]
    fn means_differ_by_welch() {
        let earlier = SampleStats::of(&[0.62, 0.71, 0.55, 0.80, 0.67]).unwrap();
        let later = SampleStats::of(&[0.78, 0.82, 0.69, 0.91, 0.74, 0.88, 0.80]).unwrap();
        let found = difference(&earlier, &later).unwrap();
        near_by(found.value, WELCH[0], 1e-9);
        near_by(found.interval.lower, WELCH[1], 1e-7);
        near_by(found.interval.upper, WELCH[2], 1e-7);
        let interval = earlier.interval().unwrap();
        near_by(interval.lower, STUDENT[0], 1e-7);
        near_by(interval.upper, STUDENT[1], 1e-7);
    }

    const WELCH: [f64; 3] =
        [0.132_857_142_857_142_9, 0.013_951_380_572_566_82, 0.251_762_905_141_718_9];
    const STUDENT: [f64; 2] = [0.553_191_156_425_324_9, 0.786_808_843_574_675_1];

    #[test]
    fn unknown_values_have_a_reason() {
        let one = SampleStats::of(&[0.5]).unwrap();
        let same = SampleStats::of(&[0.5, 0.5]).unwrap();
        assert_eq!(SampleStats::of(&[]), None);
        assert_eq!((one.deviation, one.interval()), (None, None));
        let too_few = Err(Undefined::TooFew { have: 1, needed: 2 });
        assert_eq!(difference(&one, &same), too_few);
        assert_eq!(difference(&same, &same), Err(Undefined::ConstantInput));
    }

    proptest! {
        #[test]
        fn a_difference_lies_in_its_interval_and_turns_with_its_sides(
            one in prop::collection::vec(0.0..=1.0_f64, 2..20),
            other in prop::collection::vec(0.0..=1.0_f64, 2..20),
        ) {
            let (one, other) = (SampleStats::of(&one).unwrap(), SampleStats::of(&other).unwrap());
            prop_assert!(one.least <= one.mean + 1e-9 && one.mean <= one.greatest + 1e-9);
            let (there, back) = (difference(&one, &other), difference(&other, &one));
            if let (Ok(there), Ok(back)) = (there, back) {
                prop_assert!(there.interval.lower <= there.value);
                prop_assert!(there.value <= there.interval.upper);
                prop_assert!((there.value + back.value).abs() < 1e-12);
                prop_assert!((there.interval.lower + back.interval.upper).abs() < 1e-9);
            }
        }
    }
}
