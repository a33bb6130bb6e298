use std::time::Duration;

use serde_json::{Value, json};

use super::read;
use crate::harness::{Reply, TestServer};

const DATASETS: &str = "/api/public/v2/datasets";
const ITEMS: &str = "/api/public/dataset-items";

async fn post(server: &TestServer, path: &str, body: Value) -> Reply {
    server.clock.advance(Duration::from_secs(1));
    server.post(path).json(body.to_string()).send().await
}

/// Creates a dataset; must succeed.
pub(super) async fn dataset(server: &TestServer, body: Value) -> Value {
    post(server, DATASETS, body).await.check(200, "").json()
}

/// Creates an item; must succeed.
pub(super) async fn item(server: &TestServer, body: Value) -> Value {
    post(server, ITEMS, body).await.check(200, "").json()
}

async fn delete(server: &TestServer, path: &str) -> Reply {
    server.clock.advance(Duration::from_secs(1));
    server.request("DELETE", path).send().await
}

/// The ids on a page, in order, and the total.
async fn ids(server: &TestServer, query: &str) -> (Value, u64) {
    let page = read(server, &format!("{ITEMS}?{query}")).await;
    let ids: Vec<_> =
        page["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    (json!(ids), page["meta"]["totalItems"].as_u64().unwrap())
}

#[tokio::test]
async fn a_dataset_is_made_once_and_changed_by_name() {
    let server = TestServer::start().await;
    let made = dataset(&server, json!({"name": "trips/eu ü", "description": "d"})).await;
    assert_eq!(
        made,
        json!({
            "id": made["id"], "name": "trips/eu ü", "description": "d", "metadata": null,
            "inputSchema": null, "expectedOutputSchema": null, "projectId": "shop",
            "createdAt": "2026-11-15T12:00:01.000Z", "updatedAt": "2026-11-15T12:00:01.000Z",
        })
    );
    let again = json!({"name": "trips/eu ü", "description": null, "metadata": {"a": [1]}});
    dataset(&server, again).await;
    let shown = read(&server, &format!("{DATASETS}/trips%2Feu%20%C3%BC")).await;
    assert_eq!((&shown["id"], &shown["description"]), (&made["id"], &json!("d")));
    assert_eq!((&shown["metadata"], &shown["createdAt"]), (&json!({"a": [1]}), &made["createdAt"]));
    assert_eq!(read(&server, &format!("{DATASETS}/trips/eu%20%C3%BC")).await, shown);
    let twice = format!("{ITEMS}?datasetName=trips%252Feu%2520%25C3%25BC");
    assert_eq!(read(&server, &twice).await["meta"]["totalItems"], 0);
    dataset(&server, json!({"name": "second"})).await;
    let page = read(&server, &format!("{DATASETS}?limit=1")).await;
    assert_eq!(page["data"][0]["name"], "second");
    assert_eq!(page["meta"], json!({"page": 1, "limit": 1, "totalItems": 2, "totalPages": 2}));
    server.get(&format!("{DATASETS}/none")).send().await.check(404, "LangfuseNotFoundError");
    post(&server, DATASETS, json!({"name": ""})).await.check(400, r#""path":["name"]"#);
    post(&server, DATASETS, json!({})).await.check(400, "name");
    server.stop().await;
}

#[tokio::test]
async fn the_first_version_names_what_is_in_a_dataset() {
    let server = TestServer::start().await;
    let v1 = "/api/public/datasets";
    let made: Value = post(&server, v1, json!({"name": "trips"})).await.check(200, "").json();
    assert_eq!((&made["items"], &made["runs"]), (&json!([]), &json!([])));
    for id in ["i1", "i2", "i3"] {
        item(&server, json!({"datasetName": "trips", "id": id})).await;
    }
    item(&server, json!({"datasetName": "trips", "id": "i1", "input": "changed"})).await;
    item(&server, json!({"datasetName": "trips", "id": "i3", "status": "ARCHIVED"})).await;
    for run in ["first", "second"] {
        let tried = json!({"runName": run, "datasetItemId": "i1", "traceId": "t"});
        post(&server, "/api/public/dataset-run-items", tried).await.check(200, "");
    }
    dataset(&server, json!({"name": "empty"})).await;
    let page = read(&server, v1).await;
    assert_eq!(page["meta"], json!({"page": 1, "limit": 50, "totalItems": 2, "totalPages": 1}));
    assert_eq!(
        (&page["data"][0]["name"], &page["data"][0]["items"]),
        (&json!("empty"), &json!([]))
    );
    let mut trips = read(&server, &format!("{DATASETS}/trips")).await;
    trips["items"] = json!(["i2", "i1"]);
    trips["runs"] = json!(["second", "first"]);
    assert_eq!(page["data"][1], trips);
    let again: Value = post(&server, v1, json!({"name": "trips"})).await.check(200, "").json();
    assert_eq!(again["items"], trips["items"]);
    post(&server, v1, json!({"name": ""})).await.check(400, r#""path":["name"]"#);
    server.stop().await;
}

#[tokio::test]
async fn an_item_is_made_once_and_changed_by_id() {
    let server = TestServer::start().await;
    let set = dataset(&server, json!({"name": "trips"})).await;
    let sent = json!({
        "datasetName": "trips", "id": "i/1", "input": {"q": "Wohin?", "n": 1.50}, "metadata": 7,
        "expectedOutput": "Lisbon", "sourceTraceId": "t1", "sourceObservationId": "o1",
    });
    let made = item(&server, sent).await;
    assert_eq!(
        made,
        json!({
            "id": "i/1", "status": "ACTIVE", "input": {"q": "Wohin?", "n": 1.5}, "metadata": 7,
            "expectedOutput": "Lisbon", "sourceTraceId": "t1", "sourceObservationId": "o1",
            "datasetId": set["id"], "datasetName": "trips", "mediaReferences": [],
            "createdAt": "2026-11-15T12:00:02.000Z", "updatedAt": "2026-11-15T12:00:02.000Z",
        })
    );
    assert_eq!(read(&server, &format!("{ITEMS}/i%2F1")).await, made);
    let change = json!({"datasetName": "trips", "id": "i/1", "input": null, "metadata": {}});
    let changed = item(&server, change).await;
    assert_eq!((&changed["input"], &changed["metadata"]), (&made["input"], &json!({})));
    assert_eq!(changed["createdAt"], made["createdAt"]);
    assert_eq!(changed["updatedAt"], "2026-11-15T12:00:03.000Z");
    let random = item(&server, json!({"datasetName": "trips"})).await;
    assert_eq!((&random["input"], &random["expectedOutput"]), (&Value::Null, &Value::Null));
    assert_eq!(ids(&server, "datasetName=trips").await, (json!([random["id"], "i/1"]), 2));
    assert_eq!(ids(&server, "sourceTraceId=t1&sourceObservationId=o1").await, (json!(["i/1"]), 1));
    assert_eq!(ids(&server, "sourceTraceId=t2").await, (json!([]), 0));
    server.stop().await;
}

#[tokio::test]
async fn a_dataset_can_be_read_as_it_was() {
    let server = TestServer::start().await;
    dataset(&server, json!({"name": "d"})).await;
    let first = item(&server, json!({"datasetName": "d", "id": "a", "input": 1})).await;
    item(&server, json!({"datasetName": "d", "id": "b", "input": 1})).await;
    item(&server, json!({"datasetName": "d", "id": "a", "input": 2})).await;
    item(&server, json!({"datasetName": "d", "id": "b", "status": "ARCHIVED"})).await;
    delete(&server, &format!("{ITEMS}/a")).await.check(200, "Dataset item successfully deleted");
    let as_of = |time: &str| format!("datasetName=d&version={time}");
    let then = read(&server, &format!("{ITEMS}?{}", as_of("2026-11-15T12:00:03.500Z"))).await;
    assert_eq!((&then["data"][1]["id"], &then["data"][1]["input"]), (&json!("a"), &json!(1)));
    assert_eq!(ids(&server, &as_of("2026-11-15T12:00:01.999Z")).await, (json!([]), 0));
    let at_first = as_of(first["updatedAt"].as_str().unwrap());
    assert_eq!(ids(&server, &at_first).await, (json!(["a"]), 1));
    assert_eq!(ids(&server, &as_of("2026-11-15T12:00:04Z")).await, (json!(["b", "a"]), 2));
    assert_eq!(ids(&server, &as_of("2026-11-15T12:00:05Z")).await, (json!(["a"]), 1));
    assert_eq!(ids(&server, "datasetName=d").await, (json!([]), 0));
    assert_eq!(read(&server, &format!("{ITEMS}/b")).await["status"], "ARCHIVED");
    server.get(&format!("{ITEMS}/a")).send().await.check(404, "LangfuseNotFoundError");
    delete(&server, &format!("{ITEMS}/a")).await.check(404, "LangfuseNotFoundError");
    let get = server.get(&format!("{ITEMS}?version=2026-11-15T12:00:04Z"));
    get.send().await.check(400, r#""path":["datasetName"]"#);
    server.stop().await;
}

#[tokio::test]
async fn versions_in_one_millisecond_stay_apart() {
    let server = TestServer::start().await;
    dataset(&server, json!({"name": "d"})).await;
    let mut last = String::new();
    for input in 0..5 {
        let body = json!({"datasetName": "d", "id": "a", "input": input}).to_string();
        let made = server.post(ITEMS).json(body).send().await.check(200, "").json();
        let updated = made["updatedAt"].as_str().unwrap().to_owned();
        assert!(updated > last, "{updated} is not after {last}");
        let query = format!("{ITEMS}?datasetName=d&version={updated}");
        assert_eq!(read(&server, &query).await["data"][0]["input"], input);
        last = updated;
    }
    delete(&server, &format!("{ITEMS}/a")).await.check(200, "");
    let again = item(&server, json!({"datasetName": "d", "id": "a", "input": "anew"})).await;
    assert_eq!(ids(&server, "datasetName=d").await, (json!(["a"]), 1));
    assert_eq!(again["createdAt"], again["updatedAt"]);
    server.stop().await;
}

#[tokio::test]
async fn items_must_fit_the_schemas_of_their_dataset() {
    let server = TestServer::start().await;
    let input =
        json!({"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}});
    let sent =
        json!({"name": "d", "inputSchema": input, "expectedOutputSchema": {"type": "number"}});
    let made = dataset(&server, sent).await;
    assert_eq!(made["inputSchema"], input);
    let good = json!({"datasetName": "d", "id": "a", "input": {"q": "?"}, "expectedOutput": 1});
    item(&server, good).await;
    for (body, words) in [
        (json!({"datasetName": "d", "expectedOutput": 1}), "input does not fit"),
        (json!({"datasetName": "d", "input": {"q": 1}, "expectedOutput": 1}), "/q"),
        (json!({"datasetName": "d", "input": {"q": ""}, "expectedOutput": "x"}), "expectedOutput"),
        (json!({"datasetName": "d", "id": "a", "input": {}}), "input does not fit"),
    ] {
        post(&server, ITEMS, body).await.check(400, words);
    }
    assert_eq!(ids(&server, "datasetName=d").await, (json!(["a"]), 1));
    let narrow = json!({"name": "d", "inputSchema": {"type": "string"}});
    post(&server, DATASETS, narrow).await.check(400, "item a: input does not fit");
    assert_eq!(read(&server, &format!("{DATASETS}/d")).await["inputSchema"], input);
    let cleared = dataset(&server, json!({"name": "d", "inputSchema": null})).await;
    assert_eq!(cleared["inputSchema"], Value::Null);
    assert_eq!(cleared["expectedOutputSchema"], json!({"type": "number"}));
    item(&server, json!({"datasetName": "d", "expectedOutput": 2})).await;
    let bad = json!({"name": "e", "inputSchema": {"type": "texture"}});
    post(&server, DATASETS, bad).await.check(400, r#""path":["inputSchema"]"#);
    let far = json!({"name": "e", "inputSchema": {"$ref": "file:///etc/hostname"}});
    post(&server, DATASETS, far).await.check(400, r#""path":["inputSchema"]"#);
    server.stop().await;
}

#[tokio::test]
async fn items_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    for name in ["d", "e"] {
        dataset(&server, json!({"name": name})).await;
    }
    item(&server, json!({"datasetName": "d", "id": "a"})).await;
    let long = "x".repeat(256);
    for (body, status, words) in [
        (json!({"datasetName": "none"}), 404, "Dataset none not found"),
        (json!({"datasetName": "e", "id": "a"}), 409, "another dataset"),
        (json!({"datasetName": "d", "id": long}), 400, r#""path":["id"]"#),
        (json!({"datasetName": "d", "id": ""}), 400, r#""path":["id"]"#),
        (json!({"datasetName": "d", "status": "OLD"}), 400, r#""path":["status"]"#),
        (json!({"datasetName": "d", "sourceTraceId": ""}), 400, r#""path":["sourceTraceId"]"#),
        (json!({"input": 1}), 400, "datasetName"),
    ] {
        post(&server, ITEMS, body).await.check(status, words);
    }
    let nested = format!("{}{}", "[".repeat(101), "]".repeat(101));
    let body = format!(r#"{{"datasetName":"d","input":{nested}}}"#);
    server.post(ITEMS).json(body).send().await.check(400, "nests too deep");
    server.get(&format!("{ITEMS}?datasetName=none")).send().await.check(404, "");
    server.get(&format!("{ITEMS}?datasetName=d&version=now")).send().await.check(400, "version");
    server.stop().await;
}

#[tokio::test]
async fn a_page_of_long_items_is_whole_and_in_order() {
    let server = TestServer::start().await;
    dataset(&server, json!({"name": "long"})).await;
    let long = "x".repeat(1_500_000);
    for nth in 0..5 {
        let body = json!({"datasetName": "long", "id": format!("i{nth}"), "input": long});
        item(&server, body).await;
    }
    let page = read(&server, "/api/public/dataset-items?datasetName=long&limit=4").await;
    let rows = page["data"].as_array().unwrap();
    let ids: std::collections::BTreeSet<_> =
        rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!((rows.len(), ids.len()), (4, 4), "each of them once");
    assert!(rows.iter().all(|row| row["input"].as_str().unwrap().len() == long.len()));
    assert_eq!((&page["meta"]["totalItems"], &page["meta"]["limit"]), (&json!(5), &json!(4)));
    server.stop().await;
}
