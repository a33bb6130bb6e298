//! Synthesis of a week of scored sessions: means and changes by dimension, outliers, and common
//! issues.

/// Who gave a score.
mod judge_version;
/// Scores of sessions, and what is recorded of them.
mod facts;
/// Comparisons of weeks, releases and prompt versions.
mod comparison;
/// Statistics by agent and environment.
mod agent;
/// Scores by day.
mod days;
/// Significant differences.
mod finding;
/// Sessions far from the others.
mod outlier;
/// Common issues in rationales.
pub(crate) mod issue;
/// Titles of issues that the offline judge found.
mod issue_title;
/// Titles of issues that a model found.
mod plain_title;
/// Sessions with low scores.
pub(crate) mod low;
mod shown;
/// Mean, change and trend of a dimension.
mod standing;
/// Classification of phrases as problems.
mod trouble;

use std::collections::{BTreeMap, BTreeSet};

use comparison::Family;
use serde::{Deserialize, Serialize};

use crate::judge::offline::Signal;
use crate::judge::offline::success::EXPLANATION;

pub use crate::judge::rubric::OVERALL;
pub use agent::{AgentStats, CostStats, MeasureStats, VariantStats};
pub use comparison::{Basis, Succession};
pub use days::{DayStats, days_between};
pub use facts::{RecordedFacts, SessionMarks};
pub use finding::{ComparedGroup, DimensionChange, WeekFinding};
pub use issue::{CommonIssue, Example, IssueShare};
pub use judge_version::{JudgeVersion, SUPERSEDED_BY, is_superseded};
pub use low::LowSessions;
pub use outlier::{Outlier, Reason};
pub use standing::{Change, DimensionStats, MIN_TO_ALARM, Marks, Slope, Trend, WEEKLY_LEVEL};

/// Sessions above are high outliers.
pub const EXCELLENT: f64 = 0.85;
/// Sessions below are low outliers.
pub const POOR: f64 = 0.5;
/// Why groups are not compared.
const TOO_FEW: &str = "needs 12 sessions in each group";
/// Dimensions and sessions below are examined.
pub const BELOW_TARGET: f64 = 0.7;
/// The number of weeks in a synthesis, the current one included.
pub const WEEKS: usize = 12;

/// The score of one dimension.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// From 0 to 1.
    pub value: f64,
    pub rationale: String,
    /// The numbers of the traces that show it, the first trace of the session being 1.
    pub evidence: Vec<u32>,
    /// The traces that show each signal of the rationale, where the judge says it.
    pub signals: BTreeMap<Signal, Vec<u32>>,
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
    /// Whether the offline judge scored without a fit to labels.
    #[serde(default)]
    pub is_uncalibrated: bool,
    /// Earlier weeks of the synthesis with scores by anyone; `None` in old reports.
    #[serde(default)]
    pub earlier_weeks: Option<usize>,
    /// Significant differences: largest drop first, rises last.
    #[serde(default)]
    pub findings: Vec<WeekFinding>,
    /// The number of comparisons that were tested, each for all scores.
    #[serde(default)]
    pub comparisons: usize,
    /// By agent and environment: largest significant drop first, then lowest mean first.
    #[serde(default)]
    pub agents: Vec<AgentStats>,
    /// This and the previous week.
    #[serde(default)]
    pub days: Vec<DayStats>,
    pub overall: DimensionStats,
    /// In the rubric's order.
    pub dimensions: Vec<DimensionStats>,
    /// High outliers, best first.
    pub excellent: Vec<Outlier>,
    /// Low outliers, worst first.
    pub poor: Vec<Outlier>,
    /// Most frequent first.
    pub issues: Vec<CommonIssue>,
    /// Where there were too many rationales to compare them all: of how many sessions, the lowest
    /// ones, the issues are, and how many were below 0.7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issues_of: Option<[usize; 2]>,
    /// Agents that edit files or run tests in a session of the week, as far as the judge says it.
    #[serde(default)]
    pub coding_agents: BTreeSet<String>,
}

/// Computes the synthesis of the last week; `weeks` is ordered oldest first.
///
/// The order of sessions within a week does not matter.
pub fn synthesize(dimensions: &[&str], weeks: &[Vec<SessionMarks>]) -> Synthesis {
    let mut judges = judges(weeks.last().map(Vec::as_slice).unwrap_or_default());
    let judge = if judges.is_empty() { JudgeVersion::default() } else { judges.remove(0).0 };
    let earlier_weeks = weeks.iter().rev().skip(1).filter(|week| !week.is_empty()).count();
    let weeks: Vec<WeekOfJudge> = weeks.iter().map(|week| WeekOfJudge::new(week, &judge)).collect();
    let none = WeekOfJudge::default();
    let (this, before) =
        (weeks.last().unwrap_or(&none), weeks.iter().rev().nth(1).unwrap_or(&none));
    let family = Family::new(dimensions, &before.sessions, &this.sessions);
    let mut standings = standing::standings(dimensions, &weeks, &family);
    let sessions = &this.sessions;
    let issue::FoundIssues { issues, compared } = issue::common(dimensions, sessions);
    Synthesis {
        sessions: sessions.len(),
        earlier_weeks: Some(earlier_weeks),
        findings: finding::findings(dimensions, &family),
        comparisons: family.comparisons.len(),
        agents: agent::agents(dimensions, &family, before.sessions.len(), before.has_others),
        days: days::days(&family.sessions),
        overall: standings.remove(0),
        dimensions: standings,
        excellent: outlier::excellent(dimensions, sessions),
        poor: outlier::poor(dimensions, sessions),
        issues,
        issues_of: compared,
        coding_agents: sessions.iter().filter_map(|one| coding_agent(one)).collect(),
        is_uncalibrated: judge.is_offline() && !sessions.iter().any(|one| is_calibrated(one)),
        judge,
        other_judges: judges,
    }
}

/// Signals that only agents show that change code.
const OF_CODE: [Signal; 4] =
    [Signal::TestsPassed, Signal::TestsFailed, Signal::UnverifiedClaim, Signal::Revert];

/// The agent of a session whose marks name work on code.
fn coding_agent(session: &SessionMarks) -> Option<String> {
    let mut signals = session.marks.values().flat_map(|mark| mark.signals.keys());
    let is_coding = signals.any(|signal| OF_CODE.contains(signal));
    session.facts.agent.clone().filter(|_| is_coding)
}

/// Whether a mark of a session comes from a fit to labels.
fn is_calibrated(session: &SessionMarks) -> bool {
    session.marks.values().any(|mark| mark.rationale.contains(EXPLANATION))
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
#[derive(Debug, Default)]
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

#[cfg(test)]
mod tests;
