//! Synthesis of a week of scored sessions: means and changes by dimension, outliers, and common
//! issues.

/// Common issues in rationales.
mod issue;
/// Classification of phrases as problems.
mod trouble;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::judge::rubric::MARKS;
pub use crate::judge::rubric::OVERALL;
use crate::stats::difference::{SampleStats, difference};
use crate::stats::interval::Interval;
use crate::stats::trend::{MIN_VALUES, TrendDirection, trend};
use crate::stats::undefined::Undefined;
pub use issue::{CommonIssue, Example};

/// Sessions above are high outliers.
pub const EXCELLENT: f64 = 0.85;
/// Sessions below are low outliers.
pub const POOR: f64 = 0.5;
/// Dimensions and sessions below are examined.
pub const BELOW_TARGET: f64 = 0.7;
/// The number of weeks in a synthesis, the current one included.
pub const WEEKS: usize = 12;

/// The scores of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionMarks {
    pub session: SessionId,
    /// Overall score, from 0 to 1.
    pub overall: f64,
    pub marks: BTreeMap<String, Mark>,
}

/// The score of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// From 0 to 1.
    pub value: f64,
    pub rationale: String,
}

/// The synthesis of a week.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Synthesis {
    /// Sessions with an overall score.
    pub sessions: usize,
    pub overall: DimensionStats,
    /// In the rubric's order.
    pub dimensions: Vec<DimensionStats>,
    /// High outliers, best first.
    pub excellent: Vec<Outlier>,
    /// Low outliers, worst first.
    pub poor: Vec<Outlier>,
    /// Most frequent first.
    pub issues: Vec<CommonIssue>,
}

/// The statistics of a dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DimensionStats {
    pub name: String,
    /// Scored sessions.
    pub n: usize,
    /// `None` without a session.
    pub marks: Option<Marks>,
    pub change: Change,
    pub trend: Trend,
    /// Weekly means, oldest first, this week last; `None` for weeks without sessions.
    pub history: Vec<Option<f64>>,
}

/// The distribution of a week's scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marks {
    pub mean: f64,
    /// 95% confidence interval of the mean.
    pub interval: Option<[f64; 2]>,
    pub stdev: Option<f64>,
    pub min: f64,
    pub max: f64,
}

/// The change of a mean against the previous week.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    By {
        /// This week's mean minus the previous one.
        value: f64,
        /// 95% confidence interval.
        interval: [f64; 2],
    },
    /// The reason.
    Unknown(String),
}

/// The trend of weekly means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    Rising(Slope),
    Falling(Slope),
    /// Not significant.
    Unclear(Slope),
    /// The reason.
    TooEarly(String),
}

/// The slope of weekly means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    pub per_week: f64,
    /// 95% confidence interval.
    pub interval: [f64; 2],
    /// p-value of the Mann–Kendall test.
    pub p: f64,
}

/// An outlier session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlier {
    pub session: String,
    pub overall: f64,
}

/// Computes the synthesis of the last week; `weeks` is ordered oldest first.
///
/// The order of sessions within a week does not matter.
pub fn synthesize(dimensions: &[&str], weeks: &[Vec<SessionMarks>]) -> Synthesis {
    let this = weeks.last().map(Vec::as_slice).unwrap_or_default();
    let standing = |name: &str, of: &dyn Fn(&SessionMarks) -> Option<f64>| {
        let weeks: Vec<Vec<f64>> =
            weeks.iter().map(|week| sorted(week.iter().filter_map(of))).collect();
        DimensionStats::of(name, &weeks)
    };
    let of_dimension = |name: &&str| {
        standing(name, &|session: &SessionMarks| Some(session.marks.get(*name)?.value))
    };
    Synthesis {
        sessions: this.len(),
        overall: standing(OVERALL, &|session: &SessionMarks| Some(session.overall)),
        dimensions: dimensions.iter().map(of_dimension).collect(),
        excellent: outliers(this, |overall| -overall, |overall| overall > EXCELLENT),
        poor: outliers(this, |overall| overall, |overall| overall < POOR),
        issues: issue::common(dimensions, this),
    }
}

