use ratchet_core::catalog::dataset::run_id;
use serde_json::{Value, json};

use super::datasets::{dataset, item};
use super::{event, read, record};
use crate::harness::{Reply, TestServer};

const RUN_ITEMS: &str = "/api/public/dataset-run-items";
const SINCE: &str = "fromStartTime=2026-11-15T00:00:00Z";
const ALL_FIELDS: &str = "fields=core,dataset,io,metadata,itemMetadata,experimentMetadata,scores";

/// A dataset with an item, and its id.
async fn with_dataset(server: &TestServer) -> String {
    let made = dataset(server, json!({"name": "trips"})).await;
    for id in ["i1", "i2"] {
        let body =
            json!({"datasetName": "trips", "id": id, "input": "?", "expectedOutput": "Rome"});
        item(server, body).await;
    }
    made["id"].as_str().unwrap().to_owned()
}

async fn tried(server: &TestServer, body: Value) -> Reply {
    server.post(RUN_ITEMS).json(body.to_string()).send().await
}

/// The span of an experiment item, as newer SDKs send it, with a child that has the same
/// attributes.
async fn try_with_spans(server: &TestServer, words: &[(&str, &str)], trace: &str) {
    let attribute = |(key, value): &(&str, &str)| json!({"key": format!("langfuse.{key}"), "value": {"stringValue": value}});
    let mut attributes: Vec<Value> = words.iter().map(attribute).collect();
    let root = ("experiment.item.root_observation_id", "00000000000000aa");
    attributes.push(attribute(&root));
    let mut span = json!({
        "traceId": trace, "spanId": "00000000000000aa", "name": "task",
        "startTimeUnixNano": "1794735000000000000", "endTimeUnixNano": "1794735002000000000",
        "attributes": attributes,
    });
    let mut child = span.clone();
    child["spanId"] = json!("00000000000000bb");
    child["parentSpanId"] = json!("00000000000000aa");
    for (key, value) in [("observation.input", "\"Where?\""), ("observation.output", "\"Rome\"")] {
        span["attributes"].as_array_mut().unwrap().push(attribute(&(key, value)));
    }
    let body = json!({"resourceSpans": [{"scopeSpans": [{"spans": [child, span]}]}]});
    server.post("/api/public/otel/v1/traces").json(body.to_string()).send().await.check(200, "");
}

const TRACE: &str = "000000000000000000000000000000a1";

#[tokio::test]
async fn a_run_is_made_by_its_first_item_and_repeats_are_kept() {
    let server = TestServer::start().await;
    let set = with_dataset(&server).await;
    let first = json!({
        "runName": "run/1 ü", "runDescription": "d", "metadata": {"a": 1}, "datasetItemId": "i1",
        "traceId": "t1",
    });
    let made = tried(&server, first.clone()).await.check(200, "").json();
    assert_eq!(made["datasetRunId"], run_id("shop", &set, "run/1 ü"));
    assert_eq!(
        made,
        json!({
            "id": made["id"], "datasetRunId": made["datasetRunId"], "datasetRunName": "run/1 ü",
            "datasetItemId": "i1", "traceId": "t1", "observationId": null,
            "createdAt": "2026-11-15T12:00:03.000Z", "updatedAt": "2026-11-15T12:00:03.000Z",
        })
    );
    let again = tried(&server, first).await.check(200, "").json();
    assert_eq!(again["id"], made["id"], "said twice is tried once");
    for (item, trace) in [("i1", "t2"), ("i1", "t3"), ("i2", "t4")] {
        let body = json!({"runName": "run/1 ü", "datasetItemId": item, "traceId": trace});
        tried(&server, body).await.check(200, "");
    }
    let run = read(&server, "/api/public/datasets/trips/runs/run%2F1%20%C3%BC").await;
    assert_eq!((&run["id"], &run["description"]), (&made["datasetRunId"], &json!("d")));
    assert_eq!((&run["metadata"], &run["datasetName"]), (&json!({"a": 1}), &json!("trips")));
    let items = run["datasetRunItems"].as_array().unwrap();
    let of_first = items.iter().filter(|item| item["datasetItemId"] == "i1").count();
    assert_eq!((items.len(), of_first), (4, 3), "an item tried three times is three tries");
    let query = format!("{RUN_ITEMS}?datasetId={set}&runName=run/1%20%C3%BC&limit=3");
    let page = read(&server, &query).await;
    assert_eq!(
        (page["data"].as_array().unwrap().len(), &page["meta"]["totalItems"]),
        (3, &json!(4))
    );
    let runs = read(&server, "/api/public/datasets/trips/runs").await;
    assert_eq!((&runs["data"][0]["id"], &runs["meta"]["totalItems"]), (&run["id"], &json!(1)));
    let path = "/api/public/datasets/trips/runs/run%2F1%20%C3%BC";
    server.request("DELETE", path).send().await.check(200, "Dataset run successfully deleted");
    server.request("DELETE", path).send().await.check(404, "LangfuseNotFoundError");
    server.get(path).send().await.check(404, "LangfuseNotFoundError");
    server.stop().await;
}

