/// Attempts to leave a workspace.
mod escapes;
/// Budgets and permissions of a chat.
mod budget;

use std::path::PathBuf;

use ratchet_stages::chat::ChatLimits;
use ratchet_store::catalog::{Permission, Role};
use ratchet_testkit::wait;
use reqwest::Response;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::agents::run_agents;
use crate::harness::{TestServer, basic};

/// A server that runs agents on the fake program.
pub(crate) struct Stage {
    pub(crate) server: TestServer,
    place: TempDir,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        Self::start_with(TestServer::start().await, ChatLimits::default()).await
    }

    pub(crate) async fn start_with(server: TestServer, limits: ChatLimits) -> Self {
        let place = tempdir().unwrap();
        let real = place.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("roots/work")).unwrap();
        run_agents(&server, real.join("roots"), &real, limits).await;
        server.grant(Role::Member, Permission::Chat).await;
        Self { server, place }
    }

    fn work(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("roots/work")
    }

    pub(crate) async fn begun(&self) -> String {
        let reply = self.post("", &json!({"workspace": self.work()})).await;
        assert_eq!(reply.0, 201, "{}", reply.1);
        reply.1["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.server.post(&format!("/api/v1/chats{path}"));
        let reply = request.json(body.to_string()).send().await;
        (reply.status.as_u16(), reply.json())
    }

    pub(crate) async fn say(&self, chat: &str, text: &str) -> (u16, Value) {
        self.post(&format!("/{chat}/messages"), &json!({"text": text})).await
    }

    pub(crate) async fn follow(&self, chat: &str, query: &str, last: Option<u64>) -> Events {
        let url = format!("http://{}/api/v1/chats/{chat}/events{query}", self.server.web);
        let client = ratchet_remote::http::on_this_machine().build().unwrap();
        let mut request = client.get(url).header("authorization", basic(Role::Viewer));
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Events { response, text: String::new() }
    }
}

pub(crate) struct Events {
    response: Response,
    text: String,
}

impl Events {
    /// The next frame; `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        wait::with_timeout("an event of the chat", self.read()).await
    }

    async fn read(&mut self) -> Option<Value> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                let data = frame.lines().find_map(|line| line.strip_prefix("data: "));
                match data {
                    Some(data) => return Some(serde_json::from_str(data).unwrap()),
                    None => continue,
                }
            }
            let bytes = self.response.chunk().await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// Events up to the first of a kind.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut heard = Vec::new();
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("no {kind} in {heard:?}"));
            let is_last = event["type"] == kind;
            heard.push(event);
            if is_last {
                return heard;
            }
        }
    }

    /// Events until the chat is idle after a turn.
    pub(crate) async fn until_idle(&mut self) -> Vec<Value> {
        let mut heard = self.until("done").await;
        while !heard.last().is_some_and(|event| event["body"]["state"] == "idle") {
            heard.push(self.next().await.unwrap());
        }
        heard
    }
}

#[tokio::test]
async fn clients_see_the_same_events_and_come_back_where_they_left() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let mut first = stage.follow(&chat, "", None).await;
    let mut second = stage.follow(&chat, "", None).await;
    let (status, sent) = stage.say(&chat, "deltas 5").await;
    assert_eq!(status, 202, "{sent}");
    assert!(sent["turn"].is_string() && sent["message"].is_string(), "{sent}");
    let heard = first.until_idle().await;
    assert_eq!(second.until_idle().await, heard);
    let seqs: Vec<u64> = heard.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let mut back = stage.follow(&chat, "", Some(3)).await;
    assert_eq!(back.until_idle().await, heard[3..]);
    let mut back = stage.follow(&chat, "?after=3", None).await;
    assert_eq!(back.until_idle().await, heard[3..]);
    let mut few = stage.follow(&chat, "?types=done,state", None).await;
    let wanted: Vec<Value> = heard
        .iter()
        .filter(|event| event["type"] == "done" || event["type"] == "state")
        .cloned()
        .collect();
    assert_eq!(few.until_idle().await, wanted);
    let known = stage.server.get(&format!("/api/v1/chats/{chat}")).send().await.json();
    assert_eq!((&known["turns"], &known["cost"]), (&json!(1), &json!(0.25)));
    assert_eq!(known["lastEvent"], heard.last().unwrap()["seq"]);
    let listed = stage.server.get("/api/v1/chats").send().await.json();
    assert_eq!((&listed["total"], &listed["chats"][0]["id"]), (&json!(1), &known["id"]));
}

