use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::{Client, record};
use crate::harness::{TestServer, basic, project};

#[tokio::test]
async fn prompts_are_made_promoted_and_composed() {
    let server = TestServer::start().await;
    let client = Client::with_role(&server, Role::Member).await;
    let made = client
        .call(
            "createTextPrompt",
            json!({
                "name": "rules/base", "prompt": "Be kind.", "labels": ["staging"], "tags": ["t"],
                "config": {"temperature": 0.5}, "commitMessage": "first",
            }),
        )
        .await;
    assert_eq!((&made["version"], &made["type"]), (&json!(1), &json!("text")));
    let tag = "@@@langfusePrompt:name=rules/base|label=staging@@@";
    let chat = json!([{"role": "system", "content": format!("Help. {tag}")}]);
    client.call("createChatPrompt", json!({"name": "talk", "prompt": chat})).await;
    let whole = client.call("getPrompt", json!({"name": "talk"})).await;
    assert_eq!(whole["prompt"][0]["content"], "Help. Be kind.");
    let raw = client.call("getPromptUnresolved", json!({"name": "talk"})).await;
    assert_eq!(raw["prompt"][0]["content"], format!("Help. {tag}"));

    client.call("createTextPrompt", json!({"name": "rules/base", "prompt": "Be brief."})).await;
    let newest = client.call("getPrompt", json!({"name": "rules/base"})).await;
    assert_eq!((&newest["version"], &newest["prompt"]), (&json!(2), &json!("Be brief.")));
    let promote = json!({"name": "rules/base", "version": 1, "newLabels": ["production"]});
    let promoted = client.call("updatePromptLabels", promote).await;
    assert_eq!(promoted["labels"], json!(["production", "staging"]));
    let live = client.call("getPrompt", json!({"name": "rules/base", "label": "production"})).await;
    assert_eq!(live["version"], 1);
    let page = client.call("listPrompts", json!({"limit": 1, "page": 2})).await;
    assert_eq!(
        (&page["meta"]["totalItems"], page["data"].as_array().unwrap().len()),
        (&json!(2), 1)
    );
    server.stop().await;
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let server = TestServer::start().await;
    let client = Client::with_role(&server, Role::Owner).await;
    let create = |labels: Value| json!({"name": "a", "prompt": "b", "labels": labels});
    for (tool, arguments, why) in [
        ("getPrompt", json!({}), "name is required"),
        ("getPrompt", json!({"name": "a"}), "Prompt not found: 'a' with label 'latest'"),
        ("getPrompt", json!({"name": "a", "label": "b", "version": 1}), "cannot both be given"),
        ("getPrompt", json!({"name": "a", "lable": "b"}), "unknown argument lable"),
        ("getPrompt", json!({"name": ".."}), "name cannot be \"..\""),
        ("getPrompt", json!({"name": "a", "maxBytes": 0}), "maxBytes must be from 1 to 100000"),
        ("createTextPrompt", create(json!(["production"])), "use updatePromptLabels"),
        ("createTextPrompt", create(json!(["UPPER"])), "labels[0]"),
        ("createTextPrompt", json!({"name": "a", "prompt": ["b"]}), "prompt"),
        (
            "updatePromptLabels",
            json!({"name": "a", "version": 1, "newLabels": ["latest"]}),
            "latest",
        ),
        ("listPrompts", json!({"limit": 101}), "limit: must be a whole number from 1 to 100"),
        ("getDataset", json!({}), "datasetName or datasetId is required"),
        ("getDataset", json!({"datasetId": "nobody"}), "Dataset \"nobody\" not found"),
        ("getDataset", json!({"datasetName": "nobody"}), "Dataset nobody not found"),
        ("createScore", json!({"name": "a", "value": 1}), "traceId"),
        ("listObservations", json!({"filter": [{"type": "number"}]}), "filter[0]"),
        ("delete_everything", json!({}), "unknown tool delete_everything"),
    ] {
        let refused = client.refusal(tool, arguments.clone()).await;
        assert!(refused.contains(why), "{tool} {arguments}: {refused}");
    }
    server.stop().await;
}

#[tokio::test]
async fn long_texts_are_cut_and_whole_on_request() {
    let server = TestServer::start().await;
    record(&server, &basic(Role::Owner), "hello").await;
    let client = Client::with_role(&server, Role::Viewer).await;
    let cut = client.call("getTrace", json!({"traceId": "t-1"})).await;
    assert!(cut["input"].as_str().unwrap().len() <= 2_000);
    let note = cut["note"].as_str().unwrap();
    assert!(note.contains("GET /api/public/traces/t%2D1") && note.contains("maxBytes"), "{note}");
    let whole = client.call("getTrace", json!({"traceId": "t-1", "maxBytes": 100_000})).await;
    assert_eq!(whole["input"].as_str().unwrap().len(), 5_006);
    assert_eq!((&whole["note"], &whole["scores"][0]["id"]), (&Value::Null, &json!("sc-1")));

    let rows = client.call("listObservations", json!({"traceId": "t-1"})).await;
    let row = &rows["data"][0];
    assert_eq!((&row["id"], &row["input"]), (&json!("o-1"), &Value::Null));
    let fields = json!({"traceId": "t-1", "fields": ["input", "type"]});
    let rows = client.call("listObservations", fields).await;
    let row = rows["data"][0].as_object().unwrap();
    assert_eq!(row.keys().collect::<Vec<_>>(), ["id", "input", "type"]);
    let one = json!({"observationId": "o-1", "fields": ["name"]});
    assert_eq!(client.call("getObservation", one).await, json!({"id": "o-1", "name": "hello"}));
    server.stop().await;
}

#[tokio::test]
async fn changes_are_audited_under_the_key() {
    let server = TestServer::start().await;
    let client = Client::with_role(&server, Role::Member).await;
    client.call("createTextPrompt", json!({"name": "a", "prompt": "b"})).await;
    let path = format!("/api/v1/projects/{}/audit", project());
    let entries = server.get(&path).key(Role::Owner).send().await;
    entries.check(200, "pk-member").check(200, "prompt");
    server.stop().await;
}
