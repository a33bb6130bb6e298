use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::{event, read, record};
use crate::harness::{Reply, TestServer, public_key};

async fn send(server: &TestServer, body: Value) -> Reply {
    server.post("/api/public/scores").json(body.to_string()).send().await
}

#[tokio::test]
async fn one_score_is_answered_with_its_id() {
    let server = TestServer::start().await;
    record(&server, &[event("trace-create", 0, json!({"id": "t"}))]).await;
    let score = json!({"traceId": "t", "name": "quality", "value": 0.5});
    let first = send(&server, score.clone()).await.check(200, "").json()["id"].clone();
    let second = send(&server, score).await.check(200, "").json()["id"].clone();
    assert_ne!(first, second, "the same verdict twice is two verdicts");
    let own = json!({"id": "mine", "traceId": "t", "name": "quality", "value": "good"});
    send(&server, own).await.check(200, r#"{"id":"mine"}"#);
    let trace = read(&server, "/api/public/traces/t").await;
    assert_eq!(trace["scores"].as_array().unwrap().len(), 3);
    server.stop().await;
}

#[tokio::test]
async fn a_key_that_only_records_does_not_say_what_people_said() {
    let server = TestServer::start().await;
    record(&server, &[event("trace-create", 0, json!({"id": "t"}))]).await;
    let config = json!({"name": "correctness", "dataType": "NUMERIC"});
    let config = server.post("/api/public/score-configs").json(config.to_string()).send().await;
    let verdict = json!({
        "id": "v", "traceId": "t", "name": "correctness", "value": 1, "source": "ANNOTATION",
        "configId": config.check(200, "").json()["id"],
    });
    let why = "a key that only records may not say what people said";
    let batch = json!({ "batch": [event("score-create", 1, verdict.clone())] }).to_string();
    let ways = [("scores", 400, verdict.to_string()), ("ingestion", 207, batch)];
    for (path, status, body) in ways.clone() {
        let post = server.post(&format!("/api/public/{path}")).json(body);
        post.key(Role::IngestOnly).send().await.check(status, why);
    }
    let trace = read(&server, "/api/public/traces/t").await;
    assert_eq!(trace["scores"], json!([]));
    // A member's program speaks for the people who use it.
    for (path, status, body) in ways {
        let post = server.post(&format!("/api/public/{path}")).json(body);
        post.key(Role::Member).send().await.check(if status == 400 { 200 } else { status }, "");
    }
    // Saying it again with such a key makes it a score of a program: no person's verdict any more.
    let mut taken = verdict;
    taken["source"] = json!("API");
    let post = server.post("/api/public/scores").key(Role::IngestOnly).json(taken.to_string());
    post.send().await.check(200, "");
    let trace = read(&server, "/api/public/traces/t").await;
    assert_eq!(trace["scores"][0]["source"], "API");
    server.stop().await;
}

#[tokio::test]
async fn a_number_comes_back_as_the_nearest_double() {
    let server = TestServer::start().await;
    // Texts whose last bit a fast parser gets wrong, and one with more digits than a double has.
    let sent = [
        "0.9856906946328695",
        "0.21291890726713458",
        "0.9259338926496359",
        "0.1234567890123456789",
    ];
    for (nth, text) in sent.iter().enumerate() {
        let score = format!(r#"{{"id":"s{nth}","traceId":"t","name":"n","value":{text}}}"#);
        server.post("/api/public/scores").json(score).send().await.check(200, "");
        let stored = server.get(&format!("/api/public/v2/scores/s{nth}")).send().await;
        let expected: f64 = text.parse().unwrap();
        stored.check(200, &format!("\"value\":{expected:?}"));
    }
    server.stop().await;
}

#[tokio::test]
async fn several_scores_are_answered_together() {
    let server = TestServer::start().await;
    let good = json!({"id": "a", "traceId": "t", "name": "n", "value": 1});
    let bad = json!({"id": "b", "traceId": "t", "name": "n", "value": 2, "dataType": "BOOLEAN"});
    send(&server, json!([good])).await.check(202, r#"{"message":"Accepted"}"#);
    send(&server, json!([])).await.check(202, "Accepted");
    let reply = send(&server, json!([good, bad])).await;
    assert_eq!(
        reply.check(207, "").json(),
        json!({
            "accepted": 1, "rejected": 1,
            "errors": [{"message": "[1].value: a BOOLEAN score needs 0 or 1"}],
        })
    );
    server.stop().await;
}

#[tokio::test]
async fn scores_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    for (body, words) in [
        (r#"{"traceId":"t","name":"n"}"#, r#"{"path":["value"],"message":"required"}"#),
        (r#"{"traceId":"t","value":1}"#, r#""path":["name"]"#),
        (r#"{"name":"n","value":1}"#, r#""path":["traceId"]"#),
        (r#"{"traceId":"t","name":"n","value":NaN}"#, "Invalid request data"),
        ("7", "not a JSON object"),
        ("", "Invalid request data"),
        ("[1", "Invalid request data"),
    ] {
        let post = server.post("/api/public/scores").json(body.to_owned());
        post.send().await.check(400, words).check(400, "Invalid request data");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_browser_sends_thumbs_with_the_public_key() {
    let server = TestServer::start().await;
    record(&server, &[event("trace-create", 0, json!({"id": "t"}))]).await;
    let bearer = format!("Bearer {}", public_key(Role::IngestOnly));
    let thumbs = json!({"traceId": "t", "name": "thumbs_feedback", "value": 1});
    let post = server.post("/api/public/scores").header("authorization", &bearer);
    post.json(thumbs.to_string()).send().await.check(200, "");
    let forged = json!({"traceId": "t", "name": "n", "value": 1, "source": "EVAL"});
    let post = server.post("/api/public/scores").header("authorization", &bearer);
    post.json(forged.to_string()).send().await.check(400, r#""path":["source"]"#);
    let trace = read(&server, "/api/public/traces/t").await;
    assert_eq!(trace["scores"][0]["name"], "thumbs_feedback");
    server.stop().await;
}