/// Sorted, so that floating-point sums do not depend on the order of sessions.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn outliers(
    sessions: &[SessionMarks],
    order: impl Fn(f64) -> f64,
    is_outlier: impl Fn(f64) -> bool,
) -> Vec<Outlier> {
    let mut found: Vec<Outlier> = sessions
        .iter()
        .filter(|session| is_outlier(session.overall))
        .map(|session| Outlier { session: session.session.to_string(), overall: session.overall })
        .collect();
    found.sort_by(|one, other| {
        let by_overall = order(one.overall).total_cmp(&order(other.overall));
        by_overall.then_with(|| one.session.cmp(&other.session))
    });
    found
}

impl DimensionStats {
    fn of(name: &str, weeks: &[Vec<f64>]) -> Self {
        let spreads: Vec<Option<SampleStats>> =
            weeks.iter().map(|week| SampleStats::of(week)).collect();
        let this = spreads.last().copied().flatten();
        let before = spreads.len().checked_sub(2).and_then(|at| *spreads.get(at)?);
        let history: Vec<Option<f64>> =
            spreads.iter().map(|spread| spread.map(|spread| spread.mean)).collect();
        Self {
            name: name.to_owned(),
            n: this.map_or(0, |spread| spread.n),
            marks: this.as_ref().map(Marks::of),
            change: Change::between(before.as_ref(), this.as_ref()),
            trend: Trend::of(&history),
            history,
        }
    }

    /// Returns the mean, if there is one.
    pub fn mean(&self) -> Option<f64> {
        self.marks.map(|marks| marks.mean)
    }
}

impl Marks {
    fn of(spread: &SampleStats) -> Self {
        Self {
            mean: spread.mean,
            interval: spread.interval().map(within_marks),
            stdev: spread.deviation,
            min: spread.least,
            max: spread.greatest,
        }
    }
}

/// Clamps an interval to the range of scores.
fn within_marks(interval: Interval) -> [f64; 2] {
    [interval.lower, interval.upper].map(|end| end.clamp(*MARKS.start(), *MARKS.end()))
}

impl Change {
    fn between(before: Option<&SampleStats>, this: Option<&SampleStats>) -> Self {
        let unknown = |why: &str| Self::Unknown(why.to_owned());
        let (Some(before), Some(this)) = (before, this) else {
            return unknown(if this.is_none() {
                "no sessions this week"
            } else {
                "no sessions in the previous week"
            });
        };
        match difference(before, this) {
            Ok(found) => Self::By {
                value: found.value,
                interval: [found.interval.lower, found.interval.upper],
            },
            Err(Undefined::ConstantInput) if before.mean.total_cmp(&this.mean).is_eq() => {
                unknown("all sessions have the same score in both weeks")
            }
            Err(Undefined::ConstantInput) => unknown("all scores are identical within each week"),
            Err(Undefined::Empty | Undefined::TooFew { .. }) => {
                unknown("needs two sessions in each week")
            }
        }
    }

    /// Returns whether the change is significant: its interval excludes zero.
    pub fn is_clear(&self) -> bool {
        match self {
            Self::By { interval: [lower, upper], .. } => *lower > 0.0 || *upper < 0.0,
            Self::Unknown(_) => false,
        }
    }
}

impl Trend {
    /// Computes the trend of weekly means. Weeks without sessions are skipped.
    pub fn of(history: &[Option<f64>]) -> Self {
        let means: Vec<f64> = history.iter().filter_map(|mean| *mean).collect();
        let found = match trend(&means) {
            Ok(found) => found,
            Err(Undefined::ConstantInput) => {
                let slope = Slope { per_week: 0.0, interval: [0.0, 0.0], p: 1.0 };
                return Self::Unclear(slope);
            }
            Err(Undefined::Empty | Undefined::TooFew { .. }) => {
                let have = means.len();
                let why = format!("needs {MIN_VALUES} weeks, {have} available");
                return Self::TooEarly(why);
            }
        };
        let slope = Slope {
            per_week: found.slope,
            interval: [found.interval.lower, found.interval.upper],
            p: found.p,
        };
        match found.direction() {
            TrendDirection::Rising => Self::Rising(slope),
            TrendDirection::Falling => Self::Falling(slope),
            TrendDirection::Unclear => Self::Unclear(slope),
        }
    }

    /// Returns the slope, with enough weeks.
    pub const fn slope(&self) -> Option<Slope> {
        match self {
            Self::Rising(slope) | Self::Falling(slope) | Self::Unclear(slope) => Some(*slope),
            Self::TooEarly(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
