use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{a_bit_of_everything, event, read, record};
use crate::harness::TestServer;

async fn story() -> TestServer {
    let server = TestServer::start().await;
    record(&server, &a_bit_of_everything()).await;
    server
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[tokio::test]
async fn a_trace_in_full() {
    let server = story().await;
    assert_snapshot!(pretty(&read(&server, "/api/public/traces/t1").await));
    server.stop().await;
}

/// A trace of so many slices that it is streamed.
#[tokio::test]
async fn a_long_trace_is_whole_and_has_the_same_shape() {
    const STEPS: usize = 3_500;
    let server = story().await;
    let steps: Vec<Value> = (0..STEPS)
        .map(|n| {
            let id = format!("long{n:05}");
            let body = json!({"id": id, "traceId": "t1", "name": "\"observations\":[]", "input": n,
                "startTime": "2026-11-15T13:00:00Z"});
            let mut sent = event("span-create", 30, body);
            sent["id"] = json!(id);
            sent
        })
        .collect();
    let short = read(&server, "/api/public/traces/t1").await;
    for some in steps.chunks(1_000) {
        record(&server, some).await;
    }
    let mut long = read(&server, "/api/public/traces/t1").await;
    let listed = long["observations"].as_array().unwrap().clone();
    let known = short["observations"].as_array().unwrap();
    assert_eq!(listed.len(), known.len() + STEPS);
    assert_eq!(listed[..known.len()], known[..]);
    for (n, step) in listed[known.len()..].iter().enumerate() {
        assert_eq!(step["id"], format!("long{n:05}"));
        assert_eq!(step["input"], n);
    }
    let fields: Vec<_> = long.as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, short.as_object().unwrap().keys().cloned().collect::<Vec<_>>());
    assert_eq!(long["scores"], short["scores"]);
    let bare = read(&server, "/api/public/traces/t1?fields=core,observations").await;
    assert_eq!(bare["observations"].as_array().unwrap().len(), listed.len());
    assert_eq!((&bare["scores"], &bare["latency"]), (&json!([]), &json!(-1.0)));
    for changed in ["observations", "latency", "updatedAt"] {
        long[changed] = short[changed].clone();
    }
    assert_eq!(long, short);
    server.stop().await;
}

#[tokio::test]
async fn a_list_of_traces() {
    let server = story().await;
    assert_snapshot!(pretty(&read(&server, "/api/public/traces").await));
    server.stop().await;
}

#[tokio::test]
async fn observations_alone_and_in_a_list() {
    let server = story().await;
    let listed = read(&server, "/api/public/observations?name=ask").await;
    let alone = read(&server, "/api/public/observations/o2").await;
    assert_eq!(listed["data"], json!([alone]));
    assert_snapshot!(pretty(&listed));
    server.stop().await;
}

#[tokio::test]
async fn sessions_alone_and_in_a_list() {
    let server = story().await;
    let listed = read(&server, "/api/public/sessions").await;
    let alone = read(&server, "/api/public/sessions/s1").await;
    assert_snapshot!(pretty(&json!({ "listed": listed, "alone": alone })));
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_asked_for_is_left_out() {
    let server = story().await;
    let core = read(&server, "/api/public/traces/t1?fields=core").await;
    assert_eq!(core["latency"], -1.0);
    assert_eq!(core["totalCost"], -1.0);
    assert_eq!(core["observations"], json!([]));
    assert_eq!(core["scores"], json!([]));
    assert_eq!(core["input"], Value::Null);
    assert_eq!(core["metadata"], Value::Null);
    let some = read(&server, "/api/public/traces?fields=observations,metrics").await;
    let row = &some["data"][0];
    assert_eq!(row["observations"], json!(["o1", "o2", "o3"]));
    assert_eq!((&row["scores"], &row["input"]), (&json!([]), &Value::Null));
    assert_eq!(row["latency"], 6.0);
    server.get("/api/public/traces?fields=price").send().await.check(400, "field group");
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let server = story().await;
    let long = "x".repeat(801);
    for path in ["traces/nope", "observations/t1", "sessions/nope", &format!("traces/{long}")] {
        let reply = server.get(&format!("/api/public/{path}")).send().await;
        assert_eq!(reply.check(404, "").json()["error"], "LangfuseNotFoundError");
    }
    server.get("/api/public/traces/%FF").send().await.check(400, "");
    server.stop().await;
}

#[tokio::test]
async fn ids_hold_slashes_spaces_and_other_scripts() {
    let server = TestServer::start().await;
    for (id, path) in [
        ("a/b/c", "a%2Fb%2Fc"),
        ("a/b/c", "a/b/c"),
        ("über 日本?#", "%C3%BCber%20%E6%97%A5%E6%9C%AC%3F%23"),
        ("50%", "50%25"),
    ] {
        let session = format!("s {id}");
        record(
            &server,
            &[
                event("trace-create", 0, json!({"id": id, "sessionId": session})),
                event("span-create", 1, json!({"id": format!("o {id}"), "traceId": id})),
            ],
        )
        .await;
        let trace = read(&server, &format!("/api/public/traces/{path}")).await;
        assert_eq!(trace["id"], id);
        assert_eq!(trace["htmlPath"], format!("/project/shop/traces/{}", path.replace('/', "%2F")));
        let step = read(&server, &format!("/api/public/observations/o%20{path}")).await;
        assert_eq!(step["traceId"], id);
        let session = read(&server, &format!("/api/public/sessions/s%20{path}")).await;
        assert_eq!(session["traces"][0]["id"], id);
    }
    server.stop().await;
}

#[tokio::test]
async fn payloads_come_back_to_the_digit() {
    let server = TestServer::start().await;
    let odd = r#"{"big": 12345678901234567890123, "price": 1.50, "b": 1, "a": "\u00e9"}"#;
    let body = format!(
        r#"{{"batch":[{{"id":"1","timestamp":"2026-11-15T10:00:00Z","type":"trace-create",
            "body":{{"id":"t","input":{odd},"metadata":{{"kept":{odd}}}}}}}]}}"#
    );
    server.post("/api/public/ingestion").json(body).send().await.check(207, "201");
    let reply = server.get("/api/public/traces/t").send().await;
    reply.check(200, &format!("\"input\":{odd}")).check(200, &format!("{{\"kept\":{odd}}}"));
    server.stop().await;
}

