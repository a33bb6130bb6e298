use serde_json::json;

use super::{
    WeekReport, agent_words, change_words, counted, interval_words, judge_words, trend_words,
};
use crate::message::{Message, MessageLine, MessageSection};
use crate::quality::synthesis::{AgentStats, DimensionStats};

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
        title: match report.scope.is_all() {
            true => format!("Weekly quality report {}", report.week),
            false => format!("Weekly quality report {}: {}", report.week, report.scope.words()),
        },
        text: report.summary().into_iter().chain(judge_words(report)).collect::<Vec<_>>().join(" "),
        sections: sections.into_iter().flatten().collect(),
        link,
        data: json!({ "report": report }),
    }
}

fn agent_field(agent: &AgentStats) -> Option<MessageLine> {
    let marks = agent.overall.marks?;
    let name = format!("{} ({})", agent_words(agent.agent.as_deref()), agent.environment);
    let value = format!(
        "{:.2} ({}, n = {}), {} vs. previous week",
        marks.mean,
        interval_words(marks.interval),
        agent.overall.n,
        change_words(&agent.overall.change),
    );
    Some(MessageLine::Field { name, value })
}

fn field(standing: &DimensionStats) -> Option<MessageLine> {
    let marks = standing.marks?;
    let value = format!(
        "{:.2} ({}), {} vs. previous week, {}",
        marks.mean,
        interval_words(marks.interval),
        change_words(&standing.change),
        trend_words(&standing.trend)
    );
    Some(MessageLine::Field { name: standing.name.clone(), value })
}

fn section(
    title: Option<&str>,
    lines: impl Iterator<Item = MessageLine>,
) -> Option<MessageSection> {
    let lines: Vec<MessageLine> = lines.collect();
    (!lines.is_empty()).then(|| MessageSection { title: title.map(str::to_owned), lines })
}
