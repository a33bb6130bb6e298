use super::difference::SampleStats;
use super::float;
use super::interval::{Estimate, Interval, Z_95, student_95};
use super::undefined::Undefined;
use super::{bounded, interval};

/// Equal differences still differ in the last bit.
const SAME: f64 = 1e-12;

/// The ratings of a person and a judge for the same item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatingPair {
    pub human: f64,
    pub judge: f64,
}

/// Bland–Altman limits of agreement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlandAltman {
    /// The mean difference, judge minus person.
    pub bias: Estimate,
    /// The lower 95% limit of agreement.
    pub lower: Estimate,
    /// The upper 95% limit of agreement.
    pub upper: Estimate,
}

/// Returns Pearson's correlation with Fisher's interval.
///
/// # Errors
/// Fewer than two pairs, or a side that never varies.
pub fn pearson(pairs: &[RatingPair]) -> Result<Estimate, Undefined> {
    let r = correlation(pairs, &even(pairs))?;
    Ok(correlated(r, pairs.len(), 1.0))
}

/// Returns Spearman's rank correlation with the interval of Bonett and Wright.
///
/// # Errors
/// Fewer than two pairs, or a side that never varies.
pub fn spearman(pairs: &[RatingPair]) -> Result<Estimate, Undefined> {
    let human = ranks(&sides(pairs, |pair| pair.human));
    let judge = ranks(&sides(pairs, |pair| pair.judge));
    let ranked: Vec<_> =
        human.into_iter().zip(judge).map(|(human, judge)| RatingPair { human, judge }).collect();
    let r = correlation(&ranked, &even(&ranked))?;
    Ok(correlated(r, pairs.len(), 1.0 + r * r / 2.0))
}

/// Returns the mean absolute error of the judge. Where all ratings lie between 0 and 1, the interval
/// is that of [`bounded::mean`]; else it is Student's.
///
/// # Errors
/// No pairs.
pub fn mean_absolute_error(pairs: &[RatingPair]) -> Result<Estimate, Undefined> {
    let distances = sides(pairs, |pair| (pair.judge - pair.human).abs());
    if are_scores(pairs) {
        return bounded::mean(&distances, 0.0..=1.0);
    }
    let mut error = interval::mean(&distances)?;
    // An error is never negative.
    error.interval = error.interval.map(|it| Interval { lower: it.lower.max(0.0), ..it });
    Ok(error)
}

/// Returns the mean difference, judge minus person, with an interval as that of the
/// [`mean_absolute_error`].
///
/// # Errors
/// No pairs.
pub fn bias(pairs: &[RatingPair]) -> Result<Estimate, Undefined> {
    let differences = sides(pairs, |pair| pair.judge - pair.human);
    if are_scores(pairs) {
        return bounded::mean(&differences, -1.0..=1.0);
    }
    interval::mean(&differences)
}

/// Whether all ratings lie between 0 and 1, as most scores do.
fn are_scores(pairs: &[RatingPair]) -> bool {
    let is_score = |rating: f64| (0.0..=1.0).contains(&rating);
    pairs.iter().all(|pair| is_score(pair.human) && is_score(pair.judge))
}

/// Returns the bias of the judge and the limits of agreement of single ratings.
///
/// The limits have the standard error of Bland and Altman (1999): it is large for few pairs. Equal
/// differences show none, and their limits have no interval. Limits of scores from 0 to 1 are cut to
/// the differences that are possible.
///
/// # Errors
/// Fewer than two pairs.
pub fn limits(pairs: &[RatingPair]) -> Result<BlandAltman, Undefined> {
    Undefined::check(pairs.len(), 2)?;
    let differences = sides(pairs, |pair| pair.judge - pair.human);
    let bias = bias(pairs)?;
    let possible = if are_scores(pairs) { (-1.0, 1.0) } else { (f64::MIN, f64::MAX) };
    // The textbook's 1.96, which readers of Bland–Altman plots expect.
    let deviation = SampleStats::of(&differences).and_then(|all| all.deviation).unwrap_or_default();
    let (half, n) = (1.96 * deviation, float(pairs.len()));
    let error = deviation * (1.0 / n + 1.96_f64.powi(2) / (2.0 * (n - 1.0))).sqrt();
    let off = student_95(n - 1.0) * error;
    let cut = |value: f64| value.clamp(possible.0, possible.1);
    let limit = |value: f64| Estimate {
        interval: (deviation > SAME)
            .then(|| Interval { lower: cut(value - off), upper: cut(value + off) }),
        value: cut(value),
        n: bias.n,
    };
    Ok(BlandAltman { bias, lower: limit(bias.value - half), upper: limit(bias.value + half) })
}

