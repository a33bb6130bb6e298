use std::collections::{HashMap, VecDeque};

use super::{ChatMessage, Part, RecordedCall, RecordedResult};

/// The key that matches a result to its call: the id, or the name without one.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Id(String),
    Name(String),
}

/// Indices of message and part.
type Position = (usize, usize);

/// Moves tool results to the calls they answer. A message that contained nothing else is removed.
pub(super) fn pair(mut messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
    let mut open = calls(&messages);
    let mut answers: HashMap<Position, RecordedResult> = HashMap::new();
    let mut is_used_up = vec![false; messages.len()];
    for (message, is_used_up) in messages.iter_mut().zip(&mut is_used_up) {
        let mut parts_left = Vec::with_capacity(message.parts.len());
        for part in std::mem::take(&mut message.parts) {
            match part {
                Part::Result(result) => match position(&mut open, &result) {
                    // Leaves an empty text, so that the indices of other parts stay valid.
                    Some(position) => {
                        answers.insert(position, result);
                        parts_left.push(Part::Text(String::new()));
                    }
                    None => parts_left.push(Part::Result(result)),
                },
                other => parts_left.push(other),
            }
        }
        let is_empty = |part: &Part| matches!(part, Part::Text(text) if text.is_empty());
        *is_used_up = !parts_left.is_empty() && parts_left.iter().all(is_empty);
        message.parts = parts_left;
    }
    for ((message, part), result) in answers {
        if let Some(Part::Call(call)) = messages[message].parts.get_mut(part) {
            call.result = Some(result);
        }
    }
    let mut is_used_up = is_used_up.into_iter();
    messages.retain(|_| !is_used_up.next().unwrap_or_default());
    messages
}

/// Returns the positions of calls without a result, in order.
fn calls(messages: &[ChatMessage]) -> HashMap<Key, VecDeque<Position>> {
    let mut open: HashMap<Key, VecDeque<Position>> = HashMap::new();
    for (message, ChatMessage { parts, .. }) in messages.iter().enumerate() {
        for (position, part) in parts.iter().enumerate() {
            if let Part::Call(RecordedCall { id, name, result: None, .. }) = part {
                let key = id.clone().map_or_else(|| Key::Name(name.clone()), Key::Id);
                open.entry(key).or_default().push_back((message, position));
            }
        }
    }
    open
}

fn position(
    open: &mut HashMap<Key, VecDeque<Position>>,
    result: &RecordedResult,
) -> Option<Position> {
    let key = match (&result.id, &result.name) {
        (Some(id), _) => Key::Id(id.clone()),
        (None, Some(name)) => Key::Name(name.clone()),
        (None, None) => return None,
    };
    open.get_mut(&key)?.pop_front()
}
