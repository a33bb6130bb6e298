use ratchet_core::id::ScoreId;
use ratchet_core::record::score::{ScoreSource, ScoreTarget, ScoreValue};
use ratchet_core::time::Timestamp;

use super::{AT, RULES, raw, refused, score};
use crate::langfuse::events::EventPatches;

#[test]
fn scores_of_every_type_are_read() {
    let value = |fields: &str| {
        score(&format!(r#"{{"traceId":"t","name":"n",{fields}}}"#)).value.into_value().unwrap()
    };
    let label = |label: &str| ScoreValue::Categorical { label: label.to_owned(), number: None };
    for (fields, expected) in [
        (r#""value":0.5"#, ScoreValue::Numeric(0.5)),
        (r#""value":-3"#, ScoreValue::Numeric(-3.0)),
        (r#""value":"good""#, label("good")),
        (r#""value":true"#, ScoreValue::Boolean(true)),
        (r#""value":1,"dataType":"BOOLEAN""#, ScoreValue::Boolean(true)),
        (r#""value":0.0,"dataType":"BOOLEAN""#, ScoreValue::Boolean(false)),
        (r#""value":"x","dataType":"CATEGORICAL""#, label("x")),
        (r#""value":"x","dataType":"TEXT""#, ScoreValue::Text("x".to_owned())),
        (r#""value":"","dataType":"CORRECTION""#, ScoreValue::Correction(String::new())),
        (r#""value":1,"dataType":null"#, ScoreValue::Numeric(1.0)),
    ] {
        assert_eq!(value(fields), expected, "{fields}");
    }
}

#[test]
fn scores_find_their_target() {
    let target = |ids: &str| {
        score(&format!(r#"{{"name":"n","value":1,{ids}}}"#)).target.into_value().unwrap()
    };
    let id = |target: ScoreTarget| match target {
        ScoreTarget::Trace(trace) => format!("trace {trace}"),
        ScoreTarget::Observation(trace, observation) => format!("{observation} of {trace}"),
        ScoreTarget::Session(session) => format!("session {session}"),
        ScoreTarget::DatasetRun(run) => format!("run {run}"),
    };
    assert_eq!(id(target(r#""traceId":"t","sessionId":null"#)), "trace t");
    assert_eq!(id(target(r#""traceId":"t","observationId":"o""#)), "o of t");
    assert_eq!(id(target(r#""sessionId":"s","traceId":"""#)), "session s");
    assert_eq!(id(target(r#""datasetRunId":"r""#)), "run r");
}

#[test]
fn a_score_keeps_the_rest() {
    let patch = score(
        r#"{"id":"s","traceId":"t","name":"n","value":1,"comment":"why","configId":"c",
            "queueId":"q","source":"ANNOTATION","environment":"prod","metadata":{"k":1},
            "timestamp":"2026-11-15T09:00:00Z"}"#,
    );
    assert_eq!(patch.id.to_string(), "s");
    assert_eq!(patch.comment.value().unwrap(), "why");
    assert_eq!(patch.config.value().unwrap(), "c");
    assert_eq!(patch.name.value().unwrap(), "stars", "the config gives the name");
    assert_eq!(patch.queue.value().unwrap(), "q");
    assert_eq!(patch.source.value(), Some(&ScoreSource::Annotation));
    assert_eq!(patch.environment.value().unwrap().as_str(), "prod");
    assert_eq!(patch.metadata.values().count(), 1);
    let correction =
        r#"{"traceId":"t","name":"any","value":"x","dataType":"CORRECTION","source":"ANNOTATION"}"#;
    assert_eq!(score(correction).name.value().unwrap(), "output");
}

#[test]
fn values_that_do_not_fit_their_type_are_refused() {
    let long =
        format!(r#"{{"traceId":"t","name":"n","value":"{}","dataType":"TEXT"}}"#, "x".repeat(501));
    refused("score-create", &long, "body.value: a TEXT score needs a text of 1 to 500 characters");
    for (fields, expected) in [
        (r#""traceId":"t","name":"n""#, "body.value: required"),
        (r#""traceId":"t","name":"n","value":null"#, "body.value: required"),
        (r#""traceId":"t","name":"n","value":1e999"#, "body.value: number out of range"),
        (
            r#""traceId":"t","name":"n","value":{}"#,
            "body.value: invalid type: map, expected a number, a text or a boolean",
        ),
        (
            r#""traceId":"t","name":"n","value":"1","dataType":"NUMERIC""#,
            "body.value: a NUMERIC score needs a finite number",
        ),
        (
            r#""traceId":"t","name":"n","value":0.5,"dataType":"BOOLEAN""#,
            "body.value: a BOOLEAN score needs 0 or 1",
        ),
        (
            r#""traceId":"t","name":"n","value":"True","dataType":"BOOLEAN""#,
            "body.value: a BOOLEAN score needs 0 or 1",
        ),
        (
            r#""traceId":"t","name":"n","value":1,"dataType":"CATEGORICAL""#,
            "body.value: a CATEGORICAL score needs a text that is not empty",
        ),
        (
            r#""traceId":"t","name":"n","value":"","dataType":"TEXT""#,
            "body.value: a TEXT score needs a text of 1 to 500 characters",
        ),
        (
            r#""traceId":"t","name":"n","value":1,"dataType":"CORRECTION""#,
            "body.value: a CORRECTION score needs a text",
        ),
    ] {
        refused("score-create", &format!("{{{fields}}}"), expected);
    }
}

#[test]
fn scores_without_a_name_or_with_the_wrong_target_or_source_are_refused() {
    for (fields, expected) in [
        (r#""traceId":"t","value":1"#, "body.name: required, and not empty"),
        (r#""traceId":"t","name":"","value":1"#, "body.name: required, and not empty"),
        (
            r#""sessionId":"s","name":"n","value":"x","dataType":"CORRECTION""#,
            "body.dataType: a CORRECTION needs a traceId",
        ),
        (
            r#""name":"n","value":1"#,
            "body.traceId: a score needs a traceId, a sessionId or a datasetRunId",
        ),
        (
            r#""traceId":"t","sessionId":"s","name":"n","value":1"#,
            "body.traceId: a score takes only one of traceId, sessionId and datasetRunId",
        ),
        (
            r#""observationId":"o","name":"n","value":1"#,
            "body.observationId: needs the traceId of its trace, and neither a sessionId nor a \
             datasetRunId",
        ),
        (
            r#""traceId":"t","name":"n","value":1,"source":"ANNOTATION""#,
            "body.configId: required when the source is ANNOTATION",
        ),
        (
            r#""traceId":"t","name":"n","value":1,"source":"ME""#,
            "body.source: invalid value: string \"ME\", expected score source (API, EVAL, ANNOTATION)",
        ),
    ] {
        refused("score-create", &format!("{{{fields}}}"), expected);
    }
}

#[test]
fn scores_without_envelopes_take_the_id_beside_them() {
    let id = |text: &str| ScoreId::parse(text).unwrap();
    let at = Timestamp::parse(AT).unwrap();
    let scores = vec![
        (id("made-1"), raw(r#"{"traceId":"t","name":"n","value":1}"#)),
        (id("made-2"), raw(r#"{"id":"own","traceId":"t","name":"n","value":1}"#)),
        (id("made-3"), raw(r#"{"traceId":"t","name":"n","value":[]}"#)),
    ];
    let said = EventPatches::from_scores(scores, &RULES, at);
    assert_eq!(said.outcomes[0].result, Ok("made-1".to_owned()));
    assert_eq!(said.outcomes[1].result, Ok("own".to_owned()));
    let refusal = said.outcomes[2].result.clone().unwrap_err().to_string();
    assert_eq!(refusal, "value: invalid type: sequence, expected a number, a text or a boolean");
    assert_eq!(said.scores[0].timestamp.0, Some(at));
}

#[test]
fn a_score_follows_its_config() {
    for (fields, expected) in [
        (r#""value":6"#, "body.value: 6 is above 5, the greatest that the config stars takes"),
        (r#""value":"x""#, "body.value: a NUMERIC score needs a finite number"),
        (
            r#""value":1,"dataType":"BOOLEAN""#,
            "body.dataType: BOOLEAN, but scores of the config stars are NUMERIC",
        ),
    ] {
        let body = format!(r#"{{"traceId":"t","configId":"c",{fields}}}"#);
        refused("score-create", &body, expected);
    }
    let unknown = r#"{"traceId":"t","name":"n","value":1,"configId":"d"}"#;
    let expected = "body.configId: there is no such score config in this project";
    refused("score-create", unknown, expected);
}
