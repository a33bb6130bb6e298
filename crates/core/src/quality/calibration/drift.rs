use std::collections::BTreeMap;

use crate::id::SessionId;
use crate::stats::interval::mean;

use super::{Marks, Statistic};

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
pub fn drift(dimensions: &[String], first: &Judged, now: &Judged) -> Vec<Drift> {
    let of = |dimension: &String| {
        let both = now.iter().filter_map(|(session, marks)| {
            let earlier = first.get(session)?.get(dimension)?;
            Some(marks.get(dimension)? - earlier)
        });
        let change = mean(&both.collect::<Vec<_>>());
        Drift { dimension: dimension.clone(), change, bearing: bearing(change) }
    };
    dimensions.iter().map(of).collect()
}

fn bearing(change: Statistic) -> DriftVerdict {
    let Ok(estimate) = change else { return DriftVerdict::CannotTell };
    let Some(interval) = estimate.interval else { return DriftVerdict::CannotTell };
    match estimate.value {
        value if value >= MIN_DRIFT && interval.lower > 0.0 => DriftVerdict::Kinder,
        value if value <= -MIN_DRIFT && interval.upper < 0.0 => DriftVerdict::Stricter,
        _ => DriftVerdict::Steady,
    }
}
