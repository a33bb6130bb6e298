use serde_json::{Value, json};

use super::{event, ingest, read};
use crate::harness::{Reply, TestServer};

async fn create(server: &TestServer, body: Value) -> Reply {
    server.post("/api/public/score-configs").json(body.to_string()).send().await
}

async fn created(server: &TestServer, body: Value) -> String {
    create(server, body).await.check(200, "").json()["id"].as_str().unwrap().to_owned()
}

async fn change(server: &TestServer, id: &str, body: Value) -> Reply {
    let path = format!("/api/public/score-configs/{id}");
    server.request("PATCH", &path).json(body.to_string()).send().await
}

async fn send(server: &TestServer, body: Value) -> Reply {
    server.post("/api/public/scores").json(body.to_string()).send().await
}

fn grades() -> Value {
    json!({
        "name": "grade", "dataType": "CATEGORICAL", "description": "How good?",
        "categories": [{"label": "good", "value": 1}, {"label": "bad", "value": -1.5}],
    })
}

#[tokio::test]
async fn configs_are_made_listed_shown_and_changed() {
    let server = TestServer::start().await;
    let made = create(&server, grades()).await.check(200, "").json();
    assert_eq!(made["categories"][1], json!({"label": "bad", "value": -1.5}));
    assert_eq!((&made["isArchived"], &made["projectId"]), (&json!(false), &json!("shop")));
    let id = made["id"].as_str().unwrap();
    let path = format!("/api/public/score-configs/{id}");
    assert_eq!(read(&server, &path).await, made);
    let yes_no = json!({"name": "ok", "dataType": "BOOLEAN"});
    let yes_no = create(&server, yes_no).await.check(200, "").json();
    assert_eq!(yes_no["categories"][0], json!({"label": "True", "value": 1.0}));
    let listed = read(&server, "/api/public/score-configs?limit=1").await;
    assert_eq!(listed["meta"]["totalItems"], 2);
    let fewer = json!({"categories": [{"label": "fine", "value": 0}], "description": null});
    let fewer = change(&server, id, fewer).await.check(200, "").json();
    assert_eq!(fewer["categories"], json!([{"label": "fine", "value": 0.0}]));
    assert_eq!((&fewer["name"], &fewer["description"]), (&json!("grade"), &Value::Null));
    assert_eq!(read(&server, &path).await, fewer);
    server.stop().await;
}

#[tokio::test]
async fn configs_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    for (body, field) in [
        (json!({"name": "a/b", "dataType": "TEXT"}), "name"),
        (json!({"name": "a", "dataType": "GRADE"}), "dataType"),
        (json!({"name": "a", "dataType": "CORRECTION"}), "dataType"),
        (json!({"name": "a", "dataType": "NUMERIC", "minValue": 2, "maxValue": 1}), "maxValue"),
        (json!({"name": "a", "dataType": "BOOLEAN", "minValue": 2}), "minValue"),
        (json!({"name": "a", "dataType": "CATEGORICAL"}), "categories"),
        (
            json!({"name": "a", "dataType": "TEXT", "categories": [{"label": "x", "value": 1}]}),
            "categories",
        ),
    ] {
        create(&server, body).await.check(400, &format!(r#""path":["{field}"#));
    }
    let id = created(&server, grades()).await;
    let twice = json!([{"label": "x", "value": 1}, {"label": "x", "value": 2}]);
    let reply = change(&server, &id, json!({"categories": twice})).await;
    reply.check(400, "the label x is there twice");
    change(&server, &id, json!({"minValue": 1})).await.check(400, r#""path":["minValue"]"#);
    change(&server, "nope", json!({})).await.check(404, "LangfuseNotFoundError");
    server.get("/api/public/score-configs/nope").send().await.check(404, "LangfuseNotFoundError");
    server.stop().await;
}

#[tokio::test]
async fn scores_follow_their_config_on_every_path() {
    let server = TestServer::start().await;
    let config = created(&server, grades()).await;
    let score = |id: &str, value: &str| json!({"id": id, "traceId": "t", "name": "any", "value": value, "configId": config});
    send(&server, score("a", "good")).await.check(200, "");
    send(&server, score("b", "great")).await.check(400, "no category of the config grade");
    let many = send(&server, json!([score("c", "bad"), score("d", "great")])).await;
    many.check(207, "[1].value: no category of the config grade");
    let events =
        [event("score-create", 1, score("e", "good")), event("score-create", 2, score("f", "?"))];
    let batch = ingest(&server, &events).await.check(207, "").json();
    assert_eq!(batch["errors"][0]["error"], "body.value: no category of the config grade");
    let kept = read(&server, "/api/public/v2/scores").await;
    let rows = kept["data"].as_array().unwrap();
    let seen: Vec<_> = rows.iter().map(|row| (&row["name"], &row["value"])).collect();
    let grade = json!("grade");
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|(name, _)| **name == grade), "the config gives the name: {seen:?}");
    assert!(seen.contains(&(&grade, &json!(-1.5))), "and labels their numbers: {seen:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_change_of_a_config_counts_at_once() {
    let server = TestServer::start().await;
    let stars = json!({"name": "stars", "dataType": "NUMERIC", "minValue": 1, "maxValue": 5});
    let config = created(&server, stars).await;
    let score = |value: f64| json!({"traceId": "t", "value": value, "configId": config});
    send(&server, score(6.0)).await.check(400, "6 is above 5");
    change(&server, &config, json!({"maxValue": null})).await.check(200, "");
    send(&server, score(6.0)).await.check(200, "");
    change(&server, &config, json!({"isArchived": true})).await.check(200, "");
    send(&server, score(6.0)).await.check(400, "the score config stars is archived");
    server.stop().await;
}
