use super::*;

/// Checks the usage of a model call with these attributes.
#[track_caller]
fn check(attributes: &Value, expected: &Value) {
    let mut span = json!({"name": "call", "attributes": {"gen_ai.operation.name": "chat"}});
    span["attributes"].as_object_mut().unwrap().extend(attributes.as_object().unwrap().clone());
    let usage = interpret(&span).observation.usage;
    let shown = usage.value().map_or(Value::Null, |usage| json!(usage.kinds()));
    assert_eq!(&shown, expected);
}

#[test]
fn cached_tokens_within_the_input_are_taken_out() {
    for read in [
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
        "ai.usage.cachedInputTokens",
    ] {
        check(
            &json!({"gen_ai.usage.input_tokens": 100, read: 80}),
            &json!({"input": 20, "input_cached_tokens": 80, "total": 100}),
        );
    }
    for written in [
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
        "llm.token_count.prompt_details.cache_write",
    ] {
        check(
            &json!({"gen_ai.usage.input_tokens": 100, written: 30}),
            &json!({"input": 70, "input_cache_creation": 30, "total": 100}),
        );
    }
}

#[test]
fn the_same_count_under_two_names_counts_once() {
    check(
        &json!({
            "gen_ai.usage.input_tokens": 100, "gen_ai.usage.prompt_tokens": 100,
            "llm.token_count.prompt": 100, "gen_ai.usage.cache_read.input_tokens": 80,
            "gen_ai.usage.cache_read_input_tokens": 80, "gen_ai.usage.output_tokens": 5
        }),
        &json!({"input": 20, "input_cached_tokens": 80, "output": 5, "total": 105}),
    );
}

#[test]
fn anthropic_behind_an_instrumentation_counts_within() {
    check(
        &json!({
            "gen_ai.system": "anthropic", "gen_ai.usage.input_tokens": 1000,
            "gen_ai.usage.cache_read_input_tokens": 900, "gen_ai.usage.output_tokens": 10
        }),
        &json!({"input": 100, "input_cached_tokens": 900, "output": 10, "total": 1010}),
    );
}

#[test]
fn more_cached_tokens_than_input_are_counted_apart() {
    check(
        &json!({
            "gen_ai.system": "anthropic", "gen_ai.usage.input_tokens": 4,
            "gen_ai.usage.cache_read_input_tokens": 900, "gen_ai.usage.output_tokens": 10
        }),
        &json!({"input": 4, "input_cached_tokens": 900, "output": 10, "total": 914}),
    );
}

#[test]
fn a_total_that_holds_both_tells_that_they_are_apart() {
    check(
        &json!({
            "gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read_input_tokens": 60,
            "gen_ai.usage.output_tokens": 10, "gen_ai.usage.total_tokens": 170
        }),
        &json!({"input": 100, "input_cached_tokens": 60, "output": 10, "total": 170}),
    );
}

#[test]
fn a_total_that_leaves_cached_tokens_out_is_put_right() {
    check(
        &json!({
            "gen_ai.usage.input_tokens": 4, "gen_ai.usage.cache_read_input_tokens": 900,
            "gen_ai.usage.output_tokens": 10, "gen_ai.usage.total_tokens": 14
        }),
        &json!({"input": 4, "input_cached_tokens": 900, "output": 10, "total": 914}),
    );
}

#[test]
fn vercel_with_anthropic_counts_apart_until_it_says_how_many_were_fresh() {
    let mut attributes = json!({
        "ai.model.provider": "anthropic.messages", "ai.usage.inputTokens": 500,
        "ai.usage.cachedInputTokens": 300, "ai.usage.outputTokens": 10,
        "ai.response.providerMetadata": r#"{"anthropic":{"cacheCreationInputTokens":50}}"#
    });
    check(
        &attributes,
        &json!({
            "input": 500, "input_cached_tokens": 300, "input_cache_creation": 50, "output": 10,
            "total": 860
        }),
    );
    attributes["ai.usage.inputTokenDetails.noCacheTokens"] = json!(150);
    check(
        &attributes,
        &json!({
            "input": 150, "input_cached_tokens": 300, "input_cache_creation": 50, "output": 10,
            "total": 510
        }),
    );
}

#[test]
fn vercel_provider_metadata_is_read() {
    check(
        &json!({
            "ai.usage.promptTokens": 100, "ai.usage.completionTokens": 20,
            "ai.response.providerMetadata":
                r#"{"openai":{"cachedPromptTokens":80,"reasoningTokens":15}}"#
        }),
        &json!({
            "input": 20, "input_cached_tokens": 80, "output": 5, "output_reasoning_tokens": 15,
            "total": 120
        }),
    );
    check(
        &json!({
            "ai.model.provider": "amazon-bedrock", "ai.usage.inputTokens": 10,
            "ai.response.providerMetadata": r#"{"bedrock":{"usage":{"cacheReadInputTokens":5,
                "cacheWriteInputTokens":7}}}"#
        }),
        &json!({"input": 10, "input_cached_tokens": 5, "input_cache_creation": 7, "total": 22}),
    );
}

