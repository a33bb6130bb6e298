use std::collections::BTreeMap;

use jiff::civil::Date;
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

/// Days of a curve at the most.
const MAX_DAYS: usize = 100;

/// Returns every day from the first to the last one, such as `2026-11-08`: a day without sessions
/// keeps its place in a curve.
pub fn days_between(first: &str, last: &str) -> Vec<String> {
    let (Ok(first), Ok(last)) = (first.parse::<Date>(), last.parse::<Date>()) else {
        return Vec::new();
    };
    let days = std::iter::successors(Some(first), |day| day.tomorrow().ok());
    days.take_while(|day| *day <= last).take(MAX_DAYS).map(|day| day.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::days_between;

    #[test]
    fn no_day_is_left_out() {
        let days = days_between("2026-02-27", "2026-03-02");
        assert_eq!(days, ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]);
        assert_eq!(days_between("2026-03-02", "2026-03-01"), Vec::<String>::new());
        assert_eq!(days_between("never", "2026-03-01"), Vec::<String>::new());
    }
}
