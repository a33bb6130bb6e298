use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use ratchet_agent::sse::SseReader;
use reqwest::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use super::events::Heard;
use super::sanitize::plain_line;
use crate::target::Remote;

/// How often a broken stream is taken up again in a row: for about a minute.
const MAX_RETRIES: u32 = 32;
/// How long it is waited before that, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// One chat on a server.
#[derive(Clone, Debug)]
pub(crate) struct Link<'a> {
    server: &'a Remote,
    chat: String,
}

/// What is known of a chat.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Known {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) title: Option<String>,
    pub(crate) workspace: String,
    pub(crate) turns: u64,
    /// What they cost, in US dollars.
    pub(crate) cost: f64,
    /// Whether they may have cost more.
    #[serde(default)]
    pub(crate) at_least: bool,
    /// What it may spend, in US dollars.
    #[serde(default)]
    pub(crate) max_budget: Option<f64>,
    #[serde(default)]
    pub(crate) spent: f64,
    /// Whether trust in its workspace was taken back.
    #[serde(default)]
    pub(crate) distrusted: bool,
    /// The place of its last event.
    pub(crate) last_event: u64,
    /// When it last changed, RFC 3339.
    #[serde(default)]
    pub(crate) updated_at: String,
    /// What is worth knowing of how it was started.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
}

impl Known {
    /// What is told of a chat at its beginning.
    pub(crate) fn greeting(&self) -> String {
        let mut text = format!("chat {} in {}\n", self.id, plain_line(&self.workspace));
        for note in &self.notes {
            text.push_str(&format!("  {}\n", plain_line(note)));
        }
        text
    }
}

/// How a chat is begun or found.
#[derive(Clone, Debug)]
pub(crate) enum Beginning {
    /// A new one.
    New {
        workspace: PathBuf,
        model: Option<String>,
        /// What it may do without asking.
        mode: Option<String>,
        /// What it may spend, in US dollars.
        budget: Option<f64>,
    },
    /// One that exists.
    Resume(String),
    /// A copy of one that exists.
    Fork(String),
}

/// The projects that a key opens: one.
#[derive(Deserialize)]
struct Projects {
    data: Vec<Project>,
}

#[derive(Deserialize)]
struct Project {
    id: String,
}

impl<'a> Link<'a> {
    /// Begins or finds a chat.
    pub(crate) async fn open(
        server: &'a Remote,
        beginning: &Beginning,
        attachments: &[Value],
    ) -> anyhow::Result<(Self, Known)> {
        let known: Known = match beginning {
            Beginning::New { workspace, model, mode, budget } => {
                let workspace = workspace.canonicalize();
                let workspace = workspace.context("cannot find the workspace")?;
                let request = json!({"workspace": workspace, "model": model, "mode": mode,
                    "maxBudget": budget, "attachments": attachments});
                server.post("/api/v1/chats", &request).await?
            }
            Beginning::Resume(id) => server.get_from(&["chats", id]).await?,
            Beginning::Fork(id) => server.post_named(&["chats", id, "fork"], &json!({})).await?,
        };
        Ok((Self { server, chat: known.id.clone() }, known))
    }

    pub(crate) fn id(&self) -> &str {
        &self.chat
    }

    pub(crate) async fn known(&self) -> anyhow::Result<Known> {
        self.server.get_from(&["chats", &self.chat]).await
    }

    /// Has something done with it.
    pub(crate) async fn post(&self, what: &str, body: &Value) -> anyhow::Result<Value> {
        self.server.post_named(&["chats", &self.chat, what], body).await
    }

    /// Has people call it otherwise.
    pub(crate) async fn rename(&self, title: &str) -> anyhow::Result<()> {
        let title = json!({"title": title});
        self.server.patch_to::<Value>(&["chats", &self.chat], &title).await.map(drop)
    }

    /// A copy of it, which itself stays as it is.
    pub(crate) async fn fork(&self) -> anyhow::Result<(Self, Known)> {
        Self::open(self.server, &Beginning::Fork(self.chat.clone()), &[]).await
    }

    /// Where the pages of its project are.
    pub(crate) async fn pages(&self) -> anyhow::Result<String> {
        let projects: Projects = self.server.get("/api/public/projects").await?;
        let project = projects.data.first().context("the key opens no project")?;
        self.server.address(&["project", &project.id])
    }

    /// Its events after a place in their order, until the end of days: a stream that breaks is
    /// taken up where it broke.
    pub(crate) fn events(&self, after: u64, types: &'static str) -> Events<'a> {
        Events {
            link: self.clone(),
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

/// What comes of following a chat.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    Event(Heard),
    /// The server cannot be reached; that is why.
    Lost(String),
    /// It can be reached again, and nothing was missed.
    Back,
}

#[derive(Debug)]
pub(crate) struct Events<'a> {
    link: Link<'a>,
    after: u64,
    types: &'static str,
    stream: Option<Response>,
    reader: SseReader,
    waiting: VecDeque<Heard>,
    retries: u32,
    is_lost: bool,
}

impl Events<'_> {
    /// The next event, or word of the line to the server. Fails when the server stays away.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Told> {
        loop {
            if let Some(heard) = self.waiting.pop_front() {
                self.after = heard.seq;
                self.retries = 0;
                return Ok(Told::Event(heard));
            }
            let Some(stream) = &mut self.stream else {
                if let Some(told) = self.connect().await? {
                    return Ok(told);
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

    /// Passes everything on until nobody takes it, or the server stays away: that is why.
    pub(crate) async fn pass_on(mut self, to: Sender<Told>) -> anyhow::Error {
        loop {
            match self.next().await {
                Ok(told) => {
                    if to.send(told).await.is_err() {
                        return anyhow::anyhow!("the receiver is closed");
                    }
                }
                Err(error) => return error,
            }
        }
    }

    async fn connect(&mut self) -> anyhow::Result<Option<Told>> {
        let parts = ["chats", &self.link.chat, "events"];
        let query = [("types", self.types)];
        match self.link.server.follow(&parts, &query, self.after).await {
            Ok(stream) => {
                (self.stream, self.reader) = (Some(stream), SseReader::default());
                Ok(std::mem::take(&mut self.is_lost).then_some(Told::Back))
            }
            Err(error) if is_passing(&error) => {
                self.pause(&error.to_string()).await?;
                let is_news = !std::mem::replace(&mut self.is_lost, true);
                Ok(is_news.then(|| Told::Lost(error.to_string())))
            }
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        for event in self.reader.push(bytes)? {
            // Words on the stream itself, such as why it ends, are no events.
            if !event.data.is_empty() && event.name != "dropped" {
                self.waiting.push_back(Heard::read(&event.data)?);
            }
        }
        Ok(())
    }

    /// Waits before it is tried again, a little longer each time.
    async fn pause(&mut self, why: &str) -> anyhow::Result<()> {
        self.retries += 1;
        if self.retries > MAX_RETRIES {
            bail!(
                "cannot follow the events of chat {}: {why}\n`ratchet chat --resume {}` \
                 continues it",
                self.link.chat,
                self.link.chat
            );
        }
        let (first, most) = PAUSES;
        tokio::time::sleep((first * self.retries).min(most)).await;
        Ok(())
    }
}

/// Whether a server that could not be asked may be there again in a while.
fn is_passing(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<reqwest::Error>().is_some())
}