#[tokio::test]
async fn one_turn_at_a_time_and_the_first_answer_counts() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let mut events = stage.follow(&chat, "", None).await;
    let (_, sent) = stage.say(&chat, "ask").await;
    let asked = events.until("permission").await.pop().unwrap();
    assert_eq!(asked["body"]["input"]["command"], "ls");
    let (status, busy) = stage.say(&chat, "more").await;
    assert_eq!((status, &busy["running"]), (409, &sent["turn"]), "{busy}");
    let path = format!("/{chat}/answers");
    let id = &asked["body"]["id"];
    let (status, misfit) = stage.post(&path, &json!({"id": id, "response": "hm"})).await;
    assert_eq!(status, 400, "{misfit}");
    // The input that was shown is the one that runs.
    let replaced = json!({"id": id, "decision": "allow", "input": {"command": "rm -rf /"}});
    let (status, refused) = stage.post(&path, &replaced).await;
    assert_eq!(status, 400, "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("cannot change it"), "{refused}");
    let mut shown = json!({"id": id, "decision": "allow", "input": asked["body"]["input"]});
    shown["input"]["more"] = json!(vec![json!({}); 1_000]);
    let (status, longer) = stage.post(&path, &shown).await;
    assert_eq!(status, 400, "{longer}");
    shown["input"].as_object_mut().unwrap().remove("more");
    let (status, output) = stage.post(&path, &shown).await;
    assert_eq!(status, 200, "{output}");
    let (status, late) = stage.post(&path, &json!({"id": id, "decision": "deny"})).await;
    assert_eq!((status, &late["answer"]["decision"]), (409, &json!("allow")), "{late}");
    events.until_idle().await;
}

#[tokio::test]
async fn a_mode_and_a_model_are_set_together_or_not_at_all() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let mut events = stage.follow(&chat, "?types=notice,done,state", None).await;
    stage.say(&chat, "hello").await;
    events.until_idle().await;
    let path = format!("/{chat}/mode");
    let both = |model: &str, mode: &str| json!({"model": model, "mode": mode});
    for refused in [both("nobody", "plan"), both("claude-opus-5", "dontAsk")] {
        let (status, output) = stage.post(&path, &refused).await;
        assert_eq!(status, 422, "{output}");
        assert!(output["message"].as_str().unwrap().contains("not here"), "{output}");
        stage.say(&chat, "model").await;
        let heard = events.until_idle().await;
        assert_eq!(heard[1]["body"]["result"], "fake in default", "{heard:?}");
        assert!(heard.iter().all(|event| event["type"] != "notice"), "{heard:?}");
    }
    let (status, output) = stage.post(&path, &both("claude-opus-5", "plan")).await;
    assert_eq!(status, 200, "{output}");
    stage.say(&chat, "model").await;
    let heard = events.until_idle().await;
    let output: Vec<&Value> = heard.iter().map(|event| &event["body"]["text"]).take(2).collect();
    assert_eq!(output, ["plan", "claude-opus-5"]);
    assert_eq!(heard[3]["body"]["result"], "claude-opus-5 in plan", "{heard:?}");
}

#[tokio::test]
async fn a_chat_is_called_otherwise_even_once_it_is_closed() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let path = format!("/api/v1/chats/{chat}");
    let rename = async |body: Value| {
        let answer = stage.server.request("PATCH", &path).json(body.to_string()).send().await;
        (answer.status.as_u16(), answer.json())
    };
    let (status, seen) = rename(json!({"title": "Plums <b>"})).await;
    assert_eq!((status, &seen["title"]), (200, &json!("Plums <b>")), "{seen}");
    for (odd, why) in [
        (json!({"title": ""}), "title: 1 to 300"),
        (json!({"title": "x".repeat(301)}), "title: 1 to 300"),
        (json!({}), "missing field `title`"),
        (json!({"title": "x", "state": "idle"}), "unknown field `state`"),
    ] {
        let (status, refused) = rename(odd).await;
        assert_eq!(status, 400, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(why), "{refused}");
    }
    // The actor that runs the chat preserves its title when it saves something else.
    let (status, _) = stage.post(&format!("/{chat}/mode"), &json!({"mode": "plan"})).await;
    assert_eq!(status, 200);
    stage.server.delete(&path).send().await.check(200, "Plums <b>");
    let (status, seen) = rename(json!({"title": null})).await;
    assert_eq!((status, &seen["title"], &seen["state"]), (200, &Value::Null, &json!("closed")));
    let nobody =
        stage.server.request("PATCH", "/api/v1/chats/nobody").json(r#"{"title": "x"}"#.to_owned());
    nobody.send().await.check(404, "nobody");
}

