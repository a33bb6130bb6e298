use std::collections::BTreeMap;

use super::terminal::{also_words, share_words};
use super::{
    MAX_SHOWN, SessionCard, WeekReport, advice_words, agent_words, change_words, early_trend,
    interval_words, issues_of_words, judge_words, met_word, missing_changes, reading_words,
    standings, target_words, trend_words,
};
use crate::counted::counted;
use crate::quality::success_metrics::Reading;
use crate::quality::suggestion::Suggestion;
use crate::quality::synthesis::{
    AgentStats, Change, DimensionStats, Marks, Outlier, Trend, VariantStats, days_between,
};

pub(super) fn text(report: &WeekReport) -> String {
    let project = report.project.as_ref().map(|name| format!("{}: ", escaped(name)));
    let mut out =
        format!("# {}Week {} to {}\n", project.unwrap_or_default(), report.week, report.last_day);
    if !report.scope.is_all() {
        out.push_str(&format!("\nOnly {}.\n", escaped(&report.scope.words())));
    }
    for alert in &report.drift {
        out.push_str(&format!("\n> **Judge drift.** {}.\n", escaped(&alert.words())));
    }
    out.push_str(&format!("\n{}\n", escaped(&report.summary().join(" "))));
    let judge = judge_words(report).unwrap_or_default();
    out.push_str(&format!(
        "\n{} Rubric {}, time zone {}.\n",
        escaped(&judge),
        escaped(&report.rubric),
        escaped(&report.zone)
    ));
    if report.synthesis.sessions == 0 {
        out.push_str("\nScore sessions with `ratchet score`, then run this command again.\n");
        return out;
    }
    out.push_str(&agents(report));
    out.push_str(&table(report));
    out.push_str(&days(report));
    out.push_str(&outliers(("Low outliers", "below 0.5"), &report.synthesis.poor, report));
    out.push_str(&outliers(("High outliers", "above 0.85"), &report.synthesis.excellent, report));
    out.push_str(&issues(report));
    if !report.suggestions.is_empty() {
        out.push_str("\n## Suggestions\n");
        out.extend(advice_words(report).map(|words| format!("\n{}\n", escaped(&words))));
        out.extend(report.suggestions.iter().map(|one| suggestion(one, &report.sessions)));
    }
    out.push_str(&success(report));
    out
}

fn success(report: &WeekReport) -> String {
    // In the first week nothing can be met or missed yet.
    if report.is_first() {
        return String::new();
    }
    let head =
        "\n## Success metrics\n\n| metric | current | target | status |\n|---|---|---|---|\n";
    let rows = report.success.iter().map(|metric| {
        format!(
            "| {} | {} | {} | {} |\n",
            metric.measure.title(),
            escaped(&reading_words(metric)),
            target_words(metric),
            // The reading says why.
            if matches!(metric.reading, Reading::Unknown(_)) { "–" } else { met_word(metric) }
        )
    });
    std::iter::once(head.to_owned()).chain(rows).collect()
}

/// Agents and environments, and their releases and prompt versions below them.
fn agents(report: &WeekReport) -> String {
    let all = &report.synthesis.agents;
    if all.is_empty() {
        return String::new();
    }
    let (title, line) = change_column(report);
    let mut out = format!(
        "\n## Agents\n\n| agent | environment | n | users | mean | 95% CI |{title} cost per session \
         |\n|---|---|--:|--:|--:|---|{line}--:|\n"
    );
    for agent in all {
        let cost = agent.cost.map(|cost| format!("${:.4}", cost.per_session));
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |{} {} |\n",
            escaped(&agent_words(agent.agent.as_deref())),
            escaped(&agent.environment),
            agent.sessions,
            // No trace need name its user.
            if agent.users > 0 { agent.users.to_string() } else { "–".to_owned() },
            mean(agent.overall.marks),
            agent.overall.marks.map(|marks| interval_words(marks.interval)).unwrap_or_default(),
            change_cell(report, &agent.overall.change, ""),
            cost.unwrap_or_default(),
        ));
    }
    let variants = |agent: &AgentStats| {
        let all = agent.releases.iter().map(|release| ("release", release));
        let all = all.chain(agent.prompts.iter().map(|prompt| ("prompt", prompt)));
        let all: Vec<String> = all.map(|(kind, one)| variant(report, agent, (kind, one))).collect();
        all
    };
    let variants: Vec<String> = all.iter().flat_map(variants).collect();
    if !variants.is_empty() {
        out.push_str(&format!(
            "\n### Releases and prompts\n\n| agent | environment | version | since | n | mean | \
             95% CI |{title}\n|---|---|---|---|--:|--:|---|{line}\n"
        ));
        out.extend(variants);
    }
    let versions = all.iter().flat_map(|agent| agent.releases.iter().chain(&agent.prompts));
    let changes = all.iter().map(|agent| &agent.overall.change);
    let changes = changes.chain(versions.map(|version| &version.change));
    out.extend(missing_changes(report, changes).map(|words| format!("\n{}\n", escaped(&words))));
    out
}

