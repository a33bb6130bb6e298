use std::sync::Arc;
use std::time::Duration;

use ratchet_core::chat::event::ChatEvent;
use ratchet_core::id::SessionId;
use ratchet_server::app::{Limits, Settings};
use ratchet_stages::chat::ChatLimits;
use ratchet_store::catalog::Role;
use ratchet_testkit::process::allow_open_files;
use ratchet_testkit::seeded_random::SeededRandom;
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::chats::Stage;
use crate::harness::{TestServer, basic, project};

const SESSIONS: usize = 200;
const CLIENTS: usize = 5;
/// Maximum number of events before a client loses its connection.
const LONGEST: usize = 40;
/// Deadline of the whole test.
const TIMEOUT: Duration = Duration::from_secs(600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clients_of_two_hundred_chats_end_with_the_same_events() {
    // Both ends of every connection are here, and three pipes for each agent.
    allow_open_files(4_000);
    let limits = Limits { connections: 4_000, ..Limits::default() };
    let server = TestServer::start_with(Settings { limits, ..Settings::default() }).await;
    let agents = ChatLimits { processes: SESSIONS, backlog: 64, ..ChatLimits::default() };
    let crowd = Arc::new(Crowd {
        stage: Stage::start_with(server, agents).await,
        client: ratchet_remote::http::on_this_machine().build().unwrap(),
        all_are_up: Barrier::new(SESSIONS),
    });
    let mut chance = SeededRandom::from_environment("crowd");
    let mut talks = JoinSet::new();
    for _ in 0..SESSIONS {
        let (crowd, chance) = (Arc::clone(&crowd), SeededRandom::new(chance.number()));
        talks.spawn(async move { crowd.chat(chance).await });
    }
    let reply = tokio::time::timeout(TIMEOUT, talks.join_all()).await.expect("nobody is stuck");
    let events: usize = reply.into_iter().sum();
    assert!(events > SESSIONS * 30, "{events} events are too few to have tried anything");
}

/// A server with all its chats.
struct Crowd {
    stage: Stage,
    client: Client,
    /// Passed once every chat's agent runs.
    all_are_up: Barrier,
}

impl Crowd {
    /// Runs a chat with its clients, who must end with what is stored; returns the number of
    /// events.
    async fn chat(self: Arc<Self>, mut chance: SeededRandom) -> usize {
        let chat = self.stage.begun().await;
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let (crowd, chance) = (Arc::clone(&self), SeededRandom::new(chance.number()));
            let chat = chat.clone();
            clients.spawn(async move { crowd.watch(&chat, chance).await });
        }
        self.talk(&chat).await;
        let kept = self.kept(&chat).await;
        let kept: Vec<String> = kept.iter().map(data).collect();
        for seen in clients.join_all().await {
            assert_eq!(seen, kept, "{chat} was seen otherwise than it is kept");
        }
        kept.len()
    }

    /// Two turns, the second when all agents run, and the end.
    async fn talk(&self, chat: &str) {
        let mut states = self.follow(chat, "?types=state", 0).await;
        self.turn(chat, &mut states).await;
        if self.all_are_up.wait().await.is_leader() {
            self.count_agents().await;
        }
        // No chat ends before all were counted.
        self.all_are_up.wait().await;
        self.turn(chat, &mut states).await;
        let path = format!("/api/v1/chats/{chat}");
        self.stage.server.delete(&path).send().await.check(200, "closed");
    }

    async fn turn(&self, chat: &str, states: &mut Frames) {
        let path = format!("/api/v1/chats/{chat}/messages");
        let said = json!({"text": "deltas 10"}).to_string();
        self.stage.server.post(&path).json(said).send().await.check(202, "turn");
        states.until_idle().await;
    }

    async fn count_agents(&self) {
        let mut up = 0;
        for page in 1..=SESSIONS.div_ceil(100) {
            let path = format!("/api/v1/chats?limit=100&page={page}");
            let listed = self.stage.server.get(&path).send().await.json();
            let chats = listed["chats"].as_array().unwrap();
            up += chats.iter().filter(|chat| chat["state"] == "idle").count();
        }
        assert_eq!(up, SESSIONS, "agents that run at once");
    }

    /// Follows over a connection that breaks now and then, until the chat is closed.
    async fn watch(&self, chat: &str, mut chance: SeededRandom) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            let mut frames = self.follow(chat, "", seen.len()).await;
            for _ in 0..=chance.below(LONGEST) {
                let Some(frame) = frames.next().await else { break };
                if frame.is_dropped() {
                    break;
                }
                let is_last = frame.is_state("closed");
                seen.push(frame.data);
                if is_last {
                    return seen;
                }
            }
        }
    }

    /// Resumes after so many events: they are numbered from one.
    async fn follow(&self, chat: &str, query: &str, after: usize) -> Frames {
        let web = self.stage.server.web;
        let url = format!("http://{web}/api/v1/chats/{chat}/events{query}");
        let request = self.client.get(url).header("authorization", basic(Role::Viewer));
        let response = request.header("last-event-id", after.to_string()).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Frames { response, text: String::new() }
    }

    async fn kept(&self, chat: &str) -> Vec<ChatEvent> {
        let id = SessionId::parse(chat).unwrap();
        let telemetry = &self.stage.server.app.store.telemetry;
        telemetry.chat_events(project(), id, 0, 10_000).await.unwrap()
    }
}

/// The SSE data of an event.
fn data(event: &ChatEvent) -> String {
    let ChatEvent { seq, at, kind, body } = event;
    let kind = kind.as_str();
    format!("{{\"seq\":{seq},\"at\":\"{at}\",\"type\":\"{kind}\",\"body\":{body}}}")
}

/// An SSE stream, each event as its text.
struct Frames {
    response: Response,
    text: String,
}

struct Frame {
    data: String,
}

impl Frames {
    async fn until_idle(&mut self) {
        loop {
            if self.next().await.unwrap().is_state("idle") {
                return;
            }
        }
    }

    async fn next(&mut self) -> Option<Frame> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let frame: String = self.text.drain(..end + 2).collect();
                if let Some(data) = frame.lines().find_map(|line| line.strip_prefix("data: ")) {
                    return Some(Frame { data: data.to_owned() });
                }
            }
            let bytes = self.response.chunk().await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
}

impl Frame {
    fn is_state(&self, state: &str) -> bool {
        let is_likely = self.data.contains("\"type\":\"state\"");
        let reply = || serde_json::from_str::<Value>(&self.data).unwrap();
        is_likely && reply()["body"]["state"] == state
    }

    fn is_dropped(&self) -> bool {
        self.data.starts_with("{\"reason\":")
    }
}
