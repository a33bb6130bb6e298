use super::text_table::{self, fit, wrapped};
use super::{
    LeftOut, MAX_SHOWN, TextDetail, WeekReport, advice_words, issues_of_words, judge_words,
    met_word, reading_words, target_words,
};
use crate::counted::counted;
use crate::quality::success_metrics::{Reading, SuccessMetric};
use crate::quality::suggestion::Suggestion;
use crate::quality::synthesis::{CommonIssue, IssueShare, Outlier};

/// Columns of the terminal.
pub(super) const WIDTH: usize = 100;
/// Rows of a list in a short text.
const SHORT_ROWS: usize = 5;
/// Suggestions with their edit in a short text.
const SHORT_SUGGESTIONS: usize = 2;

pub(super) fn text(report: &WeekReport, detail: TextDetail) -> String {
    let mut out = head(report);
    if report.synthesis.sessions == 0 {
        out.extend(left_out(&report.left_out));
        out.push_str("Score sessions with `ratchet score`, then run this command again.\n");
        return out;
    }
    out.push_str(&text_table::agents(report, detail));
    out.extend(text_table::days(&report.synthesis.days));
    out.push_str(&text_table::dimensions(report, detail));
    out.push_str(&outliers(("Low outliers", "below 0.5"), &report.synthesis.poor, report, detail));
    out.push_str(&outliers(
        ("High outliers", "above 0.85"),
        &report.synthesis.excellent,
        report,
        detail,
    ));
    out.push_str(&issues(report, detail));
    out.push_str(&suggestions(report, detail));
    out.push_str(&success(report));
    out
}

/// What the report is about, who judged, and the first paragraph.
fn head(report: &WeekReport) -> String {
    let project = report.project.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let about = format!(
        "{project}Week {} to {} ({}), rubric {}",
        report.week, report.last_day, report.zone, report.rubric
    );
    let mut out = wrapped(&about, "");
    if !report.scope.is_all() {
        out.push_str(&wrapped(&format!("Only {}.", report.scope.words()), ""));
    }
    out.extend(judge_words(report).map(|words| wrapped(&words, "")));
    let alerts = report.drift.iter();
    out.extend(alerts.map(|alert| wrapped(&format!("ALERT: {}.", alert.words()), "")));
    out.push('\n');
    out.extend(report.summary().iter().map(|sentence| wrapped(sentence, "")));
    out
}

fn rows(detail: TextDetail) -> usize {
    match detail {
        TextDetail::Short => SHORT_ROWS,
        TextDetail::Wide => usize::MAX,
    }
}

/// `… 3 more`, with the flag that shows them where it does.
pub(super) fn more(all: usize, shown: usize, detail: TextDetail) -> String {
    match (all.saturating_sub(shown), detail) {
        (0, _) => String::new(),
        (rest, TextDetail::Short) => format!("  … {rest} more with --wide\n"),
        (rest, TextDetail::Wide) => format!("  … {rest} more\n"),
    }
}

fn outliers(
    (title, bound): (&str, &str),
    outliers: &[Outlier],
    report: &WeekReport,
    detail: TextDetail,
) -> String {
    if outliers.is_empty() {
        return String::new();
    }
    // Cards are there for so many.
    let shown = rows(detail).min(MAX_SHOWN);
    let line = |outlier: &Outlier| {
        let card = report.sessions.get(&outlier.session);
        let agent = card.and_then(|card| card.agent.as_deref()).unwrap_or("-");
        let title = card.and_then(|card| card.title.as_deref()).unwrap_or(&outlier.session);
        let first = format!("  {:.2}  {}  {}", outlier.overall, fit(agent, 18), title);
        let why = outlier.reason.as_ref().map(|reason| {
            let turn = reason.turn.map(|turn| format!(" (turn {turn})")).unwrap_or_default();
            format!("\n        {}: {}{turn}", reason.dimension, reason.text)
        });
        let id = match detail {
            TextDetail::Wide => format!("\n        session {}", outlier.session),
            TextDetail::Short => String::new(),
        };
        let lines = format!("{first}{}{id}", why.unwrap_or_default());
        lines.lines().map(|line| one_line(line) + "\n").collect::<String>()
    };
    let lines: String = outliers.iter().take(shown).map(line).collect();
    let count = outliers.len();
    format!("\n{title} ({count}, {bound})\n{lines}{}", more(count, shown, detail))
}