#[tokio::test]
async fn documents_that_are_only_stored_come_back_to_the_digit() {
    let server = TestServer::start().await;
    let odd = r#"{"big": 12345678901234567890123, "price": 1.50, "b": 1, "a": "\u00e9"}"#;
    let post = |path: &str, body: String| server.post(path).json(body).send();
    let dataset = format!(r#"{{"name":"d","metadata":{odd}}}"#);
    let metadata = format!(r#""metadata":{odd}"#);
    post("/api/public/v2/datasets", dataset).await.check(200, &metadata);
    server.get("/api/public/v2/datasets/d").send().await.check(200, &metadata);
    let fields = format!(r#""input":{odd},"expectedOutput":{odd},"metadata":{odd}"#);
    let item = format!(r#"{{"datasetName":"d","id":"i",{fields}}}"#);
    post("/api/public/dataset-items", item).await.check(200, "");
    let item = server.get("/api/public/dataset-items/i").send().await;
    for field in ["input", "expectedOutput", "metadata"] {
        item.check(200, &format!("\"{field}\":{odd}"));
    }
    let prompt = format!(r#"{{"name":"p","prompt":"hi","config":{odd}}}"#);
    post("/api/public/v2/prompts", prompt).await.check(200, "");
    let config = format!(r#""config":{odd}"#);
    server.get("/api/public/v2/prompts/p?label=latest").send().await.check(200, &config);
    let score = format!(r#"{{"id":"s","traceId":"t","name":"n","value":1,"metadata":{odd}}}"#);
    post("/api/public/scores", score).await.check(200, "");
    // Metadata of scores is merged by key.
    let by_key = r#""metadata":{"a":"\u00e9","b":1,"big":12345678901234567890123,"price":1.50}"#;
    server.get("/api/public/v2/scores/s").send().await.check(200, by_key);
    server.stop().await;
}

#[tokio::test]
async fn a_lone_observation_has_a_trace_of_its_own() {
    let server = TestServer::start().await;
    record(&server, &[event("span-create", 0, json!({"id": "alone", "name": "x"}))]).await;
    record(&server, &[event("span-update", 1, json!({"id": "alone", "output": "done"}))]).await;
    let trace = read(&server, "/api/public/traces/alone").await;
    assert_eq!(trace["observations"][0]["output"], "done");
    assert_eq!(trace["observations"].as_array().unwrap().len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn a_large_trace_comes_whole_and_in_order() {
    let server = TestServer::start().await;
    let step = |number: u32| {
        let start = format!("2026-11-15T10:{:02}:{:02}Z", number / 60, number % 60);
        event(
            "span-create",
            0,
            json!({"id": format!("o{number}"), "traceId": "t", "startTime": start}),
        )
    };
    let steps: Vec<Value> = (0..2_500).rev().map(step).collect();
    record(&server, &steps).await;
    let trace = read(&server, "/api/public/traces/t?fields=observations").await;
    let ids: Vec<_> = trace["observations"].as_array().unwrap().iter().map(|o| &o["id"]).collect();
    let expected: Vec<_> = (0..2_500).map(|number| json!(format!("o{number}"))).collect();
    assert_eq!(ids, expected.iter().collect::<Vec<_>>());
    server.stop().await;
}

#[tokio::test]
async fn an_sdk_that_cannot_read_nulls_is_told_zero() {
    let server = TestServer::start().await;
    record(&server, &[event("trace-create", 0, json!({"id": "t"}))]).await;
    let path = "/api/public/traces/t";
    assert_eq!(read(&server, path).await["totalCost"], Value::Null);
    let old = server.get(path).header("x-langfuse-sdk-name", "python");
    let old = old.header("x-langfuse-sdk-version", "2.60.10").send().await.json();
    assert_eq!((&old["totalCost"], &old["latency"]), (&json!(0.0), &json!(0.0)));
    server.stop().await;
}
