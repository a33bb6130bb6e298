//! The weekly report: a document that is stored and linked to, rendered for terminals, as Markdown
//! or on a page.

mod markdown;
mod message;
mod terminal;

use serde::{Deserialize, Serialize};

use crate::message::Message;
use crate::quality::calibration::panel::DriftAlert;
use crate::quality::success_metrics::{Measure, Reading, SuccessMetric};
use crate::quality::suggestion::Suggestion;
use crate::quality::suggestion::advice::{AdviceOrigin, TEMPLATES};
use crate::quality::synthesis::{Change, Standing, Synthesis, Trend};

/// The report of a week of scored sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeekReport {
    /// First day, a Sunday.
    pub week: String,
    pub last_day: String,
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
}

impl WeekReport {
    /// Returns a one-sentence summary.
    pub fn headline(&self) -> String {
        let sessions = counted(self.synthesis.sessions, "session");
        let Some(marks) = self.synthesis.overall.marks else {
            return "No sessions scored in this week.".to_owned();
        };
        let change = match &self.synthesis.overall.change {
            Change::By { value, .. } if self.synthesis.overall.change.is_clear() => {
                let word = if *value > 0.0 { "better" } else { "worse" };
                format!(", {word} than the previous week by {:.2}", value.abs())
            }
            Change::By { p: Some(_), .. } => {
                ", no significant change vs. the previous week".to_owned()
            }
            Change::By { p: None, .. } => String::new(),
            Change::Unknown(_) => String::new(),
        };
        format!("{sessions} scored, overall quality {:.2}{change}.", marks.mean)
    }

