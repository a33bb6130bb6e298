//! How sure a number is, how values lie, and how far raters agree.

/// How far two raters agree on numbers.
pub mod agreement;
/// How far several raters agree, with gaps.
pub mod alpha;
/// How far two raters agree on categories.
pub mod categories;
/// By how much two means differ.
pub mod difference;
/// How many values lie where.
pub mod distribution;
/// Between what a share or a mean lies.
pub mod interval;
/// How well marks tell good from bad.
pub mod ranking;
/// What a sample says of everything, where some kinds were looked at more than others.
pub mod stratified;
/// Whether values rise or fall over time.
pub mod trend;
/// Why a statistic has no value.
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
fn near_by(is: f64, want: f64, tolerance: f64) {
    assert!((is - want).abs() <= tolerance, "{is} is not {want}");
}
