//! Spans as AI SDK 7 sends them through `@ai-sdk/otel`.

use super::*;

#[test]
fn the_runtime_context_is_metadata_and_reasoning_is_counted_apart() {
    check(
        &json!({
            "name": "chat gpt-4o", "scope": "gen_ai", "parent": "step",
            "attributes": {
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o",
                "gen_ai.request.temperature": 0.2,
                "ai.settings.context.tenant": "acme", "ai.settings.context.attempt": 2,
                "ai.settings.context.deep.x": true,
                "gen_ai.input.messages": "[]", "gen_ai.output.messages": "[]",
                "gen_ai.usage.input_tokens": 1000, "gen_ai.usage.output_tokens": 100,
                "gen_ai.usage.cache_read.input_tokens": 200,
                "gen_ai.usage.cache_creation.input_tokens": 0,
                "ai.usage.inputTokenDetails.noCacheTokens": 800,
                "ai.usage.outputTokenDetails.textTokens": 70,
                "ai.usage.outputTokenDetails.reasoningTokens": 30
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "chat gpt-4o", "parent": "step", "model": "gpt-4o",
            "parameters": {"temperature": 0.2}, "input": "[]", "output": "[]",
            "usage": {
                "input": 800, "input_cached_tokens": 200, "output": 70,
                "output_reasoning_tokens": 30, "total": 1100
            },
            "metadata": {
                "tenant": "acme", "attempt": 2, "deep.x": true,
                "attributes": {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.usage.input_tokens": 1000,
                    "ai.usage.outputTokenDetails.textTokens": 70
                },
                "scope": {"name": "gen_ai"}
            }
        }),
    );
}

#[test]
fn the_runtime_context_may_say_whom_a_run_is_for() {
    check_trace(
        &json!({
            "name": "invoke_agent gpt-4o", "scope": "gen_ai",
            "attributes": {
                "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "plan",
                "ai.settings.context.userId": "u1", "ai.settings.context.sessionId": "c1",
                "ai.settings.context.tags": ["a"], "ai.settings.context.tenant": "acme"
            }
        }),
        &json!({
            "name": "^invoke_agent gpt-4o", "root": "^s", "began": 0, "agent": "^plan",
            "user": "^u1", "session": "^c1", "tags": ["a"], "metadata": {"tenant": "acme"}
        }),
    );
}

#[test]
fn embeddings_show_values_and_vectors_and_count_once() {
    let call = |more: Value| {
        let mut attributes = json!({
            "gen_ai.operation.name": "embeddings", "gen_ai.request.model": "small",
            "ai.values": ["\"sunny day\"", "\"rain\""], "ai.embeddings": ["[0.1,0.2]", "[0.3]"]
        });
        for (name, value) in more.as_object().unwrap() {
            attributes[name] = value.clone();
        }
        json!({"name": "embeddings small", "scope": "gen_ai", "attributes": attributes})
    };
    let shown = json!({
        "kind": "EMBEDDING", "name": "embeddings small", "input": ["sunny day", "rain"],
        "output": [[0.1, 0.2], [0.3]]
    });
    let mut counted = shown.clone();
    counted["model"] = json!("small");
    counted["usage"] = json!({"input": 7, "total": 7});
    check(&call(json!({"gen_ai.usage.input_tokens": 7})), &counted);
    check(&call(json!({})), &shown);
}
