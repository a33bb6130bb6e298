//! The weekly report: a document that is stored and linked to, rendered for terminals, as Markdown
//! or on a page.

mod markdown;
mod message;
mod scope;
mod summary;
mod terminal;
mod text_table;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::counted::{counted, verb_of};
use crate::message::Message;
use crate::quality::calibration::panel::DriftAlert;
use crate::quality::success_metrics::{Reading, SuccessMeasure, SuccessMetric};
use crate::quality::suggestion::Suggestion;
use crate::quality::suggestion::advice::{AdviceOrigin, TEMPLATES};
use crate::quality::synthesis::{
    BELOW_TARGET, Change, CommonIssue, DimensionStats, IssueShare, Outlier, Synthesis, Trend,
    WeekFinding,
};
pub use scope::{LeftOut, ReportScope, SessionCard, left_out_words};
pub use summary::{agent_words, signed};

/// Sessions of a list that a reader is shown.
pub const MAX_SHOWN: usize = 12;
/// Outliers of all agents that are named.
const MAX_OUTLIERS: usize = 300;

/// The report of a week of scored sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeekReport {
    /// First day, a Sunday.
    pub week: String,
    pub last_day: String,
    /// Name of the project; `None` in old reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub zone: String,
    /// Name of the rubric.
    pub rubric: String,
    pub synthesis: Synthesis,
    pub success: Vec<SuccessMetric>,
    /// Judges whose scores drifted.
    #[serde(default)]
    pub drift: Vec<DriftAlert>,
    pub suggestions: Vec<Suggestion>,
    #[serde(default)]
    pub advice: AdviceOrigin,
    /// URL of the server that the sessions are on; `None` for Ratchet's own recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The part of the project that the report is about.
    #[serde(default, skip_serializing_if = "ReportScope::is_all")]
    pub scope: ReportScope,
    /// The sessions that the report names, by id.
    #[serde(default)]
    pub sessions: BTreeMap<String, SessionCard>,
    /// Sessions of the week without a score, by reason.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
}

impl WeekReport {
    /// Returns a one-sentence summary of all sessions.
    pub fn headline(&self) -> String {
        summary::headline(self)
    }

    /// Returns the sentences of the first paragraph, the worst finding first.
    pub fn summary(&self) -> Vec<String> {
        summary::sentences(self)
    }

    /// Returns the largest drop in a sentence, if anything fell.
    pub fn lead(&self) -> Option<String> {
        let drop = self.synthesis.findings.first().filter(|finding| finding.is_drop());
        drop.map(summary::finding)
    }

    /// Returns whether no earlier week has scores.
    pub fn is_first(&self) -> bool {
        self.synthesis.earlier_weeks == Some(0)
    }

    /// Returns the ids of the sessions that a reader is shown, worst first.
    pub fn shown_sessions(&self) -> Vec<&str> {
        let synthesis = &self.synthesis;
        let low = shown_outliers(&synthesis.poor);
        let outliers = low.chain(shown_outliers(&synthesis.excellent));
        let outliers = outliers.map(|outlier| &outlier.session);
        let findings = synthesis.findings.iter().flat_map(|finding| &finding.sessions);
        let issues = synthesis.issues.iter().flat_map(|issue| {
            std::iter::once(&issue.example.session).chain(issue.sessions.iter().take(MAX_SHOWN))
        });
        let suggestions = self.suggestions.iter().flat_map(|suggestion| &suggestion.sessions);
        let ids = outliers.chain(findings).chain(issues).chain(suggestions).map(String::as_str);
        let mut seen = BTreeSet::new();
        ids.filter(|id| seen.insert(*id)).collect()
    }

    /// Renders for a terminal of 100 columns.
    pub fn to_text(&self, detail: TextDetail) -> String {
        terminal::text(self, detail)
    }

    /// Renders as Markdown.
    pub fn to_markdown(&self) -> String {
        markdown::text(self)
    }

