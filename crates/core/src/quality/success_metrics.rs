//! Success metrics of quality monitoring: four numbers with targets.

use serde::{Deserialize, Serialize};

use crate::quality::calibration::Statistic;
use crate::quality::calibration::advice::missing;
use crate::quality::synthesis::Trend;
use crate::stats::undefined::Undefined;

/// Target number of scored sessions per week.
pub const SESSIONS_PER_WEEK: f64 = 20.0;
/// Target correlation of judge and human labels.
pub const CORRELATION: f64 = 0.8;
/// Target number of completed suggestions per month.
pub const COMPLETED_PER_MONTH: f64 = 2.0;
/// The weeks over which completed suggestions are counted.
pub const WEEKS_OF_SUGGESTIONS: usize = 4;
/// Target rise of the mean score per month.
pub const RISE_PER_MONTH: f64 = 0.05;
/// Average.
const WEEKS_PER_MONTH: f64 = 365.2425 / 12.0 / 7.0;

/// A success metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuccessMetric {
    pub measure: SuccessMeasure,
    pub target: f64,
    pub reading: Reading,
}

/// The metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuccessMeasure {
    /// Sessions scored per week.
    SessionsScored,
    /// Correlation of judge and human labels.
    HumanCorrelation,
    /// Suggestions completed within a month.
    SuggestionsDone,
    /// Rise of the mean score from one month to the next.
    QualityTrend,
}

impl SuccessMeasure {
    /// Returns the title on pages.
    pub const fn title(self) -> &'static str {
        match self {
            Self::SessionsScored => "Sessions scored per week",
            Self::HumanCorrelation => "Judge–human correlation",
            Self::SuggestionsDone => "Suggestions done in 4 weeks",
            Self::QualityTrend => "Overall quality change per month",
        }
    }

    /// Returns the JSON name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionsScored => "sessions_scored",
            Self::HumanCorrelation => "human_correlation",
            Self::SuggestionsDone => "suggestions_done",
            Self::QualityTrend => "quality_trend",
        }
    }
}

/// The value of a metric, or why it is unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    Is {
        value: f64,
        /// 95% confidence interval; `None` for a count.
        interval: Option<[f64; 2]>,
        n: usize,
    },
    /// The reason.
    Unknown(String),
}

impl SuccessMetric {
    /// Returns whether the target is met; `None` where unknown.
    pub fn is_met(&self) -> Option<bool> {
        match (&self.reading, self.measure) {
            (Reading::Unknown(_), _) => None,
            (
                Reading::Is { value, .. },
                SuccessMeasure::SessionsScored | SuccessMeasure::SuggestionsDone,
            ) => Some(*value >= self.target),
            // With little data anything is possible: the whole interval must meet or miss the target.
            (Reading::Is { interval, .. }, _) => match interval {
                Some([lower, _]) if *lower >= self.target => Some(true),
                Some([_, upper]) if *upper < self.target => Some(false),
                Some(_) | None => None,
            },
        }
    }
}

/// The input of the metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct SuccessFacts {
    /// Sessions scored in the week.
    pub sessions: usize,
    /// Correlation of judge and human labels.
    pub correlation: Statistic,
    /// Suggestions completed in the four weeks up to the end of the week.
    pub done: usize,
    pub made: usize,
    /// Full weeks since the first suggestion was made.
    pub weeks: usize,
    /// Trend of the overall score over the weeks.
    pub trend: Trend,
}

