use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{a_bit_of_everything, event, read, record};
use crate::harness::TestServer;

const PATH: &str = "/api/public/v2/observations";

async fn story() -> TestServer {
    let server = TestServer::start().await;
    record(&server, &a_bit_of_everything()).await;
    server
}

async fn ids(server: &TestServer, query: &str) -> String {
    let page = read(server, &format!("{PATH}?{query}")).await;
    let rows = page["data"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
}

fn encoded(filter: &Value) -> String {
    filter.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn every_group_of_fields() {
    let server = story().await;
    let groups = "core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context";
    let page = read(&server, &format!("{PATH}?fields={groups}")).await;
    assert_snapshot!(serde_json::to_string_pretty(&page).unwrap());
    server.stop().await;
}

#[tokio::test]
async fn groups_that_nobody_asked_for_are_absent() {
    let server = story().await;
    let few = read(&server, &format!("{PATH}?traceId=t1&name=ask")).await;
    assert_snapshot!(serde_json::to_string_pretty(&few).unwrap());
    let row = &read(&server, &format!("{PATH}?fields=usage&name=ask")).await["data"][0];
    assert_eq!(row["totalCost"], 0.003);
    assert_eq!((row.get("name"), row.get("input")), (None, None));
    server.stop().await;
}

#[tokio::test]
async fn observations_are_found_by_every_parameter() {
    let server = story().await;
    for (query, expected) in [
        ("", "o3 o2 o1"),
        ("name=ask", "o2"),
        ("userId=u1&type=AGENT", "o1"),
        ("userId=u2", ""),
        ("sessionId=s1&level=ERROR", "o3"),
        ("sessionId=s2", ""),
        ("traceId=t1&limit=1", "o3"),
        ("traceId=t2", ""),
        ("parentObservationId=o1", "o3 o2"),
        ("parentObservationId=", "o1"),
        ("isRootObservation=true", "o1"),
        ("isRootObservation=false", "o3 o2"),
        ("environment=prod&version=v9", ""),
        ("environment=none", ""),
        ("fromStartTime=2026-11-15T10:00:01Z&toStartTime=2026-11-15T10:00:05Z", "o2"),
    ] {
        assert_eq!(ids(&server, query).await, expected, "{query}");
    }
    server.stop().await;
}

#[tokio::test]
async fn filters_add_to_the_parameters_and_win_over_them() {
    let server = story().await;
    let is = |kind: &str, column: &str, operator: &str, value: Value| {
        encoded(&json!([{"type": kind, "column": column, "operator": operator, "value": value}]))
    };
    for (query, filter, expected) in [
        ("", is("boolean", "isRootObservation", "=", json!(true)), "o1"),
        ("", is("string", "output", "matches", json!("LISB")), "o2"),
        ("", is("number", "inputCost", ">", json!(0.001)), "o2"),
        ("", is("arrayOptions", "tags", "any of", json!(["a"])), "o3 o2 o1"),
        ("", is("string", "providedModelName", "=", json!("gpt-4o")), "o2"),
        ("name=book", is("string", "name", "=", json!("ask")), "o2"),
        ("level=ERROR", is("string", "sessionId", "=", json!("s1")), "o3"),
        ("toStartTime=2026-11-15T10:00:01Z", is("string", "sessionId", "=", json!("s1")), "o1"),
        ("traceId=t2", is("string", "traceId", "=", json!("t1")), "o3 o2 o1"),
    ] {
        assert_eq!(ids(&server, &format!("{query}&filter={filter}")).await, expected, "{query}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_cursor_leads_through_all_of_them() {
    let server = TestServer::start().await;
    let step = |number: u32| {
        let start = format!("2026-11-15T10:00:{:02}Z", number / 4);
        let body = json!({"id": format!("o{number}"), "traceId": "t", "startTime": start});
        event("span-create", 0, body)
    };
    record(&server, &(0..50).map(step).collect::<Vec<_>>()).await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = read(&server, &format!("{PATH}?limit=7{cursor}")).await;
        seen.extend(page["data"].as_array().unwrap().iter().map(|row| row["id"].to_string()));
        let Some(next) = page["meta"]["cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen.len(), 50);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 50, "none twice");
    server.get(&format!("{PATH}?cursor=nonsense")).send().await.check(400, "cursor");
    server.get(&format!("{PATH}?limit=1001")).send().await.check(400, "limit");
    server.stop().await;
}

#[tokio::test]
async fn long_metadata_is_cut_unless_wanted_whole() {
    let server = TestServer::start().await;
    let long = "x".repeat(500);
    let metadata = json!({"a": long, "b": {"deep": long}, "c": 1});
    record(&server, &[event("span-create", 0, json!({"id": "o", "metadata": metadata}))]).await;
    let cut = &read(&server, &format!("{PATH}?fields=metadata")).await["data"][0]["metadata"];
    assert_eq!(cut["a"], "x".repeat(200));
    assert_eq!(cut["b"].as_str().unwrap().len(), 200);
    assert_eq!(cut["c"], 1);
    let query = format!("{PATH}?fields=metadata&expandMetadata=b,a");
    let whole = &read(&server, &query).await["data"][0]["metadata"];
    assert_eq!(whole, &metadata);
    server.stop().await;
}
