use super::{
    WeekReport, advice_words, change_words, counted, interval_words, judge_words, met_word,
    reading_words, standings, target_words, trend_words,
};
use crate::quality::suggestion::Suggestion;
use crate::quality::synthesis::Outlier;

pub(super) fn text(report: &WeekReport) -> String {
    let mut out = format!(
        "# Week {} to {}\n\n{} Rubric {}, time zone {}.\n",
        report.week,
        report.last_day,
        report.headline(),
        escaped(&report.rubric),
        escaped(&report.zone)
    );
    out.extend(judge_words(report).map(|words| format!("\n{}\n", escaped(&words))));
    for alert in &report.drift {
        out.push_str(&format!("\n> **Judge drift.** {}.\n", escaped(&alert.words())));
    }
    if report.synthesis.sessions == 0 {
        out.push_str("\nScore sessions with `ratchet score`, then run this command again.\n");
        return out;
    }
    out.push_str(&table(report));
    out.push_str(&outliers("High outliers", &report.synthesis.excellent));
    out.push_str(&outliers("Low outliers", &report.synthesis.poor));
    out.push_str(&issues(report));
    if !report.suggestions.is_empty() {
        out.push_str("\n## Suggestions\n");
        out.extend(advice_words(report).map(|words| format!("\n{}\n", escaped(&words))));
        out.extend(report.suggestions.iter().map(suggestion));
    }
    out.push_str(
        "\n## Success metrics\n\n| metric | current | target | status |\n|---|---|---|---|\n",
    );
    out.extend(report.success.iter().map(|metric| {
        format!(
            "| {} | {} | {} | {} |\n",
            metric.measure.title(),
            escaped(&reading_words(metric)),
            target_words(metric),
            met_word(metric)
        )
    }));
    out
}

fn table(report: &WeekReport) -> String {
    let head = "\n| dimension | n | mean | 95% CI | std dev | min | max | change | trend |\n\
                |---|--:|--:|---|--:|--:|--:|---|---|\n";
    let rows = standings(report).map(|standing| {
        let name = escaped(&standing.name);
        let Some(marks) = standing.marks else {
            return format!("| {name} | 0 | | | | | | | |\n");
        };
        let stdev = marks.stdev.map_or_else(String::new, |stdev| format!("{stdev:.2}"));
        format!(
            "| {name} | {} | {:.2} | {} | {stdev} | {:.2} | {:.2} | {} | {} |\n",
            standing.n,
            marks.mean,
            interval_words(marks.interval),
            marks.min,
            marks.max,
            escaped(&change_words(&standing.change)),
            escaped(&trend_words(&standing.trend))
        )
    });
    std::iter::once(head.to_owned()).chain(rows).collect()
}

fn outliers(title: &str, outliers: &[Outlier]) -> String {
    if outliers.is_empty() {
        return String::new();
    }
    let lines = outliers
        .iter()
        .map(|outlier| format!("- {} {:.2}\n", escaped(&outlier.session), outlier.overall));
    std::iter::once(format!("\n## {title}\n\n")).chain(lines).collect()
}

fn issues(report: &WeekReport) -> String {
    if report.synthesis.issues.is_empty() {
        return String::new();
    }
    let lines = report.synthesis.issues.iter().map(|issue| {
        let count = counted(issue.sessions.len(), "session");
        format!("- {count}, {}: {}\n", escaped(&issue.dimension), escaped(&issue.title))
    });
    std::iter::once("\n## Common issues\n\n".to_owned()).chain(lines).collect()
}

/// Formats a suggestion; its edit is in a code fence that its content cannot close.
pub(super) fn suggestion(suggestion: &Suggestion) -> String {
    let longest = suggestion.text.split(|char| char != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    let sessions: Vec<String> =
        suggestion.sessions.iter().map(|session| escaped(session)).collect();
    let evidence = match sessions.as_slice() {
        [] => String::new(),
        sessions => format!("\nEvidence: {}\n", sessions.join(", ")),
    };
    format!(
        "\n### {} ({})\n\n{}: {}\n\nAdd to the {}:\n\n{fence}\n{}\n{fence}\n{evidence}",
        escaped(&suggestion.title),
        suggestion.severity.as_str(),
        escaped(&suggestion.dimension),
        escaped(&suggestion.reason),
        suggestion.edit.as_str(),
        suggestion.text
    )
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
