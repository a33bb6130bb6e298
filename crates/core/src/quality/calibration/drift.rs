use std::collections::BTreeMap;

use crate::id::SessionId;
use crate::stats::interval::mean;

use super::{Marks, Statistic};

/// The least change that is worth a word: less does not change what a mark means.
pub const NOTICED: f64 = 0.05;

/// What a judge said of a fixed panel of sessions at one time.
pub type Judged = BTreeMap<SessionId, Marks>;

/// By how much a judge now marks the same sessions otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    pub dimension: String,
    /// How much more it gives now, over the sessions that it judged both times.
    pub change: Statistic,
    pub bearing: DriftVerdict,
}

/// Whether a judge still says what it used to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftVerdict {
    /// It does, as far as can be seen.
    Steady,
    /// It gives more, beyond what chance does.
    Kinder,
    /// It gives less, beyond what chance does.
    Stricter,
    /// Too few sessions were judged both times.
    CannotTell,
}

impl DriftVerdict {
    /// The word for it in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Kinder => "kinder",
            Self::Stricter => "stricter",
            Self::CannotTell => "cannot_tell",
        }
    }

    /// Whether somebody should be told.
    pub const fn is_alarming(self) -> bool {
        matches!(self, Self::Kinder | Self::Stricter)
    }
}

/// Holds what a judge says of a panel now against what it said of it at first, dimension by
/// dimension.
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
        value if value >= NOTICED && interval.lower > 0.0 => DriftVerdict::Kinder,
        value if value <= -NOTICED && interval.upper < 0.0 => DriftVerdict::Stricter,
        _ => DriftVerdict::Steady,
    }
}
