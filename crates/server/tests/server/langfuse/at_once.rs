//! Concurrent changes of the same object.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::read;
use crate::harness::TestServer;

const EVALUATORS: &str = "/api/public/v2/evaluators";
const RULES: &str = "/api/public/v2/evaluation-rules";
const FLAT_RULES: &str = "/api/public/unstable/evaluation-rules";

/// How often each race is run: a lost update shows in nearly every one.
const ROUNDS: usize = 8;

/// Creates an object, and returns its id.
async fn made(server: &TestServer, path: &str, body: &Value) -> String {
    let view = server.post(path).json(body.to_string()).send().await.check(200, "").json();
    view["id"].as_str().unwrap().to_owned()
}

/// Sends changes concurrently, each of which must succeed.
async fn change_at_once(server: &TestServer, path: &str, changes: &[Value]) {
    let mut sending = JoinSet::new();
    for change in changes {
        sending.spawn(server.request("PATCH", path).json(change.to_string()).send());
    }
    while let Some(reply) = sending.join_next().await {
        reply.unwrap().check(200, "");
    }
}

/// Changes different fields concurrently, and checks every one of them.
async fn check(server: &TestServer, path: &str, changes: impl Fn(usize) -> Vec<Value>) {
    for round in 1..=ROUNDS {
        let changes = changes(round);
        change_at_once(server, path, &changes).await;
        let after = read(server, path).await;
        for (field, value) in changes.iter().flat_map(|change| change.as_object().unwrap()) {
            assert_eq!(&after[field], value, "{path}: {field} is lost");
        }
    }
}

fn filter(round: usize) -> Value {
    json!([{"column": format!("column {round}"), "operator": "=", "type": "string",
            "value": "a", "key": null}])
}

#[tokio::test]
async fn every_change_of_a_chart_or_a_dashboard_stays() {
    let server = TestServer::start().await;
    let widgets = "/api/public/unstable/dashboard-widgets";
    let widget = json!({
        "name": "cost", "view": "observations", "dimensions": [], "filters": [],
        "metrics": [{"measure": "count", "agg": "count"}], "chartType": "NUMBER",
    });
    let id = made(&server, widgets, &widget).await;
    check(&server, &format!("{widgets}/{id}"), |round| {
        let measure = if round % 2 == 0 { "latency" } else { "totalCost" };
        vec![
            json!({"name": format!("name {round}")}),
            json!({"description": format!("description {round}")}),
            json!({"metrics": [{"measure": measure, "agg": "sum"}]}),
            json!({"filters": filter(round)}),
        ]
    })
    .await;

    let dashboards = "/api/public/unstable/dashboards";
    let id = made(&server, dashboards, &json!({"name": "home"})).await;
    check(&server, &format!("{dashboards}/{id}"), |round| {
        let tile = json!({"type": "preset", "id": "tile", "presetId": "p", "x": 0, "y": round,
                          "width": 6, "height": 6});
        vec![
            json!({"name": format!("name {round}")}),
            json!({"description": format!("description {round}")}),
            json!({"definition": {"widgets": [tile]}}),
            json!({"filters": filter(round)}),
        ]
    })
    .await;
    server.stop().await;
}

fn judge() -> Value {
    json!({
        "type": "llm_as_judge", "name": "helpful", "prompt": "Is {{answer}} right?",
        "variableMapping": [{"variable": "answer", "source": "output"}],
        "outputDefinition": {"dataType": "BOOLEAN"},
    })
}

#[tokio::test]
async fn every_change_of_an_evaluator_or_a_rule_stays() {
    let server = TestServer::start().await;
    let evaluator = made(&server, EVALUATORS, &judge()).await;
    let path = format!("{EVALUATORS}/{evaluator}");
    check(&server, &path, |round| {
        vec![
            json!({"name": format!("name {round}")}),
            json!({"description": format!("description {round}")}),
        ]
    })
    .await;
    change_at_once(&server, &path, &vec![judge(); 20]).await;
    assert_eq!(read(&server, &path).await["version"], 21, "each has a number of its own");

    let rule = json!({"name": "all", "enabled": false,
                      "evaluatorAssignments": [{"evaluatorId": evaluator}]});
    let rule = made(&server, RULES, &rule).await;
    for family in [RULES, FLAT_RULES] {
        check(&server, &format!("{family}/{rule}"), |round| {
            vec![
                json!({"name": format!("name {round}")}),
                json!({"enabled": round % 2 == 0}),
                json!({"sampling": 1.0 / (1.0 + round as f64)}),
                json!({"filter": filter(round)}),
            ]
        })
        .await;
    }
    server.stop().await;
}

#[tokio::test]
async fn no_item_slips_past_a_schema_that_comes_with_it() {
    let server = TestServer::start().await;
    for round in 1..=ROUNDS {
        let name = format!("d{round}");
        let datasets = "/api/public/v2/datasets";
        made(&server, datasets, &json!({"name": name})).await;
        let schema = json!({"name": name, "inputSchema": {"type": "number"}}).to_string();
        let item = json!({"datasetName": name, "input": "no number"}).to_string();
        let mut sending = JoinSet::new();
        for place in 0..8 {
            let items = server.post("/api/public/dataset-items").json(item.clone());
            sending.spawn(items.send());
            if place == round % 4 {
                sending.spawn(server.post(datasets).json(schema.clone()).send());
            }
        }
        while let Some(reply) = sending.join_next().await {
            let reply = reply.unwrap();
            if reply.status != 200 {
                reply.check(400, "fit the");
            }
        }
        let dataset = read(&server, &format!("{datasets}/{name}")).await;
        let items = read(&server, &format!("/api/public/dataset-items?datasetName={name}")).await;
        let is_strict = dataset["inputSchema"].is_object();
        let has_items = items["meta"]["totalItems"] != 0;
        assert_ne!(is_strict, has_items, "round {round}: one of the two was refused");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_refused_change_leaves_everything_as_it_was() {
    let server = TestServer::start().await;
    let dashboards = "/api/public/unstable/dashboards";
    let id = made(&server, dashboards, &json!({"name": "home"})).await;
    let path = format!("{dashboards}/{id}");
    let before = read(&server, &path).await;
    let unknown = json!([{"type": "widget", "id": "t", "widgetId": "none", "x": 0, "y": 0,
                          "width": 1, "height": 1}]);
    for (change, status, words) in [
        (
            json!({"name": "new", "description": "d".repeat(5_001)}),
            400,
            r#""path":["description"]"#,
        ),
        (json!({"name": "new", "definition": {"widgets": unknown}}), 404, "widget none not found"),
    ] {
        let reply = server.request("PATCH", &path).json(change.to_string()).send().await;
        reply.check(status, words);
        assert_eq!(read(&server, &path).await, before);
    }
    server.stop().await;
}
