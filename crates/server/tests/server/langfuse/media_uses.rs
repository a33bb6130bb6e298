use std::time::Duration;

use ratchet_core::time::Timestamp;
use ratchet_stages::record::retention_sweep::sweep;
use serde_json::{Value, json};

use super::datasets::{dataset, item};
use super::isolation::{OTHER, with_another_project};
use super::media::{announce, hello, id, stored};
use super::{event, read, record};
use crate::chats::Stage;
use crate::harness::{Reply, TestServer};

const HOUR: Duration = Duration::from_secs(3_600);

fn reference() -> String {
    format!("@@@langfuseMedia:type=image/png|id={}|source=bytes@@@", id())
}

/// Records a trace that references `hello` in its input.
async fn record_trace(server: &TestServer, trace: &str) {
    let body = json!({"id": trace, "input": {"image": reference()}});
    record(server, &[event("trace-create", 1, body)]).await;
}

async fn delete(server: &TestServer, path: &str) {
    server.delete(path).send().await.check(200, "");
}

/// Sweeps some hours later, and returns the number of deleted files.
async fn sweep_after(server: &TestServer, hours: u32) -> u64 {
    server.clock.advance(HOUR * hours);
    sweep(&server.app.store, now(server)).await.unwrap().media
}

fn now(server: &TestServer) -> Timestamp {
    server.app.clock.now()
}

async fn show(server: &TestServer) -> Reply {
    server.get(&format!("/api/public/media/{}", id())).send().await
}

