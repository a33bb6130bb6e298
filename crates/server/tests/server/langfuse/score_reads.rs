use serde_json::{Value, json};

use super::{event, read, record};
use crate::harness::{TestServer, public_key};
use ratchet_store::catalog::Role;

/// Scores of every kind on every target, one second apart.
async fn story() -> TestServer {
    let server = TestServer::start().await;
    let trace = json!({"id": "t", "userId": "ann", "tags": ["a", "b"], "sessionId": "s"});
    let scores = [
        json!({"id": "number", "traceId": "t", "name": "quality", "value": 0.5}),
        json!({"id": "step", "traceId": "t", "observationId": "o", "name": "ok", "value": true}),
        json!({"id": "label", "sessionId": "s", "name": "mood", "value": "good"}),
        json!({"id": "run", "datasetRunId": "r", "name": "accuracy", "value": 1}),
        json!({"id": "note", "traceId": "t", "name": "note", "value": "hm", "dataType": "TEXT"}),
        json!({
            "id": "better", "traceId": "t", "name": "x", "value": "Lisbon",
            "dataType": "CORRECTION", "metadata": {"tenant": "acme"}, "environment": "prod",
        }),
    ];
    let scores = scores.into_iter().zip(1..).map(|(score, at)| event("score-create", at, score));
    let events: Vec<Value> = [event("trace-create", 0, trace)].into_iter().chain(scores).collect();
    record(&server, &events).await;
    server
}

