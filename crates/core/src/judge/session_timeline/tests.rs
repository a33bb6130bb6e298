use serde_json::{Value, json};

use super::*;
use crate::record::observation::ObservationKind;
use crate::sessions::{agent, generation, session, step, tool, trace, turn, user};

/// The timeline, one line per event.
fn outline(evidence: &Evidence) -> Vec<String> {
    let line = |event: TimelineEvent| {
        let trace = event.trace;
        match event.act {
            TimelineAction::UserSays(text) => format!("{trace} user: {text}"),
            TimelineAction::AgentSays(text) => format!("{trace} agent: {text}"),
            TimelineAction::Calls(call) => {
                let failed = if call.failed() { " failed:" } else { "" };
                let output = call.output.unwrap_or_else(|| "?".to_owned());
                format!("{trace} {}({}) ->{failed} {output}", call.tool, call.input)
            }
        }
    };
    of(evidence).into_iter().map(line).collect()
}

fn asks(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}}]})
}

fn gives(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

#[test]
fn growing_histories_are_not_repeated() {
    let (q1, a1, q2, a2) = (user("Where is it?"), agent("On its way."), user("yes"), agent("Ok."));
    let evidence = session(vec![
        trace(vec![generation(json!([q1]), a1.clone())]),
        trace(vec![generation(json!([q1, a1, q2]), a2.clone())]),
        trace(vec![generation(json!([q1, a1, q2, a2, q2]), agent("Really?"))]),
    ]);
    assert_eq!(
        outline(&evidence),
        [
            "1 user: Where is it?",
            "1 agent: On its way.",
            "2 user: yes",
            "2 agent: Ok.",
            "3 user: yes",
            "3 agent: Really?",
        ]
    );
}

#[test]
fn calls_get_their_results_from_the_next_input() {
    let call = asks("c1", "look", &json!({"id": 7}));
    let history = json!([user("Find 7"), call, gives("c1", "Error: no 7")]);
    let evidence = session(vec![trace(vec![
        generation(json!([user("Find 7")]), call.clone()),
        generation(history, agent("There is none.")),
    ])]);
    let event = ["1 user: Find 7", r#"1 look({"id":7}) -> failed: Error: no 7"#];
    assert_eq!(outline(&evidence), [event[0], event[1], "1 agent: There is none."]);
}

#[test]
fn calls_that_share_an_id_keep_their_own_results() {
    let (one, other) =
        (asks("c1", "look", &json!({"id": 7})), asks("c1", "book", &json!({"id": 7})));
    let history = [user("Book 7"), one.clone(), gives("c1", "Error: no 7"), other.clone()];
    let ended = json!([history[0], history[1], history[2], history[3], gives("c1", "booked")]);
    let evidence = session(vec![trace(vec![
        generation(json!([user("Book 7")]), one),
        generation(json!(history[..3]), other),
        generation(ended, agent("Booked.")),
    ])]);
    assert_eq!(
        outline(&evidence),
        [
            "1 user: Book 7",
            r#"1 look({"id":7}) -> failed: Error: no 7"#,
            r#"1 book({"id":7}) -> booked"#,
            "1 agent: Booked.",
        ]
    );
}

#[test]
fn a_call_recorded_as_an_observation_is_listed_once() {
    let call = asks("c1", "look", &json!({"id": 7}));
    let step = tool("execute_tool look", json!({"id": 7}), json!("found"));
    let history = json!([user("Find 7"), call, gives("c1", "found")]);
    let evidence = session(vec![turn(
        json!("Find 7"),
        vec![
            generation(json!([user("Find 7")]), call.clone()),
            step,
            generation(history, agent("Yes.")),
        ],
        json!("Yes."),
    )]);
    assert_eq!(
        outline(&evidence),
        ["1 user: Find 7", r#"1 look({"id":7}) -> found"#, "1 agent: Yes."]
    );
}

#[test]
fn a_call_recorded_as_an_observation_without_input_is_listed_once_with_its_input() {
    let calls = [7, 8].map(|id| asks(&format!("c{id}"), "cancel", &json!({"id": id})));
    let step = || tool("cancel", Value::Null, json!("cancelled"));
    let evidence = session(vec![trace(vec![
        generation(json!([user("Cancel 7 and 8")]), calls[0].clone()),
        step(),
        generation(json!([user("Cancel 7 and 8"), calls[0]]), calls[1].clone()),
        step(),
    ])]);
    assert_eq!(
        outline(&evidence),
        [
            "1 user: Cancel 7 and 8",
            r#"1 cancel({"id":7}) -> cancelled"#,
            r#"1 cancel({"id":8}) -> cancelled"#,
        ]
    );
}

#[test]
fn claude_code_reports_each_turn_in_several_spans() {
    let use_tool = json!({"role": "assistant", "content": [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}]});
    let result = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.rs"}]}]);
    let done = json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}]});
    let evidence = session(vec![
        turn(
            json!("Look around"),
            vec![
                step(ObservationKind::Agent).called("root"),
                generation(json!([user("Look around")]), use_tool).within("root"),
                tool("Bash", json!({"command": "ls"}), json!("a.rs"))
                    .called("toolu_1")
                    .within("root"),
                generation(result, done.clone()).within("root"),
            ],
            json!("Done."),
        ),
        turn(
            json!("Look around"),
            vec![generation(
                json!([user("Look around<system-reminder>x</system-reminder>")]),
                done,
            )],
            json!("Done."),
        ),
    ]);
    assert_eq!(
        outline(&evidence),
        [
            "1 user: Look around",
            "1 agent: Let me look.",
            r#"1 Bash({"command":"ls"}) -> a.rs"#,
            "1 agent: Done.",
            "2 user: Look around",
            "2 agent: Done.",
        ]
    );
}