#[tokio::test]
async fn a_turn_is_interrupted_and_a_chat_closed() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let (status, _) = stage.post(&format!("/{chat}/interrupt"), &json!({})).await;
    assert_eq!(status, 409, "there is no turn");
    let mut events = stage.follow(&chat, "", None).await;
    stage.say(&chat, "hello").await;
    events.until_idle().await;
    let (status, copy) = stage.post(&format!("/{chat}/fork"), &json!({})).await;
    assert_eq!((status, &copy["parent"]), (201, &json!(chat)), "{copy}");
    let closed = stage.server.delete(&format!("/api/v1/chats/{chat}")).send().await;
    assert_eq!(closed.json()["state"], "closed");
    let output = events.until("state").await.pop().unwrap();
    assert_eq!(output["body"]["state"], "closed");
    assert_eq!(events.next().await.unwrap()["reason"], "the chat is closed");
    assert_eq!(events.next().await, None);
    let (status, _) = stage.say(&chat, "anyone?").await;
    assert_eq!(status, 409);
}

#[tokio::test]
async fn who_may_only_look_may_not_speak() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let as_role = |role, path: &str, body: Value| {
        let request = stage.server.post(&format!("/api/v1/chats{path}")).key(role);
        request.json(body.to_string()).send()
    };
    for role in [Role::Viewer, Role::IngestOnly] {
        let made = as_role(role, "", json!({"workspace": stage.work()})).await;
        assert_eq!(made.status.as_u16(), 403, "{role:?}");
        for what in ["messages", "interrupt", "answers", "fork", "rewind", "mode"] {
            let path = format!("/{chat}/{what}");
            let said = as_role(role, &path, json!({"text": "hi"})).await;
            assert_eq!(said.status.as_u16(), 403, "{role:?} {what}");
        }
    }
    let seen = stage.server.get("/api/v1/chats").key(Role::IngestOnly).send().await;
    assert_eq!(seen.status.as_u16(), 403);
}

#[tokio::test]
async fn another_projects_chat_is_not_there() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    crate::contract::walk::make_strangers(&stage.server).await;
    let ask = |method: &str, path: String| {
        let request = stage.server.request(method, &format!("/api/v1/chats{path}"));
        let request = request.header("authorization", crate::contract::walk::NEIGHBOUR);
        if method == "POST" { request.json("{}".to_owned()) } else { request }.send()
    };
    for path in [format!("/{chat}"), format!("/{chat}/events")] {
        assert_eq!(ask("GET", path).await.status.as_u16(), 404);
    }
    assert_eq!(ask("DELETE", format!("/{chat}")).await.status.as_u16(), 404);
    for what in ["interrupt", "fork"] {
        assert_eq!(ask("POST", format!("/{chat}/{what}")).await.status.as_u16(), 404, "{what}");
    }
    assert_eq!(ask("GET", String::new()).await.json()["total"], 0);
}

