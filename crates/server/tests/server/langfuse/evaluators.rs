use std::time::Duration;

use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::isolation::{OTHER, with_another_project};
use super::read;
use crate::harness::{Reply, TestServer};

const EVALUATORS: &str = "/api/public/v2/evaluators";
const RULES: &str = "/api/public/v2/evaluation-rules";
const CONNECTIONS: &str = "/api/public/llm-connections";
const FLAT_EVALUATORS: &str = "/api/public/unstable/evaluators";
const FLAT_RULES: &str = "/api/public/unstable/evaluation-rules";

async fn send(server: &TestServer, method: &str, path: &str, body: Value) -> Reply {
    server.request(method, path).json(body.to_string()).send().await
}

async fn made(server: &TestServer, path: &str, body: Value) -> Value {
    send(server, "POST", path, body).await.check(200, "").json()
}

fn judge() -> Value {
    json!({
        "type": "llm_as_judge", "name": "helpful", "prompt": "Is {{answer}} right?",
        "variableMapping": [{"variable": "answer", "source": "output"}],
        "outputDefinition": {"dataType": "NUMERIC", "minValue": 0.0, "maxValue": 1.0,
                             "scoreValueInstructions": "0 to 1"},
    })
}

fn at(path: &str, view: &Value) -> String {
    format!("{path}/{}", view["id"].as_str().unwrap())
}

#[tokio::test]
async fn an_evaluator_has_versions_and_both_families_show_it() {
    let server = TestServer::start().await;
    let first = made(&server, EVALUATORS, judge()).await;
    assert_eq!((&first["version"], &first["variables"]), (&json!(1), &json!(["answer"])));
    assert_eq!(first["prompt"], json!([{"role": "user", "content": "Is {{answer}} right?"}]));
    assert_eq!(first["status"], "active", "clients know no other status for one without a rule");
    let path = at(EVALUATORS, &first);
    let renamed = send(&server, "PATCH", &path, json!({"name": "kind"})).await.json();
    assert_eq!((&renamed["name"], &renamed["version"]), (&json!("kind"), &json!(1)));
    let mut next = judge();
    next["prompt"] = json!([{"role": "system", "content": "Judge."},
                            {"role": "user", "content": "{{answer}}"}]);
    let second = send(&server, "PATCH", &path, next).await.check(200, "").json();
    assert_eq!((&second["version"], &second["name"]), (&json!(2), &json!("helpful")));
    let versions = read(&server, &format!("{path}/versions?limit=1")).await;
    assert_eq!(versions["data"][0]["version"], 2);
    let cursor = versions["meta"]["cursor"].as_str().unwrap();
    let rest = read(&server, &format!("{path}/versions?limit=1&cursor={cursor}")).await;
    assert_eq!((&rest["data"][0]["version"], rest["meta"].get("cursor")), (&json!(1), None));

    let flat = read(&server, &at(FLAT_EVALUATORS, &first)).await;
    assert_eq!(flat["prompt"], "Judge.\n\n{{answer}}");
    assert_eq!(flat["outputDefinition"]["score"]["description"], "0 to 1");
    let body = json!({
        "name": "helpful", "prompt": "Rate {{answer}}.",
        "outputDefinition": {"dataType": "BOOLEAN", "reasoning": {"description": "why"},
                             "score": {"description": "yes or no"}},
    });
    let third = made(&server, FLAT_EVALUATORS, body).await;
    assert_eq!((&third["id"], &third["version"]), (&first["id"], &json!(3)));
    assert_eq!(read(&server, FLAT_EVALUATORS).await["meta"]["totalItems"], 1);
    server.request("DELETE", &path).send().await.check(200, first["id"].as_str().unwrap());
    server.request("DELETE", &path).send().await.check(404, "resource_not_found");
    server.stop().await;
}

