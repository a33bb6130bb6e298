use ratchet_testkit::http;

use super::{Case, case, keyed};

fn score(what: &'static str, body: &str, status: u16, says: &'static str) -> Case {
    case(what, keyed(http::post("/api/public/scores").json(body)), status, says)
}

pub(super) fn table() -> Vec<Case> {
    let good = r#"{"traceId":"t","name":"q","value":1}"#;
    let many = format!("[{}{good}]", format!("{good},").repeat(10_000));
    vec![
        score("nothing", "", 400, "Invalid request data"),
        score("prose", "good", 400, "Invalid request data"),
        score("null", "null", 400, "Invalid request data"),
        score("a number", "1", 400, "Invalid request data"),
        score("half a document", r#"{"name":"#, 400, "Invalid request data"),
        score("half a list", "[{", 400, "Invalid request data"),
        score("nothing said", "{}", 400, "a score needs a traceId"),
        score("no name", r#"{"traceId":"t","value":1}"#, 400, "name"),
        score("no value", r#"{"traceId":"t","name":"q"}"#, 400, "value"),
        score("on nothing", r#"{"name":"q","value":1}"#, 400, "traceId"),
        score("an empty trace id", r#"{"traceId":"","name":"q","value":1}"#, 400, "traceId"),
        score("a name as a number", r#"{"traceId":"t","name":1,"value":1}"#, 400, "name"),
        score(
            "a boolean of words",
            r#"{"traceId":"t","name":"q","value":"no","dataType":"BOOLEAN"}"#,
            400,
            "BOOLEAN",
        ),
        score(
            "a type nobody knows",
            r#"{"traceId":"t","name":"q","value":1,"dataType":"X"}"#,
            400,
            "dataType",
        ),
        score(
            "a comment as a list",
            r#"{"traceId":"t","name":"q","value":1,"comment":[]}"#,
            400,
            "comment",
        ),
        score(
            "an id of 801 bytes",
            &format!(r#"{{"id":"{}","traceId":"t","name":"q","value":1}}"#, "x".repeat(801)),
            400,
            "800 bytes",
        ),
        score(
            "a list with a bad one",
            r#"[{"traceId":"t","name":"q","value":1},{"name":"q"}]"#,
            207,
            "rejected",
        ),
        score("a list of numbers", "[1]", 207, "rejected"),
        score("10,001 scores", &many, 413, "10001 events in one request"),
        case(
            "scores by GET",
            keyed(http::request("DELETE", "/api/public/scores")),
            405,
            "does not take DELETE",
        ),
    ]
}
