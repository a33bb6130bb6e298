use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ratchet_core::time::Timestamp;
use ratchet_server::app::{Limits, Settings, Timeouts};
use ratchet_stages::chat::ChatLimits;
use ratchet_store::catalog::Role;
use ratchet_testkit::wait;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::chats::Stage;
use crate::harness::{TestServer, basic, project};

/// Turns of some megabytes each: more than all buffers between server and client.
const LOUD: &str = "huge 1000000";
const TURNS: usize = 12;

async fn stage_with(settings: Settings, agents: ChatLimits) -> Stage {
    Stage::start_with(TestServer::start_with(settings).await, agents).await
}

/// A client that requests events and then reads slowly.
struct SlowReader {
    stream: TcpStream,
}

impl SlowReader {
    async fn ask(web: SocketAddr, chat: &str, last: u64) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(8_192).unwrap();
        let mut stream = socket.connect(web).await.unwrap();
        let key = basic(Role::Viewer);
        let request = format!(
            "GET /api/v1/chats/{chat}/events HTTP/1.1\r\nhost: x\r\nauthorization: {key}\r\n\
             last-event-id: {last}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        Self { stream }
    }

    /// Reads only the head of the response.
    async fn is_accepted(&mut self) -> bool {
        let mut head = [0; 12];
        wait::with_timeout("a response", self.stream.read_exact(&mut head)).await.unwrap();
        head.ends_with(b"200")
    }

