use serde_json::{Value, json};

use super::isolation::{OTHER, with_another_project};
use super::{event, read, record};
use crate::harness::{Reply, TestServer};

const MODELS: &str = "/api/public/models";

fn house() -> Value {
    json!({
        "modelName": "house", "matchPattern": "(?i)^house(-v\\d+)?$", "unit": "TOKENS",
        "inputPrice": 0.5, "outputPrice": 2.0,
    })
}

async fn send(server: &TestServer, method: &str, path: &str, body: &Value) -> Reply {
    server.request(method, path).json(body.to_string()).send().await
}

fn call(id: &str, model: &str, parameters: &Value) -> Value {
    event(
        "generation-create",
        1,
        json!({
            "id": id, "traceId": "t", "model": model, "startTime": "2026-11-15T10:00:00Z",
            "usageDetails": {"input": 4, "output": 1}, "modelParameters": parameters,
        }),
    )
}

async fn observed(server: &TestServer, id: &str) -> Value {
    read(server, &format!("/api/public/observations/{id}")).await
}

#[tokio::test]
async fn a_projects_own_model_prices_what_is_recorded_next() {
    let server = TestServer::start().await;
    record(&server, &[call("before", "house-v2", &json!({}))]).await;
    assert_eq!(observed(&server, "before").await["calculatedTotalCost"], json!(null));
    let made = send(&server, "POST", MODELS, &house()).await.check(200, "").json();
    assert_eq!((&made["isLangfuseManaged"], &made["unit"]), (&json!(false), &json!("TOKENS")));
    assert_eq!(made["prices"], json!({"input": {"price": 0.5}, "output": {"price": 2.0}}));
    assert_eq!(made["pricingTiers"][0]["name"], "Standard");

    record(&server, &[call("after", "House-v2", &json!({}))]).await;
    let after = observed(&server, "after").await;
    assert_eq!(after["calculatedTotalCost"], 4.0);
    assert_eq!((&after["modelId"], &after["inputPrice"]), (&made["id"], &json!(0.5)));

    let path = format!("{MODELS}/{}", made["id"].as_str().unwrap());
    assert_eq!(read(&server, &path).await, made);
    server.request("DELETE", &path).send().await.check(204, "");
    server.request("DELETE", &path).send().await.check(404, "LangfuseNotFoundError");
    record(&server, &[call("later", "house", &json!({}))]).await;
    assert_eq!(observed(&server, "later").await["calculatedTotalCost"], json!(null));
    assert_eq!(observed(&server, "after").await["calculatedTotalCost"], 4.0);
    server.stop().await;
}

#[tokio::test]
async fn tiers_hold_under_their_conditions_and_survive_a_restart() {
    let server = TestServer::start().await;
    let usage = json!({
        "usageDetailPattern": "^input", "operator": "gt", "value": 3.0, "caseSensitive": false,
    });
    let fast = json!({
        "source": "model_parameters", "key": "speed", "operator": "in", "values": ["fast"],
    });
    let body = json!({
        "modelName": "house", "matchPattern": "^house$", "startDate": "2026-01-01T00:00:00Z",
        "pricingTiers": [
            {"name": "Standard", "isDefault": true, "priority": 0, "conditions": [],
             "prices": {"input": 1.0, "output": 1.0}},
            {"name": "Fast", "isDefault": false, "priority": 1, "conditions": [usage, fast],
             "prices": {"input": 10.0, "output": 10.0}},
        ],
    });
    let path = format!("{MODELS}/mine");
    let made = send(&server, "PUT", &path, &body).await.check(200, "").json();
    assert_eq!((&made["id"], &made["inputPrice"]), (&json!("mine"), &json!(1.0)));
    assert_eq!(made["pricingTiers"][1]["conditions"], json!([usage, fast]));
    let old = server.get(&path).header("x-langfuse-sdk-name", "python");
    let old = old.header("x-langfuse-sdk-version", "3.15.0").send().await.json();
    assert_eq!(old["pricingTiers"].as_array().unwrap().len(), 1, "it knows no such condition");
    record(
        &server,
        &[call("a", "house", &json!({"speed": "fast"})), call("b", "house", &json!({}))],
    )
    .await;
    assert_eq!(observed(&server, "a").await["calculatedTotalCost"], 50.0);
    assert_eq!(observed(&server, "b").await["calculatedTotalCost"], 5.0);
    let newer = read(&server, "/api/public/v2/observations?fields=core,usage").await;
    for row in newer["data"].as_array().unwrap() {
        let tier = if row["id"] == "a" { "Fast" } else { "Standard" };
        assert_eq!(row["usagePricingTierName"], tier, "{row}");
    }
    let again = send(&server, "PUT", &path, &house()).await.check(200, "").json();
    assert_eq!((&again["createdAt"], &again["inputPrice"]), (&made["createdAt"], &json!(0.5)));
    let data = server.stop().await.reopened().await;
    let project = crate::harness::project();
    let at = ratchet_core::time::Timestamp::default();
    assert_eq!(data.folder().prices(&project).list_price("house", at).unwrap().model, "mine");
}

#[tokio::test]
async fn models_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    for (field, value, words) in [
        ("modelName", json!(""), r#""path":["modelName"]"#),
        ("matchPattern", json!("("), "not a regular expression"),
        ("unit", json!("BYTES"), "model usage unit"),
        ("inputPrice", json!(-1), "not a price"),
        ("totalPrice", json!(1), "cannot be combined with"),
        ("pricingTiers", json!([]), "either these or the flat prices"),
        ("tokenizerId", json!("mine"), "openai or claude"),
        ("startDate", json!("soon"), r#""path":["startDate"]"#),
    ] {
        let mut body = house();
        body[field] = value;
        send(&server, "POST", MODELS, &body).await.check(400, words);
    }
    let bare = json!({"modelName": "m", "matchPattern": "m"});
    send(&server, "POST", MODELS, &bare).await.check(400, "either these or the flat prices");
    assert_eq!(read(&server, MODELS).await["data"], json!([]), "tests have no built-in prices");
    server.stop().await;
}

#[tokio::test]
async fn another_project_has_models_of_its_own() {
    let server = with_another_project().await;
    send(&server, "PUT", &format!("{MODELS}/mine"), &house()).await.check(200, "");
    let theirs = |method: &str, path: &str, body: &Value| {
        let call = server.request(method, path).header("authorization", OTHER);
        call.json(body.to_string())
    };
    let path = format!("{MODELS}/mine");
    theirs("GET", &path, &json!({})).send().await.check(404, "LangfuseNotFoundError");
    theirs("DELETE", &path, &json!({})).send().await.check(404, "LangfuseNotFoundError");
    assert_eq!(theirs("GET", MODELS, &json!({})).send().await.json()["data"], json!([]));
    let mut other = house();
    other["inputPrice"] = json!(9.0);
    theirs("PUT", &path, &other).send().await.check(200, "");
    assert_eq!(read(&server, &path).await["inputPrice"], 0.5);
    record(&server, &[call("o", "house", &json!({}))]).await;
    assert_eq!(observed(&server, "o").await["inputPrice"], 0.5);
    server.stop().await;
}
