use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};

use crate::demo::story::{Completion, Message, Outcome, Run, Step, ToolCall, Work};

use super::each_step;
use super::span::SpanAttributes;

/// The spans of a run in OpenTelemetry's conventions for generative AI.
pub(super) fn spans(run: &Run) -> Vec<Span> {
    each_step(run, |step, attributes| {
        attributes.text("gen_ai.conversation.id", &run.session);
        attributes.text("user.id", &run.user);
        if step.id == run.root.id {
            attributes.texts("tag.tags", &run.tags);
        }
        if let Outcome::Failed { kind, .. } = &step.outcome {
            attributes.text("error.type", kind);
        }
        about_the_step(step, attributes)
    })
}

fn about_the_step(step: &Step, attributes: &mut SpanAttributes) -> String {
    match &step.work {
        Work::Agent { name, input, output } => {
            attributes.text("gen_ai.operation.name", "invoke_agent");
            attributes.text("gen_ai.agent.name", name);
            attributes.text("gen_ai.input.messages", &json!([line("user", input)]).to_string());
            attributes
                .text("gen_ai.output.messages", &json!([line("assistant", output)]).to_string());
            format!("invoke_agent {name}")
        }
        Work::Tool(call) => {
            attributes.text("gen_ai.operation.name", "execute_tool");
            attributes.text("gen_ai.tool.name", call.name);
            attributes.text("gen_ai.tool.type", "function");
            attributes.text("gen_ai.tool.call.id", &call.id);
            attributes.text("gen_ai.tool.call.arguments", &call.arguments.to_string());
            attributes.text("gen_ai.tool.call.result", &call.result.to_string());
            format!("execute_tool {}", call.name)
        }
        Work::Retrieval { name, query, documents } => {
            attributes.text("gen_ai.operation.name", "retrieval");
            attributes.text("gen_ai.data_source.id", name);
            attributes.text("gen_ai.retrieval.query.text", query);
            attributes.text("gen_ai.retrieval.documents", &documents.to_string());
            format!("retrieval {name}")
        }
        Work::Embedding { model, input, tokens } => {
            attributes.text("gen_ai.operation.name", "embeddings");
            attributes.text("gen_ai.provider.name", model.provider);
            attributes.text("gen_ai.request.model", model.name);
            attributes.count("gen_ai.usage.input_tokens", *tokens);
            attributes.text("input.value", input);
            format!("embeddings {}", model.name)
        }
        Work::Guard { name, input, verdict } => {
            attributes.text("input.value", input);
            attributes.text("output.value", verdict);
            (*name).to_owned()
        }
        Work::Model(call) => {
            about_the_model(call, attributes);
            format!("chat {}", call.model.name)
        }
    }
}

fn about_the_model(call: &Completion, attributes: &mut SpanAttributes) {
    let tokens = call.tokens;
    attributes.text("gen_ai.operation.name", "chat");
    attributes.text("gen_ai.provider.name", call.model.provider);
    attributes.text("gen_ai.request.model", call.model.name);
    attributes.text("gen_ai.response.model", call.model.name);
    attributes.count("gen_ai.request.max_tokens", 4_096);
    // The convention counts cached tokens as part of the input.
    attributes.count("gen_ai.usage.input_tokens", tokens.input + tokens.cached + tokens.written);
    attributes.count("gen_ai.usage.cache_read.input_tokens", tokens.cached);
    attributes.count("gen_ai.usage.cache_creation.input_tokens", tokens.written);
    attributes.count("gen_ai.usage.output_tokens", tokens.output + tokens.reasoning);
    if tokens.reasoning > 0 {
        attributes.count("gen_ai.usage.reasoning.output_tokens", tokens.reasoning);
    }
    let asks_for_tools =
        matches!(&call.reply, Message::Assistant { calls, .. } if !calls.is_empty());
    attributes.texts(
        "gen_ai.response.finish_reasons",
        &[if asks_for_tools { "tool_calls" } else { "stop" }],
    );
    attributes.text(
        "gen_ai.system_instructions",
        &json!([{ "type": "text", "content": call.system }]).to_string(),
    );
    let messages: Vec<Value> = call.messages.iter().map(thinking).collect();
    attributes.text("gen_ai.input.messages", &json!(messages).to_string());
    attributes.text("gen_ai.output.messages", &json!([thinking(&call.reply)]).to_string());
}

fn line(role: &str, text: &str) -> Value {
    json!({ "role": role, "parts": [{ "type": "text", "content": text }] })
}

/// A message in the parts of the convention.
pub(super) fn parts(message: &Message) -> Value {
    match message {
        Message::User(text) | Message::Photo(text) => line("user", text),
        Message::Tool(call) => {
            let answer =
                json!({ "type": "tool_call_response", "id": call.id, "response": call.result });
            json!({ "role": "tool", "parts": [answer] })
        }
        Message::Assistant { text, calls } => {
            let said = (!text.is_empty()).then(|| json!({ "type": "text", "content": text }));
            let parts: Vec<Value> = said.into_iter().chain(calls.iter().map(request)).collect();
            json!({ "role": "assistant", "parts": parts })
        }
    }
}

/// The same where what goes before tool calls was thought rather than said.
fn thinking(message: &Message) -> Value {
    let mut said = parts(message);
    let asks = matches!(message, Message::Assistant { calls, text } if !calls.is_empty() && !text.is_empty());
    if asks {
        said["parts"][0]["type"] = json!("reasoning");
    }
    said
}

fn request(call: &ToolCall) -> Value {
    json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments })
}
