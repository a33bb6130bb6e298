use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SessionMarks;
use super::standing::Marks;

/// The overall scores of the sessions that ended on a day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DayStats {
    /// `2026-11-08`.
    pub day: String,
    pub n: usize,
    pub mean: f64,
    /// 95% confidence interval of the mean.
    pub interval: Option<[f64; 2]>,
}

/// Computes the overall scores by day, oldest first. Days without sessions are left out.
pub(super) fn days(sessions: &[&SessionMarks]) -> Vec<DayStats> {
    let mut by_day: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for session in sessions.iter().filter(|session| !session.facts.day.is_empty()) {
        by_day.entry(&session.facts.day).or_default().push(session.overall);
    }
    let of = |(day, mut values): (&str, Vec<f64>)| {
        // Sums do not depend on the order of sessions then.
        values.sort_by(f64::total_cmp);
        let marks = Marks::of(&values)?;
        let (n, interval) = (values.len(), marks.interval);
        Some(DayStats { day: day.to_owned(), n, mean: marks.mean, interval })
    };
    by_day.into_iter().filter_map(of).collect()
}
