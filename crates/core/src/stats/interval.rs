use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::difference::SampleStats;
use super::undefined::Undefined;

/// The 97.5th percentile of the standard normal distribution.
pub(crate) const Z_95: f64 = 1.959_963_984_540_054;

/// A 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub lower: f64,
    pub upper: f64,
}

/// A point estimate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// `None` when the sample is too small.
    pub interval: Option<Interval>,
    /// Sample size.
    pub n: u64,
}

/// Returns the proportion of successes with its Wilson interval, or `None` without trials.
///
/// The interval stays within 0 to 1 and is not degenerate at the edges: ten of ten is not "exactly
/// all".
///
/// ```
/// use ratchet_core::stats::interval::share;
/// let all = share(10, 10).unwrap();
/// assert!(all.value == 1.0 && all.interval.unwrap().lower < 0.73);
/// ```
pub fn share(successes: u64, tries: u64) -> Option<Estimate> {
    if tries == 0 || successes > tries {
        return None;
    }
    let value = float(successes) / float(tries);
    Some(Estimate { value, interval: Some(wilson(value, float(tries))), n: tries })
}

/// Returns Wilson's interval for a share of an effective number of trials.
pub(crate) fn wilson_of(share: f64, trials: f64) -> Interval {
    wilson(share, trials)
}

/// Returns Wilson's interval for `n` trials, or an effective sample size.
pub(super) fn wilson(p: f64, n: f64) -> Interval {
    let z2 = Z_95 * Z_95;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z_95 / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // At the edges the formula is exact except for the last bit.
    let lower = if p <= 0.0 { 0.0 } else { (middle - half).max(0.0) };
    let upper = if p >= 1.0 { 1.0 } else { (middle + half).min(1.0) };
    Interval { lower, upper }
}

/// Returns the mean with Student's interval, which is valid for few values. A single value has no
/// interval, and neither have equal values: they show no error, which is not the same as having
/// none. Values must be finite; those with known bounds have a better interval in
/// [`bounded::mean`](super::bounded::mean).
///
/// # Errors
/// No values.
///
/// ```
/// use ratchet_core::stats::interval::mean;
/// let estimate = mean(&[0.4, 0.8]).unwrap();
/// assert!(estimate.interval.unwrap().lower < 0.0, "two values say little");
/// ```
pub fn mean(values: &[f64]) -> Result<Estimate, Undefined> {
    let sampled = SampleStats::of(values).ok_or(Undefined::Empty)?;
    Ok(Estimate { value: sampled.mean, interval: sampled.interval(), n: values.len() as u64 })
}

/// Returns the 97.5th percentile of Student's t distribution.
pub(crate) fn student_95(freedom: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom.max(1.0));
    student.map_or(f64::INFINITY, |student| student.inverse_cdf(0.975))
}

#[expect(clippy::cast_precision_loss, reason = "counts of samples, far below 2^52")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(successes: u64, tries: u64, lower: f64, upper: f64) {
        let interval = share(successes, tries).unwrap().interval.unwrap();
        let is_near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(is_near(interval.lower, lower) && is_near(interval.upper, upper), "{interval:?}");
    }

    /// Reference values of `scipy.stats.binomtest(…).proportion_ci(method="wilson")`.
    #[test]
    fn shares_have_wilson_intervals() {
        check(0, 10, 0.0, 0.277_532_799_862_889_26);
        check(10, 10, 0.722_467_200_137_110_6, 1.0);
        check(1, 1, 0.206_549_314_377_237_4, 1.0);
        check(0, 1, 0.0, 0.793_450_685_622_762_7);
        check(27, 30, 0.743_789_174_208_159_2, 0.965_400_111_252_665_9);
        check(188, 250, 0.694_924_383_569_170_2, 0.801_448_433_485_125_6);
        check(855, 1000, 0.831_817_937_703_774_8, 0.875_465_063_771_481);
    }

    #[test]
    fn means_have_students_intervals() {
        let estimate = mean(&[0.9, 0.7, 0.4, 0.8]).unwrap();
        let interval = estimate.interval.unwrap();
        // The mean is 0.7, the variance (n - 1) 0.14 / 3, the error its root by two; of three
        // degrees of freedom 95 % lie within 3.182.
        assert!((estimate.value - 0.7).abs() < 1e-12);
        let half = 3.182_446_305_284_263_f64 * (0.14_f64 / 3.0).sqrt() / 2.0;
        assert!((interval.upper - 0.7 - half).abs() < 1e-9, "{interval:?}");
        assert!((0.7 - interval.lower - half).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn empty_and_single_inputs_have_no_interval() {
        assert_eq!(share(0, 0), None);
        assert_eq!(share(2, 1), None);
        assert_eq!(mean(&[]), Err(Undefined::Empty));
        assert_eq!(mean(&[3.0]), Ok(Estimate { value: 3.0, interval: None, n: 1 }));
        assert_eq!(mean(&[3.0, 3.0]), Ok(Estimate { value: 3.0, interval: None, n: 2 }));
    }

    proptest! {
        #[test]
        fn a_share_lies_in_its_interval(tries in 1_u64..100_000, part in 0.0..=1.0_f64) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
            let successes = (part * float(tries)) as u64;
            let estimate = share(successes, tries).unwrap();
            let Interval { lower, upper } = estimate.interval.unwrap();
            prop_assert!((0.0..=estimate.value).contains(&lower));
            prop_assert!((estimate.value..=1.0).contains(&upper));
        }
    }
}