/// The head of the column of changes, which a first week does not have.
fn change_column(report: &WeekReport) -> (&'static str, &'static str) {
    if report.is_first() { ("", "") } else { (" change |", "---|") }
}

/// The cell of a change. Why one is missing is said once, below the table.
fn change_cell(report: &WeekReport, change: &Change, against: &str) -> String {
    match change {
        _ if report.is_first() => String::new(),
        Change::By { .. } => {
            format!(" {} |", escaped(&format!("{}{against}", change_words(change))))
        }
        Change::Unknown(_) => " – |".to_owned(),
    }
}

fn variant(
    report: &WeekReport,
    agent: &AgentStats,
    (kind, variant): (&str, &VariantStats),
) -> String {
    let against = variant.against.as_ref().map(|against| format!(" vs. {against}"));
    format!(
        "| {} | {} | {kind} {} | {} | {} | {} | {} |{}\n",
        escaped(&agent_words(agent.agent.as_deref())),
        escaped(&agent.environment),
        escaped(&variant.name),
        variant.first_day,
        variant.n,
        mean(variant.marks),
        variant.marks.map(|marks| interval_words(marks.interval)).unwrap_or_default(),
        change_cell(report, &variant.change, &against.unwrap_or_default()),
    )
}

fn mean(marks: Option<Marks>) -> String {
    marks.map(|marks| format!("{:.2}", marks.mean)).unwrap_or_default()
}

fn days(report: &WeekReport) -> String {
    let days = &report.synthesis.days;
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return String::new() };
    if days.len() < 2 {
        return String::new();
    }
    let head = "\n## Overall quality by day\n\n| day | n | mean | 95% CI |\n|---|--:|--:|---|\n";
    let row = |name: String| match days.iter().find(|day| day.day == name) {
        Some(day) => {
            let interval = interval_words(day.interval);
            format!("| {name} | {} | {:.2} | {interval} |\n", day.n, day.mean)
        }
        None => format!("| {name} | 0 | – | |\n"),
    };
    let rows = days_between(&first.day, &last.day).into_iter().map(row);
    std::iter::once(head.to_owned()).chain(rows).collect()
}

fn table(report: &WeekReport) -> String {
    let is_early = |standing: &DimensionStats| matches!(standing.trend, Trend::TooEarly(_));
    let has_trend = standings(report).any(|standing| !is_early(standing));
    let (change, change_line) = change_column(report);
    let (trend, trend_line) = if has_trend { (" trend |", "---|") } else { ("", "") };
    let head = format!(
        "\n## Dimensions\n\n| dimension | n | mean | 95% CI | std dev | min | max |{change}{trend}\n\
         |---|--:|--:|---|--:|--:|--:|{change_line}{trend_line}\n"
    );
    let rows = standings(report).map(|standing| {
        let name = escaped(&standing.name);
        let change = change_cell(report, &standing.change, "");
        let trend = match &standing.trend {
            _ if !has_trend => String::new(),
            Trend::TooEarly(_) => " – |".to_owned(),
            trend => format!(" {} |", escaped(&trend_words(trend))),
        };
        let Some(marks) = standing.marks else {
            return format!("| {name} | 0 | | | | | |{change}{trend}\n");
        };
        let stdev = marks.stdev.map_or_else(String::new, |stdev| format!("{stdev:.2}"));
        format!(
            "| {name} | {} | {:.2} | {} | {stdev} | {:.2} | {:.2} |{change}{trend}\n",
            standing.n,
            marks.mean,
            interval_words(marks.interval),
            marks.min,
            marks.max,
        )
    });
    let missing = missing_changes(report, standings(report).map(|standing| &standing.change));
    let notes = missing.into_iter().chain(early_trend(report));
    let notes = notes.map(|words| format!("\n{}\n", escaped(&words)));
    std::iter::once(head).chain(rows).chain(notes).collect()
}

