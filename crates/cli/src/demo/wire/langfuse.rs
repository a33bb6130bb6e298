use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};

use crate::demo::conversation;
use crate::demo::story::{Completion, Message, Outcome, Run, Step, ToolCall, Work};

use super::each_step;
use super::span::SpanAttributes;

/// The spans of a run as Langfuse's SDKs write them.
pub(super) fn spans(run: &Run) -> Vec<Span> {
    each_step(run, |step, attributes| {
        about_the_trace(run, attributes);
        level(step, attributes);
        let name = about_the_step(run, step, attributes);
        if step.id == run.root.id {
            attributes.truth("langfuse.internal.is_app_root", true);
        }
        name
    })
}

/// The SDK repeats what it knows of the trace on every span.
fn about_the_trace(run: &Run, attributes: &mut SpanAttributes) {
    attributes.text("langfuse.trace.name", &run.name);
    attributes.text("user.id", &run.user);
    attributes.text("session.id", &run.session);
    attributes.texts("langfuse.trace.tags", &run.tags);
    attributes.text("langfuse.environment", run.environment.name());
    attributes.text("langfuse.version", run.release.version);
    attributes.text("langfuse.trace.metadata.agent", run.agent.name);
}

fn level(step: &Step, attributes: &mut SpanAttributes) {
    match &step.outcome {
        Outcome::Fine => {}
        Outcome::Warned(message) => {
            attributes.text("langfuse.observation.level", "WARNING");
            attributes.text("langfuse.observation.status_message", message);
        }
        Outcome::Failed { message, .. } => {
            attributes.text("langfuse.observation.level", "ERROR");
            attributes.text("langfuse.observation.status_message", message);
        }
    }
}

fn about_the_step(run: &Run, step: &Step, attributes: &mut SpanAttributes) -> String {
    let (kind, name, input, output) = match &step.work {
        Work::Agent { name, input, output } => ("agent", *name, json!(input), json!(output)),
        Work::Tool(call) => ("tool", call.name, call.arguments.clone(), call.result.clone()),
        Work::Retrieval { name, query, documents } => {
            ("retriever", *name, json!(query), documents.clone())
        }
        Work::Guard { name, input, verdict } => ("guardrail", *name, json!(input), json!(verdict)),
        Work::Embedding { model, input, tokens } => {
            attributes.text("langfuse.observation.model.name", model.name);
            attributes.text(
                "langfuse.observation.usage_details",
                &json!({ "total": tokens }).to_string(),
            );
            ("embedding", model.name, json!(input), Value::Null)
        }
        Work::Model(call) => {
            about_the_model(run, call, attributes);
            ("generation", call.model.name, conversation(call), reply(&call.reply))
        }
    };
    attributes.text("langfuse.observation.type", kind);
    attributes.text("langfuse.observation.input", &input.to_string());
    if !output.is_null() {
        attributes.text("langfuse.observation.output", &output.to_string());
    }
    name.to_owned()
}

fn about_the_model(run: &Run, call: &Completion, attributes: &mut SpanAttributes) {
    let tokens = call.tokens;
    let usage = json!({
        "input": tokens.input,
        "input_cached_tokens": tokens.cached,
        "output": tokens.output,
        "output_reasoning_tokens": tokens.reasoning,
        "total": tokens.input + tokens.cached + tokens.output + tokens.reasoning,
    });
    attributes.text("langfuse.observation.model.name", call.model.name);
    attributes.text("langfuse.observation.usage_details", &usage.to_string());
    attributes.text(
        "langfuse.observation.model.parameters",
        &json!({ "temperature": 0.3, "max_tokens": 1024 }).to_string(),
    );
    // The SDK quotes it once more.
    attributes.text(
        "langfuse.observation.completion_start_time",
        &json!(call.first_token.to_string()).to_string(),
    );
    if let Some(prompt) = run.agent.prompt {
        attributes.text("langfuse.observation.prompt.name", prompt);
        attributes.count("langfuse.observation.prompt.version", run.release.prompt_version);
    }
}

fn conversation(call: &Completion) -> Value {
    let system = json!({ "role": "system", "content": call.system });
    std::iter::once(system).chain(call.messages.iter().map(reply)).collect()
}

/// A message in the form of OpenAI's chat API.
fn reply(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Photo(text) => {
            let photo =
                json!({ "type": "image_url", "image_url": { "url": conversation::photo() } });
            json!({ "role": "user", "content": [{ "type": "text", "text": text }, photo] })
        }
        Message::Tool(call) => {
            json!({ "role": "tool", "tool_call_id": call.id, "content": call.result.to_string() })
        }
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Message::Assistant { text, calls } => {
            let calls: Vec<Value> = calls.iter().map(request).collect();
            json!({ "role": "assistant", "content": text, "tool_calls": calls })
        }
    }
}

fn request(call: &ToolCall) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
    json!({ "id": call.id, "type": "function", "function": function })
}
