//! The cost of relaying: agents that print lines with a timestamp, and clients that compare it on
//! receipt.
//!
//! The same load runs on disk and in memory. In memory nothing waits for a disk, so that only the
//! relay is left; the difference is the cost of the disk.

/// The fake `claude` program.
mod agent;
mod listener;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::child::{AuthMode, Server, folder_bytes};
use crate::client::Client;
use crate::clock::{cpu_alone, memory_of, own_cpu};
use crate::sample::{Spread, micros_each};
pub(crate) use agent::{is_wanted, play};
use listener::{Listener, ReceivedEvents};

/// Target latency of an event from the agent to a client, without waiting for the disk.
pub(crate) const TARGET_MS: f64 = 5.0;

/// A file system in memory, where there is one.
const IN_MEMORY: &str = "/dev/shm";
/// Timeout of a short turn.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Number of chats and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Crowd {
    /// Concurrent chats.
    pub(crate) chats: usize,
    pub(crate) clients: usize,
    /// Lines per agent.
    pub(crate) lines: u64,
    /// Milliseconds between two lines of one agent.
    pub(crate) pace_ms: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Relaying {
    pub(crate) crowd: Crowd,
    /// Where the server's folder was.
    pub(crate) place: Place,
    /// Stored events of all chats.
    pub(crate) events: u64,
    pub(crate) relayed: u64,
    /// Latency from the agent's line until a client has its event.
    pub(crate) took: Spread,
    /// CPU microseconds of the server per stored event.
    pub(crate) cpu_us_per_event: f64,
    /// CPU microseconds of the server per event sent to a client.
    pub(crate) cpu_us_per_relayed: f64,
    /// CPU microseconds of the clients, for comparison.
    pub(crate) client_us_per_relayed: f64,
    /// Memory of the server per chat with a running agent; without the agent.
    pub(crate) bytes_per_chat: f64,
    /// Memory of the server per following client.
    pub(crate) bytes_per_client: f64,
    /// Bytes on disk per event.
    pub(crate) bytes_per_event: f64,
}

/// Where a server's folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// On disk: events are sent once they are durable.
    Disk,
    /// In memory, where that takes no time.
    Memory,
}

/// Measures crowds, each on disk and in memory.
///
/// # Errors
/// Fails if an event does not reach a client.
pub(crate) async fn measure(
    program: &Path,
    scratch: &Path,
    crowds: &[Crowd],
) -> anyhow::Result<Vec<Relaying>> {
    let memory = Path::new(IN_MEMORY).join(format!("ratchet-bench-{}", std::process::id()));
    let mut places = vec![(Place::Disk, scratch.to_owned())];
    if Path::new(IN_MEMORY).is_dir() {
        places.push((Place::Memory, memory));
    }
    let mut relayings = Vec::new();
    for crowd in crowds {
        for (place, folder) in &places {
            let Crowd { chats, clients, .. } = crowd;
            eprintln!("  {chats} chats, {clients} clients each, {place:?}");
            std::fs::create_dir_all(folder)?;
            let relaying = run(program, folder, (*crowd, *place)).await;
            std::fs::remove_dir_all(folder)?;
            relayings.push(relaying?);
        }
    }
    Ok(relayings)
}

