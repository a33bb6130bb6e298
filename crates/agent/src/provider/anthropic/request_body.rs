use serde_json::{Map, Value, json};

use crate::capabilities::StructuredOutput;
use crate::provider::ProviderRequest;
use crate::request::{CacheablePart, ToolOutcome, Turn};
use crate::response::OUTPUT_TOOL;

/// The provider rejects requests with more cache breakpoints.
const MAX_CACHE_BREAKPOINTS: usize = 4;

/// Builds the body of `POST /v1/messages`.
pub(super) fn body(provider_request: ProviderRequest<'_>) -> Value {
    let mut body = countable(provider_request);
    body["max_tokens"] = provider_request.ask.max_tokens.into();
    if let Some(temperature) = provider_request.capabilities.temperature(provider_request.ask) {
        body["temperature"] = temperature.into();
    }
    body
}

/// Builds the body of `POST /v1/messages/count_tokens`.
pub(super) fn countable(provider_request: ProviderRequest<'_>) -> Value {
    let ProviderRequest { model, ask, capabilities } = provider_request;
    let mut breakpoints = CacheBreakpoints { left: MAX_CACHE_BREAKPOINTS };
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    let schema_prompt = capabilities.schema_prompt(ask).map(CacheablePart::new);
    let system: Vec<Value> =
        ask.system.iter().chain(&schema_prompt).map(|part| breakpoints.block(part)).collect();
    if !system.is_empty() {
        body.insert("system".to_owned(), system.into());
    }
    let turns = ask.turns.iter().map(|turn| breakpoints.turn(turn));
    body.insert("messages".to_owned(), turns.collect());
    let mut tools: Vec<Value> = ask.tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.input})
    }).collect();
    if let Some(schema) =
        ask.schema().filter(|_| capabilities.structured_output != StructuredOutput::PromptOnly)
    {
        let choice = match (capabilities.structured_output, tools.is_empty()) {
            (StructuredOutput::Schema, true) => json!({"type": "tool", "name": OUTPUT_TOOL}),
            (StructuredOutput::Schema, false) => json!({"type": "any"}),
            (StructuredOutput::Tool | StructuredOutput::PromptOnly, _) => json!({"type": "auto"}),
        };
        body.insert("tool_choice".to_owned(), choice);
        let description = "Hands in the answer. Call it once, with the whole answer.";
        tools
            .push(json!({"name": OUTPUT_TOOL, "description": description, "input_schema": schema}));
    }
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
    }
    body.into()
}

/// The number of cache breakpoints that are left.
struct CacheBreakpoints {
    left: usize,
}

impl CacheBreakpoints {
    fn block(&mut self, part: &CacheablePart) -> Value {
        let mut block = json!({"type": "text", "text": part.text});
        if part.ends_cache() && self.left > 0 {
            self.left -= 1;
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        block
    }

    fn turn(&mut self, turn: &Turn) -> Value {
        match turn {
            Turn::User(parts) => {
                let blocks: Vec<Value> = parts.iter().map(|part| self.block(part)).collect();
                json!({"role": "user", "content": blocks})
            }
            Turn::Model { text, calls } => {
                let text_block = Some(text).filter(|text| !text.is_empty());
                let text_block = text_block.map(|text| json!({"type": "text", "text": text}));
                let calls = calls.iter().map(|call| {
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input})
                });
                let blocks: Vec<Value> = text_block.into_iter().chain(calls).collect();
                json!({"role": "assistant", "content": blocks})
            }
            Turn::Tools(results) => {
                let blocks = results.iter().map(|result| {
                    let is_error = result.outcome == ToolOutcome::Failed;
                    json!({"type": "tool_result", "tool_use_id": result.id,
                           "content": result.text, "is_error": is_error})
                });
                json!({"role": "user", "content": blocks.collect::<Vec<_>>()})
            }
        }
    }
}
