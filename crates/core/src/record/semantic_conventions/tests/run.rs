use super::*;

#[test]
fn a_root_speaks_for_its_trace() {
    check_trace(
        &json!({
            "name": "answer", "resource": {
                "service.name": "support-bot", "service.version": "1.2",
                "deployment.environment.name": "Prod", "langfuse.release": "r1"
            },
            "attributes": {"user.id": "u1", "session.id": "c1", "tag.tags": ["a", "b"]}
        }),
        &json!({
            "name": "^answer", "root": "^s", "began": 0, "agent": "^support-bot",
            "version": "^1.2", "release": "^r1", "environment": "^prod",
            "user": "^u1", "session": "^c1", "tags": ["a", "b"]
        }),
    );
}

#[test]
fn a_child_span_sets_only_inherited_trace_fields() {
    check_trace(
        &json!({
            "name": "call", "parent": "p",
            "resource": {"service.name": "support-bot", "deployment.environment": "prod"},
            "attributes": {
                "user.id": "u1", "gen_ai.conversation.id": "c1", "gen_ai.agent.name": "helper",
                "langfuse.version": "1", "langfuse.release": "r1"
            }
        }),
        &json!({"environment": "prod", "user": "u1", "session": "c1"}),
    );
}

#[test]
fn what_is_stated_of_a_trace_is_stated_wherever_it_stands() {
    check_trace(
        &json!({
            "name": "call", "parent": "p",
            "attributes": {
                "langfuse.trace.name": "support", "langfuse.user.id": "u1",
                "langfuse.session.id": "c1", "langfuse.trace.tags": ["x"],
                "langfuse.trace.public": true, "langfuse.trace.input": "in",
                "langfuse.trace.output": {"a": 1}, "langfuse.trace.metadata.plan": "pro",
                "langfuse.trace.metadata": r#"{"n": 1}"#
            }
        }),
        &json!({
            "name": "!support", "user": "!u1", "session": "!c1", "tags": ["x"],
            "public": "!true", "input": "!in", "output": r#"!{"a":1}"#,
            "metadata": {"plan": "pro", "n": 1}
        }),
    );
}

#[test]
fn a_text_of_the_trace_has_the_type_that_the_observation_knows() {
    check_trace(
        &json!({
            "name": "call", "parent": "p",
            "attributes": {
                "langfuse.trace.metadata.n": "1", "langfuse.observation.metadata.n": 1,
                "langfuse.trace.metadata.b": "True", "langfuse.observation.metadata.b": true,
                "langfuse.trace.metadata.zip": "10115", "langfuse.observation.metadata.zip": "10115",
                "langfuse.trace.metadata.other": "2", "langfuse.observation.metadata.other": 3,
                "langfuse.observation.metadata.own": 4
            }
        }),
        &json!({"metadata": {"n": 1, "b": true, "zip": "10115", "other": "2"}}),
    );
}

#[test]
fn a_span_may_call_itself_a_root() {
    check_trace(
        &json!({
            "name": "app", "parent": "http", "attributes": {
                "langfuse.internal.as_root": true, "langfuse.observation.metadata.k": "v"
            }
        }),
        &json!({"name": "^app", "root": "^s", "began": 0, "metadata": {"k": "v"}}),
    );
}

#[test]
fn the_first_span_of_an_application_names_the_trace_but_is_not_where_it_began() {
    let span = json!({
        "name": "app", "parent": "http", "attributes": {
            "langfuse.internal.is_app_root": true, "langfuse.observation.metadata.k": "v",
            "langfuse.observation.output": "done"
        }
    });
    check_trace(&span, &json!({"name": "^app", "began": 0}));
    assert!(interpret(&span).observation.app_root);
}

#[test]
fn the_metadata_of_a_root_is_part_of_its_traces() {
    let attributes = json!({
        "langfuse.observation.metadata.experiment_name": "march",
        "langfuse.observation.metadata.tenant": "root's", "langfuse.trace.metadata.tenant": "acme",
    });
    let authorities = |parent: Value| {
        let span = json!({"name": "x", "parent": parent, "attributes": attributes});
        let trace = interpret(&span).trace;
        let authority = |key: &str| {
            let said = trace.metadata.words().find(|(name, _)| *name == key);
            said.map(|(_, said)| (parsed(said.value.as_ref().unwrap()), said.stamp.authority))
        };
        (authority("experiment_name"), authority("tenant"))
    };
    let stated = Some((json!("acme"), Authority::Stated));
    let implied = Some((json!("march"), Authority::Root));
    assert_eq!(authorities(Value::Null), (implied, stated.clone()));
    assert_eq!(authorities(json!("p")), (None, stated));
}