#[tokio::test]
async fn lists_go_on_behind_a_cursor() {
    let server = TestServer::start().await;
    let mut names = Vec::new();
    for second in 0..5 {
        // Two of them change at the same time.
        server.clock.advance(Duration::from_secs(u64::from(second != 3)));
        let mut body = judge();
        body["name"] = json!(format!("evaluator {second}"));
        made(&server, EVALUATORS, body).await;
        names.push(format!("evaluator {second}"));
    }
    let (mut found, mut path) = (Vec::new(), format!("{EVALUATORS}?limit=2"));
    loop {
        let slice = read(&server, &path).await;
        let rows = slice["data"].as_array().unwrap();
        assert!(rows.len() <= 2);
        found.extend(rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()));
        let Some(cursor) = slice["meta"].get("cursor") else { break };
        path = format!("{EVALUATORS}?limit=2&cursor={}", cursor.as_str().unwrap());
    }
    assert_eq!(found.first().unwrap(), "evaluator 4", "the last changed first");
    found.sort();
    assert_eq!(found, names, "each of them once");
    for cursor in ["x", "1", "a.b"] {
        let reply = server.get(&format!("{EVALUATORS}?cursor={cursor}")).send().await;
        reply.check(400, "malformed");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_judge_needs_a_connection_to_its_model() {
    let server = TestServer::start().await;
    let mut body = judge();
    body["modelConfig"] = json!({"provider": "acme", "model": "large"});
    let none = send(&server, "POST", EVALUATORS, body.clone()).await;
    none.check(422, "the project has no LLM connection acme");
    none.check(422, r#""code":"evaluator_preflight_failed""#);
    let connection = json!({"provider": "acme", "adapter": "openai", "secretKey": "secret",
                            "customModels": ["small"], "withDefaultModels": false});
    let put = server.request("PUT", CONNECTIONS).key(Role::Owner).json(connection.to_string());
    let connection = put.send().await.check(200, "").json();
    send(&server, "POST", EVALUATORS, body.clone()).await.check(422, "acme has no model large");
    body["modelConfig"]["model"] = json!("small");
    let evaluator = made(&server, EVALUATORS, body).await;
    assert_eq!(evaluator["modelConfig"]["provider"], "acme");

    let mut rule = json!({"name": "r", "enabled": false,
                          "evaluatorAssignments": [{"evaluatorId": evaluator["id"]}]});
    let delete = server.request("DELETE", &at(CONNECTIONS, &connection)).key(Role::Owner);
    delete.send().await.check(200, "");
    made(&server, RULES, rule.clone()).await;
    rule["enabled"] = json!(true);
    send(&server, "POST", RULES, rule).await.check(422, "no LLM connection acme");
    server.stop().await;
}

#[tokio::test]
async fn rules_apply_evaluators_and_both_families_show_them() {
    let server = TestServer::start().await;
    let evaluator = made(&server, EVALUATORS, judge()).await;
    let body = json!({
        "name": "all", "enabled": true, "sampling": 0.5,
        "filter": [{"type": "string", "column": "name", "operator": "=", "value": "chat"}],
        "evaluatorAssignments": [{"evaluatorId": evaluator["id"]}],
    });
    let rule = made(&server, RULES, body).await;
    let flat = read(&server, &at(FLAT_RULES, &rule)).await;
    assert_eq!(
        (&flat["status"], &flat["evaluator"]["name"]),
        (&json!("paused"), &json!("helpful"))
    );
    assert_eq!(flat["mapping"], json!([{"variable": "answer", "source": "output"}]));
    let used = read(&server, &at(EVALUATORS, &evaluator)).await;
    assert_eq!(used["evaluationRuleAssignments"], json!([{"evaluationRuleId": rule["id"]}]));
    let delete = server.request("DELETE", &at(EVALUATORS, &evaluator));
    delete.send().await.check(409, "conflict");

    let none = json!({"evaluatorAssignments": []});
    let emptied = send(&server, "PATCH", &at(RULES, &rule), none).await.check(200, "").json();
    assert_eq!(emptied["enabled"], false, "without evaluators it is switched off");
    let body = json!({
        "name": "runs", "target": "experiment", "enabled": false,
        "evaluator": {"name": "helpful", "type": "llm_as_judge"},
        "mapping": [{"variable": "answer", "source": "expected_output"}],
    });
    let other = made(&server, FLAT_RULES, body.clone()).await;
    send(&server, "POST", FLAT_RULES, body).await.check(409, "an evaluation rule runs exists");
    let taken = send(&server, "PATCH", &at(FLAT_RULES, &rule), json!({"name": "runs"})).await;
    taken.check(409, "an evaluation rule runs exists");
    assert_eq!((&other["status"], &other["target"]), (&json!("inactive"), &json!("experiment")));
    let change = json!({"enabled": true, "target": "observation"});
    let refused = send(&server, "PATCH", &at(FLAT_RULES, &other), change).await;
    refused.check(400, "observations have nothing to fill answer with");
    assert_eq!(read(&server, RULES).await["data"].as_array().unwrap().len(), 2);
    server.request("DELETE", &at(RULES, &rule)).send().await.check(200, "id");
    server.request("DELETE", &at(FLAT_RULES, &other)).send().await.check(200, "message");
    server.stop().await;
}

#[tokio::test]
async fn definitions_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    for (field, value, words) in [
        ("name", json!(""), r#""path":["name"]"#),
        ("prompt", json!([]), "1 to 100 entries"),
        ("prompt", json!(""), "prompt"),
        ("outputDefinition", json!(null), "outputDefinition"),
        (
            "outputDefinition",
            json!({"dataType": "NUMERIC", "minValue": 2, "maxValue": 1}),
            "exceed",
        ),
        (
            "outputDefinition",
            json!({"dataType": "CATEGORICAL", "categories": ["a", "a"]}),
            "two different",
        ),
        ("variableMapping", json!([{"variable": "x", "source": "output"}]), "no variable x"),
        (
            "variableMapping",
            json!([{"variable": "answer", "source": "output", "jsonPath": "a"}]),
            "begin with $",
        ),
        ("sourceCode", json!("x"), "of type code"),
        ("type", json!("code"), "sourceCode"),
    ] {
        let mut body = judge();
        body[field] = value;
        send(&server, "POST", EVALUATORS, body).await.check(400, words);
    }
    let mut bare = judge();
    bare["variableMapping"] = json!(null);
    let id = made(&server, EVALUATORS, bare).await["id"].clone();
    for (field, value, status, words) in [
        ("sampling", json!(0), 400, "greater than 0"),
        ("evaluatorAssignments", json!([]), 400, "cannot be switched on"),
        ("evaluatorAssignments", json!([{"evaluatorId": "none"}]), 404, "evaluator none not found"),
        ("evaluatorAssignments", json!([{"evaluatorId": id}]), 400, "nothing fills the variable"),
        (
            "filter",
            json!([{"type": "x", "column": "a", "operator": "=", "value": 1}]),
            400,
            "no type x",
        ),
    ] {
        let mapping = json!([{"variable": "answer", "source": "input"}]);
        let mut body = json!({"name": "r", "enabled": true, "evaluatorAssignments":
            [{"evaluatorId": id, "variableMapping": mapping}]});
        body[field] = value;
        send(&server, "POST", RULES, body).await.check(status, words);
    }
    server.stop().await;
}

#[tokio::test]
async fn another_project_sees_none_of_it() {
    let server = with_another_project().await;
    let evaluator = made(&server, EVALUATORS, judge()).await;
    let body = json!({"name": "r", "enabled": true,
        "evaluatorAssignments": [{"evaluatorId": evaluator["id"]}]});
    let rule = made(&server, RULES, body.clone()).await;
    for path in [
        at(EVALUATORS, &evaluator),
        at(FLAT_EVALUATORS, &evaluator),
        at(RULES, &rule),
        at(FLAT_RULES, &rule),
    ] {
        for method in ["GET", "DELETE"] {
            let call = server.request(method, &path).header("authorization", OTHER);
            call.send().await.check(404, "LangfuseNotFoundError");
        }
    }
    let post = server.post(RULES).header("authorization", OTHER).json(body.to_string());
    post.send().await.check(404, "not found");
    server.stop().await;
}
