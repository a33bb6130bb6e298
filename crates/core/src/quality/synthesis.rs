//! Synthesis of a week of scored sessions: means and changes by dimension, outliers, and common
//! issues.

/// Common issues in rationales.
mod issue;
/// Mean, change and trend of a dimension.
mod standing;
/// Classification of phrases as problems.
mod trouble;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
pub use crate::judge::rubric::OVERALL;
pub use issue::{CommonIssue, Example};
pub use standing::{Change, MIN_TO_ALARM, Marks, Slope, Standing, Trend, WEEKLY_LEVEL};

/// Sessions above are high outliers.
pub const EXCELLENT: f64 = 0.85;
/// Sessions below are low outliers.
pub const POOR: f64 = 0.5;
/// Dimensions and sessions below are examined.
pub const WANTING: f64 = 0.7;
/// The number of weeks in a synthesis, the current one included.
pub const WEEKS: usize = 12;

/// The scores of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionMarks {
    pub session: SessionId,
    /// Overall score, from 0 to 1.
    pub overall: f64,
    pub marks: BTreeMap<String, Mark>,
    pub judge: JudgeVersion,
}

/// Who judged, by which rubric and instructions. Scores of different ones are never compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JudgeVersion {
    /// Name of the judge; empty where a score does not say.
    pub judge: String,
    pub rubric_version: Option<u64>,
    /// Hash of all rubric text that a judge sees.
    pub fingerprint: Option<String>,
    /// Hash of the judge's instructions, or of its signals.
    pub prompt_hash: Option<String>,
}

impl JudgeVersion {
    /// `offline, rubric version 3`.
    pub fn words(&self) -> String {
        let judge = if self.judge.is_empty() { "unknown judge" } else { &self.judge };
        match self.rubric_version {
            Some(version) => format!("{judge}, rubric version {version}"),
            None => judge.to_owned(),
        }
    }
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
    /// Sessions with an overall score by `judge`.
    pub sessions: usize,
    /// The judge of most sessions of the week. All figures are of its scores alone.
    #[serde(default)]
    pub judge: JudgeVersion,
    /// Sessions of the week that were scored by others.
    #[serde(default)]
    pub other_judges: Vec<(JudgeVersion, usize)>,
    pub overall: Standing,
    /// In the rubric's order.
    pub dimensions: Vec<Standing>,
    /// High outliers, best first.
    pub excellent: Vec<Outlier>,
    /// Low outliers, worst first.
    pub poor: Vec<Outlier>,
    /// Most frequent first.
    pub issues: Vec<CommonIssue>,
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
    let mut judges = judges(weeks.last().map(Vec::as_slice).unwrap_or_default());
    let judge = if judges.is_empty() { JudgeVersion::default() } else { judges.remove(0).0 };
    let weeks: Vec<WeekOfJudge> = weeks.iter().map(|week| WeekOfJudge::new(week, &judge)).collect();
    let this = weeks.last().map(|week| week.sessions.as_slice()).unwrap_or_default();
    let mut standings = standing::standings(dimensions, &weeks);
    Synthesis {
        sessions: this.len(),
        overall: standings.remove(0),
        dimensions: standings,
        excellent: outliers(this, |overall| -overall, |overall| overall > EXCELLENT),
        poor: outliers(this, |overall| overall, |overall| overall < POOR),
        issues: issue::common(dimensions, this),
        judge,
        other_judges: judges,
    }
}

/// Returns the judges of a week with the number of their sessions, the most first.
fn judges(week: &[SessionMarks]) -> Vec<(JudgeVersion, usize)> {
    let mut counts: BTreeMap<&JudgeVersion, usize> = BTreeMap::new();
    for session in week {
        *counts.entry(&session.judge).or_default() += 1;
    }
    let mut judges: Vec<(JudgeVersion, usize)> =
        counts.into_iter().map(|(judge, count)| (judge.clone(), count)).collect();
    judges.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    judges
}

/// The sessions of a week that one judge has scored.
#[derive(Debug)]
struct WeekOfJudge<'a> {
    sessions: Vec<&'a SessionMarks>,
    /// Whether others have scored sessions of the week.
    has_others: bool,
}

impl<'a> WeekOfJudge<'a> {
    fn new(week: &'a [SessionMarks], judge: &JudgeVersion) -> Self {
        let mut sessions: Vec<&SessionMarks> =
            week.iter().filter(|session| session.judge == *judge).collect();
        // Sorted, so that sums and random rearrangements do not depend on the order of sessions.
        sessions.sort_by(|one, other| one.session.cmp(&other.session));
        Self { has_others: sessions.len() < week.len(), sessions }
    }
}

fn outliers(
    sessions: &[&SessionMarks],
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

#[cfg(test)]
mod tests;
