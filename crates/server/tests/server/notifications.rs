use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use crate::harness::{Reply, TestServer};

const RECEIVERS: &str = "/api/v1/notifications/receivers";

async fn add(server: &TestServer, body: &Value) -> Reply {
    let request = server.post("/api/v1/notifications/webhooks").key(Role::Owner);
    request.json(body.to_string()).send().await
}

async fn change(server: &TestServer, id: &str, role: Role, body: &Value) -> Reply {
    let request = server.request("PATCH", &format!("{RECEIVERS}/{id}")).key(role);
    request.json(body.to_string()).send().await
}

#[tokio::test]
async fn secrets_are_shown_once_and_addresses_never() {
    let server = TestServer::start().await;
    let url = "https://user:hush@hooks.example.com/services/hush?token=hush";
    let made = add(&server, &json!({"name": "ops", "url": url})).await;
    made.check(201, "https://hooks.example.com/…");
    let made = made.json();
    let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    assert!(secret.starts_with("whsec_"), "{made}");
    assert_eq!(made["events"], json!(["turn.ended", "person.needed", "session.failed"]));
    let again = change(&server, id, Role::Owner, &json!({"newSecret": true})).await;
    let another = again.json()["secret"].as_str().unwrap().to_owned();
    assert_ne!(another, secret);
    let paused = change(&server, id, Role::Owner, &json!({"state": "paused"})).await.json();
    assert_eq!((&paused["state"], &paused["secret"]), (&json!("paused"), &Value::Null));
    let list = server.request("GET", RECEIVERS).send().await;
    let audit = server.get("/api/v1/projects/shop/audit").key(Role::Owner).send().await;
    for shown in [list.check(200, "ops"), audit.check(200, "another secret")] {
        let text = String::from_utf8_lossy(&shown.body);
        assert!(!text.contains("hush") && !text.contains("whsec_"), "{text}");
        assert!(!text.contains(secret) && !text.contains(&another), "{text}");
    }
}

#[tokio::test]
async fn webhooks_are_an_owners_affair() {
    let server = TestServer::start().await;
    let body = json!({"name": "ops", "url": "http://127.0.0.1:9/x"});
    let id = add(&server, &body).await.json()["id"].as_str().unwrap().to_owned();
    let refused = change(&server, &id, Role::Member, &json!({"name": "mine"})).await;
    refused.check(403, "owner key");
    let at = format!("{RECEIVERS}/{id}");
    server.delete(&at).send().await.check(403, "owner key");
    server.post(&format!("{at}/tests")).send().await.check(403, "owner key");
    server.delete(&at).key(Role::Owner).send().await.check(200, &id);
    server.delete(&at).key(Role::Owner).send().await.check(404, "not found");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_name() {
    let server = TestServer::start().await;
    for (body, words) in [
        (json!({"name": " ", "url": "https://example.com"}), "name: "),
        (json!({"name": "x", "url": "file:///etc/passwd"}), "url: "),
        (json!({"name": "x", "url": "https://example.com", "events": []}), "events: "),
        (json!({"name": "x", "url": "https://example.com", "events": ["test"]}), "events: "),
        (json!({"name": "x", "url": "https://example.com", "secret": "mine"}), "secret"),
    ] {
        add(&server, &body).await.check(400, words);
    }
    let keys = json!({"p256dh": "AAAA", "auth": "AAAA"});
    for (endpoint, words) in
        [("http://push.example.net/x", "endpoint: "), ("https://push.example.net/x", "p256dh: ")]
    {
        let body = json!({"name": "x", "endpoint": endpoint, "keys": keys});
        let request = server.post("/api/v1/notifications/browsers").json(body.to_string());
        request.send().await.check(400, words);
    }
}
