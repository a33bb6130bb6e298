use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};

use crate::demo::story::{Completion, Message, Run, Step, ToolCall, Work};

use super::gen_ai::parts;
use super::span::{self, SpanAttributes};

/// The spans of a run as Claude Code sends them: a tool is a span with its execution inside, and
/// what a sub-agent does lies inside that.
pub(super) fn spans(run: &Run) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut waiting = vec![(&run.root, None)];
    while let Some((step, parent)) = waiting.pop() {
        let mut attributes = SpanAttributes::default();
        attributes.text("session.id", &run.session);
        attributes.text("gen_ai.conversation.id", &run.session);
        attributes.text("user.id", &run.user);
        let name = write(step, &mut attributes);
        spans.push(span::span(run, step, parent, name.to_owned(), attributes));
        let mut inside = step.id;
        if let Work::Tool(call) = &step.work {
            let execution = execution(run, step, call);
            inside = execution.0;
            spans.push(execution.1);
        }
        waiting.extend(step.children.iter().rev().map(|child| (child, Some(inside))));
    }
    spans
}

fn write(step: &Step, attributes: &mut SpanAttributes) -> &'static str {
    attributes.count("duration_ms", duration_ms(step));
    match &step.work {
        Work::Agent { input, output, .. } => {
            attributes.text("gen_ai.operation.name", "invoke_agent");
            attributes.text("gen_ai.agent.name", "claude-code");
            attributes.text("user_prompt", input);
            attributes
                .count("user_prompt_length", u64::try_from(input.chars().count()).unwrap_or(0));
            attributes.text(
                "gen_ai.input.messages",
                &json!([parts(&Message::User(input.clone()))]).to_string(),
            );
            let answer = Message::Assistant { text: output.clone(), calls: Vec::new() };
            attributes.text("gen_ai.output.messages", &json!([parts(&answer)]).to_string());
            "claude_code.interaction"
        }
        Work::Model(call) => {
            about_the_model(step, call, attributes);
            "claude_code.llm_request"
        }
        Work::Tool(call) => {
            about_the_tool(call, attributes);
            "claude_code.tool"
        }
        // Claude Code sends none of these.
        Work::Retrieval { .. } | Work::Embedding { .. } | Work::Guard { .. } => "claude_code.hook",
    }
}

fn about_the_model(step: &Step, call: &Completion, attributes: &mut SpanAttributes) {
    let tokens = call.tokens;
    let first_token_ms = call.first_token.since(step.start) / 1_000_000;
    attributes.text("gen_ai.operation.name", "chat");
    attributes.text("gen_ai.system", "anthropic");
    attributes.text("gen_ai.request.model", call.model.name);
    attributes.text("model", call.model.name);
    attributes.text("llm_request.context", "interaction");
    attributes.text("speed", "normal");
    attributes.count("input_tokens", tokens.input);
    attributes.count("output_tokens", tokens.output);
    attributes.count("cache_read_tokens", tokens.cached);
    attributes.count("cache_creation_tokens", tokens.written);
    attributes.count("ttft_ms", u64::try_from(first_token_ms).unwrap_or(0));
    let messages: Vec<Value> = call.messages.iter().map(parts).collect();
    attributes.text("gen_ai.input.messages", &json!(messages).to_string());
    attributes.text("gen_ai.output.messages", &json!([parts(&call.reply)]).to_string());
}

fn about_the_tool(call: &ToolCall, attributes: &mut SpanAttributes) {
    attributes.text("gen_ai.operation.name", "execute_tool");
    attributes.text("tool_name", call.name);
    attributes.text("gen_ai.tool.name", call.name);
    attributes.text("tool_use_id", &call.id);
    attributes.text("gen_ai.tool.call.id", &call.id);
    for (argument, attribute) in [
        ("file_path", "file_path"),
        ("command", "full_command"),
        ("subagent_type", "subagent_type"),
    ] {
        if let Some(value) = call.arguments.get(argument).and_then(Value::as_str) {
            attributes.text(attribute, value);
        }
    }
    attributes.text("gen_ai.tool.call.arguments", &call.arguments.to_string());
    attributes.text("gen_ai.tool.call.result", &call.result.to_string());
}

/// The execution inside a tool span. Its id follows from the tool's.
fn execution(run: &Run, step: &Step, call: &ToolCall) -> ([u8; 8], Span) {
    let id = step.id.map(|byte| byte ^ 0xa5);
    let mut attributes = SpanAttributes::default();
    attributes.text("session.id", &run.session);
    attributes.text("tool_name", call.name);
    attributes.count("duration_ms", duration_ms(step));
    attributes.truth("success", !step.has_failed());
    let name = "claude_code.tool.execution".to_owned();
    let span = span::span(run, step, Some(step.id), name, attributes);
    (id, Span { span_id: id.to_vec(), ..span })
}

fn duration_ms(step: &Step) -> u64 {
    u64::try_from(step.end.since(step.start) / 1_000_000).unwrap_or(0)
}
