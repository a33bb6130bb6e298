use statrs::distribution::{ContinuousCDF, Normal};

use super::float;
use super::interval::{Interval, Z_95};
use super::undefined::Undefined;

/// The minimum number of values: fewer in perfect order can still be chance.
pub const NEEDED: usize = 8;

/// The trend of a time series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// p-value of the Mann–Kendall test.
    pub p: f64,
    /// Theil–Sen slope per step.
    pub slope: f64,
    /// 95% confidence interval of the slope.
    pub interval: Interval,
}

/// The direction of a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrendDirection {
    Rising,
    Falling,
    /// Not significant.
    Unclear,
}

impl Trend {
    /// Returns the direction, if significant at the 5% level.
    pub fn direction(&self) -> TrendDirection {
        match self.p < 0.05 {
            true if self.slope > 0.0 => TrendDirection::Rising,
            true if self.slope < 0.0 => TrendDirection::Falling,
            _ => TrendDirection::Unclear,
        }
    }
}

/// Returns the trend of equally spaced values; a missing one keeps its place.
///
/// # Errors
/// Fewer than [`NEEDED`] values, or all values equal.
pub fn trend(values: &[Option<f64>]) -> Result<Trend, Undefined> {
    let known: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    Undefined::check(known.len(), NEEDED)?;
    let mut slopes = slopes(&known);
    let score: f64 = slopes.iter().map(|slope| sign(*slope)).sum();
    let variance = variance(&known);
    if variance <= 0.0 {
        return Err(Undefined::ConstantInput);
    }
    // Continuity correction of the normal approximation.
    let z = (score - sign(score)) / variance.sqrt();
    slopes.sort_by(f64::total_cmp);
    Ok(Trend {
        p: 2.0 * (1.0 - Normal::standard().cdf(z.abs())),
        slope: median(&slopes),
        interval: interval(&slopes, variance),
    })
}

/// Returns the slopes between all pairs.
fn slopes(known: &[(usize, f64)]) -> Vec<f64> {
    let pairs = known.iter().enumerate().flat_map(|(place, (at, value))| {
        known
            .iter()
            .skip(place + 1)
            .map(move |(later_at, later)| (later - value) / float(later_at - at))
    });
    pairs.collect()
}

fn sign(value: f64) -> f64 {
    f64::from(i8::from(value > 0.0) - i8::from(value < 0.0))
}

/// Returns the variance of the Mann–Kendall score, corrected for ties.
fn variance(known: &[(usize, f64)]) -> f64 {
    let of = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    sorted.sort_by(f64::total_cmp);
    let ties = sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|tie| of(float(tie.len())));
    (of(float(known.len())) - ties.sum::<f64>()) / 18.0
}

fn median(sorted: &[f64]) -> f64 {
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(at(half.saturating_sub(1)), at(half))
    } else {
        at(half)
    }
}

/// Returns Sen's interval: slopes ranked within the score's random deviation from the median.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the list")]
fn interval(sorted: &[f64], variance: f64) -> Interval {
    let (count, off) = (float(sorted.len()), Z_95 * variance.sqrt());
    let at = |index: f64| {
        let index = index.clamp(0.0, count - 1.0) as usize;
        sorted.get(index).copied().unwrap_or_default()
    };
    Interval {
        lower: at(((count - off) / 2.0).round_ties_even() - 1.0),
        upper: at(((count + off) / 2.0).round_ties_even()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::near;

    fn weekly(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[track_caller]
    fn check(values: &[f64], p: f64, slope: [f64; 3], direction: TrendDirection) {
        let trend = trend(&weekly(values)).unwrap();
        near(trend.p, p);
        near(trend.slope, slope[0]);
        near(trend.interval.lower, slope[1]);
        near(trend.interval.upper, slope[2]);
        assert_eq!(trend.direction(), direction);
    }

    /// Reference values of pymannkendall and scipy.
    #[test]
    fn weeks_that_rise_fall_and_stay() {
        check(
            &[0.62, 0.64, 0.63, 0.67, 0.66, 0.7, 0.71, 0.73],
            0.004_434_008_303_100_700_5,
            [0.015, 0.01, 0.02],
            TrendDirection::Rising,
        );
        check(
            &[0.88, 0.86, 0.87, 0.84, 0.83, 0.84, 0.8, 0.79],
            0.006_090_546_056_578_772,
            [-0.0125, -0.0175, -0.008],
            TrendDirection::Falling,
        );
        check(
            &[0.8, 0.82, 0.79, 0.81, 0.8, 0.82, 0.8, 0.81],
            0.795_697_652_268_782_4,
            [0.0, -0.005, 0.005],
            TrendDirection::Unclear,
        );
        check(
            &[0.85, 0.86, 0.84, 0.85, 0.86, 0.74, 0.73, 0.75, 0.74, 0.73],
            0.029_122_954_152_384_972,
            [-0.015_714_285_714_285_712, -0.025, 0.0],
            TrendDirection::Falling,
        );
        check(
            &[0.8, 0.8, 0.8, 0.8, 0.9, 0.9, 0.9, 0.9],
            0.030_382_821_976_577_38,
            [0.016_666_666_666_666_663, 0.0, 0.025],
            TrendDirection::Rising,
        );
    }

    #[test]
    fn unknown_values_have_a_reason() {
        assert_eq!(trend(&[]), Err(Undefined::Empty));
        let four = [0.7, 0.72, 0.75, 0.74];
        assert_eq!(trend(&weekly(&four)), Err(Undefined::TooFew { have: 4, needed: NEEDED }));
        assert_eq!(trend(&[Some(0.5); 9]), Err(Undefined::ConstantInput));
    }

    /// Eight weeks of +0.01 each, in twice the time, rise half as fast.
    #[test]
    fn an_empty_week_keeps_its_place() {
        let weeks: Vec<Option<f64>> =
            (0..16).map(|week| (week % 2 == 0).then(|| 0.5 + f64::from(week / 2) * 0.01)).collect();
        near(trend(&weeks).unwrap().slope, 0.005);
    }
}
