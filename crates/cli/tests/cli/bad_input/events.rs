use ratchet_testkit::http;

use super::{Case, case, keyed};

fn raw(what: &'static str, body: &str, status: u16, says: &'static str) -> Case {
    case(what, keyed(http::post("/api/public/ingestion").json(body)), status, says)
}

/// A batch of one event, given as JSON. The batch is answered with what became of its events.
fn event(what: &'static str, event: &str, says: &'static str) -> Case {
    raw(what, &format!(r#"{{"batch":[{event}]}}"#), 207, says)
}

/// An event of a type with this body, which is to be refused.
fn body(what: &'static str, kind: &str, body: &str, says: &'static str) -> Case {
    let time = "2026-01-01T00:00:00Z";
    let json = format!(r#"{{"id":"e","timestamp":"{time}","type":"{kind}","body":{body}}}"#);
    event(what, &json, says)
}

pub(super) fn table() -> Vec<Case> {
    let tables = [documents(), envelopes(), traces(), observations(), usages(), scores()];
    tables.into_iter().flatten().collect()
}

fn documents() -> Vec<Case> {
    let not_utf8 = http::post("/api/public/ingestion").json(b"{\"batch\":[\xff]}".to_vec());
    let event = r#"{"id":"1","type":"sdk-log","timestamp":"2026-01-01T00:00:00Z","body":{}},"#;
    let many = format!(r#"{{"batch":[{}null]}}"#, event.repeat(10_000));
    let deep = format!(r#"{{"batch":{}{}}}"#, "[".repeat(300), "]".repeat(300));
    vec![
        raw("nothing", "", 400, "Invalid request data"),
        raw("half a document", "{\"batch\":[", 400, "Invalid request data"),
        raw("prose", "hello", 400, "Invalid request data"),
        raw("a list", "[]", 400, "Invalid request data"),
        raw("null", "null", 400, "Invalid request data"),
        raw("no batch", "{}", 400, "batch"),
        raw("a batch of null", r#"{"batch":null}"#, 400, "batch"),
        raw("a batch as an object", r#"{"batch":{}}"#, 400, "batch"),
        raw("a batch as a text", r#"{"batch":"all"}"#, 400, "batch"),
        raw("more after the batch", r#"{"batch":[]} x"#, 400, "Invalid request data"),
        raw("300 lists in each other", &deep, 207, "not a JSON object"),
        raw("10,001 events", &many, 413, "10001 events in one request, at most 10000"),
        case("bytes that are no text", keyed(not_utf8), 400, "the body is not UTF-8"),
    ]
}

fn envelopes() -> Vec<Case> {
    let without = |field: &str| {
        let fields = [
            ("id", r#""e""#),
            ("timestamp", r#""2026-01-01T00:00:00Z""#),
            ("type", r#""trace-create""#),
            ("body", r#"{"id":"t"}"#),
        ];
        let kept = fields.iter().filter(|(name, _)| *name != field);
        let kept: Vec<_> = kept.map(|(name, value)| format!(r#""{name}":{value}"#)).collect();
        format!("{{{}}}", kept.join(","))
    };
    let with = |field: &str, value: &str| {
        let rest = without(field);
        format!(r#"{{"{field}":{value},{}"#, rest.trim_start_matches('{'))
    };
    vec![
        event("null for an event", "null", "batch[0]"),
        event("a number for an event", "1", "batch[0]"),
        event("a text for an event", "\"e\"", "batch[0]"),
        event("a list for an event", "[]", "batch[0]"),
        event("no id", &without("id"), "id"),
        event("no time", &without("timestamp"), "timestamp"),
        event("no type", &without("type"), "type"),
        event("no body", &without("body"), "body"),
        event("an id as a number", &with("id", "1"), "id"),
        event("a time of words", &with("timestamp", "\"yesterday\""), "timestamp"),
        event("a time without a day", &with("timestamp", "\"10:00:00Z\""), "timestamp"),
        event(
            "a time beyond all time",
            &with("timestamp", "\"9999-01-01T00:00:00Z\""),
            "timestamp",
        ),
        event("a type nobody knows", &with("type", "\"trace-destroy\""), "trace-destroy"),
        event("a type as a number", &with("type", "7"), "type"),
        event("a body of null", &with("body", "null"), "body"),
        event("a body as a list", &with("body", "[]"), "body"),
        event("a body as a text", &with("body", "\"{}\""), "body"),
    ]
}

fn traces() -> Vec<Case> {
    let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(801));
    let long_name = format!(r#"{{"id":"t","name":"{}"}}"#, "n".repeat(1_001));
    let deep = format!(r#"{{"id":"t","input":{}{}}}"#, "[".repeat(100), "]".repeat(100));
    vec![
        body("an empty trace id", "trace-create", r#"{"id":""}"#, "id"),
        body("a trace id of 801 bytes", "trace-create", &long, "at most 800 bytes"),
        body("a trace id with a line break", "trace-create", r#"{"id":"a\rb"}"#, "carriage return"),
        body("a trace id as a number", "trace-create", r#"{"id":7}"#, "id"),
        body("a name of 1,001 characters", "trace-create", &long_name, "name"),
        body("a name as a list", "trace-create", r#"{"name":[]}"#, "name"),
        body("tags as a text", "trace-create", r#"{"tags":"a,b"}"#, "tags"),
        body("tags of numbers", "trace-create", r#"{"tags":[1]}"#, "tags"),
        body("public as a text", "trace-create", r#"{"public":"yes"}"#, "public"),
        body("a time of words", "trace-create", r#"{"timestamp":"noon"}"#, "timestamp"),
        body("a session id of 801 bytes", "trace-create", &long.replace("id", "sessionId"), "800"),
        body("a user as an object", "trace-create", r#"{"userId":{}}"#, "userId"),
        body("a release as a number", "trace-create", r#"{"release":1}"#, "release"),
        body("an input 100 lists deep", "trace-create", &deep, "nested 100 deep, at most 64"),
    ]
}

fn observations() -> Vec<Case> {
    vec![
        body("a start of words", "span-create", r#"{"startTime":"noon"}"#, "startTime"),
        body("an end as a list", "span-create", r#"{"endTime":[]}"#, "endTime"),
        body("a level nobody knows", "span-create", r#"{"level":"LOUD"}"#, "level"),
        body(
            "a parent as a number",
            "span-create",
            r#"{"parentObservationId":1}"#,
            "parentObservationId",
        ),
        body("an update of nothing", "span-update", r#"{"name":"late"}"#, "id"),
        body("an update of null", "generation-update", r#"{"id":null}"#, "id"),
        body("an observation of no type", "observation-create", r#"{"id":"o"}"#, "type"),
        body("a type nobody knows", "observation-create", r#"{"id":"o","type":"DREAM"}"#, "DREAM"),
        body(
            "parameters as a text",
            "generation-create",
            r#"{"modelParameters":"hot"}"#,
            "modelParameters",
        ),
        body("a model as a number", "generation-create", r#"{"model":4}"#, "model"),
        body(
            "a first token of words",
            "generation-create",
            r#"{"completionStartTime":"soon"}"#,
            "completionStartTime",
        ),
        body(
            "a prompt version of words",
            "generation-create",
            r#"{"promptName":"p","promptVersion":"x"}"#,
            "promptVersion",
        ),
        body(
            "a prompt version below zero",
            "generation-create",
            r#"{"promptName":"p","promptVersion":-1}"#,
            "promptVersion",
        ),
        body("a status as an object", "event-create", r#"{"statusMessage":{}}"#, "statusMessage"),
    ]
}

fn usages() -> Vec<Case> {
    vec![
        body("a usage as a text", "generation-create", r#"{"usage":"much"}"#, "usage"),
        body("a usage as a list", "generation-create", r#"{"usage":[1,2]}"#, "usage"),
        body(
            "usage details as a number",
            "generation-create",
            r#"{"usageDetails":3}"#,
            "usageDetails",
        ),
        body(
            "cost details as a text",
            "generation-create",
            r#"{"costDetails":"free"}"#,
            "costDetails",
        ),
    ]
}

fn scores() -> Vec<Case> {
    let score = |what, json: &str, says| body(what, "score-create", json, says);
    vec![
        score("no name", r#"{"traceId":"t","value":1}"#, "name"),
        score("an empty name", r#"{"traceId":"t","name":"","value":1}"#, "name"),
        score("no value", r#"{"traceId":"t","name":"q"}"#, "value"),
        score("a value of null", r#"{"traceId":"t","name":"q","value":null}"#, "value"),
        score("a value as a list", r#"{"traceId":"t","name":"q","value":[1]}"#, "value"),
        score("on nothing", r#"{"name":"q","value":1}"#, "traceId"),
        score(
            "on an observation of no trace",
            r#"{"observationId":"o","name":"q","value":1}"#,
            "traceId",
        ),
        score(
            "on a trace and a session",
            r#"{"traceId":"t","sessionId":"s","name":"q","value":1}"#,
            "sessionId",
        ),
        score(
            "a text as a number",
            r#"{"traceId":"t","name":"q","value":"x","dataType":"NUMERIC"}"#,
            "NUMERIC",
        ),
        score(
            "a boolean of two",
            r#"{"traceId":"t","name":"q","value":2,"dataType":"BOOLEAN"}"#,
            "BOOLEAN",
        ),
        score(
            "a category of one",
            r#"{"traceId":"t","name":"q","value":1,"dataType":"CATEGORICAL"}"#,
            "CATEGORICAL",
        ),
        score(
            "a type nobody knows",
            r#"{"traceId":"t","name":"q","value":1,"dataType":"MOOD"}"#,
            "MOOD",
        ),
        score(
            "a number beyond all numbers",
            r#"{"traceId":"t","name":"q","value":1e999}"#,
            "error",
        ),
    ]
}
