use super::*;

#[test]
fn overridden_attributes_are_stored() {
    check(
        &json!({
            "attributes": {
                "langfuse.observation.input": "a", "input.value": "b",
                "gen_ai.prompt.0.content": "c"
            },
            "events": [{"name": "gen_ai.user.message", "attributes": {"content": "d"}}]
        }),
        &json!({
            "kind": "SPAN", "name": "step", "input": "a",
            "metadata": {
                "attributes": {"input.value": "b", "gen_ai.prompt.0.content": "c"},
                "events": [{
                    "name": "gen_ai.user.message", "time": "2023-11-14T22:13:20.000Z",
                    "attributes": {"content": "d"}
                }]
            }
        }),
    );
}

#[test]
fn equal_attributes_are_not_stored_twice() {
    check(
        &json!({"attributes": {"input.value": "a", "input": "a", "user.id": "u"}}),
        &json!({"kind": "SPAN", "name": "step", "input": "a", "metadata": {}}),
    );
}

#[test]
fn unknown_attributes_keep_their_types() {
    check(
        &json!({
            "attributes": {
                "t": "x", "i": 3, "d": 1.5, "b": true, "n": null, "l": [1, "a"], "m": {"k": [null]}
            },
            "links": [{"span": "other"}]
        }),
        &json!({
            "kind": "SPAN", "name": "step",
            "metadata": {
                "attributes": {
                    "t": "x", "i": 3, "d": 1.5, "b": true, "n": null, "l": [1, "a"],
                    "m": {"k": [null]}
                },
                "links": [{"traceId": "linked", "spanId": "other", "attributes": {}}]
            }
        }),
    );
}

#[test]
fn numbers_that_json_lacks_and_bytes_become_text() {
    let attributes = Attributes(vec![
        ("nan".to_owned(), crate::record::span::AttributeValue::Double(f64::NAN)),
        ("bytes".to_owned(), crate::record::span::AttributeValue::Bytes(vec![1, 2, 3])),
    ]);
    let mut span = parse(&json!({}));
    span.attributes = attributes;
    let patches = Interpreter::new(Origin::default(), Sender::default()).interpret(span);
    let left = patches.observation.metadata.get("attributes").unwrap();
    assert_eq!(parsed(left), json!({"nan": "NaN", "bytes": "AQID"}));
}

#[test]
fn the_clients_keys_are_not_overwritten_by_ours() {
    check(
        &json!({
            "scope": "lib",
            "attributes": {
                "langfuse.observation.metadata.attributes": "mine",
                "langfuse.observation.metadata.scope": "mine", "x": 1
            }
        }),
        &json!({
            "kind": "SPAN", "name": "step",
            "metadata": {
                "attributes": "mine", "scope": "mine",
                "_attributes": {"x": 1}, "_scope": {"name": "lib"}
            }
        }),
    );
}

#[test]
fn metadata_is_read_as_its_sdk_wrote_it() {
    let value = |sdk: &str, version: &str, text: &str| {
        let patches = interpret(&json!({
            "sdk": sdk, "sdk_version": version,
            "attributes": {"langfuse.observation.metadata.k": text}
        }));
        parsed(patches.observation.metadata.get("k").unwrap())
    };
    assert_eq!(value("python", "5.0.4", "\"1\""), json!("1"));
    assert_eq!(value("python", "5.0.4", "1"), json!(1));
    assert_eq!(value("python", "5.0.4", "not json"), json!("not json"));
    assert_eq!(value("python", "4.18.0", "1"), json!("1"));
    assert_eq!(value("python", "4.18.0", "{\"a\":1}"), json!({"a": 1}));
    assert_eq!(value("python", "4.18.0", "{a}"), json!("{a}"));
    assert_eq!(value("python", "4.18.0", "true"), json!("true"));
    assert_eq!(value("python", "4.18.0", "0.5"), json!(0.5));
    assert_eq!(value("javascript", "5.11.1", "true"), json!(true));
    assert_eq!(value("javascript", "5.11.1", "-1.5"), json!(-1.5));
    assert_eq!(value("javascript", "5.11.1", "007"), json!("007"));
    assert_eq!(value("javascript", "6.0.0", "true"), json!(true));
    assert_eq!(value("javascript", "", "true"), json!("true"));
    assert_eq!(value("go", "9.0.0", "1"), json!("1"));
}

#[test]
fn only_what_an_sdk_wrote_itself_is_read_as_it_writes() {
    let patches = interpret(&json!({
        "sdk": "javascript", "sdk_version": "5.11.1",
        "attributes": {
            "ai.telemetry.metadata.zip": "10115", "langfuse.observation.metadata.n": "10115",
            "langfuse.trace.metadata.zip": "10115"
        }
    }));
    let value = |metadata: &Metadata, key: &str| parsed(metadata.get(key).unwrap());
    assert_eq!(value(&patches.observation.metadata, "zip"), json!("10115"));
    assert_eq!(value(&patches.observation.metadata, "n"), json!(10_115));
    assert_eq!(value(&patches.trace.metadata, "zip"), json!("10115"), "only texts propagate");
}