async fn ids(server: &TestServer, path: &str) -> Vec<String> {
    let page = read(server, &format!("/api/public/{path}")).await;
    let rows = page["data"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn each_version_lists_what_it_has_words_for() {
    let server = story().await;
    assert_eq!(ids(&server, "scores").await, ["note", "step", "number"]);
    let all = ["better", "note", "run", "label", "step", "number"];
    assert_eq!(ids(&server, "v2/scores").await, all);
    assert_eq!(ids(&server, "v3/scores").await, all);
    let old = server.get("/api/public/scores").header("x-langfuse-sdk-name", "python");
    let old = old.header("x-langfuse-sdk-version", "2.60.10").send().await.json();
    assert_eq!(old["meta"]["totalItems"], 2, "it has no words for texts");
    server.stop().await;
}

#[tokio::test]
async fn a_list_shows_what_is_known_of_the_trace() {
    let server = story().await;
    let page = read(&server, "/api/public/v2/scores").await;
    let [better, _, run, ..] = page["data"].as_array().unwrap().as_slice() else { panic!() };
    let trace = json!({
        "userId": "ann", "tags": ["a", "b"], "environment": "default", "sessionId": "s",
    });
    assert_eq!(better["trace"], trace);
    assert_eq!((&better["value"], &better["stringValue"]), (&json!(0.0), &json!("Lisbon")));
    assert_eq!((&run["trace"], &run["datasetRunId"]), (&Value::Null, &json!("r")));
    assert_eq!(page["meta"]["totalItems"], 6);
    let narrow = read(&server, "/api/public/v2/scores?fields=score").await;
    assert_eq!(narrow["data"][0].get("trace"), None);
    let lost = json!({"id": "lost", "traceId": "gone", "name": "q", "value": 1});
    record(&server, &[event("score-create", 9, lost)]).await;
    let first = read(&server, "/api/public/scores?scoreIds=lost").await;
    assert_eq!(first["data"][0]["trace"]["tags"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn filters_find_what_they_say() {
    let server = story().await;
    let metadata = r#"[{"type":"stringObject","column":"metadata","key":"tenant","operator":"=","value":"acme"}]"#;
    let metadata = format!("v2/scores?filter={}", metadata.replace('"', "%22"));
    for (path, expected) in [
        ("v2/scores?userId=ann&name=quality", vec!["number"]),
        ("v2/scores?userId=bob", vec![]),
        ("v2/scores?traceTags=a&traceTags=b&dataType=TEXT", vec!["note"]),
        ("v2/scores?operator=%3E%3D&value=1&source=API", vec!["run", "step"]),
        ("v2/scores?scoreIds=run,number,none", vec!["run", "number"]),
        ("v2/scores?sessionId=s", vec!["label"]),
        ("v2/scores?datasetRunId=r", vec!["run"]),
        ("v2/scores?traceId=t&observationId=o,p", vec!["step"]),
        ("v2/scores?environment=prod&environment=beta", vec!["better"]),
        ("v2/scores?configId=c", vec![]),
        ("v2/scores?queueId=q", vec![]),
        (
            "v2/scores?fromTimestamp=2026-11-15T10:00:02Z&toTimestamp=2026-11-15T10:00:04Z",
            vec!["label", "step"],
        ),
        (&metadata, vec!["better"]),
        ("v3/scores?dataType=numeric&value=0.5,7", vec!["number"]),
        ("v3/scores?dataType=NUMERIC&valueMin=0.5&valueMax=0.75", vec!["number"]),
        ("v3/scores?dataType=BOOLEAN&value=true", vec!["step"]),
        ("v3/scores?dataType=CATEGORICAL&value=good,bad", vec!["label"]),
        ("v3/scores?experimentId=r,q", vec!["run"]),
        ("v3/scores?sessionId=s", vec!["label"]),
        ("v3/scores?traceId=t&observationId=o", vec!["step"]),
        ("v3/scores?source=api&name=ok,mood", vec!["label", "step"]),
        ("v3/scores?id=note&environment=default", vec!["note"]),
        ("v3/scores?authorUserId=ann", vec![]),
    ] {
        assert_eq!(ids(&server, path).await, expected, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn questions_that_make_no_sense_are_refused() {
    let server = story().await;
    for (path, words) in [
        ("v2/scores?dataType=GRADE", r#""path":["dataType"]"#),
        ("v2/scores?source=ME", r#""path":["source"]"#),
        ("v2/scores?limit=101", r#""path":["limit"]"#),
        ("v2/scores?filter=[{}]", r#""path":["filter""#),
        ("v3/scores?limit=101", r#""path":["limit"]"#),
        ("v3/scores?fields=core", r#""path":["fields"]"#),
        ("v3/scores?cursor=x", "cursor"),
        ("v3/scores?observationId=o", r#""path":["observationId"]"#),
        ("v3/scores?traceId=t&sessionId=s", r#""path":["sessionId"]"#),
        ("v3/scores?value=1", r#""path":["value"]"#),
        ("v3/scores?dataType=TEXT&value=1", r#""path":["value"]"#),
        ("v3/scores?dataType=NUMERIC&value=x", r#""path":["value"]"#),
        ("v3/scores?dataType=BOOLEAN&value=1", r#""path":["value"]"#),
        ("v3/scores?dataType=BOOLEAN&valueMin=1", r#""path":["valueMin"]"#),
        ("v3/scores?dataType=NUMERIC,BOOLEAN&valueMax=1", r#""path":["valueMax"]"#),
    ] {
        server.get(&format!("/api/public/{path}")).send().await.check(400, words);
    }
    server.stop().await;
}

#[tokio::test]
async fn typed_scores_come_in_slices_and_groups() {
    let server = story().await;
    let mut seen = Vec::new();
    let mut path = "/api/public/v3/scores?limit=4".to_owned();
    loop {
        let page = read(&server, &path).await;
        assert_eq!(page["meta"]["limit"], 4);
        let rows = page["data"].as_array().unwrap();
        seen.extend(rows.iter().map(|row| row["value"].clone()));
        let Some(cursor) = page["meta"].get("cursor") else { break };
        path = format!("/api/public/v3/scores?limit=4&cursor={}", cursor.as_str().unwrap());
    }
    assert_eq!(json!(seen), json!(["Lisbon", "hm", 1.0, "good", true, 0.5]));
    let fields = "fields=details,subject,annotation";
    let full = read(&server, &format!("/api/public/v3/scores?id=better,step,run&{fields}")).await;
    let [better, run, step] = full["data"].as_array().unwrap().as_slice() else { panic!() };
    assert_eq!(better["metadata"], json!({"tenant": "acme"}));
    assert_eq!(better["subject"], json!({"kind": "trace", "id": "t"}));
    assert_eq!(step["subject"], json!({"kind": "observation", "id": "o", "traceId": "t"}));
    assert_eq!(run["subject"], json!({"kind": "experiment", "id": "r"}));
    assert_eq!((&run["queueId"], &run["comment"]), (&Value::Null, &Value::Null));
    let core = read(&server, "/api/public/v3/scores?id=run").await;
    assert_eq!((core["data"][0].get("queueId"), core["data"][0].get("subject")), (None, None));
    server.stop().await;
}

#[tokio::test]
async fn one_score_is_shown_and_deleted() {
    let server = story().await;
    assert_eq!(read(&server, "/api/public/scores/number").await["value"], 0.5);
    assert_eq!(read(&server, "/api/public/v2/scores/label").await["stringValue"], "good");
    server.get("/api/public/scores/label").send().await.check(404, "LangfuseNotFoundError");
    let delete = |id: &str| server.request("DELETE", &format!("/api/public/scores/{id}"));
    delete("label").key(Role::Viewer).send().await.check(403, "");
    let bearer = format!("Bearer {}", public_key(Role::Member));
    delete("label").header("authorization", &bearer).send().await.check(403, "");
    delete("label").send().await.check(204, "");
    delete("label").send().await.check(404, "LangfuseNotFoundError");
    server.get("/api/public/v2/scores/label").send().await.check(404, "LangfuseNotFoundError");
    assert_eq!(ids(&server, "v2/scores").await.len(), 5);
    server.stop().await;
}