/// Returns Lin's concordance correlation coefficient.
///
/// # Errors
/// Fewer than two pairs, or two sides that never vary and are equal.
pub fn concordance(pairs: &[RatingPair]) -> Result<f64, Undefined> {
    Undefined::check(pairs.len(), 2)?;
    let moments = Moments::of(pairs, &even(pairs));
    let spread = moments.human_squares + moments.judge_squares;
    let apart = float(pairs.len()) * (moments.human - moments.judge).powi(2);
    if spread + apart <= 0.0 {
        return Err(Undefined::ConstantInput);
    }
    Ok(2.0 * moments.products / (spread + apart))
}

/// Weighted means, and sums of squares and products about them.
struct Moments {
    human: f64,
    judge: f64,
    human_squares: f64,
    judge_squares: f64,
    products: f64,
}

impl Moments {
    fn of(pairs: &[RatingPair], weights: &[f64]) -> Self {
        let all: f64 = weights.iter().sum();
        let weighed = |of: &dyn Fn(&RatingPair) -> f64| -> f64 {
            pairs.iter().zip(weights).map(|(pair, weight)| weight * of(pair)).sum()
        };
        let (human, judge) = (weighed(&|pair| pair.human) / all, weighed(&|pair| pair.judge) / all);
        let sum = |of: &dyn Fn(f64, f64) -> f64| {
            weighed(&|pair| of(pair.human - human, pair.judge - judge))
        };
        Self {
            human,
            judge,
            human_squares: sum(&|h, _| h * h),
            judge_squares: sum(&|_, j| j * j),
            products: sum(&|h, j| h * j),
        }
    }
}

/// Returns equal weights.
fn even(pairs: &[RatingPair]) -> Vec<f64> {
    vec![1.0; pairs.len()]
}

pub(super) fn correlation(pairs: &[RatingPair], weights: &[f64]) -> Result<f64, Undefined> {
    Undefined::check(pairs.len(), 2)?;
    // Compares raw values: squares of differences from a rounded mean need not be zero.
    let varies = |of: fn(&RatingPair) -> f64| {
        pairs.windows(2).any(|two| matches!(two, [a, b] if of(a).total_cmp(&of(b)).is_ne()))
    };
    if !varies(|pair| pair.human) || !varies(|pair| pair.judge) {
        return Err(Undefined::ConstantInput);
    }
    let moments = Moments::of(pairs, weights);
    let r = moments.products / (moments.human_squares.sqrt() * moments.judge_squares.sqrt());
    // Differences that underflow when squared leave nothing to divide by.
    if r.is_finite() { Ok(r.clamp(-1.0, 1.0)) } else { Err(Undefined::ConstantInput) }
}

/// Returns a correlation with its interval on Fisher's scale, where `spread` is its variance times
/// n - 3. Three pairs or a perfect line give no interval.
fn correlated(r: f64, n: usize, spread: f64) -> Estimate {
    let interval = (n > 3 && r.abs() < 1.0).then(|| {
        let half = Z_95 * (spread / float(n - 3)).sqrt();
        Interval { lower: (r.atanh() - half).tanh(), upper: (r.atanh() + half).tanh() }
    });
    Estimate { value: r, interval, n: n as u64 }
}

fn sides(pairs: &[RatingPair], of: impl Fn(&RatingPair) -> f64) -> Vec<f64> {
    pairs.iter().map(of).collect()
}

