use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::{a_bit_of_everything, event, read, record};
use crate::harness::TestServer;

async fn story() -> TestServer {
    let server = TestServer::start().await;
    record(&server, &a_bit_of_everything()).await;
    for id in ["t2", "t3", "t4"] {
        let trace = json!({"id": id, "sessionId": "s1"});
        let step = json!({"id": format!("{id}-step"), "traceId": id});
        let events = [event("trace-create", 20, trace), event("span-create", 21, step)];
        record(&server, &events).await;
    }
    server
}

async fn trace_ids(server: &TestServer) -> Vec<Value> {
    let page = read(server, "/api/public/traces?orderBy=id.asc").await;
    page["data"].as_array().unwrap().iter().map(|trace| trace["id"].clone()).collect()
}

#[tokio::test]
async fn a_trace_goes_with_all_that_hangs_on_it() {
    let server = story().await;
    let reply = server.delete("/api/public/traces/t1").send().await;
    assert_eq!(reply.check(200, "").json()["message"], "Trace deleted successfully");
    for path in ["traces/t1", "observations/o1", "observations/o2"] {
        server.get(&format!("/api/public/{path}")).send().await.check(404, "NotFound");
    }
    let session = read(&server, "/api/public/sessions/s1").await;
    let left: Vec<_> = session["traces"].as_array().unwrap().iter().map(|t| &t["id"]).collect();
    assert_eq!(left, ["t2", "t3", "t4"]);
    let again = server.delete("/api/public/traces/t1").send().await;
    assert!(again.check(200, "").json()["message"].is_string(), "asking again is harmless");
    server.stop().await;
}

#[tokio::test]
async fn several_traces_go_at_once() {
    let server = story().await;
    let body = json!({"traceIds": ["t1", "t3", "nobody"]}).to_string();
    let reply = server.delete("/api/public/traces").json(body).send().await;
    reply.check(200, "2 of 3");
    assert_eq!(trace_ids(&server).await, ["t2", "t4"]);
    let body = json!({"traceIds": ["t2", "t4"]}).to_string();
    server.delete("/api/public/traces").json(body).send().await.check(200, "2 of 2");
    server.get("/api/public/sessions/s1").send().await.check(404, "");
    server.stop().await;
}

#[tokio::test]
async fn what_makes_no_sense_deletes_nothing() {
    let server = story().await;
    for (body, words) in [
        ("", "EOF"),
        ("{}", "traceIds"),
        (r#"{"traceIds": []}"#, "at least one"),
        (r#"{"traceIds": "t1"}"#, "traceIds"),
        (r#"{"traceIds": ["t1", ""]}"#, "traceIds"),
        (r#"{"traceIds": ["t1", 2]}"#, "traceIds"),
    ] {
        let reply = server.delete("/api/public/traces").json(body.to_owned()).send().await;
        reply.check(400, words);
    }
    let many: Vec<String> = (0..10_001).map(|n| n.to_string()).collect();
    let body = json!({ "traceIds": many }).to_string();
    server.delete("/api/public/traces").json(body).send().await.check(413, "at most 10000");
    assert_eq!(trace_ids(&server).await, ["t1", "t2", "t3", "t4"]);
    server.stop().await;
}

#[tokio::test]
async fn only_members_delete() {
    let server = story().await;
    for role in [Role::Viewer, Role::IngestOnly] {
        server.delete("/api/public/traces/t1").key(role).send().await.check(403, "role");
        let body = json!({"traceIds": ["t1"]}).to_string();
        server.delete("/api/public/traces").key(role).json(body).send().await.check(403, "role");
    }
    assert_eq!(trace_ids(&server).await.len(), 4);
    server.stop().await;
}
