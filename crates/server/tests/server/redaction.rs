use ratchet_server::app::{Limits, Settings};
use ratchet_store::catalog::Role;
use ratchet_testkit::otlp::{request, span, trace_id};
use serde_json::{Value, json};

use crate::grpc::export;
use crate::harness::{Reply, TestServer};

const RULES: &str = "/api/v1/projects/shop/redaction";
/// Texts that must not be stored anywhere.
const SECRETS: [&str; 3] = ["ann@mail.example", "hunter2", "4111111111111111"];

async fn add(server: &TestServer, rule: Value) -> Reply {
    server.post(RULES).key(Role::Owner).json(rule.to_string()).send().await
}

async fn strict() -> TestServer {
    let server = TestServer::start().await;
    for rule in [
        json!({"preset": "email"}),
        json!({"pattern": r"\b4\d{15}\b", "replacement": "[card]"}),
        json!({"field": "input.login.password"}),
        json!({"field": "metadata.*.token"}),
        json!({"field": "metadata.attributes.password"}),
        json!({"field": "metadata.password", "replacement": "***"}),
    ] {
        add(&server, rule).await.check(201, "");
    }
    server
}

async fn read(server: &TestServer, path: &str) -> Value {
    let reply = server.get(path).send().await;
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is kept: {text}");
    }
    reply.check(200, "").json()
}

fn response(number: u128) -> ratchet_testkit::otlp::RequestBuilder {
    let input = r#"{"login": {"password": "hunter2", "user": "ann@mail.example"}, "n": 1.50}"#;
    let step = span(number, 1)
        .named("mail ann@mail.example")
        .saying("input.value", input)
        .saying("output.value", "sent to ann@mail.example, card 4111111111111111")
        .saying("user.id", "ann@mail.example")
        .saying("password", "hunter2");
    request("shop").with(step)
}

#[tokio::test]
async fn spans_are_redacted_in_every_encoding() {
    let server = strict().await;
    server.post("/v1/traces").protobuf(response(1).to_protobuf()).send().await.check(200, "");
    server.post("/v1/traces").json(response(2).to_json()).send().await.check(200, "");
    export(&server, Some(Role::Member), response(3)).await.unwrap();
    for number in 1..=3 {
        let trace = read(&server, &format!("/api/public/traces/{}", trace_id(number))).await;
        assert_eq!(trace["userId"], "[email]");
        let step = &trace["observations"][0];
        assert_eq!(step["name"], "mail [email]");
        let login = json!({"password": "[redacted]", "user": "[email]"});
        assert_eq!(step["input"], json!({"login": login, "n": 1.50}));
        assert_eq!(step["output"], "sent to [email], card [card]");
    }
    server.stop().await;
}

#[tokio::test]
async fn events_and_scores_are_redacted() {
    let server = strict().await;
    let body = json!({
        "id": "t", "name": "n", "userId": "ann@mail.example", "tags": ["ann@mail.example"],
        "input": {"login": {"password": "hunter2"}, "card": 4_111_111_111_111_111_u64},
        "output": "write to ann@mail.example",
        "metadata": {"a": {"token": "hunter2", "kept": 1}, "password": ["hunter2"]},
    });
    let at = "2026-11-15T10:00:00Z";
    let batch =
        json!({"batch": [{"id": "e", "type": "trace-create", "timestamp": at, "body": body}]});
    let post = server.post("/api/public/ingestion").json(batch.to_string());
    post.send().await.check(207, "201");
    let body = json!({
        "id": "g", "traceId": "t", "model": "m", "usageDetails": {"input": 2, "ann@mail.example": 3},
        "costDetails": {"input": 0.5, "ann@mail.example": 0.25},
    });
    let batch =
        json!({"batch": [{"id": "g", "type": "generation-create", "timestamp": at, "body": body}]});
    let post = server.post("/api/public/ingestion").json(batch.to_string());
    post.send().await.check(207, "201");
    let generation = read(&server, "/api/public/observations/g").await;
    assert_eq!(generation["usageDetails"]["[email]"], 3, "{generation}");
    assert_eq!(generation["costDetails"]["[email]"], 0.25, "{generation}");
    let score = json!({
        "id": "s", "traceId": "t", "name": "q", "value": "ann@mail.example", "dataType": "TEXT",
        "comment": "ask ann@mail.example", "metadata": {"b": {"token": "hunter2"}},
    });
    let post = server.post("/api/public/scores").json(score.to_string());
    post.send().await.check(200, "");
    let post = server.post("/api/public/scores").json(json!([score]).to_string());
    post.send().await.check(202, "");
    let trace = read(&server, "/api/public/traces/t").await;
    assert_eq!(trace["input"]["card"], "[card]");
    assert_eq!(
        trace["metadata"],
        json!({"a": {"token": "[redacted]", "kept": 1}, "password": "***"})
    );
    assert_eq!(trace["tags"], json!(["[email]"]));
    let score = read(&server, "/api/public/v2/scores/s").await;
    assert_eq!(
        (&score["stringValue"], &score["comment"]),
        (&json!("[email]"), &json!("ask [email]"))
    );
    server.stop().await;
}