#[tokio::test]
async fn bad_requests_are_refused_with_their_reason() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let outside = stage.place.path().canonicalize().unwrap();
    let missing = "00000000-0000-4000-8000-000000000009";
    let at = |what: &str| format!("/{chat}/{what}");
    let cases = [
        (String::new(), json!({"workspace": outside}), 403, "under none of the folders"),
        (String::new(), json!({"workspace": "work"}), 400, "absolute path"),
        (String::new(), json!({"workspace": stage.work().join("x")}), 400, "No such file"),
        (
            String::new(),
            json!({"workspace": stage.work(), "mode": "bypassPermissions"}),
            400,
            "mode",
        ),
        (String::new(), json!({"workspace": stage.work(), "model": "--x"}), 400, "model"),
        (String::new(), json!({"workspace": stage.work(), "maxBudget": -1}), 400, "maxBudget"),
        (
            String::new(),
            json!({"workspace": stage.work(), "attachments": [{"path": "../secret"}]}),
            400,
            "inside the workspace",
        ),
        (
            String::new(),
            json!({"workspace": stage.work(), "attachments": [{"name": "a", "data": "!"}]}),
            400,
            "Base64",
        ),
        (at("messages"), json!({"text": " "}), 400, "text"),
        (at("messages"), json!({"words": "hi"}), 400, "words"),
        (at("answers"), json!({"id": "x", "decision": "maybe"}), 400, "decision"),
        (at("answers"), json!({"id": "x", "decision": "allow"}), 409, "not an open question"),
        (at("rewind"), json!({"message": "x"}), 400, "message"),
        (at("mode"), json!({}), 400, "mode, model, maxBudget or trust"),
        (at("mode"), json!({"maxBudget": 0}), 400, "maxBudget: US dollars, more than 0"),
        (at("fork"), json!({"at": "x"}), 400, "at"),
        (at("fork"), json!({"at": missing}), 400, "no message"),
        (format!("/{missing}/messages"), json!({"text": "hi"}), 404, "not found"),
    ];
    for (path, body, expected, why) in cases {
        let (status, output) = stage.post(&path, &body).await;
        assert_eq!(status, expected, "{path} {body}: {output}");
        assert!(output["message"].as_str().unwrap().contains(why), "{path} {body}: {output}");
    }
    let events = format!("/api/v1/chats/{chat}/events");
    for query in ["?types=nonsense", "?after=x"] {
        let reply = stage.server.get(&format!("{events}{query}")).send().await;
        assert_eq!(reply.status.as_u16(), 400, "{query}");
    }
    let reply = stage.server.get(&format!("/api/v1/chats/{missing}/events")).send().await;
    assert_eq!(reply.status.as_u16(), 404);
}

#[tokio::test]
async fn the_deprecated_path_answers_and_names_its_successor() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let listed = stage.server.get("/api/v1/sessions?limit=1").send().await;
    assert_eq!(listed.json()["sessions"][0]["id"], json!(chat), "the field's name before");
    assert_eq!(listed.json().get("chats"), None);
    let path = format!("/api/v1/sessions/{chat}");
    let missing = "/api/v1/sessions/00000000-0000-4000-8000-000000000009";
    let events = stage.server.get(&format!("{path}/events?follow=false")).send().await;
    let replies = [
        (listed, 200),
        (stage.server.get(&path).send().await, 200),
        (events, 200),
        (stage.server.get(missing).send().await, 404),
        (stage.server.get(&path).header("authorization", "").send().await, 401),
    ];
    for (reply, status) in replies {
        assert_eq!(reply.status.as_u16(), status);
        assert_eq!(reply.header("deprecation"), "true");
        assert_eq!(reply.header("link"), "</api/v1/chats>; rel=\"successor-version\"");
    }
    let successor = stage.server.get("/api/v1/chats").send().await;
    assert_eq!(successor.json()["chats"][0]["id"], json!(chat));
    assert_eq!(successor.json().get("sessions"), None);
    assert_eq!(successor.headers.get("deprecation"), None);
    let recorded = stage.server.get("/api/public/sessions").send().await;
    assert_eq!(recorded.headers.get("deprecation"), None, "a group of traces, not a chat");
}

#[tokio::test]
async fn a_server_without_agents_says_so() {
    let server = TestServer::start().await;
    let reply = server.get("/api/v1/chats").send().await;
    assert_eq!(reply.status.as_u16(), 404);
    assert!(reply.json()["message"].as_str().unwrap().contains("runs no agents"));
}

#[tokio::test]
async fn streams_end_when_the_server_does() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let mut events = stage.follow(&chat, "", None).await;
    stage.server.begin_stop();
    assert_eq!(events.next().await.unwrap()["reason"], "the server is shutting down");
    assert_eq!(events.next().await, None);
}
