use ratchet_core::message::{Message, MessageLine, MessageSection};
use serde_json::{Value, json};

/// Slack's limit for the text of a section, with a margin.
pub(super) const MAX_CHARS: usize = 2_900;
/// Slack's limit for the text of a header.
pub(super) const MAX_TITLE_CHARS: usize = 150;

/// Formats a message as Slack blocks, with a fallback text.
pub(super) fn blocks(message: &Message) -> Value {
    let title: String = message.title.chars().take(MAX_TITLE_CHARS).collect();
    let text = escaped(&message.text);
    let mut blocks = vec![
        json!({ "type": "header", "text": { "type": "plain_text", "text": title } }),
        section(&text),
    ];
    blocks.extend(message.sections.iter().map(|part| section(&lines(part))));
    if let Some(link) = &message.link {
        blocks.push(section(&format!("<{}|Open in Ratchet>", entities(link))));
    }
    json!({ "text": format!("{}: {text}", escaped(&title)), "blocks": blocks })
}

/// The message that the payload of a notification is about.
pub(super) fn notice(payload: &Value) -> Message {
    let data = &payload["data"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let event = text(&payload["type"]);
    let changes = data["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let section = |change: &Value| MessageSection {
        title: Some(text(&change["title"])),
        lines: vec![
            MessageLine::Item(text(&change["text"])),
            MessageLine::Item(text(&change["action"])),
        ],
    };
    let said = [&data["text"], &data["ask"]["text"], &data["why"], &data["outcome"]];
    let said = said.into_iter().find_map(Value::as_str).unwrap_or(&event).to_owned();
    Message {
        title: data["title"].as_str().unwrap_or(&event).to_owned(),
        text: said,
        sections: changes.iter().map(section).collect(),
        link: data["url"].as_str().map(str::to_owned),
        data: Value::Null,
        event,
    }
}

fn lines(part: &MessageSection) -> String {
    let head = part.title.iter().map(|title| format!("*{}*", escaped(title)));
    let lines = part.lines.iter().map(|line| match line {
        MessageLine::Field { name, value } => format!("*{}* {}", escaped(name), escaped(value)),
        MessageLine::Item(text) => format!("• {}", escaped(text)),
    });
    head.chain(lines).collect::<Vec<_>>().join("\n")
}

pub(super) fn section(text: &str) -> Value {
    let text: String = text.chars().take(MAX_CHARS).collect();
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })
}

/// Escapes links, mentions and markup.
pub(super) fn escaped(text: &str) -> String {
    let text = entities(text);
    let is_markup = |char: char| matches!(char, '*' | '_' | '~' | '`');
    // A word joiner in front disables markup characters and keeps underscores in names.
    text.chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .flat_map(|char| is_markup(char).then_some('\u{2060}').into_iter().chain([char]))
        .collect()
}

pub(super) fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_any_kind_becomes_blocks_and_its_text_stays_text() {
        let message = Message {
            event: "gate.failed".to_owned(),
            title: "Gate failed".to_owned(),
            text: "Accuracy fell <by *far*>".to_owned(),
            sections: vec![MessageSection {
                title: Some("Figures".to_owned()),
                lines: vec![
                    MessageLine::Field { name: "accuracy".to_owned(), value: "0.61".to_owned() },
                    MessageLine::Item("<!channel>".to_owned()),
                ],
            }],
            link: Some("https://ratchet.test/my_gate".to_owned()),
            data: Value::Null,
        };
        let blocks = blocks(&message);
        let texts: Vec<&str> =
            (0..4).map(|at| blocks["blocks"][at]["text"]["text"].as_str().unwrap()).collect();
        let expected = [
            "Gate failed",
            "Accuracy fell &lt;by \u{2060}*far\u{2060}*&gt;",
            "*Figures*\n*accuracy* 0.61\n• &lt;!channel&gt;",
            "<https://ratchet.test/my_gate|Open in Ratchet>",
        ];
        assert_eq!(texts, expected);
        assert!(blocks["text"].as_str().unwrap().starts_with("Gate failed: "));
    }
}