fn outliers((title, bound): (&str, &str), outliers: &[Outlier], report: &WeekReport) -> String {
    if outliers.is_empty() {
        return String::new();
    }
    let line = |outlier: &Outlier| {
        let card = report.sessions.get(&outlier.session);
        let agent = card.and_then(|card| card.agent.as_ref());
        let agent = agent.map(|agent| format!(", {}", escaped(agent))).unwrap_or_default();
        let request = card.and_then(|card| card.title.as_ref());
        let request = request.map(|title| format!(": {}", escaped(title))).unwrap_or_default();
        let reason = outlier.reason.as_ref().map(|reason| {
            let turn = reason.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
            format!("\n  - {}: {}{turn}", escaped(&reason.dimension), escaped(&reason.text))
        });
        let session = escaped(&outlier.session);
        let reason = reason.unwrap_or_default();
        format!("- {:.2}{agent}{request} (session {session}){reason}\n", outlier.overall)
    };
    let head = format!("\n## {title} ({}, {bound})\n\n", outliers.len());
    let rest = outliers.len().saturating_sub(MAX_SHOWN);
    let rest = (rest > 0).then(|| format!("- {rest} more\n"));
    let lines = outliers.iter().take(MAX_SHOWN).map(line);
    std::iter::once(head).chain(lines).chain(rest).collect()
}

fn issues(report: &WeekReport) -> String {
    if report.synthesis.issues.is_empty() {
        return String::new();
    }
    let lines = report.synthesis.issues.iter().map(|issue| {
        let count = counted(issue.sessions.len(), "session");
        let shares: Vec<String> = issue.agents.iter().map(share_words).collect();
        let turn = issue.example.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
        let also = also_words(issue).map(|also| format!("  - {}\n", escaped(&also)));
        format!(
            "- **{}** {count}, {}: {}\n{}  - Example, {}{turn}: {}\n",
            escaped(&issue.title),
            escaped(&issue.dimension),
            escaped(&shares.join(", ")),
            also.unwrap_or_default(),
            named(&issue.example.session, &report.sessions),
            escaped(&issue.example.rationale)
        )
    });
    let of = issues_of_words(report).map(|words| format!("{words}\n\n"));
    std::iter::once("\n## Common issues\n\n".to_owned()).chain(of).chain(lines).collect()
}

/// Formats a suggestion; its edit is in a code fence that its content cannot close.
pub(super) fn suggestion(suggestion: &Suggestion, cards: &BTreeMap<String, SessionCard>) -> String {
    let longest = suggestion.text.split(|char| char != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    let sessions: Vec<String> =
        suggestion.sessions.iter().map(|session| named(session, cards)).collect();
    let evidence = match sessions.as_slice() {
        [] => String::new(),
        sessions => format!("\nEvidence: {}\n", sessions.join("; ")),
    };
    format!(
        "\n### {} ({})\n\n{}: {}\n\n{}:\n\n{fence}\n{}\n{fence}\n{evidence}",
        escaped(&suggestion.title),
        suggestion.severity.as_str(),
        escaped(&suggestion.dimension),
        escaped(&suggestion.reason),
        suggestion.edit.words(),
        suggestion.text
    )
}

/// A session by its first request, where it is known, and its id.
fn named(session: &str, cards: &BTreeMap<String, SessionCard>) -> String {
    let title = cards.get(session).and_then(|card| card.title.as_ref());
    match title {
        Some(title) => format!("{} (session {})", escaped(title), escaped(session)),
        None => escaped(session),
    }
}

/// Escapes a text for Markdown, on one line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' => {
                out.extend(['\\', char]);
            }
            char if char.is_control() => out.push(' '),
            char => out.push(char),
        }
    }
    out
}