#[tokio::test]
async fn rules_are_listed_tried_and_removed() {
    let server = TestServer::start().await;
    let owner = |method: &str, path: &str| server.request(method, path).key(Role::Owner);
    let made = add(&server, json!({"preset": "email"})).await.check(201, "").json();
    let listed = owner("GET", RULES).send().await.check(200, "").json();
    assert_eq!(listed, json!([made]));
    let trial = json!({"text": "ann@mail.example"}).to_string();
    let trial = owner("POST", &format!("{RULES}/test")).json(trial).send().await;
    trial.check(200, r#"{"text":"[email]"}"#);
    let presets = owner("GET", "/api/v1/redaction/presets").send().await.check(200, "").json();
    assert!(presets.as_array().unwrap().len() >= 5);
    let rule = format!("{RULES}/{}", made["id"].as_str().unwrap());
    owner("DELETE", &rule).send().await.check(200, "email");
    owner("DELETE", &rule).send().await.check(404, "");
    for (rule, words) in [
        (json!({"pattern": "("}), "pattern: regex parse error"),
        (json!({"pattern": "a?"}), "matches the empty text"),
        (json!({"field": "traceId"}), "field: traceId is none of input"),
        (json!({"preset": "shoe"}), "preset: shoe is not one of"),
        (json!({"pattern": "a", "field": "input"}), "give one of the three"),
        (json!({"pattern": "dact"}), "would itself be redacted"),
        (json!({}), "give one of the three"),
    ] {
        add(&server, rule).await.check(400, words);
    }
    let member = server.post(RULES).json(json!({"preset": "email"}).to_string());
    member.send().await.check(403, "");
    server.stop().await;
}

async fn post(server: &TestServer, path: &str, body: &Value) -> Reply {
    server.post(path).json(body.to_string()).send().await
}

#[tokio::test]
async fn comments_dataset_items_and_feedback_are_redacted() {
    let server = strict().await;
    let at = "2026-11-15T10:00:00Z";
    let trace = json!({"id": "e", "type": "trace-create", "timestamp": at, "body": {"id": "t"}});
    post(&server, "/api/public/ingestion", &json!({ "batch": [trace] })).await.check(207, "201");
    let comment = json!({
        "projectId": "shop", "objectType": "TRACE", "objectId": "t", "content": "ask ann@mail.example",
    });
    let made = post(&server, "/api/public/comments", &comment).await.check(200, "").json();
    let path = format!("/api/public/comments/{}", made["id"].as_str().unwrap());
    assert_eq!(read(&server, &path).await["content"], "ask [email]");

    let dataset = json!({
        "name": "d", "description": "of ann@mail.example", "metadata": {"x": {"token": "hunter2"}},
    });
    post(&server, "/api/public/v2/datasets", &dataset).await.check(200, "");
    let shown = read(&server, "/api/public/v2/datasets/d").await;
    assert_eq!(shown["description"], "of [email]");
    let item = json!({
        "datasetName": "d", "id": "i", "input": {"login": {"password": "hunter2"}, "n": 1},
        "expectedOutput": ["4111111111111111"], "metadata": {"password": "hunter2"},
    });
    let made = post(&server, "/api/public/dataset-items", &item).await.check(200, "").json();
    let shown = read(&server, "/api/public/dataset-items/i").await;
    assert_eq!(shown, made);
    assert_eq!(shown["input"], json!({"login": {"password": "[redacted]"}, "n": 1}));
    assert_eq!(shown["expectedOutput"], json!(["[card]"]));
    assert_eq!(shown["metadata"], json!({"password": "***"}));
    server.stop().await;
}

#[tokio::test]
async fn what_is_used_as_it_is_written_is_refused_with_the_field() {
    let server = strict().await;
    let mail = "ann@mail.example";
    let prompts = "/api/public/v2/prompts";
    for (body, field) in [
        (json!({"name": "p", "prompt": format!("Write to {mail}.")}), "prompt: holds"),
        (
            json!({"name": "p", "type": "chat", "prompt": [{"role": "user", "content": mail}]}),
            "prompt: holds",
        ),
        (json!({"name": "p", "prompt": "x", "config": {"to": [mail]}}), "config: holds"),
        (json!({"name": "p", "prompt": "x", "commitMessage": mail}), "commitMessage: holds"),
        (json!({"name": "p", "prompt": "x", "tags": [mail]}), "tags: holds"),
    ] {
        post(&server, prompts, &body).await.check(400, field);
    }
    assert_eq!(read(&server, prompts).await["data"], json!([]));
    let fine = json!({"name": "p", "prompt": "Write to {{user}}.", "config": {"input": 1}});
    post(&server, prompts, &fine).await.check(200, "");

    let skill = |more: &str| {
        let main = "---\nname: a\ndescription: d\n---\n";
        json!({"files": [
            {"path": "SKILL.md", "content": main}, {"path": "notes.md", "content": more},
        ]})
    };
    let skills = "/api/public/unstable/skills";
    post(&server, skills, &skill(mail)).await.check(400, "files: holds");
    post(&server, skills, &skill("fine")).await.check(200, "");
    let schema = json!({"name": "d", "inputSchema": {"const": mail}});
    post(&server, "/api/public/v2/datasets", &schema).await.check(400, "inputSchema: holds");
    let config = json!({"name": "q", "dataType": "NUMERIC", "description": mail});
    post(&server, "/api/public/score-configs", &config).await.check(400, "description: holds");
    let queue = json!({"name": mail, "scoreConfigIds": []});
    post(&server, "/api/public/annotation-queues", &queue).await.check(400, "name: holds");
    server.stop().await;
}

#[tokio::test]
async fn no_cut_goes_through_a_secret() {
    let limits = Limits { text_bytes: 100, ..Limits::default() };
    let server = TestServer::start_with(Settings { limits, ..Settings::default() }).await;
    add(&server, json!({"preset": "email"})).await.check(201, "");
    add(&server, json!({"field": "input.pin"})).await.check(201, "");
    let at = "2026-11-15T10:00:00Z";
    for before in (0..100).step_by(3) {
        let text = format!("{} ann@mail.example {}", "x".repeat(before), "y".repeat(150 - before));
        let document = format!(r#"{{"pin": "hunter2", "rest": "{text}"}}"#);
        let id = format!("t{before}");
        let body = json!({"id": id, "name": text, "input": {"text": text}, "output": text});
        let event = json!({"id": id, "type": "trace-create", "timestamp": at, "body": body});
        post(&server, "/api/public/ingestion", &json!({"batch": [event]})).await.check(207, "201");
        let trace = read(&server, &format!("/api/public/traces/{id}")).await;
        let is_clean = |trace: &Value| {
            let text = trace.to_string();
            [" ann", "@", "example"].iter().all(|part| !text.contains(part))
        };
        assert!(is_clean(&trace), "{trace}");
        assert!(trace["output"].as_str().unwrap().contains("bytes left out"), "{trace}");
        let number = before as u128 + 1;
        let step = span(number, 1)
            .saying("input.value", document.as_str())
            .saying("user.id", text.as_str());
        let spans = request("shop").with(step).to_protobuf();
        server.post("/v1/traces").protobuf(spans).send().await.check(200, "");
        let trace = read(&server, &format!("/api/public/traces/{}", trace_id(number))).await;
        assert!(is_clean(&trace), "{trace}");
    }
    server.stop().await;
}