#[test]
fn reasoning_within_the_output_is_taken_out_and_apart_stays_apart() {
    check(
        &json!({"gen_ai.usage.output_tokens": 20, "gen_ai.usage.reasoning_tokens": 15}),
        &json!({"output": 5, "output_reasoning_tokens": 15, "total": 20}),
    );
    check(
        &json!({"gen_ai.usage.output_tokens": 20, "gen_ai.usage.reasoning_tokens": 45}),
        &json!({"output": 20, "output_reasoning_tokens": 45, "total": 65}),
    );
}

#[test]
fn audio_never_exceeds_its_side() {
    check(
        &json!({
            "llm.token_count.prompt": 100, "llm.token_count.prompt_details.audio": 100,
            "llm.token_count.prompt_details.cache_read": 60, "llm.token_count.completion": 10,
            "llm.token_count.completion_details.audio": 4
        }),
        &json!({
            "input": 0, "input_audio_tokens": 40, "input_cached_tokens": 60,
            "output": 6, "output_audio_tokens": 4, "total": 110
        }),
    );
}

#[test]
fn claude_code_counts_apart_whatever_its_spans_are_called() {
    let counts = json!({"input_tokens": 500, "cache_read_tokens": 300, "output_tokens": 1});
    let usage = |service: &str, name: &str| {
        let resource = json!({"service.name": service});
        let span = json!({"name": name, "resource": resource, "attributes": counts});
        interpret(&span).observation.usage.value().map(crate::record::usage::Usage::total)
    };
    assert_eq!(usage("claude-code", "llm_request"), Some(801));
    assert_eq!(usage("mine", "claude_code.llm_request"), Some(801));
    assert_eq!(usage("mine", "llm_request"), None, "these names may mean anything");
}

#[test]
fn counts_come_in_any_type() {
    check(
        &json!({"gen_ai.usage.input_tokens": "12", "gen_ai.usage.output_tokens": 3.0}),
        &json!({"input": 12, "output": 3, "total": 15}),
    );
    check(
        &json!({"gen_ai.usage.input_tokens": -1, "gen_ai.usage.output_tokens": "x"}),
        &Value::Null,
    );
    check(&json!({"gen_ai.usage.total_tokens": 9}), &json!({"total": 9}));
    check(&json!({"gen_ai.usage.input_tokens": 0}), &json!({"input": 0, "total": 0}));
}

#[test]
fn counts_without_end_do_not_overflow() {
    let huge = i64::MAX;
    check(
        &json!({
            "gen_ai.usage.input_tokens": huge, "gen_ai.usage.output_tokens": huge,
            "gen_ai.usage.cache_read_input_tokens": huge,
            "gen_ai.usage.cache_creation_input_tokens": huge
        }),
        &json!({
            "input": huge, "output": huge, "input_cached_tokens": huge,
            "input_cache_creation": huge, "total": u64::MAX
        }),
    );
}

#[test]
fn stated_usage_wins_over_counts() {
    check(
        &json!({
            "langfuse.observation.usage_details": r#"{"input": 3, "my_units": 2}"#,
            "gen_ai.usage.input_tokens": 100
        }),
        &json!({"input": 3, "my_units": 2, "total": 5}),
    );
}

#[test]
fn agents_and_outer_calls_leave_the_counting_to_their_model_calls() {
    let counts = json!({"gen_ai.usage.input_tokens": 100, "ai.usage.inputTokens": 100});
    for (name, value) in [
        ("gen_ai.operation.name", "invoke_agent"),
        ("openinference.span.kind", "AGENT"),
        ("langfuse.observation.type", "agent"),
    ] {
        let mut attributes = counts.clone();
        attributes[name] = value.into();
        check(&attributes, &Value::Null);
    }
    let mut outer = json!({"name": "call", "attributes": counts});
    outer["attributes"]["ai.operationId"] = "ai.generateText".into();
    outer["attributes"]["ai.model.id"] = "gpt-4o".into();
    let observation = interpret(&outer).observation;
    assert_eq!((observation.usage.value(), observation.model.value()), (None, None));
}

#[test]
fn an_agent_may_state_its_own_usage() {
    check(
        &json!({
            "langfuse.observation.type": "agent",
            "langfuse.observation.usage_details": r#"{"input": 3}"#
        }),
        &json!({"input": 3, "total": 3}),
    );
}