async fn run(
    program: &Path,
    folder: &Path,
    (crowd, place): (Crowd, Place),
) -> anyhow::Result<Relaying> {
    let talk = Talk::begin(program, folder, crowd).await?;
    let pid = talk.server.pid()?;
    let with_chats = memory_of(pid)?;
    let before = folder_bytes(&talk.data)?;
    let listeners = talk.listeners().await?;
    let with_clients = memory_of(pid)?;
    let (cpu, own) = (cpu_alone(pid)?, own_cpu());
    let received = talk.load(listeners).await?;
    let (cpu, own) = (cpu_alone(pid)?.saturating_sub(cpu), own_cpu().saturating_sub(own));
    let kept = received.events / crowd.clients.max(1) as u64;
    let grown = folder_bytes(&talk.data)?.saturating_sub(before);
    let at_rest = talk.at_rest;
    talk.server.stop().await?;
    let clients = (crowd.chats * crowd.clients) as u64;
    Ok(Relaying {
        crowd,
        place,
        events: kept,
        relayed: received.events,
        took: Spread::of(received.took),
        cpu_us_per_event: micros_each(cpu, kept),
        cpu_us_per_relayed: micros_each(cpu, received.events),
        client_us_per_relayed: micros_each(own, received.events),
        bytes_per_chat: share(with_chats.saturating_sub(at_rest), crowd.chats as u64),
        bytes_per_client: share(with_clients.saturating_sub(with_chats), clients),
        bytes_per_event: share(grown, kept),
    })
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn share(bytes: u64, of: u64) -> f64 {
    bytes as f64 / of.max(1) as f64
}

/// A server whose chats are all running.
struct Talk {
    server: Server,
    data: PathBuf,
    crowd: Crowd,
    chats: Vec<String>,
    /// Memory of the server before there were chats.
    at_rest: u64,
}

impl Talk {
    async fn begin(program: &Path, folder: &Path, crowd: Crowd) -> anyhow::Result<Self> {
        let (data, work) = (folder.join("data"), folder.join("work"));
        std::fs::create_dir_all(&work)?;
        let claude = agent::install(folder)?;
        let settings = [
            ("RATCHET_CLAUDE_BIN", claude.display().to_string()),
            ("RATCHET_CHAT_ROOTS", work.display().to_string()),
            ("RATCHET_CHAT_PROCESSES", crowd.chats.to_string()),
            ("RATCHET_LIMITS_CONNECTIONS", (crowd.chats * (crowd.clients + 2)).to_string()),
        ];
        let server = Server::start_with(program, &data, AuthMode::Keys, &settings).await?;
        let at_rest = memory_of(server.pid()?)?;
        let mut client = Client::connect(&server.target).await?;
        let mut chats = Vec::with_capacity(crowd.chats);
        for _ in 0..crowd.chats {
            let (status, body) = client.post("/api/v1/chats", &json!({"workspace": work})).await?;
            ensure!(status.is_success(), "a chat was refused: {}", text(&body));
            let body: Value = serde_json::from_slice(&body)?;
            chats.push(body["id"].as_str().context("a chat without an id")?.to_owned());
        }
        let talk = Self { server, data, crowd, chats, at_rest };
        for chat in &talk.chats {
            say(&mut client, chat, &agent::order(1, 0)).await?;
        }
        for chat in &talk.chats {
            talk.until_idle(&mut client, chat).await?;
        }
        Ok(talk)
    }

    async fn until_idle(&self, client: &mut Client, chat: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        while began.elapsed() < TIMEOUT {
            let (_, body) = client.get(&format!("/api/v1/chats/{chat}")).await?;
            let body: Value = serde_json::from_slice(&body)?;
            if body["state"] == "idle" {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!("chat {chat} did not come to rest")
    }

    /// Clients that have received all earlier events, and follow now.
    async fn listeners(&self) -> anyhow::Result<Vec<Listener>> {
        let mut listeners = Vec::new();
        for chat in &self.chats {
            for _ in 0..self.crowd.clients {
                listeners.push(Listener::open(&self.server.target, chat).await?);
            }
        }
        Ok(listeners)
    }

    /// Lets all agents print until all clients have received the end.
    async fn load(&self, listeners: Vec<Listener>) -> anyhow::Result<ReceivedEvents> {
        let mut listening = JoinSet::new();
        for listener in listeners {
            listening.spawn(listener.until_done());
        }
        let mut client = Client::connect(&self.server.target).await?;
        let order = agent::order(self.crowd.lines, self.crowd.pace_ms);
        for chat in &self.chats {
            say(&mut client, chat, &order).await?;
        }
        let mut all = ReceivedEvents::default();
        while let Some(received) = listening.join_next().await {
            let received = received??;
            let said = received.took.len() as u64;
            // Each line becomes two events: itself, and the text in it.
            ensure!(said == 2 * self.crowd.lines, "a client got {said} of the events");
            all.add(received);
        }
        Ok(all)
    }
}

async fn say(client: &mut Client, chat: &str, words: &str) -> anyhow::Result<()> {
    let path = format!("/api/v1/chats/{chat}/messages");
    let (status, body) = client.post(&path, &json!({"text": words})).await?;
    ensure!(status.is_success(), "a message was refused: {}", text(&body));
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