#[test]
fn the_agent_is_named_by_the_span_then_its_metadata_then_the_service() {
    let agent = |attributes: Value| {
        let resource = json!({"service.name": "svc"});
        let patches = interpret(&json!({"resource": resource, "attributes": attributes}));
        let observed = patches.observation.agent.value().cloned();
        (observed, patches.trace.agent.value().cloned())
    };
    let some = |name: &str| Some(name.to_owned());
    let both = json!({"gen_ai.agent.name": "a", "langfuse.observation.metadata.agent": "b"});
    assert_eq!(agent(both), (some("a"), some("a")));
    assert_eq!(agent(json!({"langfuse.observation.metadata.agent": "b"})), (some("b"), some("b")));
    assert_eq!(agent(json!({"langfuse.trace.metadata.agent": "c"})), (None, some("c")));
    assert_eq!(agent(json!({})), (None, some("svc")));
}

#[test]
fn a_placeholder_names_no_agent() {
    check_trace(
        &json!({"name": "x", "resource": {"service.name": "unknown_service:python"}}),
        &json!({"name": "^x", "root": "^s", "began": 0}),
    );
}

#[test]
fn tags_come_as_lists_json_or_with_commas() {
    let joined = |tags: Value| {
        let patches = interpret(&json!({"attributes": {"langfuse.tags": tags}}));
        patches.trace.tags.into_iter().collect::<Vec<_>>().join("+")
    };
    assert_eq!(joined(json!(["b", "a", ""])), "a+b");
    assert_eq!(joined(json!(r#"["a","b"]"#)), "a+b");
    assert_eq!(joined(json!("a, b,")), "a+b");
}

#[test]
fn tags_of_all_kinds_join() {
    check_trace(
        &json!({
            "name": "x",
            "attributes": {
                "langfuse.trace.tags": ["a"], "tag.tags": ["b"],
                "metadata": r#"{"langfuse_tags":["c"],"langfuse_user_id":"u",
                    "langfuse_session_id":"s1"}"#
            }
        }),
        &json!({
            "name": "^x", "root": "^s", "began": 0, "tags": ["a", "b", "c"],
            "user": "^u", "session": "^s1", "metadata": {
                "langfuse_tags": ["c"], "langfuse_user_id": "u", "langfuse_session_id": "s1"
            }
        }),
    );
}

#[test]
fn a_session_that_cannot_be_one_is_kept_as_an_attribute() {
    let long = "x".repeat(900);
    let patches =
        interpret(&json!({"attributes": {"session.id": long, "gen_ai.conversation.id": "c"}}));
    assert_eq!(patches.trace.session.value().unwrap().to_string(), "c");
    let left = patches.observation.metadata.get("attributes").unwrap();
    assert_eq!(parsed(left), json!({"session.id": long}));
}

#[test]
fn a_span_is_stamped_with_its_end() {
    let patches = interpret(&json!({"name": "x"}));
    let stamp = patches.observation.name.stamp().unwrap();
    assert_eq!((stamp.at.nanos(), stamp.act), (START + 2_000_000_000, WriteKind::Create));
}

#[test]
fn traceloop_tells_whom_a_run_is_for_as_associations() {
    check_trace(
        &json!({
            "name": "call", "parent": "p",
            "attributes": {
                "traceloop.association.properties.session_id": "c1",
                "traceloop.association.properties.user_id": "u1",
                "traceloop.association.properties.tags": "beta,alpha"
            }
        }),
        &json!({"user": "u1", "session": "c1", "tags": ["alpha", "beta"]}),
    );
}

#[test]
fn a_sub_agent_of_claude_code_is_in_the_session_of_its_parent() {
    check_trace(
        &json!({
            "name": "claude_code.llm_request", "parent": "p",
            "attributes": {"session.id": "c1", "gen_ai.conversation.id": "a8d379ed337980429"}
        }),
        &json!({"session": "c1"}),
    );
}
