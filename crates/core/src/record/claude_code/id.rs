//! Ids of turns, model calls, tools and sub-agents.
//!
//! Every id is derived from one that Claude Code or the provider created, so that it is the same on
//! every import, in every copy of a transcript, and in events about the same record.

use crate::id::{Id, ObservationId, TraceId};

/// Returns the trace id of a turn, from the id of its prompt.
///
/// Prompt ids are UUIDs. Without dashes they are OpenTelemetry trace ids.
pub(super) fn turn(prompt: &str) -> Option<TraceId> {
    let plain: String = prompt.chars().filter(|c| *c != '-').collect();
    let is_uuid = prompt.len() == 36 && plain.len() == 32 && plain.bytes().all(is_hex);
    let id = if is_uuid { plain.to_ascii_lowercase() } else { prompt.to_owned() };
    Id::parse(&id).ok()
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

/// Returns the id of the root observation of a turn.
pub(super) fn turn_root(turn: &TraceId) -> ObservationId {
    turn.cast()
}

pub(super) fn agent(id: &str) -> Option<ObservationId> {
    Id::parse(&format!("agent-{id}")).ok()
}

/// Returns the id of a model call: its request id, which events contain too, or else its message
/// id.
pub(super) fn model_call(request: Option<&str>, message: Option<&str>) -> Option<ObservationId> {
    let is_set = |id: &&str| !id.is_empty();
    Id::parse(request.filter(is_set).or(message.filter(is_set))?).ok()
}

/// Returns the id of a tool call or any other record that has one.
pub(super) fn own(id: &str) -> Option<ObservationId> {
    Id::parse(id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_become_trace_ids_as_opentelemetry_writes_them() {
        let id = turn("0F0E2F3a-1111-4222-8333-444455556666").unwrap();
        assert_eq!(id.to_string(), "0f0e2f3a111142228333444455556666");
        assert_eq!(turn("my-prompt").unwrap().to_string(), "my-prompt");
        assert_eq!(turn(""), None);
    }

    #[test]
    fn the_request_names_a_model_call_before_its_answer_does() {
        let called = |request, message| model_call(request, message).map(|id| id.to_string());
        assert_eq!(called(Some("req_1"), Some("msg_1")).as_deref(), Some("req_1"));
        assert_eq!(called(Some(""), Some("msg_1")).as_deref(), Some("msg_1"));
        assert_eq!(called(None, None), None);
    }
}