    /// Reads until the server closes the connection; returns the data of each frame.
    async fn rest(mut self) -> Vec<Value> {
        let mut bytes = Vec::new();
        let read = self.stream.read_to_end(&mut bytes);
        wait::with_timeout("the end of the connection", read).await.unwrap();
        let text = String::from_utf8(unchunked(&bytes)).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// Waits until there is room for one more stream.
async fn until_accepted(stage: &Stage, chat: &str) {
    wait::until_async("another stream is accepted", async || {
        SlowReader::ask(stage.server.web, chat, 0).await.is_accepted().await
    })
    .await;
}

/// The body of a chunked response.
fn unchunked(answer: &[u8]) -> Vec<u8> {
    let find = |within: &[u8], what: &[u8]| {
        within.windows(what.len()).position(|window| window == what).unwrap()
    };
    let mut rest = &answer[find(answer, b"\r\n\r\n") + 4..];
    let mut body = Vec::new();
    while !rest.is_empty() {
        let end = find(rest, b"\r\n");
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
    body
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_nobody_up_and_goes_on_where_it_was() {
    let agents = ChatLimits { backlog: 16, ..ChatLimits::default() };
    let stage = stage_with(Settings::default(), agents).await;
    let chat = stage.begun().await;
    let mut slow = SlowReader::ask(stage.server.web, &chat, 0).await;
    assert!(slow.is_accepted().await);
    let mut quick = stage.follow(&chat, "", None).await;
    let mut all = Vec::new();
    for _ in 0..TURNS {
        stage.say(&chat, LOUD).await;
        all.extend(quick.until_idle().await);
    }
    let mut heard = slow.rest().await;
    let reason = heard.pop().unwrap();
    let after = heard.len() as u64;
    assert!(reason["reason"].as_str().unwrap().contains(&format!("events after {after}")));
    assert!(heard.len() < all.len() && heard[..] == all[..heard.len()]);
    let mut back = stage.follow(&chat, "", Some(after)).await;
    for event in &all[heard.len()..] {
        assert_eq!(back.next().await.as_ref(), Some(event));
    }
}

#[tokio::test]
async fn a_client_that_never_reads_is_given_up() {
    let limits = Limits { project_streams: 1, ..Limits::default() };
    let timeouts = Timeouts { stall: Duration::from_millis(300), ..Timeouts::default() };
    let settings = Settings { limits, timeouts, ..Settings::default() };
    let stage = stage_with(settings, ChatLimits::default()).await;
    let chat = stage.begun().await;
    let mut stuck = SlowReader::ask(stage.server.web, &chat, 0).await;
    assert!(stuck.is_accepted().await);
    let path = format!("/api/v1/chats/{chat}");
    for turn in 1..=TURNS {
        stage.say(&chat, LOUD).await;
        let read = async || stage.server.get(&path).send().await.json();
        wait::for_value_async("the end of the turn", read, |chat| chat["turns"] == turn).await;
    }
    // Its permit is free again after it disconnects.
    until_accepted(&stage, &chat).await;
}

#[tokio::test]
async fn too_many_streams_are_refused_until_one_ends() {
    let limits = Limits { streams: 1, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let stage = stage_with(settings, ChatLimits::default()).await;
    let chat = stage.begun().await;
    let first = stage.follow(&chat, "", None).await;
    let path = format!("/api/v1/chats/{chat}/events");
    let refused = stage.server.get(&path).send().await;
    refused.check(503, "1 event streams are open");
    assert_eq!(refused.header("retry-after"), "5");
    drop(first);
    until_accepted(&stage, &chat).await;
}

#[tokio::test]
async fn a_silent_stream_gives_signs_of_life() {
    let timeouts = Timeouts { heartbeat: Duration::from_millis(20), ..Timeouts::default() };
    let settings = Settings { timeouts, ..Settings::default() };
    let stage = stage_with(settings, ChatLimits::default()).await;
    let chat = stage.begun().await;
    let mut stream = SlowReader::ask(stage.server.web, &chat, 0).await.stream;
    let mut text = String::new();
    while text.matches(": still here\n\n").count() < 2 {
        let byte = wait::with_timeout("a heartbeat", stream.read_u8()).await;
        text.push(char::from(byte.unwrap()));
    }
    let text = text.to_lowercase();
    assert!(text.contains("retry: 1000\n\n"), "{text}");
    for header in ["content-type: text/event-stream", "cache-control: no-store"] {
        assert!(text.contains(header), "{text}");
    }
}

#[tokio::test]
async fn places_and_kinds_that_are_not_there_are_refused() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let mut events = stage.follow(&chat, "", None).await;
    stage.say(&chat, "hello").await;
    let last = events.until_idle().await.len();
    let path = format!("/api/v1/chats/{chat}/events");
    let ask = |query: &str, last: &str| {
        let request = stage.server.get(&format!("{path}{query}"));
        if last.is_empty() { request } else { request.header("last-event-id", last) }.send()
    };
    let beyond = (last + 1).to_string();
    ask("", &beyond).await.check(400, &format!("Last-Event-ID: there is no event {beyond}"));
    ask("?after=9000", "").await.check(400, "after: there is no event 9000");
    for garbage in ["x", "-1", "1.5", "99999999999999999999999"] {
        ask("", garbage).await.check(400, "Last-Event-ID: the id of an event");
    }
    ask("?types=done,nonsense", "").await.check(400, "types: nonsense is not one of raw, state");
    ask("?follow=perhaps", "").await.check(400, "follow");
    // Stored events, and then the end.
    let kept = ask("?follow=false", "1").await;
    kept.check(200, "\"idle\"");
    let kept = String::from_utf8(kept.body).unwrap();
    assert_eq!(kept.matches("\nevent: ").count(), last - 1, "{kept}");
    assert!(!kept.contains("dropped"), "{kept}");
}

#[tokio::test]
async fn whoever_was_away_until_events_were_too_old_is_told_so() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let mut events = stage.follow(&chat, "", None).await;
    stage.say(&chat, "hello").await;
    let last = events.until_idle().await.len();
    stage.server.delete(&format!("/api/v1/chats/{chat}")).send().await.check(200, "");
    let telemetry = &stage.server.app.store.telemetry;
    let later = Timestamp::parse("2027-01-01T00:00:00Z").unwrap();
    wait::until_async("everything old is deleted", async || {
        telemetry.delete_before(project(), later).await.unwrap() == 0
    })
    .await;
    let path = format!("/api/v1/chats/{chat}/events");
    let gone = stage.server.get(&path).header("last-event-id", &last.to_string()).send().await;
    gone.check(400, "the last one is 0; what was there may have been too old");
    // It is closed, so that no events will follow, and the stream ends.
    let mut nothing = stage.follow(&chat, "", None).await;
    assert_eq!(nothing.next().await.unwrap()["reason"], "the chat is closed");
    assert_eq!(nothing.next().await, None);
}

#[tokio::test]
async fn events_come_over_http_2_as_well() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let mut quick = stage.follow(&chat, "?types=done", None).await;
    let stream = TcpStream::connect(stage.server.web).await.unwrap();
    let (mut client, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let mut running = JoinSet::new();
    running.spawn(connection);
    let url = format!("http://{}/api/v1/chats/{chat}/events?types=done", stage.server.web);
    let request = hyper::Request::get(url).header("authorization", basic(Role::Viewer));
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    let mut answer = client.send_request(request).await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    stage.say(&chat, "hello").await;
    let done = quick.next().await.unwrap();
    let mut text = String::new();
    while !text.contains("event: done") {
        let frame = wait::with_timeout("an event", answer.frame()).await;
        let bytes = frame.unwrap().unwrap().into_data().unwrap();
        text.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap(), done);
}

#[tokio::test]
async fn pages_may_follow_and_come_back() {
    let stage = Stage::start().await;
    let chat = stage.begun().await;
    let path = format!("/api/v1/chats/{chat}/events?follow=false");
    let page = "https://app.example";
    let before = stage.server.request("OPTIONS", &path).header("origin", page).send().await;
    assert!(before.header("access-control-allow-headers").contains("last-event-id"));
    let reply = stage.server.get(&path).header("origin", page).send().await;
    assert_eq!(reply.header("access-control-allow-origin"), "*");
}