    /// Converts to a message for webhooks and Slack, with a link to its page.
    pub fn to_message(&self, link: Option<String>) -> Message {
        message::message(self, link)
    }
}

/// The outliers that are shown: the first of all, and the first of each agent and environment, which
/// a page may show alone.
fn shown_outliers(all: &[Outlier]) -> impl Iterator<Item = &Outlier> {
    let mut counts: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
    let mut shown = Vec::new();
    for (place, outlier) in all.iter().enumerate() {
        let agent = (outlier.agent.as_deref(), outlier.environment.as_str());
        let count = counts.entry(agent).or_default();
        *count += 1;
        if place < MAX_SHOWN || *count <= MAX_SHOWN {
            shown.push(outlier);
        }
    }
    // Their first requests are looked up one by one.
    shown.into_iter().take(MAX_OUTLIERS)
}

/// How much a text shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextDetail {
    /// The worst, in 100 columns.
    #[default]
    Short,
    /// Everything.
    Wide,
}

/// What the figures of the offline judge mean without labels.
const UNCALIBRATED: &str =
    "; uncalibrated: it ranks sessions, and only labels tell what a score means";

/// Says who judged, and which sessions are not in the figures because others judged them; `None`
/// where the scores do not say.
pub fn judge_words(report: &WeekReport) -> Option<String> {
    let Synthesis { judge, other_judges, .. } = &report.synthesis;
    if judge.judge.is_empty() {
        return None;
    }
    let others = other_judges.iter().map(|(other, count)| {
        let are = verb_of(*count, ["is", "are"]);
        let sessions = counted(*count, "session");
        format!(" {sessions} scored by {} {are} not in these figures.", other.words())
    });
    let level = if report.synthesis.is_uncalibrated { UNCALIBRATED } else { "" };
    Some(format!("Scored by {}{level}.{}", judge.words(), others.collect::<String>()))
}

/// Names what else happened in the sessions of an issue.
pub fn also_words(issue: &CommonIssue) -> Option<String> {
    terminal::also_words(issue)
}

/// Says of which sessions the common issues are, where these are not all.
pub fn issues_of_words(report: &WeekReport) -> Option<String> {
    let [compared, all] = report.synthesis.issues_of?;
    let all = counted(all, "session");
    Some(format!(
        "Of the {compared} lowest of {all} below {BELOW_TARGET}; the others were not compared."
    ))
}

/// Names the agent of a share, and its environment.
pub fn share_agent(share: &IssueShare) -> String {
    let place = summary::place(&share.environment).replace(", in", " in");
    format!("{}{place}", agent_words(share.agent.as_deref()))
}

/// Describes a finding in a sentence.
pub fn finding_words(finding: &WeekFinding) -> String {
    summary::finding(finding)
}

/// Formats a confidence interval: `0.62 to 0.71`.
pub fn interval_words(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(
        || "no interval (n = 1)".to_owned(),
        |[lower, upper]| format!("{lower:.2} to {upper:.2}"),
    )
}

/// Why there is no trend yet, once for all dimensions; `None` in a first week, whose summary says it.
fn early_trend(report: &WeekReport) -> Option<String> {
    let why = standings(report).find_map(|standing| match &standing.trend {
        Trend::TooEarly(why) => Some(why),
        Trend::Rising(_) | Trend::Falling(_) | Trend::Unclear(_) => None,
    })?;
    (!report.is_first()).then(|| format!("Trend: {why}."))
}

/// Says why changes are missing, each reason once; `None` in a first week, whose summary says it.
pub fn missing_changes<'a>(
    report: &WeekReport,
    changes: impl Iterator<Item = &'a Change>,
) -> Option<String> {
    let reasons: BTreeSet<&str> = changes
        .filter_map(|change| match change {
            Change::Unknown(why) => Some(why.as_str()),
            Change::By { .. } => None,
        })
        .collect();
    let reasons: Vec<&str> = reasons.into_iter().collect();
    let is_said = !reasons.is_empty() && !report.is_first();
    is_said.then(|| format!("Changes that are missing: {}.", reasons.join("; ")))
}

