use super::{
    WeekReport, advice_words, change_words, counted, interval_words, judge_words, met_word,
    reading_words, standings, target_words, trend_words,
};
use crate::quality::synthesis::Outlier;

/// Line width of prose.
const WIDTH: usize = 96;
/// The maximum number of sessions listed on a line.
const MAX_SESSIONS: usize = 5;

pub(super) fn text(report: &WeekReport) -> String {
    let mut out = format!(
        "Week {} to {} ({}), rubric {}\n{}\n",
        report.week,
        report.last_day,
        report.zone,
        report.rubric,
        report.headline()
    );
    out.extend(judge_words(report).map(|words| format!("{}\n", one_line(&words))));
    out.extend(report.drift.iter().map(|alert| format!("ALERT: {}.\n", alert.words())));
    if report.synthesis.sessions == 0 {
        out.push_str("Score sessions with `ratchet score`, then run this command again.\n");
        return out;
    }
    out.push('\n');
    out.push_str(&table(report));
    out.push_str(&outliers("High outliers", &report.synthesis.excellent));
    out.push_str(&outliers("Low outliers", &report.synthesis.poor));
    out.push_str(&issues(report));
    out.push_str(&suggestions(report));
    out.push_str(&success(report));
    out
}

fn table(report: &WeekReport) -> String {
    let mut out = format!(
        "{:<22} {:>4} {:>5}  {:<13} {:>5} {:>5} {:>5}\n",
        "", "n", "mean", "95% CI", "stdev", "min", "max"
    );
    for standing in standings(report) {
        let Some(marks) = standing.marks else {
            out.push_str(&format!("{:<22} {:>4}\n", standing.name, 0));
            continue;
        };
        let stdev = marks.stdev.map_or_else(|| "-".to_owned(), |stdev| format!("{stdev:.2}"));
        out.push_str(&format!(
            "{:<22} {:>4} {:>5.2}  {:<13} {:>5} {:>5.2} {:>5.2}\n",
            standing.name,
            standing.n,
            marks.mean,
            interval_words(marks.interval),
            stdev,
            marks.min,
            marks.max
        ));
        out.push_str(&format!(
            "{:<22}      change {}; {}\n",
            "",
            change_words(&standing.change),
            trend_words(&standing.trend)
        ));
    }
    out
}

fn outliers(title: &str, outliers: &[Outlier]) -> String {
    if outliers.is_empty() {
        return String::new();
    }
    let named = outliers.iter().take(MAX_SESSIONS);
    let named: Vec<String> =
        named.map(|outlier| format!("{} {:.2}", outlier.session, outlier.overall)).collect();
    let rest = outliers.len().saturating_sub(MAX_SESSIONS);
    let rest = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    format!("\n{title}: {}{rest}\n", named.join(", "))
}

fn issues(report: &WeekReport) -> String {
    if report.synthesis.issues.is_empty() {
        return String::new();
    }
    let lines = report.synthesis.issues.iter().map(|issue| {
        let count = counted(issue.sessions.len(), "session");
        format!("- {count}, {}: {}\n", issue.dimension, one_line(&issue.title))
    });
    std::iter::once("\nCommon issues\n".to_owned()).chain(lines).collect()
}

fn suggestions(report: &WeekReport) -> String {
    if report.suggestions.is_empty() {
        return String::new();
    }
    let lines = report.suggestions.iter().map(|suggestion| {
        let indented: String =
            suggestion.text.lines().map(|line| format!("    {line}\n")).collect();
        format!(
            "- [{}] {} ({}; {})\n{indented}",
            suggestion.severity.as_str(),
            suggestion.title,
            suggestion.edit.as_str(),
            one_line(&suggestion.reason)
        )
    });
    let by = advice_words(report).map(|words| format!("{}\n", one_line(&words)));
    std::iter::once("\nSuggestions\n".to_owned()).chain(by).chain(lines).collect()
}

fn success(report: &WeekReport) -> String {
    let lines = report.success.iter().map(|metric| {
        format!(
            "- {}: {}, target {} ({})\n",
            metric.measure.title(),
            reading_words(metric),
            target_words(metric),
            met_word(metric)
        )
    });
    std::iter::once("\nSuccess metrics\n".to_owned()).chain(lines).collect()
}

/// Removes line breaks and terminal control characters.
fn one_line(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if clean.chars().count() <= WIDTH {
        return clean;
    }
    clean.chars().take(WIDTH - 1).chain(['…']).collect()
}