    /// Renders for a terminal.
    pub fn to_text(&self) -> String {
        terminal::text(self)
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

/// Says who judged, and which sessions are not in the figures because others judged them; `None`
/// where the scores do not say.
pub fn judge_words(report: &WeekReport) -> Option<String> {
    let Synthesis { judge, other_judges, .. } = &report.synthesis;
    if judge.judge.is_empty() {
        return None;
    }
    let others = other_judges.iter().map(|(other, count)| {
        let are = if *count == 1 { "is" } else { "are" };
        let sessions = counted(*count, "session");
        format!(" {sessions} scored by {} {are} not in these figures.", other.words())
    });
    Some(format!("Scored by {}.{}", judge.words(), others.collect::<String>()))
}

/// Formats a confidence interval: `0.62 to 0.71`.
pub fn interval_words(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(
        || "no interval (n = 1)".to_owned(),
        |[lower, upper]| format!("{lower:.2} to {upper:.2}"),
    )
}

/// Formats a change: `+0.04 (-0.02 to +0.10), not significant (detectable: ±0.12)`.
pub fn change_words(change: &Change) -> String {
    match change {
        Change::By { value, interval: [lower, upper], p, detectable } => {
            let figures = format!("{value:+.2} ({lower:+.2} to {upper:+.2})");
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
        (Reading::Unknown(why), Measure::QualityTrend) => why.clone(),
        (Reading::Unknown(why), _) => format!("not enough data: {why}"),
        (Reading::Is { value, .. }, Measure::SessionsScored | Measure::SuggestionsDone) => {
            format!("{value:.0}")
        }
        (Reading::Is { value, interval, n }, Measure::HumanCorrelation) => match interval {
            Some([lower, upper]) => format!("{value:.2} ({lower:.2} to {upper:.2}, n = {n})"),
            None => format!("{value:.2} (no interval, n = {n})"),
        },
        (Reading::Is { value, interval, .. }, Measure::QualityTrend) => match interval {
            Some([lower, upper]) => format!("{value:+.3} ({lower:+.3} to {upper:+.3})"),
            None => format!("{value:+.3}"),
        },
    }
}

/// Formats the target of a success metric.
pub fn target_words(metric: &SuccessMetric) -> String {
    match metric.measure {
        Measure::SessionsScored | Measure::SuggestionsDone => {
            format!("at least {:.0}", metric.target)
        }
        Measure::HumanCorrelation => format!("above {:.1}", metric.target),
        Measure::QualityTrend => format!("at least {:+.2}", metric.target),
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

/// `1 session`, `2 sessions`.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Formats a suggestion as Markdown; its edit is in a code fence that its content cannot close.
pub(crate) fn suggestion_markdown(suggestion: &Suggestion) -> String {
    markdown::suggestion(suggestion)
}

/// Returns the overall standing and those of the dimensions.
fn standings(report: &WeekReport) -> impl Iterator<Item = &Standing> {
    std::iter::once(&report.synthesis.overall).chain(&report.synthesis.dimensions)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::id::SessionId;
    use crate::quality::success_metrics::{SuccessFacts, success};
    use crate::quality::suggestion::{Templates, suggest};
    use crate::quality::synthesis::{JudgeVersion, Mark, SessionMarks, synthesize};
    use crate::stats::undefined::Undefined;

    fn report(sessions: Vec<SessionMarks>) -> WeekReport {
        let synthesis = synthesize(&["tool_mastery"], &[Vec::new(), sessions]);
        let trend = synthesis.overall.trend.clone();
        let sessions = synthesis.sessions;
        let facts =
            SuccessFacts { sessions, correlation: Err(Undefined::Empty), done: 0, made: 1, trend };
        WeekReport {
            week: "2026-11-08".to_owned(),
            last_day: "2026-11-14".to_owned(),
            zone: "UTC".to_owned(),
            rubric: "session-quality".to_owned(),
            suggestions: suggest(&synthesis, &Templates::shipped()),
            success: success(&facts),
            drift: Vec::new(),
            synthesis,
            advice: AdviceOrigin::default(),
        }
    }

    fn session(id: &str, mark: f64, why: &str) -> SessionMarks {
        let mark_of = Mark { value: mark, rationale: why.to_owned() };
        SessionMarks {
            session: SessionId::parse(id).unwrap(),
            overall: mark,
            marks: BTreeMap::from([("tool_mastery".to_owned(), mark_of)]),
            judge: JudgeVersion::default(),
        }
    }

    fn bad_week() -> WeekReport {
        let why = "The *same* tool call failed | again and again.";
        report(vec![session("a", 0.4, why), session("b", 0.6, why), session("c", 0.9, "")])
    }

    #[test]
    fn a_week_reads_well_in_a_terminal() {
        let text = bad_week().to_text();
        for part in [
            "Week 2026-11-08 to 2026-11-14 (UTC)",
            "3 sessions scored, overall quality 0.63.",
            "tool_mastery",
            "not enough data: no sessions in the previous week",
            "needs 8 weeks, 1 available",
            "Check what a tool needs before calling it",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn what_judges_say_is_not_markdown() {
        let text = bad_week().to_markdown();
        assert!(text.contains(r"The \*same\* tool call failed \| again"), "{text}");
        assert!(text.contains("\n```\n## Tools\n"), "{text}");
    }

    #[test]
    fn drift_alerts_come_first_in_the_report() {
        let mut report = report(Vec::new());
        report.drift.push(DriftAlert {
            judge: "a*judge".to_owned(),
            rubric: "session-quality".to_owned(),
            dimension: "overall_quality".to_owned(),
            since: "2026-10-04".to_owned(),
            week: "2026-11-15".to_owned(),
            change: -0.4,
            interval: [-0.5, -0.3],
            n: 12,
            p: Some(0.0005),
        });
        assert!(report.to_text().contains("\nALERT: a*judge scores overall_quality"));
        assert!(report.to_markdown().contains(r"> **Judge drift.** a\*judge scores"));
    }

    #[test]
    fn an_empty_week_says_so() {
        let empty = report(Vec::new());
        assert_eq!(empty.headline(), "No sessions scored in this week.");
        assert!(empty.to_text().contains("ratchet score"));
        assert!(empty.to_markdown().contains("ratchet score"));
    }
}