#[tokio::test]
async fn dataset_items_say_which_media_they_refer_to() {
    let server = TestServer::start().await;
    let media = stored(&server, "image/png").await;
    dataset(&server, json!({"name": "d"})).await;
    let unknown = reference().replace(&id(), "nobody");
    let body = json!({
        "datasetName": "d", "id": "i", "input": {"a": ["see this", reference(), unknown]},
        "expectedOutput": reference(), "metadata": {"note": format!("not whole: {}", reference())},
    });
    let made = item(&server, body).await;
    let path = "/api/public/dataset-items";
    for shown in [
        made,
        read(&server, &format!("{path}/i")).await,
        read(&server, &format!("{path}?datasetName=d")).await["data"][0].clone(),
    ] {
        let found = shown["mediaReferences"].as_array().unwrap();
        let places: Vec<_> =
            found.iter().map(|one| json!([one["field"], one["jsonPath"]])).collect();
        assert_eq!(places, [json!(["input", "$['a'][1]"]), json!(["expectedOutput", "$"])]);
        for one in found {
            assert_eq!(one["referenceString"], reference());
            let said = &one["media"];
            assert_eq!((&said["mediaId"], &said["contentLength"]), (&json!(id()), &json!(5)));
            assert_eq!(said["contentType"], media["contentType"]);
            let url = said["url"].as_str().unwrap();
            server.request("GET", url).send().await.check(200, "hello");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn media_go_a_day_after_the_last_that_refers_to_them() {
    let server = TestServer::start().await;
    stored(&server, "image/png").await;
    record_trace(&server, "t").await;
    assert_eq!(sweep_after(&server, 48).await, 0, "the trace is there");
    // Another trace only references what the first one uploaded.
    record_trace(&server, "other").await;
    delete(&server, "/api/public/traces/t").await;
    assert_eq!(sweep_after(&server, 48).await, 0, "another trace is there");
    delete(&server, "/api/public/traces/other").await;
    show(&server).await.check(200, "");
    assert_eq!(sweep_after(&server, 0).await, 1);
    show(&server).await.check(404, "LangfuseNotFoundError");
    let again = announce(&server, &hello("image/png")).await.check(200, "").json();
    assert!(again["uploadUrl"].is_string(), "it must be sent again");
    let data = server.stop().await;
    assert_eq!(std::fs::read_dir(data.path().join("media")).unwrap().count(), 0);
}

#[tokio::test]
async fn media_that_only_a_chat_turn_mentions_survive_a_sweep() {
    let stage = Stage::start().await;
    let server = &stage.server;
    stored(server, "image/png").await;
    let chat = stage.begun().await;
    let mut events = stage.follow(&chat, "?types=question,done,state", None).await;
    let (status, sent) = stage.say(&chat, "question").await;
    assert_eq!(status, 202, "{sent}");
    let question = events.until("question").await.pop().unwrap();
    let answer = json!({
        "id": question["body"]["id"], "response": format!("as in {}", reference()),
    });
    assert_eq!(stage.post(&format!("/{chat}/answers"), &answer).await.0, 200);
    events.until_idle().await;
    assert_eq!(sweep_after(server, 48).await, 0, "the turn's trace is there");
    show(server).await.check(200, "");
    delete(server, &format!("/api/public/traces/{}", sent["turn"].as_str().unwrap())).await;
    assert_eq!(sweep_after(server, 0).await, 1);
}

#[tokio::test]
async fn media_wait_a_day_for_what_refers_to_them() {
    let server = TestServer::start().await;
    stored(&server, "image/png").await;
    assert_eq!(sweep_after(&server, 23).await, 0, "the trace may be on its way");
    record_trace(&server, "t").await;
    assert_eq!(sweep_after(&server, 23).await, 0);
    delete(&server, "/api/public/traces/t").await;
    assert_eq!(sweep_after(&server, 0).await, 0, "it was heard of today");
    // Announced again just before the sweep, it stays.
    server.clock.advance(HOUR * 30);
    announce(&server, &hello("image/png")).await.check(200, r#""uploadUrl":null"#);
    assert_eq!(sweep_after(&server, 0).await, 0);
    show(&server).await.check(200, "");
    assert_eq!(sweep_after(&server, 25).await, 1);
    server.stop().await;
}

#[tokio::test]
async fn steps_keep_their_media_whatever_trace_they_end_up_in() {
    let server = TestServer::start().await;
    stored(&server, "image/png").await;
    let update = json!({"id": "o", "output": [reference()]});
    record(&server, &[event("span-update", 2, update)]).await;
    record(&server, &[event("span-create", 1, json!({"id": "o", "traceId": "late"}))]).await;
    assert_eq!(sweep_after(&server, 48).await, 0);
    delete(&server, "/api/public/traces/late").await;
    assert_eq!(sweep_after(&server, 0).await, 1);
    server.stop().await;
}

#[tokio::test]
async fn dataset_items_keep_their_media_and_retention_frees_others() {
    let server = TestServer::start().await;
    stored(&server, "image/png").await;
    record_trace(&server, "t").await;
    dataset(&server, json!({"name": "d"})).await;
    item(&server, json!({"datasetName": "d", "id": "i", "input": reference()})).await;
    let catalog = &server.app.store.catalog;
    catalog.set_retention(crate::harness::project(), Some(1), now(&server)).await.unwrap();
    server.clock.advance(HOUR * 72);
    let swept = sweep(&server.app.store, now(&server)).await.unwrap();
    assert_eq!((swept.traces, swept.media), (1, 0), "the item is there");
    delete(&server, "/api/public/dataset-items/i").await;
    assert_eq!(sweep_after(&server, 23).await, 0, "it was there until lately");
    assert_eq!(sweep_after(&server, 2).await, 1);
    server.stop().await;
}

#[tokio::test]
async fn bytes_stay_while_another_project_or_a_backup_needs_them() {
    let server = with_another_project().await;
    stored(&server, "image/png").await;
    let post = server.post("/api/public/media").json(hello("image/png").to_string());
    let answer = post.header("authorization", OTHER).send().await.check(200, "").json();
    let url = answer["uploadUrl"].as_str().unwrap().to_owned();
    server.request("PUT", &url).bytes(b"hello").send().await.check(200, "");
    server.clock.advance(HOUR * 20);
    let again: Value = hello("image/png");
    let post = server.post("/api/public/media").json(again.to_string());
    post.header("authorization", OTHER).send().await.check(200, "");
    assert_eq!(sweep_after(&server, 5).await, 0, "the other project's");
    show(&server).await.check(404, "");
    let keep_media = server.app.store.media.prevent_deletion().await;
    assert_eq!(sweep_after(&server, 48).await, 0, "a backup is being made");
    drop(keep_media);
    assert_eq!(sweep_after(&server, 0).await, 1);
    server.stop().await;
}
