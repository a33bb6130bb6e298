use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use ratchet_agent::sse::SseReader;
use ratchet_core::backoff::{Backoff, FailedAttempt};
use ratchet_remote::backoff_clock::{BackoffClock as _, SystemBackoffClock};
use ratchet_remote::ratchet::RatchetClient;
use reqwest::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use super::events::ReceivedEvent;
use super::sanitize::plain_line;

/// Backoff of reconnects: for about a minute.
const RECONNECT: Backoff = Backoff {
    max_attempts: 40,
    first: Duration::from_millis(200),
    cap: Duration::from_secs(2),
    max_retry_after: Duration::ZERO,
    max_elapsed: Duration::MAX,
};

/// A chat on a server.
#[derive(Clone, Debug)]
pub(crate) struct ChatClient<'a> {
    server: &'a RatchetClient,
    chat: String,
}

/// A chat as the server describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatInfo {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) title: Option<String>,
    pub(crate) workspace: String,
    pub(crate) turns: u64,
    /// Cost of the turns in US dollars.
    pub(crate) cost: f64,
    /// Whether `cost` is a lower bound.
    #[serde(default)]
    pub(crate) at_least: bool,
    /// Budget in US dollars.
    #[serde(default)]
    pub(crate) max_budget: Option<f64>,
    #[serde(default)]
    pub(crate) spent: f64,
    /// Whether trust in its workspace was withdrawn.
    #[serde(default)]
    pub(crate) distrusted: bool,
    /// Sequence number of its last event.
    pub(crate) last_event: u64,
    /// Time of the last change, RFC 3339.
    #[serde(default)]
    pub(crate) updated_at: String,
    /// Remarks on how it was set up.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
}

impl ChatInfo {
    /// First lines of output.
    pub(crate) fn greeting(&self) -> String {
        let mut text = format!("chat {} in {}\n", self.id, plain_line(&self.workspace));
        for note in &self.notes {
            text.push_str(&format!("  {}\n", plain_line(note)));
        }
        text
    }
}

/// How a chat is opened.
#[derive(Clone, Debug)]
pub(crate) enum ChatStart {
    New {
        workspace: PathBuf,
        model: Option<String>,
        /// Permission mode.
        mode: Option<String>,
        /// Budget in US dollars.
        budget: Option<f64>,
    },
    Resume(String),
    Fork(String),
}

/// The project of a key.
#[derive(Deserialize)]
struct Projects {
    data: Vec<Project>,
}

#[derive(Deserialize)]
struct Project {
    id: String,
}

impl<'a> ChatClient<'a> {
    /// Creates or opens a chat.
    pub(crate) async fn open(
        server: &'a RatchetClient,
        beginning: &ChatStart,
        attachments: &[Value],
    ) -> anyhow::Result<(Self, ChatInfo)> {
        let chat: ChatInfo = match beginning {
            ChatStart::New { workspace, model, mode, budget } => {
                let workspace = workspace.canonicalize();
                let workspace = workspace.context("cannot find the workspace")?;
                let request = json!({"workspace": workspace, "model": model, "mode": mode,
                    "maxBudget": budget, "attachments": attachments});
                server.post(&["v1", "chats"], &request).await?
            }
            ChatStart::Resume(id) => server.get(&["v1", "chats", id]).await?,
            ChatStart::Fork(id) => server.post(&["v1", "chats", id, "fork"], &json!({})).await?,
        };
        Ok((Self { server, chat: chat.id.clone() }, chat))
    }

    pub(crate) fn id(&self) -> &str {
        &self.chat
    }

    pub(crate) async fn chat(&self) -> anyhow::Result<ChatInfo> {
        Ok(self.server.get(&["v1", "chats", &self.chat]).await?)
    }

    /// Posts to a subpath of the chat.
    pub(crate) async fn post(&self, what: &str, body: &Value) -> anyhow::Result<Value> {
        Ok(self.server.post(&["v1", "chats", &self.chat, what], body).await?)
    }

    pub(crate) async fn rename(&self, title: &str) -> anyhow::Result<()> {
        let title = json!({"title": title});
        self.server.patch::<Value>(&["v1", "chats", &self.chat], &title).await?;
        Ok(())
    }

