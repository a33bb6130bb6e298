use ratchet_core::quality::report::{
    WeekReport, change_words, counted, interval_words, trend_words,
};
use serde_json::{Value, json};

/// Slack refuses longer texts of a section.
const MOST_CHARS: usize = 2_900;
/// Issues and suggestions that a message names.
const NAMED: usize = 5;

/// The report in Slack's blocks, and in one line where blocks are not shown.
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
    let issues = report.synthesis.issues.iter().take(NAMED).map(|issue| {
        let count = counted(issue.sessions.len(), "session");
        format!("• {count}: {}", escaped(&issue.title))
    });
    blocks.extend(list("*Common issues*\n", issues));
    let suggestions = report.suggestions.iter().take(NAMED).map(|suggestion| {
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
    let text: String = text.chars().take(MOST_CHARS).collect();
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })
}

/// What Slack would take for a link, a mention or markup is shown as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let is_markup = |char: char| matches!(char, '*' | '_' | '~' | '`');
    // A word joiner in front keeps a sign from being markup; names keep their underscores so.
    text.chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .flat_map(|char| is_markup(char).then_some('\u{2060}').into_iter().chain([char]))
        .collect()
}