fn issues(report: &WeekReport, detail: TextDetail) -> String {
    let issues = &report.synthesis.issues;
    if issues.is_empty() {
        return String::new();
    }
    let line = |issue: &CommonIssue| {
        let count = counted(issue.sessions.len(), "session");
        let shares: Vec<String> = issue.agents.iter().take(3).map(share_words).collect();
        let also = match detail {
            TextDetail::Wide => also_words(issue),
            TextDetail::Short => None,
        };
        let title = wrapped(&format!("- {}: {count}, {}", issue.title, issue.dimension), "");
        let details = [Some(shares.join(", ")).filter(|shares| !shares.is_empty()), also];
        let details = details.into_iter().flatten().map(|line| wrapped(&line, "    "));
        std::iter::once(title).chain(details).collect::<String>()
    };
    let shown = rows(detail);
    let lines: String = issues.iter().take(shown).map(line).collect();
    let of = issues_of_words(report).map(|words| wrapped(&words, "  ")).unwrap_or_default();
    format!("\nCommon issues\n{of}{lines}{}", more(issues.len(), shown, detail))
}

/// `In most of them also: failed calls of find_order are retried unchanged.` Issues are joined from
/// three quarters of common sessions on.
pub(super) fn also_words(issue: &CommonIssue) -> Option<String> {
    let lower = |title: &String| {
        let mut chars = title.chars();
        let first = chars.next().map(char::to_lowercase).into_iter().flatten();
        first.chain(chars).collect::<String>()
    };
    let also: Vec<String> = issue.also.iter().map(lower).collect();
    (!also.is_empty()).then(|| format!("In most of them also: {}.", also.join("; ")))
}

/// `support-bot 30% (12 of 41 sessions)`.
pub(super) fn share_words(share: &IssueShare) -> String {
    let agent = super::share_agent(share);
    // To the nearest percent.
    let percent = (share.sessions * 200 + share.of).checked_div(share.of * 2).unwrap_or_default();
    format!("{agent} {percent}% ({} of {})", share.sessions, counted(share.of, "session"))
}

fn suggestions(report: &WeekReport, detail: TextDetail) -> String {
    if report.suggestions.is_empty() {
        return String::new();
    }
    let shown = match detail {
        TextDetail::Short => SHORT_SUGGESTIONS,
        TextDetail::Wide => usize::MAX,
    };
    let line = |suggestion: &Suggestion| {
        let edit: String = suggestion.text.lines().map(|line| wrapped(line, "    ")).collect();
        let reason = format!("{}: {}", suggestion.dimension, suggestion.reason);
        let reason = wrapped(&reason, "  ");
        let title = format!(
            "- [{}] {} ({})",
            suggestion.severity.as_str(),
            suggestion.title,
            suggestion.edit.as_str(),
        );
        format!("{}{reason}{edit}", wrapped(&title, ""))
    };
    let by = advice_words(report).map(|words| wrapped(&words, "")).unwrap_or_default();
    let lines: String = report.suggestions.iter().take(shown).map(line).collect();
    format!("\nSuggestions\n{by}{lines}{}", more(report.suggestions.len(), shown, detail))
}

fn success(report: &WeekReport) -> String {
    // In the first week nothing can be met or missed yet.
    if report.is_first() {
        return String::new();
    }
    let line = |metric: &SuccessMetric| {
        let title = metric.measure.title();
        match metric.reading {
            Reading::Unknown(_) => wrapped(&format!("- {title}: {}", reading_words(metric)), ""),
            Reading::Is { .. } => {
                let (target, met) = (target_words(metric), met_word(metric));
                wrapped(
                    &format!("- {title}: {}, target {target} ({met})", reading_words(metric)),
                    "",
                )
            }
        }
    };
    let lines: String = report.success.iter().map(line).collect();
    format!("\nSuccess metrics\n{lines}")
}

fn left_out(left_out: &[LeftOut]) -> Option<String> {
    let words = super::left_out_words(left_out)?;
    Some(format!("\n{}", wrapped(&words, "")))
}

/// A line without control characters that fits the terminal.
pub(super) fn one_line(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if clean.chars().count() <= WIDTH {
        return clean;
    }
    clean.chars().take(WIDTH - 1).chain(['…']).collect()
}