/// Computes the four metrics.
pub fn success(facts: &SuccessFacts) -> Vec<SuccessMetric> {
    use crate::stats::float;
    let count = |n: usize, of: usize| Reading::Is { value: float(n), interval: None, n: of };
    let done = match facts.made {
        0 => Reading::Unknown("no suggestions yet".to_owned()),
        // Nobody can have missed a month that is not over.
        _ if float(facts.done) < COMPLETED_PER_MONTH && facts.weeks < WEEKS_OF_SUGGESTIONS => {
            let weeks = facts.weeks;
            Reading::Unknown(format!("needs {WEEKS_OF_SUGGESTIONS} weeks, {weeks} available"))
        }
        made => count(facts.done, made),
    };
    let metric = |measure, target, reading| SuccessMetric { measure, target, reading };
    vec![
        metric(
            SuccessMeasure::SessionsScored,
            SESSIONS_PER_WEEK,
            count(facts.sessions, facts.sessions),
        ),
        metric(SuccessMeasure::HumanCorrelation, CORRELATION, correlation(facts.correlation)),
        metric(SuccessMeasure::SuggestionsDone, COMPLETED_PER_MONTH, done),
        metric(SuccessMeasure::QualityTrend, RISE_PER_MONTH, rise(&facts.trend)),
    ]
}

fn correlation(statistic: Statistic) -> Reading {
    match statistic {
        Ok(found) => Reading::Is {
            value: found.value,
            interval: found.interval.map(|interval| [interval.lower, interval.upper]),
            n: usize::try_from(found.n).unwrap_or(usize::MAX),
        },
        Err(Undefined::Empty) => {
            Reading::Unknown("no labelled sessions with judge scores".to_owned())
        }
        Err(why) => Reading::Unknown(missing(why)),
    }
}

fn rise(trend: &Trend) -> Reading {
    match trend {
        Trend::TooEarly(why) => Reading::Unknown(why.clone()),
        Trend::Rising(slope) | Trend::Falling(slope) | Trend::Unclear(slope) => Reading::Is {
            value: slope.per_week * WEEKS_PER_MONTH,
            interval: Some(slope.interval.map(|end| end * WEEKS_PER_MONTH)),
            n: crate::quality::synthesis::WEEKS,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quality::synthesis::Slope;
    use crate::stats::interval::{Estimate, Interval};

    fn facts() -> SuccessFacts {
        let trend = Trend::TooEarly("needs 8 weeks, 1 available".to_owned());
        SuccessFacts {
            sessions: 0,
            correlation: Err(Undefined::Empty),
            done: 0,
            made: 0,
            weeks: 9,
            trend,
        }
    }

    fn met(facts: &SuccessFacts) -> Vec<Option<bool>> {
        success(facts).iter().map(SuccessMetric::is_met).collect()
    }

    #[test]
    fn a_new_project_has_unknown_metrics() {
        assert_eq!(met(&facts()), [Some(false), None, None, None]);
    }

    #[test]
    fn targets_are_met_or_missed() {
        let follows = |lower: f64, upper: f64| {
            let interval = Some(Interval { lower, upper });
            Ok(Estimate { value: 0.9, interval, n: 20 })
        };
        let slope = Slope { per_week: 0.012, interval: [0.0118, 0.02], p: 0.01 };
        let correlation = follows(0.81, 0.95);
        let trend = Trend::Rising(slope);
        let good = SuccessFacts { sessions: 20, correlation, done: 2, made: 5, weeks: 0, trend };
        assert_eq!(met(&good), [Some(true); 4]);
        let slow = Slope { per_week: 0.011, interval: [0.01, 0.0114], ..slope };
        let early = SuccessFacts { done: 1, weeks: 3, ..good.clone() };
        assert_eq!(met(&early)[2], None, "the month is not over");
        let trend = Trend::Rising(slow);
        let less = SuccessFacts { sessions: 19, done: 1, weeks: 4, trend, ..good };
        assert_eq!(met(&less), [Some(false), Some(true), Some(false), Some(false)]);
        let wide = SuccessFacts { correlation: follows(0.5, 0.98), ..less.clone() };
        assert_eq!(met(&wide)[1], None, "eight labels cannot tell");
        assert_eq!(met(&SuccessFacts { correlation: follows(0.1, 0.7), ..less })[1], Some(false));
    }
}
