use ratchet_server::app::Settings;
use ratchet_store::catalog::Role;
use ratchet_testkit::webhook_receiver::FakeBrowser;
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
    assert_eq!(
        made["events"],
        json!([
            "turn.ended",
            "person.needed",
            "session.failed",
            "week.report",
            "improvement.report",
            "proposal.significant",
            "failure.pattern",
            "review.drawn",
            "review.alert",
            "gate.blocked",
            "promotion"
        ])
    );
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
async fn people_and_issue_trackers_are_receivers_whose_tokens_are_never_shown() {
    let server = TestServer::start().await;
    let email = json!({"name": "Ada", "format": "email", "url": "mailto:ada@example.org"});
    let made = add(&server, &email).await.check(201, "ada@example.org").json();
    assert_eq!((&made["kind"], &made["secret"]), (&json!("email"), &Value::Null));
    assert_eq!(made["events"], json!(["improvement.report"]));
    let github = json!({
        "name": "repo", "format": "github", "token": "hush",
        "url": "https://api.github.com/repos/acme/shop/issues",
    });
    let jira = json!({
        "name": "board", "format": "jira", "token": "hush", "user": "ada@example.org",
        "jiraProject": "SHOP", "url": "https://acme.example/rest/api/3/issue",
    });
    for tracker in [&github, &jira] {
        let made = add(&server, tracker).await;
        let shown = String::from_utf8_lossy(&made.check(201, "").body).into_owned();
        assert!(!shown.contains("hush") && !shown.contains("/repos/"), "{shown}");
        assert_eq!(made.json()["events"], json!(["proposal.significant"]));
    }
    let with = |of: &Value, field: &str, value: &str| {
        let mut body = of.clone();
        body[field] = json!(value);
        body
    };
    for (body, field) in [
        (with(&email, "url", "mailto:a@x.org,b@x.org"), "email: "),
        (with(&github, "token", ""), "token: "),
        (with(&github, "url", "https://api.github.com/repos/acme/shop"), "url: "),
        (with(&github, "url", "http://169.254.169.254/issues"), "url: "),
        (with(&jira, "jiraProject", "A B"), "jiraProject: "),
        (with(&jira, "user", "a:b"), "user: "),
        (with(&jira, "url", "http://localhost/rest/api/3/issue"), "url: "),
    ] {
        add(&server, &body).await.check(400, field);
    }
}

#[tokio::test]
async fn webhooks_are_an_owners_affair() {
    let server = TestServer::start().await;
    let body = json!({"name": "ops", "url": "https://hooks.example/x"});
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

/// Addresses of this machine or its network, plain and obfuscated.
const INSIDE: [&str; 6] = [
    "https://127.0.0.1/x",
    "https://localhost:8080/x",
    "https://0x7f.1/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://169.254.169.254/latest/meta-data",
    "https://[fd00:ec2::254]/x",
];

#[tokio::test]
async fn addresses_inside_are_refused_wherever_callers_enter_them() {
    let server = TestServer::start().await;
    let (point, auth) = FakeBrowser::new(1).keys();
    let put = async |path: &str, body: Value| {
        server.request("PUT", path).key(Role::Owner).json(body.to_string()).send().await
    };
    for inside in INSIDE {
        let refused = add(&server, &json!({"name": "x", "url": inside})).await;
        refused.check(400, "url: ").check(400, "outbound.allow = ");
        let keys = json!({"p256dh": point, "auth": auth});
        let body = json!({"name": "x", "endpoint": inside, "keys": keys});
        let request = server.post("/api/v1/notifications/browsers").json(body.to_string());
        request.send().await.check(400, "endpoint: ").check(400, "outbound.allow = ");
        for field in ["slack", "webhook"] {
            let body = json!({"cron": "@weekly", "zone": "UTC", field: inside});
            let refused = put("/api/v1/projects/shop/schedules/week", body).await;
            refused.check(400, &format!("{field}: ")).check(400, "outbound.allow = ");
        }
        let body = json!({
            "provider": "inside", "adapter": "openai", "secretKey": "sk", "baseURL": inside,
        });
        let refused = put("/api/public/llm-connections", body).await;
        refused.check(400, "baseURL").check(400, "outbound.allow = ");
    }
    let all = server.request("GET", RECEIVERS).send().await.json();
    assert_eq!(all, json!([]), "nothing was kept");
}

#[tokio::test]
async fn settings_allow_addresses_inside() {
    let outbound = "localhost, 10.0.0.0/8".parse().unwrap();
    let server = TestServer::start_calling(outbound, Settings::default()).await;
    for inside in ["http://127.0.0.1:9/x", "https://localhost/x", "https://10.1.2.3/x"] {
        add(&server, &json!({"name": "x", "url": inside})).await.check(201, "whsec_");
    }
    add(&server, &json!({"name": "x", "url": "https://192.168.0.1"})).await.check(400, "private");
}
