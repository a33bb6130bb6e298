use std::path::Path;

use ratchet_testkit::claude;
use ratchet_testkit::http::{self, Request};
use ratchet_testkit::process::{Launch, Ratchet};
use ratchet_testkit::wait;
use ratchet_testkit::webhook_receiver::{Inbox, InboxAnswer};
use serde_json::{Value, json};
use tempfile::tempdir;

fn start(top: &Path) -> Ratchet {
    let launch = Launch::serve(env!("CARGO_BIN_EXE_ratchet"), &top.join("data"));
    let launch = launch.env("RATCHET_CLAUDE_BIN", claude::fake());
    let launch = launch.env("RATCHET_CHAT_ROOTS", top.join("work").canonicalize().unwrap());
    launch.env("RATCHET_PUBLIC_URL", "https://ratchet.example.com/").start()
}

#[track_caller]
fn made(server: &Ratchet, path: &str, body: &Value) -> Value {
    let answer = server.send(http::post(path).json(body.to_string()));
    assert!((200..300).contains(&answer.status), "{}", answer.text());
    answer.json()
}

#[track_caller]
fn read(server: &Ratchet, request: Request) -> Value {
    let answer = server.send(request);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[test]
fn a_server_that_is_killed_while_it_tells_tells_the_same_after_its_restart() {
    let top = tempdir().unwrap();
    std::fs::create_dir(top.path().join("work")).unwrap();
    let server = start(top.path());
    let inbox = Inbox::start();
    let hook = json!({"name": "ops", "url": inbox.url("hook"), "events": ["turn.ended"]});
    let hook = made(&server, "/api/v1/notifications/webhooks", &hook);
    let secret = hook["secret"].as_str().unwrap().to_owned();
    inbox.answer([InboxAnswer::Silence]);
    let work = json!({"workspace": top.path().join("work"), "title": "Plan a trip"});
    let chat = made(&server, "/api/v1/chats", &work)["id"].as_str().unwrap().to_owned();
    made(&server, &format!("/api/v1/chats/{chat}/messages"), &json!({"text": "hello"}));
    let first = inbox.next().verified(&secret);
    let data = &first.1["data"];
    assert_eq!((&first.1["type"], &data["title"]), (&json!("turn.ended"), &json!("Plan a trip")));
    let url = data["url"].as_str().unwrap();
    assert!(url.starts_with("https://ratchet.example.com/project/test-project/chats/"), "{url}");
    let ended = server.kill_hard();
    assert!(!ended.log.contains(&secret) && !ended.log.contains(&inbox.url("hook")));
    let server = start(top.path());
    assert_eq!(inbox.next().verified(&secret), first);
    // The result of a test message is shown.
    let at = format!("/api/v1/notifications/receivers/{}", hook["id"].as_str().unwrap());
    let test = made(&server, &format!("{at}/tests"), &json!({}));
    let (id, body) = inbox.next().verified(&secret);
    assert_eq!((json!(id), &body["type"]), (test["notice"].clone(), &json!("test")));
    let deliveries = wait::for_value(
        "deliveries that are all marked as delivered",
        || read(&server, http::get(&format!("{at}/deliveries"))),
        |all| all.as_array().unwrap().iter().all(|one| one["outcome"] == "delivered"),
    );
    let output: Vec<&Value> =
        deliveries.as_array().unwrap().iter().map(|one| &one["event"]).collect();
    assert_eq!(output, ["test", "turn.ended"]);
    assert!(inbox.is_empty());
}