/// Returns the rank of each value; ties share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let value = |at: &usize| values.get(*at).copied().unwrap_or_default();
    order.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|a, b| value(a).total_cmp(&value(b)).is_eq()) {
        let shared = float(2 * before + equal.len() + 1) / 2.0;
        for at in equal {
            if let Some(rank) = ranks.get_mut(*at) {
                *rank = shared;
            }
        }
        before += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};

    use super::*;
    use crate::stats::near;

    const HUMAN: [f64; 20] = [
        0.42, 0.47, 0.47, 0.76, 0.74, 0.4, 0.35, 0.22, 0.37, 0.72, 0.48, 0.86, 0.46, 0.54, 0.93,
        0.66, 0.56, 0.5, 0.38, 0.26,
    ];
    const JUDGE: [f64; 20] = [
        0.41, 0.63, 0.43, 0.8, 0.85, 0.34, 0.41, 0.22, 0.47, 0.85, 0.7, 0.7, 0.47, 0.64, 1.0, 0.71,
        0.54, 0.57, 0.45, 0.34,
    ];

    fn pairs(human: &[f64], judge: &[f64]) -> Vec<RatingPair> {
        human.iter().zip(judge).map(|(&human, &judge)| RatingPair { human, judge }).collect()
    }

    /// Reference values of scipy, pingouin and statsmodels.
    #[test]
    fn twenty_verdicts() {
        let pairs = pairs(&HUMAN, &JUDGE);
        let r = pearson(&pairs).unwrap();
        near(r.value, 0.911_282_597_522_561);
        near(r.interval.unwrap().lower, 0.785_539_739_434_646_5);
        near(r.interval.unwrap().upper, 0.964_754_888_114_529);
        near(spearman(&pairs).unwrap().value, 0.906_557_171_308_651_3);
        near(mean_absolute_error(&pairs).unwrap().value, 0.078);
        near(concordance(&pairs).unwrap(), 0.881_947_353_159_132_6);
        let limits = limits(&pairs).unwrap();
        near(limits.bias.value, 0.049);
        let differences: Vec<f64> = pairs.iter().map(|pair| pair.judge - pair.human).collect();
        let student = interval::mean(&differences).unwrap().interval.unwrap();
        near(student.lower, 0.009_523_499_881_528_91);
        near(student.upper, 0.088_476_500_118_471_07);
        let bounded = limits.bias.interval.unwrap();
        assert!(bounded.lower < student.lower && bounded.upper > student.upper, "{bounded:?}");
        near(limits.lower.value, -0.116_323_842_964_744_71);
        near(limits.upper.value, 0.214_323_842_964_744_7);
        near(limits.lower.interval.unwrap().lower, -0.184_948_203_163_482_1);
        near(limits.upper.interval.unwrap().upper, 0.282_948_203_163_482_07);
    }

    #[test]
    fn unknown_values_have_a_reason() {
        let constant = pairs(&[1.0, 2.0, 3.0, 4.0, 5.0], &[3.0; 5]);
        assert_eq!(pearson(&constant), Err(Undefined::ConstantInput));
        assert_eq!(spearman(&constant), Err(Undefined::ConstantInput));
        near(mean_absolute_error(&constant).unwrap().value, 1.2);
        near(limits(&constant).unwrap().bias.value, 0.0);
        // A third has no exact mean.
        let thirds = pairs(&[1.0 / 3.0; 7], &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
        assert_eq!(pearson(&thirds), Err(Undefined::ConstantInput));
        let one = pairs(&[1.0], &[1.0]);
        assert_eq!(pearson(&one), Err(Undefined::TooFew { have: 1, needed: 2 }));
        assert_eq!(mean_absolute_error(&one).unwrap().interval, None);
        assert_eq!(limits(&[]), Err(Undefined::Empty));
        assert_eq!(concordance(&pairs(&[5.0; 6], &[5.0; 6])), Err(Undefined::ConstantInput));
        let two = pairs(&[0.0, 1.0], &[0.0, 1.0]);
        near(pearson(&two).unwrap().value, 1.0);
        assert_eq!(pearson(&two).unwrap().interval, None, "two points are always on a line");
        near(pearson(&pairs(&[1.0, 2.0, 3.0, 4.0], &[4.0, 3.0, 2.0, 1.0])).unwrap().value, -1.0);
    }

    /// Human and judge, as they occur: grades that mostly agree, a judge that is too kind, one that
    /// errs rarely and then much, and one that never errs but once.
    const RATINGS: [&[(f64, f64)]; 4] = [
        &[(0.0, 0.0), (0.4, 0.4), (0.4, 0.85), (0.85, 0.85), (0.85, 0.85), (0.85, 0.4)],
        &[(0.0, 0.4), (0.4, 0.85), (0.85, 0.85), (1.0, 0.85)],
        &[(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0)],
        &[(0.5, 0.55), (0.6, 0.62), (0.7, 0.69), (0.9, 0.2), (0.3, 0.35), (0.8, 0.84)],
    ];

    /// The intervals of a calibration contain the true error and bias as often as promised.
    #[test]
    fn errors_and_biases_cover() {
        let mut random = ChaCha8Rng::seed_from_u64(15);
        for ratings in RATINGS {
            let all: Vec<RatingPair> =
                ratings.iter().map(|&(human, judge)| RatingPair { human, judge }).collect();
            let truths = [mean_absolute_error(&all), bias(&all)].map(|found| found.unwrap().value);
            for n in [5, 8, 12, 20] {
                let mut held = [0_usize; 2];
                for _ in 0..1_500 {
                    let mut draw = || all[random.next_u32() as usize % all.len()];
                    let drawn: Vec<RatingPair> = (0..n).map(|_| draw()).collect();
                    let found = [mean_absolute_error(&drawn), bias(&drawn)];
                    for (held, (found, truth)) in held.iter_mut().zip(found.iter().zip(truths)) {
                        let Interval { lower, upper } = found.unwrap().interval.unwrap();
                        *held += usize::from((lower..=upper).contains(&truth));
                    }
                }
                let shares = held.map(|held| float(held) / 1_500.0);
                assert!(shares.iter().all(|share| *share >= 0.92), "{shares:?} at n = {n}");
            }
        }
    }

    /// Two sessions, or many that agree exactly, do not prove that all others agree.
    #[test]
    fn equal_ratings_have_wide_intervals_and_no_impossible_limits() {
        for n in [2, 5, 20] {
            let same = pairs(&vec![0.8; n], &vec![0.8; n]);
            let error = mean_absolute_error(&same).unwrap().interval.unwrap();
            assert!(error.lower == 0.0 && error.upper > 1.0 / float(n), "{error:?} at n = {n}");
            let limits = limits(&same).unwrap();
            let bias = limits.bias.interval.unwrap();
            assert!(bias.lower < -0.1 && bias.upper > 0.1, "{bias:?} at n = {n}");
            assert_eq!((limits.lower.interval, limits.upper.interval), (None, None));
        }
        let apart = limits(&pairs(&[0.0, 0.0, 0.0, 1.0], &[1.0, 1.0, 1.0, 0.0])).unwrap();
        near(apart.upper.value, 1.0);
        near(apart.lower.interval.unwrap().lower, -1.0);
    }

    proptest! {
        #[test]
        fn correlations_stay_in_their_intervals_and_do_not_depend_on_the_unit(
            values in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 4..40),
        ) {
            let read = |scale: f64| -> Vec<RatingPair> {
                let pair = |(h, j): &(f64, f64)| RatingPair { human: *h, judge: j * scale + 1.0 };
                values.iter().map(pair).collect()
            };
            for statistic in [pearson, spearman] {
                let Ok(one) = statistic(&read(1.0)) else { continue };
                let Ok(other) = statistic(&read(8.0)) else { continue };
                prop_assert!((one.value - other.value).abs() < 1e-6);
                if let Some(Interval { lower, upper }) = one.interval {
                    prop_assert!(-1.0 <= lower && lower <= one.value);
                    prop_assert!(one.value <= upper && upper <= 1.0);
                }
            }
        }
    }
}
