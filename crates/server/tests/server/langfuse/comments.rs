use serde_json::{Value, json};

use super::isolation::{OTHER, with_another_project};
use super::{a_bit_of_everything, read, record};
use crate::harness::{Reply, TestServer};

const COMMENTS: &str = "/api/public/comments";

fn comment(kind: &str, object: &str) -> Value {
    json!({"projectId": "shop", "objectType": kind, "objectId": object, "content": "look at this"})
}

async fn send(server: &TestServer, body: &Value) -> Reply {
    server.post(COMMENTS).json(body.to_string()).send().await
}

#[tokio::test]
async fn comments_are_on_things_and_found_by_them() {
    let server = TestServer::start().await;
    record(&server, &a_bit_of_everything()).await;
    for (kind, object) in [("TRACE", "t1"), ("OBSERVATION", "o2"), ("session", "s1")] {
        send(&server, &comment(kind, object)).await.check(200, "id");
    }
    let on_trace = read(&server, &format!("{COMMENTS}?objectType=TRACE&objectId=t1")).await;
    assert_eq!(on_trace["meta"]["totalItems"], 1);
    let found = &on_trace["data"][0];
    assert_eq!((&found["objectType"], &found["objectId"]), (&json!("TRACE"), &json!("t1")));
    assert_eq!((&found["projectId"], &found["content"]), (&json!("shop"), &json!("look at this")));
    let path = format!("{COMMENTS}/{}", found["id"].as_str().unwrap());
    assert_eq!(&read(&server, &path).await, found);
    assert_eq!(read(&server, COMMENTS).await["meta"]["totalItems"], 3);
    assert_eq!(read(&server, &format!("{COMMENTS}?authorUserId=u")).await["data"], json!([]));
    server.get(&format!("{COMMENTS}?objectId=t1")).send().await.check(400, "objectType");
    server.stop().await;
}

#[tokio::test]
async fn comments_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    record(&server, &a_bit_of_everything()).await;
    send(&server, &comment("TRACE", "t9")).await.check(404, "TRACE t9 not found");
    send(&server, &comment("OBSERVATION", "t1")).await.check(404, "LangfuseNotFoundError");
    send(&server, &comment("PROMPT", "p9")).await.check(404, "prompt p9 not found");
    send(&server, &comment("DATASET", "t1")).await.check(400, "objectType");
    for (field, value, status, words) in [
        ("content", json!(" "), 400, "1 to 5000 characters"),
        ("content", json!("x".repeat(5_001)), 400, "1 to 5000 characters"),
        ("projectId", json!("other"), 400, "not the project of this key"),
        ("authorUserId", json!("nobody"), 404, "user nobody not found"),
    ] {
        let mut body = comment("TRACE", "t1");
        body[field] = value;
        send(&server, &body).await.check(status, words);
    }
    assert_eq!(read(&server, COMMENTS).await["data"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn another_project_reads_and_writes_none() {
    let server = with_another_project().await;
    record(&server, &a_bit_of_everything()).await;
    let id = send(&server, &comment("TRACE", "t1")).await.json()["id"].clone();
    let path = format!("{COMMENTS}/{}", id.as_str().unwrap());
    let get = server.get(&path).header("authorization", OTHER);
    get.send().await.check(404, "LangfuseNotFoundError");
    let get = server.get(COMMENTS).header("authorization", OTHER);
    assert_eq!(get.send().await.json()["data"], json!([]));
    let mut body = comment("TRACE", "t1");
    body["projectId"] = json!("other");
    let post = server.post(COMMENTS).json(body.to_string()).header("authorization", OTHER);
    post.send().await.check(404, "TRACE t1 not found");
    server.stop().await;
}
