use std::collections::{HashMap, VecDeque};

use super::{ChatMessage, Part, RecordedCall, RecordedResult};

/// The key that matches a result to its call: the id, or the name without one.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Id(String),
    Name(String),
}

/// Indices of message and part.
type Place = (usize, usize);

/// Moves tool results to the calls they answer. A message that contained nothing else is removed.
pub(super) fn pair(mut messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
    let mut open = calls(&messages);
    let mut answers: HashMap<Place, RecordedResult> = HashMap::new();
    let mut is_used_up = vec![false; messages.len()];
    for (message, is_used_up) in messages.iter_mut().zip(&mut is_used_up) {
        let mut kept = Vec::with_capacity(message.parts.len());
        for part in std::mem::take(&mut message.parts) {
            match part {
                Part::Result(result) => match place(&mut open, &result) {
                    // Leaves an empty text, so that the indices of other parts stay valid.
                    Some(place) => {
                        answers.insert(place, result);
                        kept.push(Part::Text(String::new()));
                    }
                    None => kept.push(Part::Result(result)),
                },
                other => kept.push(other),
            }
        }
        let is_empty = |part: &Part| matches!(part, Part::Text(text) if text.is_empty());
        *is_used_up = !kept.is_empty() && kept.iter().all(is_empty);
        message.parts = kept;
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
fn calls(messages: &[ChatMessage]) -> HashMap<Key, VecDeque<Place>> {
    let mut open: HashMap<Key, VecDeque<Place>> = HashMap::new();
    for (message, ChatMessage { parts, .. }) in messages.iter().enumerate() {
        for (place, part) in parts.iter().enumerate() {
            if let Part::Call(RecordedCall { id, name, result: None, .. }) = part {
                let key = id.clone().map_or_else(|| Key::Name(name.clone()), Key::Id);
                open.entry(key).or_default().push_back((message, place));
            }
        }
    }
    open
}

fn place(open: &mut HashMap<Key, VecDeque<Place>>, result: &RecordedResult) -> Option<Place> {
    let key = match (&result.id, &result.name) {
        (Some(id), _) => Key::Id(id.clone()),
        (None, Some(name)) => Key::Name(name.clone()),
        (None, None) => return None,
    };
    open.get_mut(&key)?.pop_front()
}
