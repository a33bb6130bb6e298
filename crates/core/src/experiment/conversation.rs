//! What a target is sent in a conversation (ADR 111).

use serde_json::{Value, json};

/// The most bytes of a message.
pub const MAX_MESSAGE_BYTES: usize = 100_000;
/// The most bytes of a conversation that is sent along.
pub const MAX_HISTORY_BYTES: usize = 1_000_000;
/// The most turns of a conversation.
pub const MAX_TURNS: usize = 500;

/// One message and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub text: String,
    pub answer: String,
}

/// How a target knows what was said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// It keeps its own, by the id of the session.
    InTarget,
    /// It is sent along with each message.
    SentAlong,
}

impl History {
    /// Returns how targets of a kind, by its name in target files, know what was said before.
    pub fn of_kind(kind: &str) -> Self {
        match kind {
            "agentcore" | "agentcore-arn" => Self::InTarget,
            _ => Self::SentAlong,
        }
    }
}

/// Why a message is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageRefused {
    #[error("message: it is empty")]
    Empty,
    #[error("message: at most {MAX_MESSAGE_BYTES} bytes")]
    TooLong,
    #[error("this conversation is too long to be sent along; start a new chat")]
    LongConversation,
}

/// Returns the input of a turn: the text, as a dataset item with that text has it, at the start and
/// for targets that keep the conversation; otherwise an object with all messages, the newest last.
///
/// # Errors
/// Fails on an empty or long message, and on a long conversation.
pub fn input(before: &[Exchange], text: &str, history: History) -> Result<Value, MessageRefused> {
    if text.trim().is_empty() {
        return Err(MessageRefused::Empty);
    }
    if text.len() > MAX_MESSAGE_BYTES {
        return Err(MessageRefused::TooLong);
    }
    if before.len() >= MAX_TURNS {
        return Err(MessageRefused::LongConversation);
    }
    if before.is_empty() || history == History::InTarget {
        return Ok(json!(text));
    }
    let bytes: usize = before.iter().map(|one| one.text.len() + one.answer.len()).sum();
    if bytes > MAX_HISTORY_BYTES {
        return Err(MessageRefused::LongConversation);
    }
    let said = before.iter().flat_map(|one| [("user", &one.text), ("assistant", &one.answer)]);
    let mut messages: Vec<Value> =
        said.map(|(role, content)| json!({ "role": role, "content": content })).collect();
    messages.push(json!({ "role": "user", "content": text }));
    Ok(json!({ "messages": messages }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(text: &str, answer: &str) -> Exchange {
        Exchange { text: text.to_owned(), answer: answer.to_owned() }
    }

    #[test]
    fn the_first_message_is_what_a_dataset_item_would_be() {
        assert_eq!(input(&[], "hello", History::SentAlong), Ok(json!("hello")));
    }

    #[test]
    fn later_messages_bring_the_conversation_unless_the_target_keeps_it() {
        let before = [exchange("hello", "hi")];
        let sent = input(&before, "and now?", History::SentAlong).unwrap();
        assert_eq!(sent["messages"][1], json!({ "role": "assistant", "content": "hi" }));
        assert_eq!(sent["messages"][2], json!({ "role": "user", "content": "and now?" }));
        assert_eq!(input(&before, "and now?", History::InTarget), Ok(json!("and now?")));
    }

    #[test]
    fn bounds_hold() {
        let refused = |before: &[Exchange], text: &str| input(before, text, History::SentAlong);
        assert_eq!(refused(&[], " \n"), Err(MessageRefused::Empty));
        let long = "x".repeat(MAX_MESSAGE_BYTES + 1);
        assert_eq!(refused(&[], &long), Err(MessageRefused::TooLong));
        let before = [exchange(&"x".repeat(MAX_HISTORY_BYTES), "y")];
        assert_eq!(refused(&before, "more"), Err(MessageRefused::LongConversation));
        let many = vec![exchange("a", "b"); MAX_TURNS];
        assert_eq!(input(&many, "c", History::InTarget), Err(MessageRefused::LongConversation));
    }
}
