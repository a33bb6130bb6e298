use std::collections::BTreeMap;

use crate::id::SessionId;
use crate::quality::synthesis::WEEKLY_LEVEL;
use crate::stats::difference::SampleStats;
use crate::stats::permutation::{self, Row};
use crate::stats::{bounded, float, power};

use super::{Marks, Statistic};

/// The minimum number of sessions judged both times. All sign changes of ten are tried: where all move
/// in the same direction, in one dimension or in all, p is 2 in 1,024, below the weekly level. With
/// nine it never is. A panel has more ([`super::panel::SIZE`]), so that it can lose some.
pub const MIN_PAIRS: usize = 10;
/// The range of differences of two scores.
const DIFFERENCES: std::ops::RangeInclusive<f64> = -1.0..=1.0;
/// Scores that differ by less are equal.
const SAME: f64 = 1e-9;
/// Any fixed number: the same scores give the same verdict.
const SEED: u64 = 0;

/// The smallest change worth reporting: less does not change the meaning of a score.
pub const MIN_DRIFT: f64 = 0.05;

/// The scores of a fixed panel of sessions at one time.
pub type Judged = BTreeMap<SessionId, Marks>;

/// The change of a judge's scores on the same sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    pub dimension: String,
    /// Mean paired difference, over the sessions judged both times.
    pub change: Statistic,
    /// Sessions with a higher and with a lower score than the first time.
    pub higher: usize,
    pub lower: usize,
    /// p-value, corrected for the number of dimensions; `None` with too few sessions.
    pub p: Option<f64>,
    /// The smallest change that would be found with a probability of 80%; `None` with too few
    /// sessions, or where all changed alike.
    pub detectable: Option<f64>,
    pub bearing: DriftVerdict,
}

/// The verdict of a drift test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftVerdict {
    /// No significant change.
    Steady,
    /// Significantly higher scores.
    Kinder,
    /// Significantly lower scores.
    Stricter,
    /// Too few sessions were judged both times.
    CannotTell,
}

impl DriftVerdict {
    /// Returns the JSON name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Kinder => "kinder",
            Self::Stricter => "stricter",
            Self::CannotTell => "cannot_tell",
        }
    }

    /// Returns whether the verdict warrants an alert.
    pub const fn is_alarming(self) -> bool {
        matches!(self, Self::Kinder | Self::Stricter)
    }
}

/// Compares a judge's current scores of a panel with its first ones, by dimension.
///
/// The level allows for one test a week over a quarter: a judge that does not change raises an alert
/// in at most 5% of the quarters, in all dimensions together.
pub fn drift(dimensions: &[String], first: &Judged, now: &Judged) -> Vec<Drift> {
    let differences = |(session, marks): (&SessionId, &Marks)| -> Option<Row> {
        let earlier = first.get(session)?;
        let of = |name: &String| Some(marks.get(name)? - earlier.get(name)?);
        Some(dimensions.iter().map(of).collect())
    };
    let rows: Vec<Row> = now.iter().filter_map(differences).collect();
    let p_values = permutation::paired(&rows, SEED);
    let of = |(measure, dimension): (usize, &String)| {
        let values = rows.iter().filter_map(|row| row.get(measure).copied().flatten());
        let values: Vec<f64> = values.collect();
        let change = bounded::mean(&values, DIFFERENCES);
        let p = p_values.get(measure).copied().filter(|_| values.len() >= MIN_PAIRS);
        let count = |is_it: fn(f64) -> bool| values.iter().filter(|value| is_it(**value)).count();
        Drift {
            dimension: dimension.clone(),
            change,
            higher: count(|value| value > SAME),
            lower: count(|value| value < -SAME),
            p,
            detectable: detectable(&values, dimensions.len()),
            bearing: bearing(change, p),
        }
    };
    dimensions.iter().enumerate().map(of).collect()
}

/// The mean difference that a test of so many dimensions finds with a probability of 80%.
fn detectable(differences: &[f64], dimensions: usize) -> Option<f64> {
    let deviation = SampleStats::of(differences)?.deviation?;
    let error = deviation / float(differences.len()).sqrt();
    let is_enough = differences.len() >= MIN_PAIRS && error > SAME;
    is_enough.then(|| power::detectable(error, WEEKLY_LEVEL, dimensions).max(MIN_DRIFT))
}

fn bearing(change: Statistic, p: Option<f64>) -> DriftVerdict {
    let (Ok(estimate), Some(p)) = (change, p) else { return DriftVerdict::CannotTell };
    match estimate.value {
        value if p <= WEEKLY_LEVEL && value >= MIN_DRIFT => DriftVerdict::Kinder,
        value if p <= WEEKLY_LEVEL && value <= -MIN_DRIFT => DriftVerdict::Stricter,
        _ => DriftVerdict::Steady,
    }
}
