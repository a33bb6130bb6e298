use serde::{Deserialize, Serialize};

use super::comparison::{Basis, Family};
use super::{LowSessions, OVERALL, SessionMarks, WeekOfJudge};
use crate::judge::rubric::MARKS;
use crate::stats::difference::SampleStats;
use crate::stats::interval::Interval;
use crate::stats::permutation::Row;
use crate::stats::trend::{MIN_VALUES, TrendDirection, trend};
use crate::stats::undefined::Undefined;
use crate::stats::{bounded, float, power};

/// The level at which the change of a week is significant: in a quarter of 13 weeks without a
/// change, at most 5% of the projects see one, in all dimensions together.
pub const WEEKLY_LEVEL: f64 = 0.05 / 13.0;
/// The minimum number of sessions in each of two weeks for a significant change.
pub const MIN_TO_ALARM: usize = 12;

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
    /// Weekly means, oldest first, this week last; `None` for weeks without sessions of the judge.
    pub history: Vec<Option<f64>>,
    /// Scored sessions of these weeks.
    #[serde(default)]
    pub counts: Vec<usize>,
    /// This week's sessions below 0.7.
    #[serde(default)]
    pub low: LowSessions,
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
        /// p-value, corrected for the number of all comparisons of the report; `None` with too few
        /// sessions.
        #[serde(default)]
        p: Option<f64>,
        /// The smallest change that would be found significant with a probability of 80%.
        #[serde(default)]
        detectable: Option<f64>,
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

/// Computes the standings of the overall score and of the dimensions, in this order.
pub(super) fn standings(
    dimensions: &[&str],
    weeks: &[WeekOfJudge<'_>],
    family: &Family<'_>,
) -> Vec<DimensionStats> {
    let rows = |week: &WeekOfJudge<'_>| -> Vec<Row> {
        week.sessions.iter().map(|session| row(dimensions, session)).collect()
    };
    let table: Vec<Vec<Row>> = weeks.iter().map(rows).collect();
    let p_values = family.p_values(None, &Basis::Week).unwrap_or_default();
    let has_others = weeks.iter().rev().nth(1).is_some_and(|week| week.has_others);
    let names = std::iter::once(OVERALL).chain(dimensions.iter().copied());
    let this_week = weeks.last().map(|week| week.sessions.as_slice()).unwrap_or_default();
    let standing = |(measure, name): (usize, &str)| {
        let values = |rows: &Vec<Row>| -> Vec<f64> {
            let values = rows.iter().filter_map(|row| row.get(measure).copied().flatten());
            let mut values: Vec<f64> = values.collect();
            // Sums do not depend on the order of sessions then.
            values.sort_by(f64::total_cmp);
            values
        };
        let weeks: Vec<Vec<f64>> = table.iter().map(values).collect();
        let p = p_values.get(measure).copied();
        let low = LowSessions::of(name, this_week);
        let stats = DimensionStats::new(name, &weeks, (p, family.size()), has_others);
        DimensionStats { low, ..stats }
    };
    names.enumerate().map(standing).collect()
}

/// The overall score of a session and those of its dimensions.
pub(super) fn row(dimensions: &[&str], session: &SessionMarks) -> Row {
    let of_dimension = |name: &&str| session.marks.get(*name).map(|mark| mark.value);
    let all = std::iter::once(Some(session.overall)).chain(dimensions.iter().map(of_dimension));
    all.map(|value| value.filter(|value| value.is_finite())).collect()
}

impl DimensionStats {
    fn new(
        name: &str,
        weeks: &[Vec<f64>],
        (p, measures): (Option<f64>, usize),
        has_others: bool,
    ) -> Self {
        let mean = |week: &Vec<f64>| SampleStats::of(week).map(|sampled| sampled.mean);
        let history: Vec<Option<f64>> = weeks.iter().map(mean).collect();
        let this = weeks.last().map(Vec::as_slice).unwrap_or_default();
        let before = weeks.iter().rev().nth(1).map(Vec::as_slice).unwrap_or_default();
        Self {
            name: name.to_owned(),
            n: this.len(),
            marks: Marks::of(this),
            change: Change::between(before, this, (p, measures), has_others),
            trend: Trend::of(&history),
            history,
            counts: weeks.iter().map(Vec::len).collect(),
            low: LowSessions::default(),
        }
    }

    /// Returns the mean, if there is one.
    pub fn mean(&self) -> Option<f64> {
        self.marks.map(|marks| marks.mean)
    }
}

impl Marks {
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let sampled = SampleStats::of(values)?;
        let interval = bounded::mean(values, MARKS).ok()?.interval;
        Some(Self {
            mean: sampled.mean,
            interval: interval.map(|Interval { lower, upper }| [lower, upper]),
            stdev: sampled.deviation,
            min: sampled.least,
            max: sampled.greatest,
        })
    }
}

impl Change {
    pub(super) fn between(
        before: &[f64],
        this: &[f64],
        (p, measures): (Option<f64>, usize),
        has_others: bool,
    ) -> Self {
        let unknown = |why: &str| Self::Unknown(why.to_owned());
        match (this.is_empty(), before.is_empty()) {
            (true, _) => return unknown("no sessions this week"),
            (false, true) if has_others => {
                return unknown("the previous week was scored by another judge or rubric version");
            }
            (false, true) => return unknown("no sessions in the previous week"),
            (false, false) => {}
        }
        let Ok(found) = bounded::difference(before, this, MARKS) else {
            return unknown("needs two sessions in each week");
        };
        let Some(Interval { lower, upper }) = found.interval else {
            return unknown("needs two sessions in each week");
        };
        let is_enough = before.len().min(this.len()) >= MIN_TO_ALARM;
        Self::By {
            value: found.value,
            interval: [lower, upper],
            p: p.filter(|_| is_enough),
            detectable: detectable(before, this, measures).filter(|_| is_enough),
        }
    }

    /// Returns whether the change is significant.
    pub fn is_clear(&self) -> bool {
        matches!(self, Self::By { p: Some(p), .. } if *p <= WEEKLY_LEVEL)
    }

    /// Returns the change if it is significant and negative.
    pub fn clear_drop(&self) -> Option<f64> {
        match self {
            Self::By { value, .. } if self.is_clear() && *value < 0.0 => Some(*value),
            Self::By { .. } | Self::Unknown(_) => None,
        }
    }
}

/// Deviations below are those of equal marks, but for the last bits.
const SAME: f64 = 1e-9;

/// The change that a test of so many measures finds with a probability of 80%.
fn detectable(before: &[f64], this: &[f64], measures: usize) -> Option<f64> {
    let variance_of_mean = |values: &[f64]| {
        let deviation = SampleStats::of(values)?.deviation?;
        Some(deviation * deviation / float(values.len()))
    };
    let error = (variance_of_mean(before)? + variance_of_mean(this)?).sqrt();
    // Where all marks are the same, nothing is known about how much they could differ.
    let is_varied = error > SAME;
    is_varied.then(|| power::detectable(error, WEEKLY_LEVEL, measures))
}

impl Trend {
    /// Computes the trend of weekly means. Weeks without sessions keep their place.
    pub fn of(history: &[Option<f64>]) -> Self {
        let found = match trend(history) {
            Ok(found) => found,
            Err(Undefined::ConstantInput) => {
                return Self::TooEarly("the mean was the same in every week".to_owned());
            }
            Err(Undefined::Empty | Undefined::TooFew { .. }) => {
                let have = history.iter().flatten().count();
                return Self::TooEarly(format!("needs {MIN_VALUES} weeks, {have} available"));
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
