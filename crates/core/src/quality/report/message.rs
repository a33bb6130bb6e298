use serde_json::json;

use super::{WeekReport, agent_words, change_words, interval_words, judge_words, trend_words};
use crate::counted::counted;
use crate::message::{Message, MessageLine, MessageSection};
use crate::quality::synthesis::{AgentStats, Change, DimensionStats, Trend};

/// Event name of the message.
const EVENT: &str = "week.report";
/// The maximum number of issues and suggestions in a message.
const MAX_LISTED: usize = 5;

/// Converts a report to a message; the whole report is its data.
pub(super) fn message(report: &WeekReport, link: Option<String>) -> Message {
    let drift = report.drift.iter().map(|alert| MessageLine::Item(alert.words()));
    let dimensions = report.synthesis.dimensions.iter().filter_map(field);
    let agents = report.synthesis.agents.iter().take(MAX_LISTED).filter_map(agent_field);
    let issues = report.synthesis.issues.iter().take(MAX_LISTED).map(|issue| {
        let count = counted(issue.sessions.len(), "session");
        MessageLine::Item(format!("{count}: {}", issue.title))
    });
    let suggestions = report.suggestions.iter().take(MAX_LISTED).map(|suggestion| {
        let (severity, edit) = (suggestion.severity.as_str(), suggestion.edit.as_str());
        MessageLine::Item(format!("{} ({severity}, {edit})", suggestion.title))
    });
    let sections = [
        section(Some("Judge drift"), drift),
        section(Some("Agents, worst first"), agents),
        section(None, dimensions),
        section(Some("Common issues"), issues),
        section(Some("Suggestions"), suggestions),
    ];
    Message {
        event: EVENT.to_owned(),
        title: title(report),
        text: report.summary().into_iter().chain(judge_words(report)).collect::<Vec<_>>().join(" "),
        sections: sections.into_iter().flatten().collect(),
        link,
        data: json!({ "report": report }),
    }
}

/// `Weekly quality report 2026-11-08: shop, agent support-bot`.
fn title(report: &WeekReport) -> String {
    let scope = Some(report.scope.words()).filter(|_| !report.scope.is_all());
    let about: Vec<String> = report.project.iter().cloned().chain(scope).collect();
    let about = if about.is_empty() { String::new() } else { format!(": {}", about.join(", ")) };
    format!("Weekly quality report {}{about}", report.week)
}

fn agent_field(agent: &AgentStats) -> Option<MessageLine> {
    let marks = agent.overall.marks?;
    let name = format!("{} ({})", agent_words(agent.agent.as_deref()), agent.environment);
    let (mean, interval) = (marks.mean, interval_words(marks.interval));
    let change = against_last_week(&agent.overall.change).unwrap_or_default();
    let value = format!("{mean:.2} ({interval}, n = {}){change}", agent.overall.n);
    Some(MessageLine::Field { name, value })
}

fn field(standing: &DimensionStats) -> Option<MessageLine> {
    let marks = standing.marks?;
    let change = against_last_week(&standing.change).unwrap_or_default();
    let trend = match &standing.trend {
        Trend::TooEarly(_) => String::new(),
        trend => format!(", {}", trend_words(trend)),
    };
    let value = format!("{:.2} ({}){change}{trend}", marks.mean, interval_words(marks.interval));
    Some(MessageLine::Field { name: standing.name.clone(), value })
}

/// A change, where there is one: a message does not list what is not known yet.
fn against_last_week(change: &Change) -> Option<String> {
    let is_known = matches!(change, Change::By { .. });
    is_known.then(|| format!(", {} vs. previous week", change_words(change)))
}

fn section(
    title: Option<&str>,
    lines: impl Iterator<Item = MessageLine>,
) -> Option<MessageSection> {
    let lines: Vec<MessageLine> = lines.collect();
    (!lines.is_empty()).then(|| MessageSection { title: title.map(str::to_owned), lines })
}
