use std::time::Duration;

use serde_json::{Value, json};

use super::read;
use crate::harness::{Reply, TestServer, project};

const PROMPTS: &str = "/api/public/v2/prompts";

async fn send(server: &TestServer, body: Value) -> Reply {
    server.post(PROMPTS).json(body.to_string()).send().await
}

/// Creates a version; must succeed.
async fn create(server: &TestServer, body: Value) -> Value {
    server.clock.advance(Duration::from_secs(1));
    send(server, body).await.check(200, "").json()
}

async fn text(server: &TestServer, name: &str, prompt: &str, labels: &[&str]) -> Value {
    create(server, json!({"name": name, "prompt": prompt, "labels": labels})).await
}

async fn show(server: &TestServer, rest: &str) -> Value {
    read(server, &format!("{PROMPTS}/{rest}")).await
}

async fn label(server: &TestServer, version: &str, labels: &[&str]) -> Reply {
    let patch = server.request("PATCH", &format!("{PROMPTS}/{version}"));
    patch.json(json!({ "newLabels": labels }).to_string()).send().await
}

async fn delete(server: &TestServer, rest: &str) -> Reply {
    server.request("DELETE", &format!("{PROMPTS}/{rest}")).send().await
}

#[tokio::test]
async fn a_version_reads_back_as_it_was_made() {
    let server = TestServer::start().await;
    let made = create(
        &server,
        json!({
            "name": "folder/sub folder/greeting", "type": "text", "prompt": "Hi {{name}}\n\u{0}",
            "labels": ["production", "eu"], "tags": ["b", "a", "b"], "commitMessage": "first",
            "config": {"model": "gpt-4o", "deep": [1.50, null]},
        }),
    )
    .await;
    let shown = show(&server, "folder%2Fsub%20folder%2Fgreeting").await;
    assert_eq!(shown, made);
    assert_eq!(show(&server, "folder/sub%20folder/greeting").await, made, "slashes as they are");
    label(&server, "folder/sub%20folder/greeting/versions/1", &[]).await.check(200, "");
    for (field, expected) in [
        ("name", json!("folder/sub folder/greeting")),
        ("version", json!(1)),
        ("type", json!("text")),
        ("prompt", json!("Hi {{name}}\n\u{0}")),
        ("labels", json!(["eu", "production", "latest"])),
        ("tags", json!(["a", "b"])),
        ("commitMessage", json!("first")),
        ("config", json!({"model": "gpt-4o", "deep": [1.5, null]})),
        ("resolutionGraph", Value::Null),
        ("projectId", json!("shop")),
        ("isActive", json!(true)),
        ("createdBy", json!("API")),
        ("createdAt", json!("2026-11-15T12:00:01.000Z")),
    ] {
        assert_eq!(shown[field], expected, "{field}");
    }
    server.stop().await;
}