#[test]
fn behind_a_collector_the_scope_tells_the_sdk() {
    check(
        &json!({
            "scope": "langfuse-sdk", "scope_version": "5.0.4",
            "resource": {"telemetry.sdk.language": "python"},
            "attributes": {"langfuse.observation.metadata.k": "\"x\""}
        }),
        &json!({
            "kind": "SPAN", "name": "step",
            "metadata": {
                "k": "x",
                "resourceAttributes": {"telemetry.sdk.language": "python"},
                "scope": {"name": "langfuse-sdk", "version": "5.0.4"}
            }
        }),
    );
}

#[test]
fn the_first_word_on_a_metadata_key_counts() {
    check(
        &json!({
            "attributes": {
                "ai.telemetry.metadata.k": "second", "langfuse.observation.metadata.k": "first",
                "langfuse.observation.metadata": "no object"
            }
        }),
        &json!({
            "kind": "SPAN", "name": "step",
            "metadata": {
                "k": "first", "metadata": "no object",
                "attributes": {"ai.telemetry.metadata.k": "second"}
            }
        }),
    );
}

#[test]
fn the_span_beats_the_resource() {
    check(
        &json!({
            "resource": {"langfuse.environment": "res", "langfuse.version": "1"},
            "attributes": {"deployment.environment": "span", "langfuse.version": "2"}
        }),
        &json!({
            "kind": "SPAN", "name": "step", "environment": "span", "version": "2"
        }),
    );
}

#[track_caller]
fn check_kind(name: &str, attributes: &Value, expected: &str) {
    let patches = interpret(&json!({"name": name, "attributes": attributes}));
    assert_eq!(patches.observation.kind.value().unwrap().as_str(), expected);
}

#[test]
fn types_are_listed_in_order() {
    let both = json!({"langfuse.observation.type": "tool", "openinference.span.kind": "LLM"});
    check_kind("x", &both, "TOOL");
    let unknown = json!({"langfuse.observation.type": "??", "openinference.span.kind": "LLM"});
    check_kind("x", &unknown, "GENERATION");
    let both = json!({"openinference.span.kind": "CHAIN", "gen_ai.operation.name": "chat"});
    check_kind("x", &both, "CHAIN");
    check_kind("x", &json!({"gen_ai.operation.name": "embeddings"}), "EMBEDDING");
    check_kind("x", &json!({"gen_ai.tool.call.id": "1", "model": "m"}), "TOOL");
    check_kind("claude_code.tool.execution", &json!({"gen_ai.tool.call.id": "1"}), "SPAN");
    check_kind("function_tool", &json!({}), "TOOL");
    check_kind("x", &json!({"gen_ai.request.model": "m"}), "GENERATION");
    check_kind("x", &json!({"temperature": 1}), "SPAN");
}

#[test]
fn older_python_sdks_call_model_calls_spans() {
    let kind = |version: &str| {
        let patches = interpret(&json!({
            "sdk": "python", "sdk_version": version,
            "attributes": {
                "langfuse.observation.type": "span", "langfuse.observation.model.name": "gpt-4o"
            }
        }));
        patches.observation.kind.value().unwrap().as_str()
    };
    assert_eq!(kind("3.3.1"), "GENERATION");
    assert_eq!(kind("3.4.0"), "SPAN");
}

#[test]
fn levels_have_many_names() {
    let level = |sent: &str| {
        let patches = interpret(&json!({"attributes": {"langfuse.observation.level": sent}}));
        patches.observation.level.value().map(|level| level.as_str())
    };
    assert_eq!(level("warn"), Some("WARNING"));
    assert_eq!(level("Info"), Some("DEFAULT"));
    assert_eq!(level("fatal"), Some("ERROR"));
    assert_eq!(level("debug"), Some("DEBUG"));
    assert_eq!(level("loud"), None);
}

#[test]
fn a_failed_span_is_an_error_and_says_why() {
    check(
        &json!({"error": "boom"}),
        &json!({"kind": "SPAN", "name": "step", "level": "ERROR", "status_message": "boom"}),
    );
    let exception = json!({"name": "exception", "attributes": {"exception.message": "no route"}});
    check(
        &json!({"error": true, "events": [exception]}),
        &json!({"kind": "SPAN", "name": "step", "level": "ERROR", "status_message": "no route"}),
    );
    check(
        &json!({"error": "boom", "attributes": {"langfuse.observation.level": "WARNING"}}),
        &json!({"kind": "SPAN", "name": "step", "level": "WARNING", "status_message": "boom"}),
    );
}

#[test]
fn prompts_belong_to_model_calls() {
    let prompt = |kind: &str, version: Value| {
        let patches = interpret(&json!({"attributes": {
            "langfuse.observation.type": kind, "langfuse.observation.prompt.name": "p",
            "langfuse.observation.prompt.version": version
        }}));
        let left = patches.observation.metadata.get("attributes").is_some();
        (patches.observation.prompt.value().map(|link| link.version), left)
    };
    assert_eq!(prompt("generation", json!(2)), (Some(2), false));
    assert_eq!(prompt("generation", json!("2")), (Some(2), false));
    assert_eq!(prompt("generation", json!(-2)), (None, true));
    assert_eq!(prompt("span", json!(2)), (None, true));
}
