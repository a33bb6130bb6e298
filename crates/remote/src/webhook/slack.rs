use ratchet_core::quality::report::{
    WeekReport, change_words, counted, interval_words, trend_words,
};
use serde_json::{Value, json};

/// Slack's limit for the text of a section, with a margin.
const MAX_CHARS: usize = 2_900;
/// The maximum number of issues and suggestions in a message.
const MAX_LISTED: usize = 5;

/// Formats a report as Slack blocks, with a fallback text.
pub(super) fn message(report: &WeekReport) -> Value {
    let title = format!("Weekly quality report {}", report.week);
    let mut blocks = vec![
        json!({ "type": "header", "text": { "type": "plain_text", "text": title } }),
        section(&escaped(&report.headline())),
    ];
    let alerts = report.drift.iter().map(|alert| format!("• {}", escaped(&alert.words())));
    blocks.extend(list("*Judge drift*\n", alerts));
    let standings = report.synthesis.dimensions.iter().filter_map(|standing| {
        let marks = standing.marks?;
        Some(format!(
            "*{}* {:.2} ({}), {} vs. previous week, {}",
            escaped(&standing.name),
            marks.mean,
            interval_words(marks.interval),
            escaped(&change_words(&standing.change)),
            escaped(&trend_words(&standing.trend))
        ))
    });
    blocks.extend(list("", standings));
    let issues = report.synthesis.issues.iter().take(MAX_LISTED).map(|issue| {
        let count = counted(issue.sessions.len(), "session");
        format!("• {count}: {}", escaped(&issue.title))
    });
    blocks.extend(list("*Common issues*\n", issues));
    let suggestions = report.suggestions.iter().take(MAX_LISTED).map(|suggestion| {
        let (severity, edit) = (suggestion.severity.as_str(), suggestion.edit.as_str());
        format!("• {} ({severity}, {edit})", escaped(&suggestion.title))
    });
    blocks.extend(list("*Suggestions*\n", suggestions));
    json!({ "text": format!("{title}: {}", escaped(&report.headline())), "blocks": blocks })
}

fn list(head: &str, lines: impl Iterator<Item = String>) -> Option<Value> {
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| section(&format!("{head}{}", lines.join("\n"))))
}

fn section(text: &str) -> Value {
    let text: String = text.chars().take(MAX_CHARS).collect();
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })
}

/// Escapes links, mentions and markup.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let is_markup = |char: char| matches!(char, '*' | '_' | '~' | '`');
    // A word joiner in front disables markup characters and keeps underscores in names.
    text.chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .flat_map(|char| is_markup(char).then_some('\u{2060}').into_iter().chain([char]))
        .collect()
}
