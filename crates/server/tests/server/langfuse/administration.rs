use ratchet_core::catalog::account::Email;
use ratchet_core::id::TraceId;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_stages::record::retention_sweep::{SweepReport, sweep};
use ratchet_store::catalog::{NewUser, Role};
use ratchet_store::project::ProjectId;
use serde_json::{Value, json};

use super::isolation::{OTHER, with_another_project};
use super::{a_bit_of_everything, record};
use crate::harness::{Reply, TestServer};

const PROJECTS: &str = "/api/public/projects";

async fn ask(server: &TestServer, method: &str, path: &str, body: Value) -> Reply {
    let request = server.request(method, path).key(Role::Owner);
    request.json(body.to_string()).send().await
}

async fn person(server: &TestServer, email: &str, role: Role) -> String {
    let email = Email::parse(email).unwrap();
    let new = NewUser { email, name: None, password: Secret::new("hunter2"), role, project: None };
    server.app.store.catalog.create_user(new, Timestamp::default()).await.unwrap().id
}

#[tokio::test]
async fn a_project_is_made_used_and_deleted() {
    let server = TestServer::start().await;
    let body = json!({"name": "lab", "retention": 30, "metadata": {"team": "red"}});
    let made = ask(&server, "POST", PROJECTS, body.clone()).await.check(200, "").json();
    assert_eq!((&made["retentionDays"], &made["metadata"]), (&json!(30), &json!({"team": "red"})));
    ask(&server, "POST", PROJECTS, body).await.check(409, "exists already");
    let path = format!("{PROJECTS}/{}", made["id"].as_str().unwrap());
    let keys = format!("{path}/apiKeys");
    let key = ask(&server, "POST", &keys, json!({"note": "ci"})).await.check(200, "").json();
    let auth = basic(&key);
    let batch = json!({ "batch": a_bit_of_everything() }).to_string();
    let post = server.post("/api/public/ingestion").header("authorization", &auth);
    post.json(batch).send().await.check(207, "");
    let listed = ask(&server, "GET", &keys, json!({})).await.check(200, "").json();
    assert_eq!(listed["apiKeys"][0]["note"], "ci");
    assert!(!listed.to_string().contains(key["secretKey"].as_str().unwrap()));

    let change = json!({"name": "lab two", "retention": 0});
    let changed = ask(&server, "PUT", &path, change).await.check(200, "").json();
    assert_eq!((&changed["name"], &changed["metadata"]), (&json!("lab two"), &made["metadata"]));
    assert_eq!(changed.get("retentionDays"), None);
    ask(&server, "DELETE", &path, json!({})).await.check(202, r#""success":true"#);
    ask(&server, "DELETE", &path, json!({})).await.check(404, "LangfuseNotFoundError");
    let get = server.get("/api/public/traces").header("authorization", &auth);
    get.send().await.check(401, "UnauthorizedError");
    ask(&server, "GET", &keys, json!({})).await.check(404, "LangfuseNotFoundError");
    ask(&server, "DELETE", &format!("{PROJECTS}/shop"), json!({}))
        .await
        .check(409, "its own project");
    server.stop().await;
}

#[tokio::test]
async fn what_a_deleted_project_recorded_goes_even_if_the_server_stops_first() {
    let server = with_another_project().await;
    let batch = json!({ "batch": a_bit_of_everything() }).to_string();
    let post = server.post("/api/public/ingestion").header("authorization", OTHER);
    post.json(batch).send().await.check(207, "");
    // The state of a server that is killed between the two transactions.
    let (store, other) = (server.app.store.clone(), ProjectId::parse("other").unwrap());
    store.catalog.delete_project(other.clone(), server.app.clock.now()).await.unwrap();
    drop(store);
    let data = server.stop().await.reopened().await;
    let trace = TraceId::parse("t1").unwrap();
    let found = data.telemetry().trace(other.clone(), trace).await.unwrap();
    assert!(found.is_none(), "out of reach as soon as the folder is open");
    let swept = sweep(data.folder(), Timestamp::default()).await.unwrap();
    assert!(swept.abandoned > 0);
    assert_eq!(sweep(data.folder(), Timestamp::default()).await.unwrap(), SweepReport::default());
}

fn basic(key: &Value) -> String {
    use base64::Engine;
    let pair =
        format!("{}:{}", key["publicKey"].as_str().unwrap(), key["secretKey"].as_str().unwrap());
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}

#[tokio::test]
async fn keys_are_made_by_owners_and_revoked() {
    let server = TestServer::start().await;
    let keys = format!("{PROJECTS}/shop/apiKeys");
    let chosen = json!({"publicKey": "pk-lf-mine", "secretKey": "sk-lf-0123456789abcdef"});
    let key = ask(&server, "POST", &keys, chosen.clone()).await.check(200, "").json();
    assert_eq!(key["displaySecretKey"], "sk-lf-...cdef");
    ask(&server, "POST", &keys, chosen).await.check(409, "exists already");
    for (body, words) in [
        (json!({"publicKey": "pk-lf-a"}), "both or none"),
        (json!({"publicKey": "pk-lf-a", "secretKey": "sk-lf-short"}), "both or none"),
        (json!({"publicKey": "mine", "secretKey": "sk-lf-0123456789abcdef"}), "both or none"),
        (json!({"role": "king"}), "role"),
    ] {
        ask(&server, "POST", &keys, body).await.check(400, words);
    }
    let get = || server.get(PROJECTS).header("authorization", &basic(&key));
    get().send().await.check(200, "shop");
    let path = format!("{keys}/{}", key["id"].as_str().unwrap());
    ask(&server, "DELETE", &path, json!({})).await.check(200, r#"{"success":true}"#);
    get().send().await.check(401, "");
    server.request("POST", &keys).json("{}".to_owned()).send().await.check(403, "owner");
    server.stop().await;
}

#[tokio::test]
async fn people_have_roles_on_the_server_and_in_projects() {
    let server = TestServer::start().await;
    let ada = person(&server, "ada@example.com", Role::Owner).await;
    let bob = person(&server, "bob@example.com", Role::Member).await;
    let people = "/api/public/organizations/memberships";
    let listed = ask(&server, "GET", people, json!({})).await.check(200, "").json();
    assert_eq!(listed["memberships"].as_array().unwrap().len(), 2);
    assert!(listed.to_string().contains("bob@example.com"));
    let viewer = json!({"userId": bob, "role": "VIEWER"});
    ask(&server, "PUT", people, viewer.clone()).await.check(200, r#""role":"VIEWER""#);
    let admin = json!({"userId": bob, "role": "ADMIN"});
    ask(&server, "PUT", people, admin).await.check(400, "OWNER, MEMBER or VIEWER");
    let demoted = json!({"userId": ada, "role": "MEMBER"});
    ask(&server, "PUT", people, demoted).await.check(400, "needs an owner");

    let members = format!("{PROJECTS}/shop/memberships");
    ask(&server, "PUT", &members, viewer).await.check(200, "bob@example.com");
    let nobody = json!({"userId": "nobody", "role": "VIEWER"});
    ask(&server, "PUT", &members, nobody).await.check(404, "nobody not found");
    let listed = ask(&server, "GET", &members, json!({})).await.json();
    assert_eq!(listed["memberships"][0]["userId"], json!(bob));
    ask(&server, "DELETE", &members, json!({"userId": bob})).await.check(200, &bob);
    ask(&server, "DELETE", &members, json!({"userId": bob})).await.check(404, "");
    ask(&server, "DELETE", people, json!({"userId": bob})).await.check(200, &bob);
    ask(&server, "DELETE", people, json!({"userId": ada})).await.check(200, &ada);
    server.stop().await;
}

#[tokio::test]
async fn owners_see_the_whole_server_and_nobody_else_does() {
    let server = with_another_project().await;
    record(&server, &a_bit_of_everything()).await;
    for path in ["organizations/projects", "organizations/apiKeys", "organizations/memberships"] {
        let path = format!("/api/public/{path}");
        server.get(&path).send().await.check(403, "owner");
        server.get(&path).header("authorization", OTHER).send().await.check(200, "");
    }
    let listed = ask(&server, "GET", "/api/public/organizations/projects", json!({})).await;
    assert_eq!(listed.json()["projects"].as_array().unwrap().len(), 2);
    let keys = ask(&server, "GET", "/api/public/organizations/apiKeys", json!({})).await;
    assert_eq!(keys.json()["apiKeys"].as_array().unwrap().len(), 2, "owners' keys only");
    server.stop().await;
}