#[test]
fn plain_questions_and_answers() {
    let evidence = session(vec![
        turn(json!("Hi"), vec![], json!("Hello!")),
        turn(json!({"question": "Where?", "k": 3}), vec![], json!({"answer": "Here."})),
        turn(
            json!("What is a plover?"),
            vec![generation(
                json!([user("Context: …\nQuestion: What is a plover?")]),
                agent("A bird."),
            )],
            json!("A bird."),
        ),
    ]);
    assert_eq!(
        outline(&evidence),
        [
            "1 user: Hi",
            "1 agent: Hello!",
            "2 user: Where?",
            "2 agent: Here.",
            "3 user: What is a plover?",
            "3 agent: A bird.",
        ]
    );
}

#[test]
fn messages_to_sub_agents_are_separate() {
    let main = json!([user("Plan a trip")]);
    let errand = json!([user("Find hotels")]);
    let evidence = session(vec![trace(vec![
        step(ObservationKind::Agent).called("main"),
        generation(main, agent("Asking a scout.")).within("main"),
        step(ObservationKind::Agent).called("scout").within("main"),
        tool("search", json!({"q": "hotels"}), json!("3")).within("scout"),
        generation(errand, agent("Three hotels.")).within("scout"),
        generation(json!([user("Plan a trip"), agent("Asking a scout.")]), agent("Booked."))
            .within("main"),
    ])]);
    assert_eq!(
        outline(&evidence),
        [
            "1 user: Plan a trip",
            "1 agent: Asking a scout.",
            r#"1 search({"q":"hotels"}) -> 3"#,
            "1 agent: Booked.",
        ]
    );
}

#[test]
fn steps_that_failed_and_notes_of_harnesses() {
    let evidence = session(vec![trace(vec![
        tool("Bash", json!({"command": "make"}), json!("boom")).failed(),
        generation(json!([user("<command-name>/clear</command-name>")]), agent("Cleared.")),
    ])]);
    assert_eq!(
        outline(&evidence),
        [r#"1 Bash({"command":"make"}) -> failed: boom"#, "1 agent: Cleared."]
    );
}

#[test]
fn a_tool_may_be_named_by_the_convention_alone() {
    let call = asks("c9", "look", &json!({"id": 7}));
    let span = tool("claude_code.tool", json!({}), json!("found"))
        .with("tool_name", "look")
        .with("gen_ai.tool.call.id", "c9");
    let evidence = session(vec![trace(vec![generation(json!([user("Find 7")]), call), span])]);
    assert_eq!(outline(&evidence), ["1 user: Find 7", "1 look({}) -> found"]);
}
