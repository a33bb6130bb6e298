use serde_json::{Map, Value, json};

use crate::capabilities::Documents;
use crate::provider::Inquiry;
use crate::request::{CacheablePart, ToolOutcome, Turn};
use crate::response::HAND_IN;

/// The provider rejects requests with more cache breakpoints.
const MAX_MARKS: usize = 4;

/// Builds the body of `POST /v1/messages`.
pub(super) fn body(inquiry: Inquiry<'_>) -> Value {
    let mut body = countable(inquiry);
    body["max_tokens"] = inquiry.ask.max_tokens.into();
    if let Some(temperature) = inquiry.manner.temperature(inquiry.ask) {
        body["temperature"] = temperature.into();
    }
    body
}

/// Builds the body of `POST /v1/messages/count_tokens`.
pub(super) fn countable(inquiry: Inquiry<'_>) -> Value {
    let Inquiry { model, ask, manner } = inquiry;
    let mut marks = Marks { left: MAX_MARKS };
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    let plea = manner.plea(ask).map(CacheablePart::new);
    let system: Vec<Value> = ask.system.iter().chain(&plea).map(|part| marks.block(part)).collect();
    if !system.is_empty() {
        body.insert("system".to_owned(), system.into());
    }
    let turns = ask.turns.iter().map(|turn| marks.turn(turn));
    body.insert("messages".to_owned(), turns.collect());
    let mut tools: Vec<Value> = ask.tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.input})
    }).collect();
    if let Some(schema) = ask.schema().filter(|_| manner.documents != Documents::Asked) {
        let choice = match (manner.documents, tools.is_empty()) {
            (Documents::Forced, true) => json!({"type": "tool", "name": HAND_IN}),
            (Documents::Forced, false) => json!({"type": "any"}),
            (Documents::Offered | Documents::Asked, _) => json!({"type": "auto"}),
        };
        body.insert("tool_choice".to_owned(), choice);
        let description = "Hands in the answer. Call it once, with the whole answer.";
        tools.push(json!({"name": HAND_IN, "description": description, "input_schema": schema}));
    }
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
    }
    body.into()
}

/// The number of cache breakpoints that are left.
struct Marks {
    left: usize,
}

impl Marks {
    fn block(&mut self, passage: &CacheablePart) -> Value {
        let mut block = json!({"type": "text", "text": passage.text});
        if passage.ends_cache() && self.left > 0 {
            self.left -= 1;
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        block
    }

    fn turn(&mut self, turn: &Turn) -> Value {
        match turn {
            Turn::User(passages) => {
                let blocks: Vec<Value> = passages.iter().map(|part| self.block(part)).collect();
                json!({"role": "user", "content": blocks})
            }
            Turn::Model { text, calls } => {
                let words = Some(text).filter(|text| !text.is_empty());
                let words = words.map(|text| json!({"type": "text", "text": text}));
                let calls = calls.iter().map(|call| {
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input})
                });
                let blocks: Vec<Value> = words.into_iter().chain(calls).collect();
                json!({"role": "assistant", "content": blocks})
            }
            Turn::Tools(results) => {
                let blocks = results.iter().map(|given| {
                    let is_error = given.outcome == ToolOutcome::Failed;
                    json!({"type": "tool_result", "tool_use_id": given.id,
                           "content": given.text, "is_error": is_error})
                });
                json!({"role": "user", "content": blocks.collect::<Vec<_>>()})
            }
        }
    }
}
