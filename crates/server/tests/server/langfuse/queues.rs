use ratchet_core::catalog::account::Email;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{NewUser, Role};
use serde_json::{Value, json};

use super::isolation::{OTHER, with_another_project};
use super::read;
use crate::harness::{Reply, TestServer, make_reviewer};

const QUEUES: &str = "/api/public/annotation-queues";

async fn send(server: &TestServer, method: &str, path: &str, body: Value) -> Reply {
    server.request(method, path).json(body.to_string()).send().await
}

/// Creates a queue and returns its path.
async fn queue(server: &TestServer, name: &str) -> String {
    let body = json!({"name": name, "description": "by hand", "scoreConfigIds": []});
    let made = send(server, "POST", QUEUES, body).await.check(200, "").json();
    format!("{QUEUES}/{}", made["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_queue_is_filled_worked_off_and_emptied() {
    let server = TestServer::start().await;
    let queue = queue(&server, "weekly").await;
    let found = read(&server, &queue).await;
    assert_eq!((&found["name"], &found["description"]), (&json!("weekly"), &json!("by hand")));
    assert_eq!(read(&server, QUEUES).await["data"], json!([found]));

    let items = format!("{queue}/items");
    let body = json!({"objectId": "t1", "objectType": "TRACE"});
    let item = send(&server, "POST", &items, body.clone()).await.check(200, "").json();
    assert_eq!((&item["status"], &item["completedAt"]), (&json!("PENDING"), &json!(null)));
    let again = send(&server, "POST", &items, body.clone()).await.check(200, "").json();
    assert_eq!(again, item, "nobody is asked twice at one time");
    let other = json!({"objectId": "s1", "objectType": "SESSION", "status": "COMPLETED"});
    let done = send(&server, "POST", &items, other).await.check(200, "").json();
    assert_eq!(done["completedAt"], "2026-11-15T12:00:00.000Z");

    let path = format!("{items}/{}", item["id"].as_str().unwrap());
    let completed = send(&server, "PATCH", &path, json!({"status": "COMPLETED"})).await;
    assert_eq!(completed.check(200, "").json()["completedAt"], "2026-11-15T12:00:00.000Z");
    let anew = send(&server, "POST", &items, body).await.check(200, "").json();
    assert_ne!(anew["id"], item["id"], "what is done can be asked for again");
    send(&server, "PATCH", &path, json!({"status": "PENDING"})).await.check(409, "pending item");
    assert_eq!(send(&server, "PATCH", &path, json!({})).await.json()["status"], "COMPLETED");

    let pending = read(&server, &format!("{items}?status=PENDING")).await;
    assert_eq!((&pending["data"], &pending["meta"]["totalItems"]), (&json!([anew]), &json!(1)));
    assert_eq!(read(&server, &format!("{items}?limit=2&page=2")).await["meta"]["totalPages"], 2);
    server.request("DELETE", &path).send().await.check(200, r#""success":true"#);
    server.request("DELETE", &path).send().await.check(404, "LangfuseNotFoundError");
    server.get(&path).send().await.check(404, "LangfuseNotFoundError");
    server.stop().await;
}

#[tokio::test]
async fn people_look_after_queues() {
    let server = TestServer::start().await;
    let new = NewUser {
        email: Email::parse("ada@example.com").unwrap(),
        name: None,
        password: Secret::new("hunter2"),
        role: Role::Member,
        project: None,
    };
    let ada = server.app.store.catalog.create_user(new, Timestamp::default()).await.unwrap();
    let path = format!("{}/assignments", queue(&server, "weekly").await);
    let body = json!({"userId": ada.id});
    for _ in 0..2 {
        let made = send(&server, "POST", &path, body.clone()).await.check(200, "").json();
        assert_eq!((&made["userId"], &made["projectId"]), (&json!(ada.id), &json!("shop")));
    }
    send(&server, "POST", &path, json!({"userId": "nobody"})).await.check(404, "nobody not found");
    send(&server, "DELETE", &path, body.clone()).await.check(200, r#"{"success":true}"#);
    send(&server, "DELETE", &path, body).await.check(404, "LangfuseNotFoundError");
    server.stop().await;
}

#[tokio::test]
async fn queues_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    let taken = queue(&server, "weekly").await;
    for (body, status, words) in [
        (json!({"name": "weekly", "scoreConfigIds": []}), 409, "weekly exists already"),
        (json!({"name": " ", "scoreConfigIds": []}), 400, "1 to 500 characters"),
        (json!({"name": "n"}), 400, "scoreConfigIds"),
        (json!({"name": "n", "scoreConfigIds": ["c9"]}), 404, "score config c9 not found"),
        (json!({"scoreConfigIds": []}), 400, "name"),
    ] {
        send(&server, "POST", QUEUES, body).await.check(status, words);
    }
    for (body, words) in [
        (json!({"objectId": "t", "objectType": "PROMPT"}), "annotation queue object type"),
        (json!({"objectId": "", "objectType": "TRACE"}), "an id must not be empty"),
        (json!({"objectId": "t", "objectType": "TRACE", "status": "LATER"}), "status"),
    ] {
        send(&server, "POST", &format!("{taken}/items"), body).await.check(400, words);
    }
    server.get(&format!("{taken}/items?status=LATER")).send().await.check(400, "status");
    server.stop().await;
}

#[tokio::test]
async fn another_project_sees_no_queue() {
    let server = with_another_project().await;
    let queue = queue(&server, "weekly").await;
    let items = format!("{queue}/items");
    let body = json!({"objectId": "t1", "objectType": "TRACE"});
    let item = send(&server, "POST", &items, body.clone()).await.json();
    let item = format!("{items}/{}", item["id"].as_str().unwrap());
    for (method, path, body) in [
        ("GET", &queue, json!({})),
        ("GET", &items, json!({})),
        ("POST", &items, body),
        ("GET", &item, json!({})),
        ("PATCH", &item, json!({"status": "COMPLETED"})),
        ("DELETE", &item, json!({})),
        ("POST", &format!("{queue}/assignments"), json!({"userId": "u"})),
        ("DELETE", &format!("{queue}/assignments"), json!({"userId": "u"})),
    ] {
        let call = server.request(method, path).header("authorization", OTHER);
        call.json(body.to_string()).send().await.check(404, "LangfuseNotFoundError");
    }
    let get = server.get(QUEUES).header("authorization", OTHER);
    assert_eq!(get.send().await.json()["data"], json!([]));
    server.get(&item).send().await.check(200, "PENDING");
    server.stop().await;
}

/// A trace with an observation and a score.
fn recorded(id: &str) -> Value {
    json!({"batch": [
        {"id": format!("{id}-1"), "timestamp": "2026-11-15T10:00:00Z", "type": "trace-create",
         "body": {"id": id, "name": "refund", "sessionId": format!("session-{id}")}},
        {"id": format!("{id}-2"), "timestamp": "2026-11-15T10:00:00Z", "type": "span-create",
         "body": {"id": format!("step-{id}"), "traceId": id, "name": "look up"}},
        {"id": format!("{id}-3"), "timestamp": "2026-11-15T10:00:00Z", "type": "score-create",
         "body": {"id": format!("score-{id}"), "traceId": id, "name": "quality", "value": 1}},
    ]})
}

/// A batch of one event.
fn event(kind: &str, body: &Value) -> Value {
    json!({"batch": [{"id": "e", "timestamp": "2026-11-15T10:00:00Z", "type": kind, "body": body}]})
}

/// A comment on a trace.
fn comment(object: &str) -> Value {
    json!({"projectId": "shop", "objectType": "TRACE", "objectId": object, "content": "seen"})
}

#[tokio::test]
async fn a_reviewers_key_scores_and_comments_what_is_in_its_queues_and_nothing_else() {
    let server = TestServer::start().await;
    let ann = make_reviewer(&server).await;
    let queue = queue(&server, "weekly").await;
    let assigned = json!({"userId": ann});
    send(&server, "POST", &format!("{queue}/assignments"), assigned).await.check(200, "");
    for id in ["queued", "other"] {
        let body = json!({"id": id, "name": "refund", "sessionId": format!("session-{id}")});
        send(&server, "POST", "/api/public/traces", body).await.check(200, id);
    }
    let verdict = json!({"id": "v", "traceId": "queued", "name": "quality", "value": 0.2,
                         "source": "EVAL"});
    send(&server, "POST", "/api/public/scores", verdict.clone()).await.check(200, "");
    let item = json!({"objectId": "queued", "objectType": "TRACE"});
    send(&server, "POST", &format!("{queue}/items"), item).await.check(200, "");
    let reviewer = |path: &str, body: &Value| {
        server.post(path).key(Role::Reviewer).json(body.to_string()).send()
    };
    let score = |id: &str, trace: &str| json!({"id": id, "traceId": trace, "name": "correctness", "value": 1});
    let scores = "/api/public/scores";
    for _ in 0..2 {
        reviewer(scores, &score("mine", "queued")).await.check(200, "mine");
    }
    for (body, why) in [
        (score("a", "other"), "is in no queue of its person"),
        (score("v", "queued"), "which somebody else gave"),
        (
            json!({"id": "e", "traceId": "queued", "name": "quality", "value": 1, "source": "EVAL"}),
            "a judge's",
        ),
        (
            json!({"id": "s", "sessionId": "session-queued", "name": "correctness", "value": 1}),
            "is in no queue of its person",
        ),
    ] {
        reviewer(scores, &body).await.check(403, why);
    }
    let ingestion = "/api/public/ingestion";
    reviewer(ingestion, &event("score-create", &score("by-sdk", "queued"))).await.check(207, "201");
    reviewer(ingestion, &event("trace-create", &json!({"id": "t"})))
        .await
        .check(403, "may not record");
    let comments = "/api/public/comments";
    let made = reviewer(comments, &comment("queued")).await.check(200, "id").json();
    reviewer(comments, &comment("other")).await.check(404, "other not found");
    let read = |path: String| server.get(&path).key(Role::Reviewer).send();
    read(format!("{comments}?objectType=TRACE&objectId=queued")).await.check(200, "seen");
    read(format!("{comments}/{}", made["id"].as_str().unwrap())).await.check(200, "seen");
    read(format!("{comments}?objectType=TRACE&objectId=other")).await.check(404, "other not found");
    read(comments.to_owned()).await.check(400, "objectId");
    read("/api/public/traces/queued".to_owned()).await.check(200, "correctness");
    let given = read("/api/public/scores/mine".to_owned()).await.check(200, "correctness").json();
    assert_eq!(given["authorUserId"], json!(ann), "what a key gives, its person gives");
    let as_ben = json!({"projectId": "shop", "objectType": "TRACE", "objectId": "queued", "content": "x", "authorUserId": "ben"});
    reviewer(comments, &as_ben).await.check(403, "authorUserId");
    read("/api/public/traces/other".to_owned()).await.check(404, "not found");
    read("/api/public/media/none".to_owned()).await.check(404, "media not found");
    // All traces of a session in a queue are within reach.
    let item = json!({"objectId": "session-other", "objectType": "SESSION"});
    send(&server, "POST", &format!("{queue}/items"), item).await.check(200, "");
    read("/api/public/traces/other".to_owned()).await.check(200, "refund");
    server.stop().await;
}

#[tokio::test]
async fn a_reviewers_key_sees_the_queues_of_its_person_and_the_records_in_them() {
    let server = TestServer::start().await;
    let ann = make_reviewer(&server).await;
    let (theirs, others) = (queue(&server, "theirs").await, queue(&server, "others").await);
    for (id, queue) in [("a", &theirs), ("b", &others)] {
        send(&server, "POST", "/api/public/ingestion", recorded(id)).await.check(207, "201");
        let item = json!({"objectId": id, "objectType": "TRACE"});
        send(&server, "POST", &format!("{queue}/items"), item).await.check(200, "PENDING");
    }
    let item_of = async |queue: &str| {
        let items = read(&server, &format!("{queue}/items")).await;
        format!("{queue}/items/{}", items["data"][0]["id"].as_str().unwrap())
    };
    let (item, other_item) = (item_of(&theirs).await, item_of(&others).await);
    let as_ann = |method: &str, path: &str, body: Value| {
        server.request(method, path).key(Role::Reviewer).json(body.to_string()).send()
    };
    let seen = async |path: &str| as_ann("GET", path, json!({})).await;
    let none = seen(QUEUES).await.check(200, "").json();
    assert_eq!((&none["data"], &none["meta"]["totalItems"]), (&json!([]), &json!(0)));
    seen(&theirs).await.check(404, "not found");

    let assigned = json!({"userId": ann});
    send(&server, "POST", &format!("{theirs}/assignments"), assigned).await.check(200, "");
    let all = seen(QUEUES).await.check(200, "").json();
    assert_eq!(all["meta"]["totalItems"], 1, "{all}");
    assert_eq!(all["data"][0]["name"], "theirs");
    for path in [&theirs, &format!("{theirs}/items"), &item] {
        seen(path).await.check(200, "");
    }
    for path in [&others, &format!("{others}/items"), &other_item] {
        seen(path).await.check(404, "LangfuseNotFoundError");
    }
    let done = json!({"status": "COMPLETED"});
    as_ann("PATCH", &other_item, done.clone()).await.check(404, "LangfuseNotFoundError");
    as_ann("PATCH", &item, done).await.check(200, "COMPLETED");
    for kind in ["traces/", "observations/step-", "scores/score-", "v2/scores/score-"] {
        seen(&format!("/api/public/{kind}a")).await.check(200, "");
        seen(&format!("/api/public/{kind}b")).await.check(404, "LangfuseNotFoundError");
    }
    seen("/api/public/sessions/session-a").await.check(404, "LangfuseNotFoundError");
    // A score that names a trace of theirs and an observation of another one, or the other way.
    let stray = |trace: &str, step: &str| json!({"traceId": trace, "observationId": step, "name": "tool-usage", "value": 0});
    as_ann("POST", "/api/public/scores", stray("b", "step-a")).await.check(403, "in no queue");
    as_ann("POST", "/api/public/scores", stray("b", "step-b")).await.check(403, "in no queue");
    as_ann("POST", "/api/public/scores", stray("a", "step-a")).await.check(200, "");

    let whole = json!({"objectId": "session-b", "objectType": "SESSION"});
    send(&server, "POST", &format!("{theirs}/items"), whole).await.check(200, "");
    seen("/api/public/sessions/session-b").await.check(200, "refund");
    seen("/api/public/observations/step-b").await.check(200, "look up");
    // Who is no longer assigned sees nothing.
    let gone = json!({"userId": ann});
    send(&server, "DELETE", &format!("{theirs}/assignments"), gone).await.check(200, "");
    seen("/api/public/traces/a").await.check(404, "not found");
    server.stop().await;
}

#[tokio::test]
async fn a_reviewers_key_belongs_to_a_person_and_ends_with_them() {
    let server = TestServer::start().await;
    let ann = make_reviewer(&server).await;
    let keys = "/api/v1/projects/shop/keys";
    let create = |body: Value| server.post(keys).key(Role::Owner).json(body.to_string()).send();
    let listed = async || server.get(keys).key(Role::Owner).send().await.check(200, "").json();
    for (body, words) in [
        (json!({"role": "reviewer"}), "person: a reviewer's key belongs to a user"),
        (
            json!({"role": "viewer", "person": "ann@example.com"}),
            "person: only a key with the role",
        ),
    ] {
        create(body).await.check(400, words);
    }
    let nobody = json!({"role": "reviewer", "person": "ben@example.com"});
    create(nobody).await.check(404, "ben@example.com not found");
    let theirs = json!({"role": "reviewer", "person": "ANN@example.com", "note": "laptop"});
    let made = create(theirs).await.check(201, "").json();
    assert_eq!(made["person"], "ann@example.com");
    server.get(QUEUES).key(Role::Reviewer).send().await.check(200, "");
    let of_ann = |key: &&Value| key["person"] == "ann@example.com";
    let before = listed().await;
    assert_eq!(before.as_array().unwrap().iter().filter(of_ann).count(), 2, "{before}");
    let catalog = &server.app.store.catalog;
    let owner = NewUser {
        email: Email::parse("owner@example.com").unwrap(),
        name: None,
        password: Secret::new("hunter2"),
        role: Role::Owner,
        project: None,
    };
    catalog.create_user(owner, Timestamp::default()).await.unwrap();
    catalog.delete_user(ann, Timestamp::default()).await.unwrap();
    server.get(QUEUES).key(Role::Reviewer).send().await.check(401, "unknown or revoked key");
    let left = listed().await;
    assert_eq!(left.as_array().unwrap().iter().filter(of_ann).count(), 0, "{left}");
    server.stop().await;
}