#[tokio::test]
async fn spans_and_clients_tell_of_the_same_experiment() {
    let server = TestServer::start().await;
    let set = with_dataset(&server).await;
    let id = run_id("shop", &set, "nightly");
    let words = [
        ("experiment.id", id.as_str()),
        ("experiment.name", "nightly"),
        ("experiment.description", "every night"),
        ("experiment.metadata", r#"{"model":"small"}"#),
        ("experiment.dataset.id", &set),
        ("experiment.item.id", "i1"),
        ("experiment.item.version", "2026-11-15T12:00:02Z"),
        ("experiment.item.expected_output", "\"Rome\""),
        ("experiment.item.metadata", r#"{"hard":true}"#),
        ("environment", "sdk-experiment"),
    ];
    try_with_spans(&server, &words, TRACE).await;
    // The same item run, as an older SDK sends it in addition to its spans.
    let body = json!({
        "runName": "nightly", "datasetItemId": "i1", "traceId": TRACE,
        "observationId": "00000000000000aa",
    });
    let made = tried(&server, body).await.check(200, "").json();
    assert_eq!(made["datasetRunId"], id);
    // Another item, as the oldest SDKs send it.
    record(&server, &[event("trace-create", 0, json!({"id": "t2", "output": "Oslo"}))]).await;
    let body = json!({"runName": "nightly", "datasetItemId": "i2", "traceId": "t2"});
    tried(&server, body).await.check(200, "");
    let scores = json!([
        {"datasetRunId": id, "name": "accuracy", "value": 0.5},
        {"traceId": TRACE, "observationId": "00000000000000aa", "name": "right", "value": 1},
        {"traceId": TRACE, "observationId": "00000000000000bb", "name": "other", "value": 0},
        {"traceId": TRACE, "name": "whole", "value": 1},
    ]);
    server.post("/api/public/scores").json(scores.to_string()).send().await.check(202, "");
    check_experiments(&server, &id, &set).await;
    check_items(&server, &id).await;
    let run = read(&server, "/api/public/datasets/trips/runs/nightly").await;
    assert_eq!((&run["id"], &run["description"]), (&json!(id), &json!("every night")));
    assert_eq!(run["datasetRunItems"].as_array().unwrap().len(), 2);
    server.stop().await;
}

async fn check_experiments(server: &TestServer, id: &str, set: &str) {
    let page =
        read(server, &format!("/api/public/experiments?{SINCE}&fields=metadata,scores")).await;
    let found = &page["data"][0];
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
    for (field, expected) in [
        ("id", json!(id)),
        ("name", json!("nightly")),
        ("description", json!("every night")),
        ("datasetId", json!(set)),
        ("itemCount", json!(2)),
        ("metadata", json!({"model": "small"})),
        ("startTime", json!("2026-11-15T09:30:00.000Z")),
    ] {
        assert_eq!(found[field], expected, "{field}");
    }
    assert_eq!(
        (&found["scores"][0]["name"], &found["scores"][0]["value"]),
        (&json!("accuracy"), &json!(0.5))
    );
    let core = read(server, &format!("/api/public/experiments?{SINCE}&name=nightly")).await;
    assert_eq!((core["data"][0].get("metadata"), core["data"][0].get("scores")), (None, None));
    let filter =
        r#"[{"type":"stringOptions","column":"datasetId","operator":"any of","value":["x"]}]"#;
    let none = read(server, &format!("/api/public/experiments?{SINCE}&filter={filter}")).await;
    assert_eq!(none["data"], json!([]));
    let path = format!("/api/public/experiments?{SINCE}&cursor=x");
    server.get(&path).send().await.check(400, "cursor");
    let late = "/api/public/experiments?fromStartTime=2026-11-16T00:00:00Z";
    assert_eq!(read(server, late).await, json!({"data": [], "meta": {}}));
}

async fn check_items(server: &TestServer, id: &str) {
    let path = format!("/api/public/experiment-items?{SINCE}&experimentId={id}");
    let page = read(server, &format!("{path}&{ALL_FIELDS}")).await;
    let (old, new) = (&page["data"][0], &page["data"][1]);
    assert_eq!((&old["id"], &old["experimentItemId"]), (&json!("t2"), &json!("i2")));
    assert_eq!((&old["output"], &old["expectedOutput"]), (&json!("Oslo"), &json!("Rome")));
    for (field, expected) in [
        ("id", json!("00000000000000aa")),
        ("traceId", json!(TRACE)),
        ("startTime", json!("2026-11-15T09:30:00.000Z")),
        ("endTime", json!("2026-11-15T09:30:02.000Z")),
        ("level", json!("DEFAULT")),
        ("environment", json!("sdk-experiment")),
        ("experimentId", json!(id)),
        ("experimentName", json!("nightly")),
        ("experimentItemId", json!("i1")),
        ("experimentItemVersion", json!("2026-11-15T12:00:02.000Z")),
        ("input", json!("Where?")),
        ("output", json!("Rome")),
        ("expectedOutput", json!("Rome")),
        ("experimentItemMetadata", json!({"hard": true})),
        ("experimentMetadata", json!({"model": "small"})),
        ("experimentDescription", json!("every night")),
    ] {
        assert_eq!(new[field], expected, "{field}");
    }
    let names: Vec<_> =
        new["scores"].as_array().unwrap().iter().map(|s| s["name"].clone()).collect();
    assert!(names.contains(&json!("right")) && names.contains(&json!("whole")), "{names:?}");
    assert_eq!(names.len(), 2, "a score on another step is not the item's");
    let core = read(server, &path).await;
    assert_eq!((core["data"][1].get("input"), core["data"][1].get("scores")), (None, None));
    let first = read(server, &format!("{path}&limit=1")).await;
    assert_eq!(first["data"][0]["experimentItemId"], "i2");
    let cursor = first["meta"]["cursor"].as_str().unwrap();
    let second = read(server, &format!("{path}&limit=1&cursor={cursor}")).await;
    assert_eq!(second["data"][0]["experimentItemId"], "i1");
    assert_eq!(second["meta"], json!({}));
}

#[tokio::test]
async fn experiments_need_no_dataset() {
    let server = TestServer::start().await;
    let words =
        [("experiment.id", "e1"), ("experiment.name", "local"), ("experiment.item.id", "x1")];
    try_with_spans(&server, &words, TRACE).await;
    try_with_spans(&server, &words, "000000000000000000000000000000a2").await;
    let page = read(&server, &format!("/api/public/experiments?{SINCE}")).await;
    let found = &page["data"][0];
    assert_eq!(
        (&found["id"], &found["datasetId"], &found["itemCount"]),
        (&json!("e1"), &Value::Null, &json!(2))
    );
    server.stop().await;
}

#[tokio::test]
async fn tries_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    with_dataset(&server).await;
    item(&server, json!({"datasetName": "trips", "id": "i2", "status": "ARCHIVED"})).await;
    for (body, status, words) in [
        (
            json!({"runName": "r", "datasetItemId": "none", "traceId": "t"}),
            404,
            "Dataset item none",
        ),
        (json!({"runName": "r", "datasetItemId": "i2", "traceId": "t"}), 404, "Dataset item i2"),
        (json!({"runName": "r", "datasetItemId": "i1"}), 400, r#""path":["traceId"]"#),
        (
            json!({"runName": "", "datasetItemId": "i1", "traceId": "t"}),
            400,
            r#""path":["runName"]"#,
        ),
        (
            json!({"runName": "r", "datasetItemId": "i1", "observationId": "o"}),
            404,
            "Observation o",
        ),
        (
            json!({"runName": "r", "datasetItemId": "i1", "traceId": ""}),
            400,
            r#""path":["traceId"]"#,
        ),
    ] {
        tried(&server, body).await.check(status, words);
    }
    for (path, status, words) in [
        ("/api/public/experiments", 400, r#""path":["fromStartTime"]"#),
        ("/api/public/experiment-items", 400, r#""path":["fromStartTime"]"#),
        ("/api/public/dataset-run-items?datasetId=x", 400, r#""path":["runName"]"#),
        ("/api/public/dataset-run-items?datasetId=x&runName=r", 404, "Dataset run r"),
        ("/api/public/datasets/none/runs", 404, "Dataset none"),
        ("/api/public/datasets/trips/runs/none", 404, "Dataset run none"),
        (&format!("/api/public/experiments?{SINCE}&fields=all"), 400, "field group"),
        (&format!("/api/public/experiments?{SINCE}&scoreLimit=51"), 400, "scoreLimit"),
        (&format!("/api/public/experiments?{SINCE}&filter=[1]"), 400, "filter"),
    ] {
        server.get(path).send().await.check(status, words);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_page_of_long_items_is_sent_as_it_is_read() {
    let server = TestServer::start().await;
    with_dataset(&server).await;
    let long = "x".repeat(1_500_000);
    for nth in 0..5 {
        let id = format!("long-{nth}");
        let body = json!({"id": id, "timestamp": "2026-11-15T12:00:00Z", "output": long});
        record(&server, &[event("trace-create", nth, body)]).await;
        let score = json!({"id": format!("of-{id}"), "traceId": id, "name": "said", "value": nth});
        record(&server, &[event("score-create", nth, score)]).await;
        let body = json!({"runName": "long", "datasetItemId": "i1", "traceId": id});
        tried(&server, body).await.check(200, "");
    }
    for (limit, fields) in [(5, "core,io"), (5, "core,io,scores"), (5, "core"), (2, "core,io")] {
        let path = format!("/api/public/experiment-items?{SINCE}&fields={fields}&limit={limit}");
        let page = server.get(&path).send().await.check(200, "").json();
        let rows = page["data"].as_array().unwrap();
        let ids: std::collections::BTreeSet<_> =
            rows.iter().map(|row| row["traceId"].as_str().unwrap()).collect();
        assert_eq!((rows.len(), ids.len()), (limit, limit), "{fields}: each of them once");
        assert_eq!(page["meta"]["cursor"].is_string(), limit < 5, "{fields}");
        for row in rows {
            assert_eq!(row["environment"], "default", "{fields}");
            if fields.contains("io") {
                assert_eq!(row["output"].as_str().unwrap().len(), long.len(), "{fields}");
                assert_eq!(row["expectedOutput"], "Rome", "{fields}");
            }
            let scores = row["scores"].as_array().map(Vec::len);
            assert_eq!(scores, fields.contains("scores").then_some(1), "{fields}");
        }
    }
    server.stop().await;
}