/// Formats a change: `+0.04 (−0.02 to +0.10), not significant (detectable: ±0.12)`.
pub fn change_words(change: &Change) -> String {
    match change {
        Change::By { value, interval: [lower, upper], p, detectable } => {
            let [value, lower, upper] = [*value, *lower, *upper].map(signed);
            let figures = format!("{value} ({lower} to {upper})");
            match (p, detectable) {
                (None, _) => format!("{figures}, too few sessions for a test"),
                (Some(_), _) if change.is_clear() => format!("{figures}, significant"),
                (Some(_), Some(least)) => {
                    format!("{figures}, not significant (detectable: ±{least:.2})")
                }
                (Some(_), None) => format!("{figures}, not significant"),
            }
        }
        Change::Unknown(why) => format!("not enough data: {why}"),
    }
}

/// Formats a trend: `rising by 0.02 a week`.
pub fn trend_words(trend: &Trend) -> String {
    match trend {
        Trend::Rising(slope) => format!("rising by {:.3} per week", slope.per_week),
        Trend::Falling(slope) => format!("falling by {:.3} per week", slope.per_week.abs()),
        Trend::Unclear(_) => "no significant trend".to_owned(),
        Trend::TooEarly(why) => why.clone(),
    }
}

/// Formats the value of a success metric.
pub fn reading_words(metric: &SuccessMetric) -> String {
    match (&metric.reading, metric.measure) {
        (Reading::Unknown(why), SuccessMeasure::QualityTrend) => why.clone(),
        (Reading::Unknown(why), _) => format!("not enough data: {why}"),
        (
            Reading::Is { value, .. },
            SuccessMeasure::SessionsScored | SuccessMeasure::SuggestionsDone,
        ) => {
            format!("{value:.0}")
        }
        (Reading::Is { value, interval, n }, SuccessMeasure::HumanCorrelation) => match interval {
            Some([lower, upper]) => format!("{value:.2} ({lower:.2} to {upper:.2}, n = {n})"),
            None => format!("{value:.2} (no interval, n = {n})"),
        },
        (Reading::Is { value, interval, .. }, SuccessMeasure::QualityTrend) => match interval {
            Some([lower, upper]) => format!("{value:+.3} ({lower:+.3} to {upper:+.3})"),
            None => format!("{value:+.3}"),
        },
    }
}

/// Formats the target of a success metric.
pub fn target_words(metric: &SuccessMetric) -> String {
    match metric.measure {
        SuccessMeasure::SessionsScored | SuccessMeasure::SuggestionsDone => {
            format!("at least {:.0}", metric.target)
        }
        SuccessMeasure::HumanCorrelation => format!("above {:.1}", metric.target),
        SuccessMeasure::QualityTrend => format!("at least {:+.2}", metric.target),
    }
}

/// Formats whether a target is met.
pub fn met_word(metric: &SuccessMetric) -> &'static str {
    match metric.is_met() {
        Some(true) => "met",
        Some(false) => "missed",
        None => "not enough data",
    }
}

/// Describes the origin of a report's suggestions; `None` for the usual templates.
pub fn advice_words(report: &WeekReport) -> Option<String> {
    let AdviceOrigin { by, note, .. } = &report.advice;
    match note {
        Some(note) => Some(format!("From templates: {note}.")),
        None if by == TEMPLATES => None,
        None => Some(format!("Suggested by {by}; review before applying.")),
    }
}

/// Formats a suggestion as Markdown; its edit is in a code fence that its content cannot close.
pub(crate) fn suggestion_markdown(suggestion: &Suggestion) -> String {
    markdown::suggestion(suggestion, &BTreeMap::new())
}

/// Returns the overall standing and those of the dimensions.
fn standings(report: &WeekReport) -> impl Iterator<Item = &DimensionStats> {
    std::iter::once(&report.synthesis.overall).chain(&report.synthesis.dimensions)
}

#[cfg(test)]
mod tests;
