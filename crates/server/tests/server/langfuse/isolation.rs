use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{KeyPair, NewKey, NewProject, Permissions, Role};
use ratchet_store::project::ProjectId;
use serde_json::json;

use super::{a_bit_of_everything, event, read, record};
use crate::harness::TestServer;

/// `Basic` of `pk-other:sk`.
pub(super) const OTHER: &str = "Basic cGstb3RoZXI6c2s=";

pub(super) async fn with_another_project() -> TestServer {
    let server = TestServer::start().await;
    let project = ProjectId::parse("other").unwrap();
    let new = NewProject { id: project.clone(), name: "other".to_owned(), retention_days: None };
    let catalog = &server.app.store.catalog;
    catalog.create_project(new, Timestamp::default()).await.unwrap();
    let pair = KeyPair { public_key: "pk-other".to_owned(), secret_key: Secret::new("sk") };
    let (role, permissions) = (Role::Owner, Permissions::ALL);
    let new = NewKey { project, role, permissions, note: None, person: None, pair: Some(pair) };
    catalog.create_key(new, Timestamp::default()).await.unwrap();
    server
}

#[tokio::test]
async fn a_project_sees_nothing_of_another() {
    let server = with_another_project().await;
    record(&server, &a_bit_of_everything()).await;
    for path in ["traces", "observations", "sessions", "traces?userId=u1&tags=a"] {
        let get = server.get(&format!("/api/public/{path}")).header("authorization", OTHER);
        let page = get.send().await.check(200, "").json();
        assert_eq!((&page["data"], &page["meta"]["totalItems"]), (&json!([]), &json!(0)), "{path}");
    }
    for path in ["traces/t1", "observations/o2", "sessions/s1"] {
        let get = server.get(&format!("/api/public/{path}")).header("authorization", OTHER);
        get.send().await.check(404, "LangfuseNotFoundError");
    }
    let get = server.get("/api/public/projects").header("authorization", OTHER);
    assert_eq!(get.send().await.json()["data"][0]["id"], "other");
    server.stop().await;
}

#[tokio::test]
async fn the_same_ids_in_two_projects_are_two_records() {
    let server = with_another_project().await;
    record(&server, &a_bit_of_everything()).await;
    let before = read(&server, "/api/public/traces/t1").await;
    let batch = json!({ "batch": [
        event("trace-create", 50, json!({"id": "t1", "name": "theirs", "sessionId": "s1"})),
        event("span-update", 51, json!({"id": "o2", "output": "theirs"})),
        event("score-create", 52, json!({"id": "sc1", "traceId": "t1", "name": "n", "value": 0})),
    ] });
    let post = server.post("/api/public/ingestion").header("authorization", OTHER);
    post.json(batch.to_string()).send().await.check(207, "");
    assert_eq!(read(&server, "/api/public/traces/t1").await, before);
    let get = server.get("/api/public/traces/t1").header("authorization", OTHER);
    assert_eq!(get.send().await.json()["name"], "theirs");
    server.stop().await;
}
