//! Statistics: confidence intervals, distributions, trends and inter-rater agreement.

/// Agreement of two raters on numbers: correlation, concordance, Bland–Altman limits.
pub mod agreement;
/// Krippendorff's alpha: agreement of several raters with missing values.
pub mod alpha;
/// Means of values with known bounds, and their differences.
pub mod bounded;
/// Confusion matrix, Cohen's kappa and Gwet's AC1.
pub mod categories;
/// Difference of two means (Welch).
pub mod difference;
/// Histograms and label counts.
pub mod distribution;
/// Confidence intervals of proportions and means.
pub mod interval;
/// Ridge logistic regression.
pub mod logistic;
/// Permutation tests for several measures at once.
pub mod permutation;
/// Differences that a test is likely to find.
pub mod power;
/// Prediction-powered means: labels of a few, predictions of all.
pub mod prediction_powered;
/// True prevalence behind an imperfect judge (Rogan–Gladen).
pub mod prevalence;
/// Area under the ROC curve.
pub mod ranking;
/// Anytime-valid test of a mean (e-process).
pub mod sequential;
/// Estimates from stratified and weighted samples.
pub mod stratified;
/// Trend test and slope (Mann–Kendall, Theil–Sen).
pub mod trend;
/// Reasons why a statistic is undefined.
pub mod undefined;

#[cfg(test)]
mod golden;

#[expect(clippy::cast_precision_loss, reason = "counts of samples, far below 2^52")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
#[track_caller]
pub(crate) fn near(is: f64, want: f64) {
    near_by(is, want, 1e-9);
}

#[cfg(test)]
#[track_caller]
pub(crate) fn near_by(is: f64, want: f64, tolerance: f64) {
    assert!((is - want).abs() <= tolerance, "{is} is not {want}");
}
