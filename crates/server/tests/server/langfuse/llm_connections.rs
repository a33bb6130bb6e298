use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::isolation::{OTHER, with_another_project};
use super::read;
use crate::harness::{Reply, TestServer, project};

const CONNECTIONS: &str = "/api/public/llm-connections";

fn openai() -> Value {
    json!({
        "provider": "openai", "adapter": "openai", "secretKey": "sk-very-secret-1234",
        "baseURL": "https://llm.example/v1", "customModels": ["mine"],
        "extraHeaders": {"x-team": "header-secret"}, "config": {"useResponsesApi": true},
    })
}

async fn keep(server: &TestServer, body: &Value) -> Reply {
    let put = server.request("PUT", CONNECTIONS).key(Role::Owner);
    put.json(body.to_string()).send().await
}

#[tokio::test]
async fn secrets_go_in_and_never_come_out() {
    let server = TestServer::start().await;
    let kept = keep(&server, &openai()).await;
    let view = kept.check(200, "").json();
    assert_eq!(
        (&view["displaySecretKey"], &view["adapter"]),
        (&json!("...1234"), &json!("openai"))
    );
    assert_eq!(
        (&view["extraHeaderKeys"], &view["withDefaultModels"]),
        (&json!(["x-team"]), &json!(true))
    );
    let listed = server.get(CONNECTIONS).send().await;
    assert_eq!(listed.check(200, "").json()["data"], json!([view]));
    for reply in [&kept, &listed] {
        assert!(!String::from_utf8_lossy(&reply.body).contains("secret-1234"));
        assert!(!String::from_utf8_lossy(&reply.body).contains("header-secret"));
    }
    let store = server.app.store.clone();
    let opened = store.catalog.llm_credentials(project(), "openai".to_owned(), store.secrets).await;
    let opened = opened.unwrap();
    assert_eq!(opened.secret.expose(), "sk-very-secret-1234");
    assert_eq!(opened.headers["x-team"].expose(), "header-secret");
    let data = server.stop().await.closed().await;
    for file in ["catalog.db", "catalog.db-wal"] {
        let bytes = std::fs::read(data.path().join(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sk-very-secret") && !text.contains("header-secret"), "{file}");
    }
    assert!(data.path().join("secret.key").exists());
}

#[tokio::test]
async fn a_provider_has_one_connection() {
    let server = TestServer::start().await;
    let first = keep(&server, &openai()).await.json();
    let mut body = openai();
    body["secretKey"] = json!("sk-another-secret-5678");
    body["extraHeaders"] = json!(null);
    let second = keep(&server, &body).await.check(200, "").json();
    assert_eq!((&second["id"], &second["displaySecretKey"]), (&first["id"], &json!("...5678")));
    assert_eq!(second["extraHeaderKeys"], json!([]));
    assert_eq!(read(&server, CONNECTIONS).await["meta"]["totalItems"], 1);
    let path = format!("{CONNECTIONS}/{}", first["id"].as_str().unwrap());
    let delete = || server.request("DELETE", &path).key(Role::Owner);
    delete().send().await.check(200, "message");
    delete().send().await.check(404, "LangfuseNotFoundError");
    server.stop().await;
}

#[tokio::test]
async fn connections_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    for (field, value, words) in [
        ("provider", json!(""), r#""path":["provider"]"#),
        ("secretKey", json!(""), r#""path":["secretKey"]"#),
        ("adapter", json!("homemade"), "llm adapter"),
        ("baseURL", json!("file:///etc/passwd"), "http or https"),
        ("extraHeaders", json!({"a b": "c"}), "HTTP can send"),
        ("extraHeaders", json!({"a": "b\nc"}), "HTTP can send"),
        ("config", json!({"region": "x"}), "Bedrock needs"),
    ] {
        let mut body = openai();
        body[field] = value;
        let refused = keep(&server, &body).await;
        refused.check(400, words);
        assert!(!String::from_utf8_lossy(&refused.body).contains("very-secret"));
    }
    let bedrock = json!({"provider": "aws", "adapter": "bedrock", "secretKey": "x"});
    keep(&server, &bedrock).await.check(400, "Bedrock needs");
    let put = server.request("PUT", CONNECTIONS).json(openai().to_string());
    put.send().await.check(403, "owner");
    server.stop().await;
}

#[tokio::test]
async fn another_project_reaches_no_connection() {
    let server = with_another_project().await;
    let id = keep(&server, &openai()).await.json()["id"].clone();
    let path = format!("{CONNECTIONS}/{}", id.as_str().unwrap());
    let delete = server.request("DELETE", &path).header("authorization", OTHER);
    delete.send().await.check(404, "LangfuseNotFoundError");
    let get = server.get(CONNECTIONS).header("authorization", OTHER);
    assert_eq!(get.send().await.json()["data"], json!([]));
    server.stop().await;
}
