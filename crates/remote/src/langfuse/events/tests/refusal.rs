use super::{AT, RULES, event, interpret, public_rules, raw, refused, trace};
use crate::langfuse::events::{EventError, EventOutcome, EventPatches};

#[test]
fn ids_that_make_no_sense_are_refused() {
    let long_id = format!(r#"{{"id":"{}"}}"#, "x".repeat(801));
    refused("trace-create", &long_id, "body.id: an id has at most 800 bytes, this one has 801");
    for (body, expected) in [
        (r#"{"id":""}"#, "body.id: an id must not be empty"),
        (r#"{"id":"a\rb"}"#, "body.id: an id must not contain a carriage return"),
        (r#"{"sessionId":"\r"}"#, "body.sessionId: an id must not contain a carriage return"),
    ] {
        refused("trace-create", body, expected);
    }
}

#[test]
fn fields_of_traces_that_make_no_sense_are_named() {
    let long_name = format!(r#"{{"name":"{}"}}"#, "é".repeat(1001));
    refused("trace-create", &long_name, "body.name: at most 1000 characters, this has 1001");
    for (body, expected) in [
        ("[]", "body: not a JSON object"),
        ("null", "body: not a JSON object"),
        (r#"{"name":5}"#, "body.name: invalid type: integer `5`, expected a string"),
        (r#"{"tags":"a"}"#, "body.tags: invalid type: string \"a\", expected a sequence"),
        (r#"{"tags":["a",{}]}"#, "body.tags[1]: invalid type: map, expected a string"),
        (r#"{"public":"yes"}"#, "body.public: invalid type: string \"yes\", expected a boolean"),
    ] {
        refused("trace-create", body, expected);
    }
}

#[test]
fn fields_of_observations_that_make_no_sense_are_named() {
    for (body, expected) in [
        (
            r#"{"type":"SPAN","startTime":"yesterday"}"#,
            "body.startTime: not an ISO 8601 date and time with an offset, such as \
             2026-01-31T12:00:00Z: string \"yesterday\"",
        ),
        (
            r#"{"type":"SPAN","endTime":"9999-01-01T00:00:00Z"}"#,
            "body.endTime: outside the years 1678 to 2261: string \"9999-01-01T00:00:00Z\"",
        ),
        (
            r#"{"type":"SPAN","level":"LOUD"}"#,
            "body.level: invalid value: string \"LOUD\", expected level (DEBUG, DEFAULT, WARNING, \
             ERROR)",
        ),
        (r#"{"type":"SPAN","modelParameters":[1]}"#, "body.modelParameters: not a JSON object"),
        (r#"{"type":"SPAN","usage":3}"#, "body.usage: not a JSON object"),
        (
            r#"{"type":"SPAN","promptVersion":-1}"#,
            "body.promptVersion: invalid value: integer `-1`, expected u32",
        ),
        (
            "{}",
            "body.type: an observation-create event must say what type of observation it creates",
        ),
    ] {
        refused("observation-create", body, expected);
    }
}

#[test]
fn unknown_events_learn_which_are_known() {
    let said = interpret("thought-create", "{}");
    let refusal = said.outcomes[0].result.clone().unwrap_err().to_string();
    assert!(refusal.starts_with(
        "type: invalid value: string \"thought-create\", expected event type (trace-create, \
         score-create, event-create, span-create,"
    ));
    assert!(refusal.ends_with("observation-update, sdk-log)"), "{refusal}");
}

#[test]
fn envelopes_that_make_no_sense_are_refused_one_by_one() {
    let batch = [
        raw("7"),
        raw(r#"{"id":"a","type":"trace-create","body":{}}"#),
        raw(&format!(r#"{{"timestamp":"{AT}","type":"trace-create","body":{{}}}}"#)),
        raw(&format!(r#"{{"id":"b","timestamp":"{AT}","type":"trace-create"}}"#)),
        raw(&format!(r#"{{"id":"","timestamp":"{AT}","type":"trace-create","body":{{}}}}"#)),
        event("sdk-log", r#"{"log":"hello"}"#),
        event("trace-create", r#"{"id":"t"}"#),
    ];
    let said = EventPatches::from_batch(&batch, &RULES);
    let tell = |outcome: &EventOutcome| match &outcome.result {
        Ok(id) => format!("{} recorded {id}", outcome.event),
        Err(refusal) => format!("{} {refusal}", outcome.event),
    };
    let outcomes: Vec<String> = said.outcomes.iter().map(tell).collect();
    let expected = [
        "batch[0] not a JSON object",
        "a missing field `timestamp`",
        "batch[2] missing field `id`",
        "b missing field `body`",
        " id: an id must not be empty",
        "e1 recorded e1",
        "e1 recorded t",
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(said.traces.len(), 1);
}

#[test]
fn a_public_key_alone_sends_scores_and_nothing_else() {
    let rules = public_rules();
    let thumbs = |source: &str| {
        let body = format!(r#"{{"traceId":"t","name":"n","value":1{source}}}"#);
        event("score-create", &body)
    };
    let batch = [
        event("trace-create", "{}"),
        thumbs(""),
        thumbs(r#","source":"EVAL""#),
        event("sdk-log", "{}"),
    ];
    let said = EventPatches::from_batch(&batch, &rules);
    assert_eq!(said.outcomes[0].result, Err(EventError::NotAllowed));
    assert!(said.outcomes[1].result.is_ok());
    let forged = said.outcomes[2].result.clone().unwrap_err().to_string();
    assert_eq!(forged, "body.source: a public key alone may only send scores whose source is API");
    assert_eq!(said.outcomes[3].result, Err(EventError::NotAllowed));
}

#[test]
fn deep_payloads_are_refused_and_long_texts_elided() {
    let nested = |depth: usize| {
        format!(r#"{{"id":"t","input":{}{}}}"#, "[".repeat(depth), "]".repeat(depth))
    };
    assert!(trace(&nested(64)).input.value().is_some());
    refused("trace-create", &nested(65), "body: nested 65 deep, at most 64 are taken");
    let long = "x".repeat(200);
    let patch = trace(&format!(
        r#"{{"id":"t","release":"{long}","input":{{"a":1.0,"b":"{long}"}},"tags":["{long}"]}}"#
    ));
    assert!(patch.release.value().unwrap().contains("of 200 bytes left out"));
    assert!(patch.tags.first().unwrap().contains("of 200 bytes left out"));
    let input = patch.input.value().unwrap().as_str();
    assert!(input.starts_with(r#"{"a":1.0,"b":"xxx"#) && input.contains("of 200 bytes left out"));
}