#[tokio::test]
async fn labels_move_and_latest_follows_the_newest() {
    let server = TestServer::start().await;
    text(&server, "p", "one", &["production", "eu"]).await;
    let second = text(&server, "p", "two", &["production"]).await;
    assert_eq!(
        (&second["version"], &second["labels"]),
        (&json!(2), &json!(["production", "latest"]))
    );
    assert_eq!(show(&server, "p?version=1").await["labels"], json!(["eu"]));
    assert_eq!(show(&server, "p").await["prompt"], "two");
    assert_eq!(show(&server, "p?label=eu").await["prompt"], "one");
    assert_eq!(show(&server, "p?label=latest").await["version"], 2);
    let patched = label(&server, "p/versions/1", &["production", "us"]).await;
    assert_eq!(patched.check(200, "").json()["labels"], json!(["eu", "production", "us"]));
    assert_eq!(show(&server, "p").await["version"], 1);
    assert_eq!(show(&server, "p?version=2").await["labels"], json!(["latest"]));
    label(&server, "p/versions/1", &["latest"]).await.check(400, "newest version");
    label(&server, "p/versions/1", &["Not Plain"]).await.check(400, r#"["newLabels",0]"#);
    label(&server, "p/versions/9", &["us"]).await.check(404, "LangfuseNotFoundError");
    label(&server, "p/versions/x", &["us"]).await.check(400, "");
    server.stop().await;
}

#[tokio::test]
async fn tags_are_shared_and_inherited() {
    let server = TestServer::start().await;
    create(&server, json!({"name": "p", "prompt": "1", "tags": ["a"]})).await;
    let second = text(&server, "p", "2", &[]).await;
    assert_eq!(second["tags"], json!(["a"]));
    create(&server, json!({"name": "p", "prompt": "3", "tags": ["c", "b"]})).await;
    assert_eq!(show(&server, "p?version=1").await["tags"], json!(["b", "c"]));
    create(&server, json!({"name": "p", "prompt": "4", "tags": []})).await;
    assert_eq!(show(&server, "p?version=2").await["tags"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn chats_hold_messages_and_placeholders() {
    let server = TestServer::start().await;
    let messages = json!([
        {"role": "system", "content": "Be kind."},
        {"type": "placeholder", "name": "history"},
        {"type": "chatmessage", "role": "user", "content": "{{question}}"},
    ]);
    create(&server, json!({"name": "c", "type": "chat", "prompt": messages, "config": null})).await;
    let shown = show(&server, "c?label=latest").await;
    assert_eq!((&shown["type"], &shown["prompt"]), (&json!("chat"), &messages));
    let reply = send(&server, json!({"name": "c", "prompt": "text"})).await;
    reply.check(400, "earlier versions of prompt 'c' are of the type chat");
    let clash = json!([{"role": "user", "content": "{{h}}"}, {"type": "placeholder", "name": "h"}]);
    let reply = send(&server, json!({"name": "d", "type": "chat", "prompt": clash})).await;
    reply.check(400, "these are both: h").check(400, r#""path":["prompt"]"#);
    server.stop().await;
}

#[tokio::test]
async fn references_are_filled_in_when_read() {
    let server = TestServer::start().await;
    text(&server, "parts/tone", "kind", &["production"]).await;
    text(&server, "rules", "Be @@@langfusePrompt:name=parts/tone|label=production@@@.", &[]).await;
    let body = json!([{
        "role": "system", "content": "@@@langfusePrompt:name=rules|version=1@@@ Now!",
    }]);
    let chat = json!({"name": "c", "type": "chat", "prompt": body, "labels": ["production"]});
    create(&server, chat).await;
    text(&server, "parts/tone", "brief", &["production"]).await;
    let shown = show(&server, "c").await;
    assert_eq!(shown["prompt"][0]["content"], "Be brief. Now!");
    let graph = &shown["resolutionGraph"];
    assert_eq!((&graph["root"]["name"], &graph["root"]["id"]), (&json!("c"), &shown["id"]));
    let rules = &graph["dependencies"][shown["id"].as_str().unwrap()][0];
    assert_eq!((&rules["name"], &rules["version"]), (&json!("rules"), &json!(1)));
    let tone = &graph["dependencies"][rules["id"].as_str().unwrap()][0];
    assert_eq!((&tone["name"], &tone["version"]), (&json!("parts/tone"), &json!(2)));
    let raw = show(&server, "c?resolve=false").await;
    assert_eq!((&raw["prompt"], &raw["resolutionGraph"]), (&body, &Value::Null));
    server.stop().await;
}

#[tokio::test]
async fn references_that_lead_nowhere_or_back_are_refused() {
    let server = TestServer::start().await;
    text(&server, "a", "a", &["production"]).await;
    text(&server, "b", "@@@langfusePrompt:name=a|label=production@@@", &["production"]).await;
    for (prompt, words) in [
        ("@@@langfusePrompt:name=x|version=1@@@", "dependency not found: x - version 1"),
        ("@@@langfusePrompt:name=a|label=eu@@@", "dependency not found: a - label eu"),
        ("@@@langfusePrompt:name=b|version=1@@@", "circular dependency through prompt 'a'"),
        ("@@@langfusePrompt:name=a|version=1@@@", "circular dependency through prompt 'a'"),
    ] {
        send(&server, json!({"name": "a", "prompt": prompt})).await.check(400, words);
    }
    assert_eq!(show(&server, "a?label=latest").await["version"], 1);
    delete(&server, "a").await.check(400, "b v1 depends on a production");
    delete(&server, "a?version=1").await.check(400, "delete them first");
    text(&server, "a", "again", &["production"]).await;
    delete(&server, "a?version=1").await.check(204, "");
    assert_eq!(show(&server, "b").await["prompt"], "again");
    delete(&server, "b").await.check(204, "");
    delete(&server, "a").await.check(204, "");
    server.stop().await;
}

#[tokio::test]
async fn versions_are_deleted_by_number_by_label_or_all() {
    let server = TestServer::start().await;
    for labels in [["one"], ["two"], ["three"]] {
        text(&server, "p", labels[0], &labels).await;
    }
    delete(&server, "p?label=two").await.check(204, "");
    server.get(&format!("{PROMPTS}/p?version=2")).send().await.check(404, "with version 2");
    delete(&server, "p?version=3").await.check(204, "");
    assert_eq!(show(&server, "p?label=latest").await["prompt"], "one");
    delete(&server, "p?version=1&label=one").await.check(400, "cannot both be given");
    delete(&server, "p?label=two").await.check(404, "LangfuseNotFoundError");
    delete(&server, "p").await.check(204, "");
    delete(&server, "p").await.check(404, "LangfuseNotFoundError");
    let again = text(&server, "p", "anew", &[]).await;
    assert_eq!((&again["version"], &again["tags"]), (&json!(1), &json!([])));
    server.stop().await;
}

#[tokio::test]
async fn lists_show_names_with_the_versions_that_match() {
    let server = TestServer::start().await;
    create(&server, json!({"name": "a", "prompt": "1", "labels": ["eu"], "config": {"v": 1}}))
        .await;
    create(&server, json!({"name": "a", "prompt": "2", "tags": ["t"], "config": {"v": 2}})).await;
    create(&server, json!({"name": "b", "type": "chat", "prompt": []})).await;
    let all = read(&server, PROMPTS).await;
    assert_eq!(
        all["data"][0],
        json!({
            "name": "a", "type": "text", "versions": [1, 2], "labels": ["eu", "latest"],
            "tags": ["t"], "lastUpdatedAt": "2026-11-15T12:00:02.000Z", "lastConfig": {"v": 2},
        })
    );
    assert_eq!(all["meta"], json!({"page": 1, "limit": 50, "totalItems": 2, "totalPages": 1}));
    let found = |query: &str| {
        let path = format!("{PROMPTS}?{query}");
        let server = &server;
        async move {
            let page = read(server, &path).await;
            let rows = page["data"].as_array().unwrap().iter();
            let rows: Vec<_> = rows.map(|row| json!([row["name"], row["versions"]])).collect();
            (json!(rows), page["meta"]["totalItems"].as_u64().unwrap())
        }
    };
    assert_eq!(found("label=eu").await, (json!([["a", [1]]]), 1));
    assert_eq!(found("tag=t").await, (json!([["a", [1, 2]]]), 1));
    assert_eq!(found("name=b").await, (json!([["b", [1]]]), 1));
    assert_eq!(found("limit=1&page=2").await, (json!([["b", [1]]]), 2));
    assert_eq!(found("fromUpdatedAt=2026-11-15T12:00:03Z").await, (json!([["b", [1]]]), 1));
    assert_eq!(found("toUpdatedAt=2026-11-15T12:00:02Z&name=a").await, (json!([]), 0));
    assert_eq!(found("page=9").await, (json!([]), 2));
    server.stop().await;
}

#[tokio::test]
async fn prompts_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    let long = "x".repeat(501);
    for (body, words) in [
        (json!({"prompt": "x"}), "name"),
        (json!({"name": "a"}), "prompt"),
        (json!({"name": "a|b", "prompt": "x"}), "must not contain '|'"),
        (json!({"name": "/a", "prompt": "x"}), "slash"),
        (json!({"name": "new", "prompt": "x"}), "reserved"),
        (json!({"name": "a", "prompt": ["x"]}), "a text prompt must be a text"),
        (json!({"name": "a", "type": "poem", "prompt": "x"}), r#""path":["type"]"#),
        (json!({"name": "a", "type": "chat", "prompt": [{}]}), r#"["prompt",0,"role"]"#),
        (json!({"name": "a", "prompt": "x", "labels": ["A"]}), r#"["labels",0]"#),
        (json!({"name": "a", "prompt": "x", "tags": [""]}), r#"["tags",0]"#),
        (json!({"name": "a", "prompt": "x", "commitMessage": long}), "at most 500"),
        (json!(["a"]), "not a JSON object"),
    ] {
        send(&server, body).await.check(400, words).check(400, "Invalid request data");
    }
    let nested = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for field in ["prompt", "config"] {
        let body = format!(r#"{{"name":"a","prompt":"x","{field}":{nested}}}"#);
        server.post(PROMPTS).json(body).send().await.check(400, "");
    }
    let path = format!("{PROMPTS}/a");
    server.get(&path).send().await.check(404, "Prompt not found: 'a' with label 'production'");
    server.get(&format!("{path}?version=0")).send().await.check(400, r#""path":["version"]"#);
    server.get(&format!("{path}?resolve=maybe")).send().await.check(400, r#""path":["resolve"]"#);
    server.get(&format!("{PROMPTS}/%FF")).send().await.check(400, "");
    server.stop().await;
}

/// What a Langfuse SDK sends for `get_prompt("greeting", label="ab:USER")`.
#[tokio::test]
async fn the_label_ab_gives_each_user_the_assigned_version_and_production_without_a_test() {
    let server = TestServer::start().await;
    text(&server, "greeting", "Hi", &["production"]).await;
    text(&server, "greeting", "Hello", &["next"]).await;
    let version = async |user: usize| {
        let shown = show(&server, &format!("greeting?label=ab:user-{user}")).await;
        shown["version"].as_u64().unwrap()
    };
    assert_eq!(version(1).await, 1);
    let home = format!("/api/v1/projects/{}", project());
    let agent = server.request("PUT", &format!("{home}/agents/shop"));
    agent.json("{}").send().await.check(200, "");
    let new = json!({ "agent": "shop", "prompt": "greeting", "candidate": "next" });
    let started = server.post(&format!("{home}/ab-tests")).json(new.to_string());
    let test = started.send().await.check(200, "").json();
    let mut served = [0; 3];
    for user in 0..40 {
        let found = usize::try_from(version(user).await).unwrap();
        served[found] += 1;
        let asked = format!("{home}/ab-assignment?prompt=greeting&unit=user-{user}");
        assert_eq!(read(&server, &asked).await["version"], found, "user-{user}");
    }
    assert!(served[1] >= 5 && served[2] >= 5, "{served:?}");
    let empty = server.get(&format!("{PROMPTS}/greeting?label=ab:")).send().await;
    empty.check(400, "unit: from 1 to 500 bytes");
    let id = test["id"].as_str().unwrap();
    let stop = json!({ "action": "stop" }).to_string();
    server.post(&format!("{home}/ab-tests/{id}/actions")).json(stop).send().await.check(200, "");
    for user in 0..40 {
        assert_eq!(version(user).await, 1);
    }
}
