use super::*;

#[test]
fn vercel_model_call() {
    check(
        &json!({
            "name": "ai.streamText.doStream", "scope": "ai",
            "attributes": {
                "operation.name": "ai.streamText.doStream chat",
                "ai.operationId": "ai.streamText.doStream",
                "ai.telemetry.functionId": "chat",
                "ai.telemetry.metadata.userId": "u1",
                "ai.telemetry.metadata.plan": "pro",
                "ai.telemetry.metadata.langfusePrompt": r#"{"name":"greet","version":2}"#,
                "ai.model.id": "gpt-4o",
                "ai.model.provider": "openai.chat",
                "ai.settings.maxRetries": 2,
                "ai.prompt.messages": r#"[{"role":"user"}]"#,
                "ai.response.text": "",
                "ai.response.toolCalls": r#"[{"toolName":"search"}]"#,
                "ai.response.msToFirstChunk": 120.5,
                "ai.usage.inputTokens": 30,
                "ai.usage.cachedInputTokens": 10,
                "ai.usage.outputTokens": 8,
                "ai.usage.reasoningTokens": 2,
                "ai.usage.totalTokens": 38,
                "gen_ai.usage.input_tokens": 30,
                "gen_ai.usage.output_tokens": 8
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "chat:ai.streamText.doStream", "model": "gpt-4o",
            "parameters": {"maxRetries": 2}, "prompt": ["greet", 2], "first_token_ms": 120,
            "input": r#"[{"role":"user"}]"#,
            "output": {"role": "assistant", "tool_calls": [{"toolName": "search"}]},
            "usage": {
                "input": 20, "input_cached_tokens": 10,
                "output": 6, "output_reasoning_tokens": 2, "total": 38
            },
            "metadata": {
                "plan": "pro",
                "attributes": {
                    "operation.name": "ai.streamText.doStream chat",
                    "otel.span.name": "ai.streamText.doStream",
                    "ai.model.provider": "openai.chat"
                },
                "scope": {"name": "ai"}
            }
        }),
    );
}

#[test]
fn vercel_tool_call() {
    check(
        &json!({
            "name": "ai.toolCall", "scope": "ai",
            "attributes": {
                "ai.operationId": "ai.toolCall",
                "ai.toolCall.name": "search",
                "ai.toolCall.args": r#"{"q":"rust"}"#,
                "ai.toolCall.result": "[]"
            }
        }),
        &json!({
            "kind": "TOOL", "name": "search", "input": r#"{"q":"rust"}"#, "output": "[]",
        }),
    );
}

#[test]
fn pydantic_ai_model_call() {
    check(
        &json!({
            "name": "chat claude-sonnet-4-5", "scope": "pydantic-ai",
            "attributes": {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "claude-sonnet-4-5",
                "gen_ai.response.model": "claude-sonnet-4-5",
                "gen_ai.agent.name": "support",
                "gen_ai.usage.input_tokens": 500,
                "gen_ai.usage.cache_read.input_tokens": 400,
                "gen_ai.usage.details.cache_read_tokens": 400,
                "gen_ai.usage.output_tokens": 6,
                "operation.cost": 0.002,
                "gen_ai.input.messages": "[]",
                "gen_ai.output.messages": "[{}]",
                "logfire.msg": "chat claude-sonnet-4-5",
                "logfire.level_num": 13
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "chat claude-sonnet-4-5", "model": "claude-sonnet-4-5",
            "agent": "support", "level": "WARNING", "cost": 0.002,
            "usage": {"input": 100, "input_cached_tokens": 400, "output": 6, "total": 506},
            "input": "[]", "output": "[{}]",
            "metadata": {
                "attributes": {"gen_ai.operation.name": "chat"},
                "scope": {"name": "pydantic-ai"}
            }
        }),
    );
}

#[test]
fn logfire_lists_its_events_in_an_attribute() {
    check(
        &json!({
            "attributes": {
                "gen_ai.operation.name": "chat",
                "events": r#"[
                    {"event.name": "gen_ai.user.message", "content": "hi", "role": "user"},
                    {"event.name": "gen_ai.choice", "message": {"content": "hello"}}
                ]"#
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "step",
            "input": [{"role": "user", "content": "hi"}],
            "output": {"role": "assistant", "message": {"content": "hello"}},
            "metadata": {"attributes": {"gen_ai.operation.name": "chat"}}
        }),
    );
}

#[test]
fn pydantic_ai_agent_run_does_not_repeat_its_calls() {
    check(
        &json!({
            "name": "agent run", "scope": "pydantic-ai",
            "attributes": {
                "model_name": "gpt-4o",
                "agent_name": "support",
                "gen_ai.agent.name": "support",
                "gen_ai.usage.input_tokens": 500,
                "pydantic_ai.all_messages": r#"[{"role":"user"}]"#,
                "gen_ai.system_instructions": r#"[{"type":"text"}]"#,
                "final_result": "done",
                "logfire.msg": "support run"
            }
        }),
        &json!({
            "kind": "AGENT", "name": "support run", "agent": "support",
            "input": r#"[{"role":"system","parts":[{"type":"text"}]},{"role":"user"}]"#,
            "output": "done",
            "metadata": {
                "attributes": {
                    "model_name": "gpt-4o", "gen_ai.usage.input_tokens": 500,
                    "otel.span.name": "agent run"
                },
                "scope": {"name": "pydantic-ai"}
            }
        }),
    );
}

#[test]
fn strands() {
    check(
        &json!({
            "name": "chat", "scope": "strands.telemetry.tracer",
            "attributes": {
                "gen_ai.operation.name": "chat",
                "gen_ai.system": "strands-agents",
                "gen_ai.request.model": "us.anthropic.claude-sonnet-4-20250514-v1:0",
                "gen_ai.usage.prompt_tokens": 22,
                "gen_ai.usage.input_tokens": 22,
                "gen_ai.usage.completion_tokens": 9,
                "gen_ai.usage.output_tokens": 9,
                "gen_ai.usage.total_tokens": 1531,
                "gen_ai.usage.cache_read_input_tokens": 1500,
                "gen_ai.usage.cache_write_input_tokens": 0
            },
            "events": [
                {"name": "gen_ai.user.message", "attributes": {"content": r#"[{"text":"hi"}]"#}},
                {"name": "gen_ai.choice", "attributes": {
                    "finish_reason": "end_turn", "message": r#"[{"text":"hello"}]"#
                }}
            ]
        }),
        &json!({
            "kind": "GENERATION", "name": "chat",
            "model": "us.anthropic.claude-sonnet-4-20250514-v1:0",
            "usage": {"input": 22, "input_cached_tokens": 1500, "output": 9, "total": 1531},
            "input": [{"role": "user", "content": [{"text": "hi"}]}],
            "output": {
                "role": "assistant", "finish_reason": "end_turn", "message": [{"text": "hello"}]
            }
        }),
    );
}

#[test]
fn strands_tool() {
    check(
        &json!({
            "name": "execute_tool search",
            "attributes": {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "search",
                "gen_ai.tool.call.id": "call-1",
                "tool.status": "success"
            },
            "events": [
                {"name": "gen_ai.tool.message", "attributes": {
                    "role": "tool", "content": r#"{"q":"rust"}"#, "id": "call-1"
                }},
                {"name": "gen_ai.choice", "attributes": {"message": "[]", "id": "call-1"}}
            ]
        }),
        &json!({
            "kind": "TOOL", "name": "search",
            "input": [{"role": "tool", "content": {"q": "rust"}, "id": "call-1"}],
            "output": {"role": "assistant", "message": [], "id": "call-1"},
            "metadata": {"attributes": {
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "call-1",
                "tool.status": "success", "otel.span.name": "execute_tool search"
            }}
        }),
    );
}

#[test]
fn mlflow() {
    check(
        &json!({
            "attributes": {
                "mlflow.spanType": "\"CHAT_MODEL\"",
                "mlflow.spanInputs": r#"{"messages": []}"#,
                "mlflow.spanOutputs": r#"{"choices": []}"#,
                "mlflow.chat.tokenUsage":
                    r#"{"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                        "cache_read_input_tokens": 8}"#
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "step",
            "input": r#"{"messages": []}"#, "output": r#"{"choices": []}"#,
            "usage": {"input": 2, "input_cached_tokens": 8, "output": 5, "total": 15}
        }),
    );
}

#[test]
fn google_adk() {
    check(
        &json!({
            "name": "call_llm", "scope": "gcp.vertex.agent",
            "attributes": {
                "gen_ai.system": "gcp.vertex.agent",
                "gen_ai.request.model": "gemini-2.5-flash",
                "gcp.vertex.agent.session_id": "s1",
                "gcp.vertex.agent.llm_request": r#"{"contents": []}"#,
                "gcp.vertex.agent.llm_response": r#"{"content": {}}"#,
                "gen_ai.usage.input_tokens": 7,
                "gen_ai.usage.output_tokens": 2
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "call_llm", "model": "gemini-2.5-flash",
            "input": r#"{"contents": []}"#, "output": r#"{"content": {}}"#,
            "usage": {"input": 7, "output": 2, "total": 9}
        }),
    );
}

#[test]
fn genkit() {
    check(
        &json!({
            "name": "gemini", "scope": "genkit-tracer",
            "attributes": {
                "genkit:type": "action",
                "genkit:metadata:subtype": "model",
                "genkit:name": "googleai/gemini-2.5-flash",
                "genkit:input": r#"{"messages":[],"config":{"temperature":1}}"#,
                "genkit:output": r#"{"usage":{"inputTokens":5,"outputTokens":4,"totalTokens":12,
                    "thoughtsTokens":3}}"#
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "googleai/gemini-2.5-flash",
            "model": "googleai/gemini-2.5-flash", "parameters": {"temperature": 1},
            "input": r#"{"messages":[],"config":{"temperature":1}}"#,
            "output": r#"{"usage":{"inputTokens":5,"outputTokens":4,"totalTokens":12,
                    "thoughtsTokens":3}}"#,
            "usage": {"input": 5, "output": 4, "output_reasoning_tokens": 3, "total": 12}
        }),
    );
}

#[test]
fn livekit() {
    check(
        &json!({
            "name": "llm_node",
            "attributes": {
                "lk.pii.chat_ctx": r#"{"items": []}"#,
                "lk.pii.response.text": "hello",
                "lk.response.ttft": 0.25
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "llm_node", "first_token_ms": 250,
            "input": r#"{"items": []}"#, "output": "hello"
        }),
    );
}