    /// Creates a fork.
    pub(crate) async fn fork(&self) -> anyhow::Result<(Self, ChatInfo)> {
        Self::open(self.server, &ChatStart::Fork(self.chat.clone()), &[]).await
    }

    /// URL of the project's pages.
    pub(crate) async fn pages(&self) -> anyhow::Result<String> {
        let projects: Projects = self.server.get(&["public", "projects"]).await?;
        let project = projects.data.first().context("the key opens no project")?;
        Ok(self.server.page_url(&["project", &project.id]))
    }

    /// Follows the events after a sequence number without end: a broken stream is resumed.
    pub(crate) fn events(&self, after: u64, types: &'static str) -> Events<'a> {
        Events {
            client: self.clone(),
            after,
            types,
            stream: None,
            reader: SseReader::default(),
            waiting: VecDeque::new(),
            retries: 0,
            is_lost: false,
        }
    }
}

/// An update from the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StreamUpdate {
    Event(ReceivedEvent),
    /// The connection is lost; the reason.
    Lost(String),
    /// The connection is back, and no event is missing.
    Back,
}

#[derive(Debug)]
pub(crate) struct Events<'a> {
    client: ChatClient<'a>,
    after: u64,
    types: &'static str,
    stream: Option<Response>,
    reader: SseReader,
    waiting: VecDeque<ReceivedEvent>,
    retries: u32,
    is_lost: bool,
}

impl Events<'_> {
    /// Returns the next event or change of the connection. Fails when the server stays unreachable.
    pub(crate) async fn next(&mut self) -> anyhow::Result<StreamUpdate> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.after = event.seq;
                self.retries = 0;
                return Ok(StreamUpdate::Event(event));
            }
            let Some(stream) = &mut self.stream else {
                if let Some(update) = self.connect().await? {
                    return Ok(update);
                }
                continue;
            };
            let why = match stream.chunk().await {
                Ok(Some(bytes)) => {
                    self.read(&bytes)?;
                    continue;
                }
                Ok(None) => "the server ended the stream".to_owned(),
                Err(error) => error.to_string(),
            };
            self.stream = None;
            self.pause(&why).await?;
        }
    }

    /// Forwards updates until the receiver is closed or the server stays unreachable. Returns the
    /// reason.
    pub(crate) async fn pass_on(mut self, to: Sender<StreamUpdate>) -> anyhow::Error {
        loop {
            match self.next().await {
                Ok(update) => {
                    if to.send(update).await.is_err() {
                        return anyhow::anyhow!("the receiver is closed");
                    }
                }
                Err(error) => return error,
            }
        }
    }

    async fn connect(&mut self) -> anyhow::Result<Option<StreamUpdate>> {
        let path = ["v1", "chats", &self.client.chat, "events"];
        let query = [("types", self.types)];
        match self.client.server.follow(&path, &query, self.after).await.map_err(Into::into) {
            Ok(stream) => {
                (self.stream, self.reader) = (Some(stream), SseReader::default());
                Ok(std::mem::take(&mut self.is_lost).then_some(StreamUpdate::Back))
            }
            Err(error) if is_passing(&error) => {
                self.pause(&error.to_string()).await?;
                let is_news = !std::mem::replace(&mut self.is_lost, true);
                Ok(is_news.then(|| StreamUpdate::Lost(error.to_string())))
            }
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        for event in self.reader.push(bytes)? {
            // Messages about the stream itself are not events.
            if !event.data.is_empty() && event.name != "dropped" {
                self.waiting.push_back(ReceivedEvent::read(&event.data)?);
            }
        }
        Ok(())
    }

    /// Waits before the next reconnect, with backoff.
    async fn pause(&mut self, why: &str) -> anyhow::Result<()> {
        self.retries += 1;
        let (attempt, jitter) = (self.retries, SystemBackoffClock.jitter());
        let delay = RECONNECT.delay(FailedAttempt { attempt, jitter, ..FailedAttempt::default() });
        let Some(delay) = delay else {
            bail!(
                "cannot follow the events of chat {}: {why}\n`ratchet chat --resume {}` \
                 continues it",
                self.client.chat,
                self.client.chat
            );
        };
        tokio::time::sleep(delay).await;
        Ok(())
    }
}

/// Whether an error may be temporary.
fn is_passing(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<reqwest::Error>().is_some())
}
