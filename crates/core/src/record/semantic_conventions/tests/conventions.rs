use super::*;

#[test]
fn langfuse_python_5() {
    check(
        &json!({
            "name": "draft answer", "parent": "p",
            "sdk": "python", "sdk_version": "5.0.4", "scope": "langfuse-sdk",
            "attributes": {
                "langfuse.observation.type": "generation",
                "langfuse.observation.input": r#"[{"role":"user","content":"hi"}]"#,
                "langfuse.observation.output": "hello",
                "langfuse.observation.model.name": "gpt-4o",
                "langfuse.observation.model.parameters": r#"{"temperature": 0.2}"#,
                "langfuse.observation.usage_details": r#"{"input": 12, "output": 3}"#,
                "langfuse.observation.cost_details": r#"{"total": 0.25}"#,
                "langfuse.observation.level": "WARNING",
                "langfuse.observation.status_message": "slow",
                "langfuse.observation.completion_start_time": "\"2023-11-14T22:13:20.500Z\"",
                "langfuse.observation.prompt.name": "greet",
                "langfuse.observation.prompt.version": 3,
                "langfuse.observation.metadata.s": "\"str\"",
                "langfuse.observation.metadata.k": "1",
                "langfuse.environment": "Staging",
                "langfuse.version": "v7",
                "langfuse.experiment.id": "e1"
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "draft answer", "parent": "p",
            "input": r#"[{"role":"user","content":"hi"}]"#, "output": "hello",
            "model": "gpt-4o", "parameters": {"temperature": 0.2},
            "usage": {"input": 12, "output": 3, "total": 15}, "cost": 0.25,
            "level": "WARNING", "status_message": "slow",
            "first_token_ms": 500, "prompt": ["greet", 3],
            "environment": "staging", "version": "v7",
            "metadata": {
                "s": "str", "k": 1,
                "attributes": {"langfuse.experiment.id": "e1"},
                "scope": {"name": "langfuse-sdk"}
            }
        }),
    );
}

#[test]
fn opentelemetry_messages_as_attributes() {
    check(
        &json!({
            "name": "chat gpt-4o",
            "attributes": {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "gpt-4o",
                "gen_ai.response.model": "gpt-4o-2024-08-06",
                "gen_ai.request.temperature": 0.5,
                "gen_ai.request.max_tokens": 100,
                "openai.response.service_tier": "flex",
                "gen_ai.usage.input_tokens": 100,
                "gen_ai.usage.cache_read.input_tokens": 80,
                "gen_ai.usage.output_tokens": 20,
                "gen_ai.usage.reasoning.output_tokens": 5,
                "gen_ai.system_instructions": r#"[{"type":"text","content":"be kind"}]"#,
                "gen_ai.input.messages": r#"[{"role":"user","parts":[]}]"#,
                "gen_ai.output.messages": r#"[{"role":"assistant","parts":[]}]"#,
                "gen_ai.conversation.id": "c1"
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "chat gpt-4o", "model": "gpt-4o-2024-08-06",
            "parameters": {"temperature": 0.5, "max_tokens": 100, "service_tier": "flex"},
            "usage": {
                "input": 20, "input_cached_tokens": 80,
                "output": 15, "output_reasoning_tokens": 5, "total": 120
            },
            "input": concat!(
                r#"[{"role":"system","parts":[{"type":"text","content":"be kind"}]},"#,
                r#"{"role":"user","parts":[]}]"#
            ),
            "output": r#"[{"role":"assistant","parts":[]}]"#,
            "metadata": {"attributes": {
                "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "gpt-4o"
            }}
        }),
    );
}

#[test]
fn opentelemetry_messages_as_events() {
    check(
        &json!({
            "attributes": {"gen_ai.operation.name": "chat"},
            "events": [
                {"name": "gen_ai.system.message", "attributes": {"content": "be kind"}},
                {"name": "gen_ai.user.message", "attributes": {"content": r#"[{"text":"hi"}]"#}},
                {"name": "gen_ai.choice", "attributes": {
                    "index": 0, "finish_reason": "stop", "message": r#"{"content":"hello"}"#
                }},
                {"name": "retry", "attributes": {"attempt": 2}}
            ]
        }),
        &json!({
            "kind": "GENERATION", "name": "step",
            "input": [
                {"role": "system", "content": "be kind"},
                {"role": "user", "content": [{"text": "hi"}]}
            ],
            "output": {
                "role": "assistant", "index": 0, "finish_reason": "stop",
                "message": {"content": "hello"}
            },
            "metadata": {
                "attributes": {"gen_ai.operation.name": "chat"},
                "events": [{
                    "name": "retry", "time": "2023-11-14T22:13:20.000Z", "attributes": {"attempt": 2}
                }]
            }
        }),
    );
}

#[test]
fn opentelemetry_retrieval() {
    check(
        &json!({
            "name": "retrieval notes",
            "attributes": {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.retrieval.query.text": "night trains",
                "gen_ai.retrieval.documents": r#"[{"id":"n1","score":0.4}]"#
            }
        }),
        &json!({
            "kind": "RETRIEVER", "name": "retrieval notes",
            "input": "night trains", "output": r#"[{"id":"n1","score":0.4}]"#,
            "metadata": {"attributes": {"gen_ai.operation.name": "retrieval"}}
        }),
    );
}

#[test]
fn opentelemetry_messages_in_one_event() {
    check(
        &json!({
            "attributes": {"gen_ai.operation.name": "chat"},
            "events": [
                {"name": "gen_ai.client.inference.operation.details", "attributes": {
                    "gen_ai.system_instructions": "be kind",
                    "gen_ai.input.messages": r#"[{"role":"user"}]"#
                }},
                {"name": "gen_ai.client.inference.operation.details", "attributes": {
                    "gen_ai.output.messages": r#"[{"role":"assistant"}]"#
                }}
            ]
        }),
        &json!({
            "kind": "GENERATION", "name": "step",
            "input": r#"[{"role":"system","content":"be kind"},{"role":"user"}]"#,
            "output": r#"[{"role":"assistant"}]"#,
            "metadata": {"attributes": {"gen_ai.operation.name": "chat"}}
        }),
    );
}

#[test]
fn traceloop_with_flattened_messages() {
    check(
        &json!({
            "name": "anthropic.chat",
            "attributes": {
                "llm.request.type": "chat",
                "gen_ai.system": "anthropic",
                "gen_ai.request.model": "claude-sonnet-4-5",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "hi",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.content": "hello",
                "gen_ai.completion.0.tool_calls.0.name": "search",
                "gen_ai.usage.input_tokens": 1000,
                "gen_ai.usage.cache_read_input_tokens": 900,
                "gen_ai.usage.cache_creation_input_tokens": 60,
                "gen_ai.usage.output_tokens": 10,
                "llm.usage.total_tokens": 1010
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "anthropic.chat", "model": "claude-sonnet-4-5",
            "input": [{"role": "user", "content": "hi"}],
            "output": [{
                "role": "assistant", "content": "hello", "tool_calls": [{"name": "search"}]
            }],
            "usage": {
                "input": 40, "input_cached_tokens": 900, "input_cache_creation": 60,
                "output": 10, "total": 1010
            },
            "metadata": {"attributes": {
                "llm.request.type": "chat", "gen_ai.system": "anthropic"
            }}
        }),
    );
}

#[test]
fn traceloop_workflow() {
    check(
        &json!({
            "name": "plan.workflow",
            "attributes": {
                "traceloop.span.kind": "workflow",
                "traceloop.entity.name": "plan",
                "traceloop.entity.input": r#"{"args": []}"#,
                "traceloop.entity.output": "\"done\""
            }
        }),
        &json!({
            "kind": "CHAIN", "name": "plan.workflow",
            "input": r#"{"args": []}"#, "output": "\"done\"",
            "metadata": {"attributes": {
                "traceloop.span.kind": "workflow", "traceloop.entity.name": "plan"
            }}
        }),
    );
}

#[test]
fn openinference() {
    check(
        &json!({
            "name": "ChatCompletion", "scope": "openinference.instrumentation.openai",
            "scope_version": "0.1.30",
            "attributes": {
                "openinference.span.kind": "LLM",
                "input.value": r#"{"messages": []}"#,
                "input.mime_type": "application/json",
                "output.value": "hello",
                "llm.model_name": "gpt-4o-mini",
                "llm.invocation_parameters": r#"{"temperature": 0}"#,
                "llm.token_count.prompt": 50,
                "llm.token_count.prompt_details.cache_read": 32,
                "llm.token_count.completion": 9,
                "llm.token_count.completion_details.reasoning": 4,
                "llm.token_count.total": 59,
                "llm.cost.total": 0.01,
                "llm.cost.prompt": 0.004,
                "metadata": r#"{"team": "blue"}"#
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "ChatCompletion", "model": "gpt-4o-mini",
            "input": r#"{"messages": []}"#, "output": "hello",
            "parameters": {"temperature": 0}, "cost": 0.01,
            "usage": {
                "input": 18, "input_cached_tokens": 32,
                "output": 5, "output_reasoning_tokens": 4, "total": 59
            },
            "metadata": {
                "team": "blue",
                "attributes": {"input.mime_type": "application/json"},
                "scope": {"name": "openinference.instrumentation.openai", "version": "0.1.30"}
            }
        }),
    );
}

#[test]
fn openinference_messages() {
    check(
        &json!({
            "attributes": {
                "openinference.span.kind": "LLM",
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": "hi",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f"
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "step",
            "input": [{"role": "user", "content": "hi"}],
            "output": [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}]
        }),
    );
}

#[test]
fn claude_code_model_call() {
    check(
        &json!({
            "name": "claude_code.llm_request", "parent": "p",
            "resource": {"service.name": "claude-code", "service.version": "2.1.325"},
            "attributes": {
                "gen_ai.system": "anthropic",
                "gen_ai.request.model": "claude-opus-5",
                "gen_ai.conversation.id": "c1",
                "input_tokens": 4,
                "output_tokens": 250,
                "cache_read_tokens": 18_000,
                "cache_creation_tokens": 900,
                "ttft_ms": 800,
                "speed": "fast"
            }
        }),
        &json!({
            "kind": "GENERATION", "name": "claude_code.llm_request", "parent": "p",
            "model": "claude-opus-5", "parameters": {"speed": "fast"}, "version": "2.1.325",
            "first_token_ms": 800,
            "usage": {
                "input": 4, "input_cached_tokens": 18_000, "input_cache_creation": 900,
                "output": 250, "total": 19_154
            },
            "metadata": {
                "attributes": {"gen_ai.system": "anthropic"},
                "resourceAttributes": {"service.name": "claude-code", "service.version": "2.1.325"}
            }
        }),
    );
}

#[test]
fn a_model_call_of_claude_code_goes_by_its_request() {
    let span = json!({
        "name": "claude_code.llm_request", "attributes": {"request_id": "req_011", "model": "m"}
    });
    let patches = interpret(&span);
    assert_eq!(patches.observation.id.to_string(), "req_011");
    let kept = patches.observation.metadata.get("attributes").unwrap().as_str().to_owned();
    assert!(kept.contains("otel.span.id") && kept.contains("req_011"), "{kept}");
}

#[test]
fn claude_code_interaction() {
    check(
        &json!({
            "name": "claude_code.interaction",
            "attributes": {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.request.model": "claude-opus-5",
                "user_prompt": "fix the test"
            }
        }),
        &json!({
            "kind": "AGENT", "name": "claude_code.interaction", "input": "fix the test",
            "metadata": {"attributes": {
                "gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "claude-opus-5"
            }}
        }),
    );
}
