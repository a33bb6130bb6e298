//! Titles of sessions: the first request, on one short line.

use super::message_formats::{self, ChatMessage, MessageRole, Part, Reading};
use serde_json::Value;

/// The maximum payload size that is parsed.
const READ_UP_TO: usize = 300_000;
/// The maximum number of characters of a title.
const MAX_CHARS: usize = 90;
/// Keys that hold a request in other JSON objects.
const REQUEST_KEYS: [&str; 10] = [
    "request",
    "question",
    "query",
    "prompt",
    "task",
    "message",
    "user_input",
    "input",
    "text",
    "goal",
];

/// Returns the title of a session from the input of its first trace; `None` where it has no words.
///
/// ```
/// use ratchet_core::record::title::title;
/// let input = r#"[{"role":"system","content":"Be kind."},{"role":"user","content":"Where is it?"}]"#;
/// assert_eq!(title(input).as_deref(), Some("Where is it?"));
/// ```
pub fn title(input: &str) -> Option<String> {
    let text = match input.len() {
        0..=READ_UP_TO => request(input)?,
        _ => return None,
    };
    let line = shortened(&text);
    line.chars().any(char::is_alphanumeric).then_some(line)
}

fn request(input: &str) -> Option<String> {
    match message_formats::read(input) {
        Reading::Text(text) => Some(text),
        Reading::Data(text) => {
            let value: Value = serde_json::from_str(&text).ok()?;
            let found = REQUEST_KEYS.iter().find_map(|key| value.get(key)?.as_str());
            found.map(str::to_owned)
        }
        Reading::Messages(messages) => {
            let asked = messages.iter().filter(|message| message.role == MessageRole::User);
            let others = messages.iter().filter(|message| message.role != MessageRole::System);
            asked.chain(others).find_map(words).map(str::to_owned)
        }
    }
}

/// The first text of a message.
fn words(message: &ChatMessage) -> Option<&str> {
    message.parts.iter().find_map(|part| match part {
        Part::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    })
}

/// The text on one line, cut at a word.
fn shortened(text: &str) -> String {
    let is_space = |c: char| c.is_whitespace() || c.is_control();
    let mut line = String::new();
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        let room = MAX_CHARS.saturating_sub(line.chars().count() + 1);
        if word.chars().count() > room {
            // A line of one long word is cut within it.
            if line.is_empty() {
                line.extend(word.chars().take(MAX_CHARS));
            }
            line.push('…');
            return line;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(input: &str, expected: Option<&str>) {
        assert_eq!(title(input).as_deref(), expected);
    }

    #[test]
    fn the_first_request_is_the_title() {
        check("\"Fix the  build\\nplease\"", Some("Fix the build please"));
        check(r#"{"question":"Where is my refund?"}"#, Some("Where is my refund?"));
        check(
            r#"[{"role":"user","content":"First"},{"role":"user","content":"Second"}]"#,
            Some("First"),
        );
        check("", None);
        check("{}", None);
        check("\"--- ---\"", None);
    }

    proptest! {
        #[test]
        fn a_title_is_one_short_line(text in ".{0,300}") {
            if let Some(title) = title(&serde_json::to_string(&text).unwrap()) {
                prop_assert!(title.chars().count() <= MAX_CHARS + 1);
                prop_assert!(!title.contains(char::is_control));
            }
        }
    }
}
