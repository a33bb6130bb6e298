use ratchet_server::app::{Limits, Settings};
use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::{event, ingest, read, record};
use crate::harness::{TestServer, public_key};

#[tokio::test]
async fn each_event_gets_its_own_answer() {
    let server = TestServer::start().await;
    let events = [
        event("trace-create", 0, json!({"id": "t"})),
        event("trace-create", 1, json!({"id": 5})),
        event("dream-create", 2, json!({})),
        event("sdk-log", 3, json!({"log": "hello"})),
        json!("what?"),
    ];
    let result = ingest(&server, &events).await.check(207, "").json();
    let ids = |rows: &Value| -> Vec<String> {
        rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&result["successes"]), ["trace-create-0", "sdk-log-3"]);
    assert_eq!(result["successes"][0]["status"], 201);
    assert_eq!(ids(&result["errors"]), ["trace-create-1", "dream-create-2", "batch[4]"]);
    assert_eq!(
        result["errors"][0],
        json!({
            "id": "trace-create-1", "status": 400, "message": "Invalid request data",
            "error": "body.id: invalid type: integer `5`, expected a string",
        })
    );
    read(&server, "/api/public/traces/t").await;
    server.stop().await;
}

#[tokio::test]
async fn bodies_that_make_no_sense_as_a_whole_are_refused() {
    let limits = Limits { batch_len: 2, ..Limits::default() };
    let server = TestServer::start_with(Settings { limits, ..Settings::default() }).await;
    let three = json!({"batch": [1, 2, 3]}).to_string();
    for (body, status, words) in [
        ("", 400, "not a JSON object"),
        ("nonsense", 400, "not a JSON object"),
        ("[]", 400, "not a JSON object"),
        ("{}", 400, "missing field `batch`"),
        (r#"{"batch":{}}"#, 400, r#"{"path":["batch"],"message":"invalid type: map"#),
        (r#"{"batch":[}"#, 400, "Invalid request data"),
        (r#"{"batch":[{]}"#, 400, "Invalid request data"),
        (three.as_str(), 413, "3 events in one request, at most 2 are taken"),
        (r#"{"batch":[]}"#, 207, r#"{"successes":[],"errors":[]}"#),
    ] {
        let post = server.post("/api/public/ingestion").json(body.to_owned());
        post.send().await.check(status, words);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_public_key_alone_sends_scores_and_nothing_else() {
    let server = TestServer::start().await;
    let batch = [
        event("trace-create", 0, json!({"id": "t"})),
        event("score-create", 1, json!({"id": "s", "traceId": "t", "name": "n", "value": 1})),
    ];
    let bearer = format!("Bearer {}", public_key(Role::Member));
    let post = server.post("/api/public/ingestion").header("authorization", &bearer);
    let reply = post.json(json!({ "batch": batch }).to_string()).send().await;
    let result = reply.check(207, "").json();
    assert_eq!(result["errors"][0]["status"], 401);
    assert_eq!(result["successes"][0]["id"], "score-create-1");
    server.get("/api/public/traces/t").send().await.check(404, "LangfuseNotFoundError");
    server.stop().await;
}

#[tokio::test]
async fn roles_decide_who_may_send_and_who_may_look() {
    let server = TestServer::start().await;
    let batch = json!({ "batch": [event("trace-create", 0, json!({"id": "t"}))] }).to_string();
    for (role, may_send, may_look) in [
        (Role::IngestOnly, 207, 403),
        (Role::Viewer, 403, 200),
        (Role::Member, 207, 200),
        (Role::Owner, 207, 200),
    ] {
        let post = server.post("/api/public/ingestion").key(role).json(batch.clone());
        post.send().await.check(may_send, "");
        server.get("/api/public/projects").key(role).send().await.check(200, "shop");
        for path in ["traces", "traces/t", "observations", "sessions"] {
            let path = format!("/api/public/{path}");
            server.get(&path).key(role).send().await.check(may_look, "");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn sending_twice_records_once() {
    let server = TestServer::start().await;
    let batch = [
        event("trace-create", 0, json!({"id": "t", "tags": ["a"]})),
        event("span-create", 1, json!({"traceId": "t", "name": "no id of its own"})),
        event("score-create", 2, json!({"traceId": "t", "name": "n", "value": 1})),
    ];
    record(&server, &batch).await;
    let once = read(&server, "/api/public/traces/t").await;
    record(&server, &batch).await;
    let twice = read(&server, "/api/public/traces/t").await;
    assert_eq!(once["observations"].as_array().unwrap().len(), 1);
    assert_eq!(once["scores"].as_array().unwrap().len(), 1);
    assert_eq!(once, twice);
    server.stop().await;
}

#[tokio::test]
async fn events_in_any_order_give_the_same_trace() {
    let server = TestServer::start().await;
    let mut stories = Vec::new();
    for (number, order) in permutations(5).into_iter().enumerate() {
        let (trace, step) = (format!("t{number}"), format!("o{number}"));
        let events = [
            event(
                "trace-create",
                1,
                json!({"id": trace, "name": "first", "tags": ["a"],
                "metadata": {"k": 1, "l": 1}, "input": "in", "sessionId": "s"}),
            ),
            event(
                "trace-create",
                5,
                json!({"id": trace, "name": "last", "tags": ["b"],
                "metadata": {"k": 2, "l": null}, "environment": "beta"}),
            ),
            event(
                "generation-create",
                2,
                json!({"id": step, "traceId": trace, "name": "call",
                "startTime": "2026-11-15T10:00:02Z", "model": "m", "level": "DEBUG"}),
            ),
            event(
                "generation-update",
                3,
                json!({"id": step, "traceId": trace, "output": "half",
                "usage": {"input": 1, "output": 1}, "model": null, "level": "WARNING"}),
            ),
            event(
                "span-update",
                3,
                json!({"id": step, "traceId": trace, "output": "whole",
                "endTime": "2026-11-15T10:00:04Z", "usage": {"input": 5, "output": 5}}),
            ),
        ];
        for place in order {
            record(&server, &events[place..=place]).await;
        }
        let text = read(&server, &format!("/api/public/traces/{trace}")).await.to_string();
        let anonymous =
            text.replace(&format!("\"{trace}\""), "\"t\"").replace(&format!("\"{step}\""), "\"o\"");
        stories.push(anonymous.replace(&format!("traces/{trace}"), "traces/t"));
    }
    let first: Value = serde_json::from_str(&stories[0]).unwrap();
    assert_eq!(first["name"], "last");
    assert_eq!(first["metadata"], json!({"k": 2}));
    assert_eq!(first["observations"][0]["type"], "GENERATION");
    assert_eq!(first["observations"][0]["level"], "WARNING");
    for story in &stories {
        assert_eq!(story, &stories[0]);
    }
    server.stop().await;
}

/// Every order of the numbers below `count`.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let shorter = permutations(last);
    let insert = |order: &Vec<usize>, place: usize| {
        let mut longer = order.clone();
        longer.insert(place, last);
        longer
    };
    shorter.iter().flat_map(|order| (0..count).map(move |place| insert(order, place))).collect()
}
