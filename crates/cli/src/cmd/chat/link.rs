use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratchet_agent::sse::SseReader;
use ratchet_core::major::attachment::{Attachment, MAX_ATTACHMENTS, MAX_PDF_BYTES};
use reqwest::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::heard::Heard;
use super::screen::plain_line;
use crate::target::Remote;

/// How often a broken stream is taken up again in a row.
const MAX_RETRIES: u32 = 5;

/// One session on a server.
#[derive(Debug)]
pub(crate) struct Link<'a> {
    server: &'a Remote,
    session: String,
}

/// What is known of a session.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Known {
    /// Which.
    pub(crate) id: String,
    /// Where it works.
    pub(crate) workspace: String,
    /// Turns that have ended.
    pub(crate) turns: u64,
    /// What they cost, in US dollars.
    pub(crate) cost: f64,
    /// The place of its last event.
    pub(crate) last_event: u64,
    /// What is worth knowing of how it was started.
    #[serde(default)]
    pub(crate) notes: Vec<String>,
}

impl Known {
    /// What is told of a session at its beginning.
    pub(crate) fn greeting(&self) -> String {
        let mut text = format!("session {} in {}\n", self.id, plain_line(&self.workspace));
        for note in &self.notes {
            text.push_str(&format!("  {}\n", plain_line(note)));
        }
        text
    }
}

/// How a session is begun or found.
#[derive(Clone, Debug)]
pub(crate) enum Beginning {
    /// A new one.
    New {
        /// Where it works.
        workspace: PathBuf,
        /// Which model answers.
        model: Option<String>,
        /// What it may do without asking.
        mode: Option<String>,
    },
    /// One that exists.
    Resume(String),
    /// A copy of one that exists.
    Fork(String),
}

impl<'a> Link<'a> {
    /// Begins or finds a session.
    pub(crate) async fn open(
        server: &'a Remote,
        beginning: &Beginning,
        attachments: &[Value],
    ) -> anyhow::Result<(Self, Known)> {
        let known: Known = match beginning {
            Beginning::New { workspace, model, mode } => {
                let workspace = workspace.canonicalize();
                let workspace = workspace.context("cannot find the workspace")?;
                let request = json!({"workspace": workspace, "model": model, "mode": mode,
                    "attachments": attachments});
                server.post("/api/v1/sessions", &request).await?
            }
            Beginning::Resume(id) => server.get_from(&["sessions", id]).await?,
            Beginning::Fork(id) => server.post_named(&["sessions", id, "fork"], &json!({})).await?,
        };
        Ok((Self { server, session: known.id.clone() }, known))
    }

    /// Its id.
    pub(crate) fn id(&self) -> &str {
        &self.session
    }

    /// Asks how it is.
    pub(crate) async fn known(&self) -> anyhow::Result<Known> {
        self.server.get_from(&["sessions", &self.session]).await
    }

    /// Has something done with it.
    pub(crate) async fn post(&self, what: &str, body: &Value) -> anyhow::Result<Value> {
        self.server.post_named(&["sessions", &self.session, what], body).await
    }

    /// Its events after a place in their order, until the end of days: a stream that breaks is
    /// taken up where it broke.
    pub(crate) fn events(&self, after: u64, types: &'static str) -> Events<'_> {
        let (waiting, reader) = (VecDeque::new(), SseReader::default());
        Events { link: self, after, types, stream: None, reader, waiting, retries: 0 }
    }
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Events<'a> {
    link: &'a Link<'a>,
    after: u64,
    types: &'static str,
    stream: Option<Response>,
    reader: SseReader,
    waiting: VecDeque<Heard>,
    retries: u32,
}

impl Events<'_> {
    /// The next event. May be dropped while it waits, and called again.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Heard> {
        loop {
            if let Some(heard) = self.waiting.pop_front() {
                self.after = heard.seq;
                self.retries = 0;
                return Ok(heard);
            }
            if self.stream.is_none() {
                let parts = ["sessions", &self.link.session, "events"];
                let after = self.after.to_string();
                let query = [("types", self.types), ("after", after.as_str())];
                let followed = self.link.server.follow(&parts, &query).await?;
                (self.stream, self.reader) = (Some(followed), SseReader::default());
            }
            let Some(stream) = &mut self.stream else { continue };
            match stream.chunk().await {
                Ok(Some(bytes)) => {
                    for event in self.reader.push(&bytes)? {
                        // Words on the stream itself, such as why it ends, are no events.
                        if !event.data.is_empty() && event.name != "dropped" {
                            self.waiting.push_back(Heard::read(&event.data)?);
                        }
                    }
                }
                Ok(None) => self.again("the server ended the stream")?,
                Err(error) => self.again(&error.to_string())?,
            }
        }
    }

    fn again(&mut self, why: &str) -> anyhow::Result<()> {
        self.stream = None;
        self.retries += 1;
        if self.retries > MAX_RETRIES {
            bail!("the events of session {} cannot be followed: {why}", self.link.session);
        }
        Ok(())
    }
}

/// Files to be attached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// Texts, which an agent can be told before the conversation begins.
    pub(crate) texts: Vec<Value>,
    /// Images and documents, which go with a message.
    pub(crate) others: Vec<Value>,
}

impl Files {
    /// Reads them.
    pub(crate) fn read(files: &[PathBuf]) -> anyhow::Result<Self> {
        if files.len() > MAX_ATTACHMENTS {
            bail!("{MAX_ATTACHMENTS} files can be attached at most");
        }
        let mut read = Self::default();
        for file in files {
            let (name, bytes) = bytes_of(file)?;
            let request = json!({"name": name, "data": STANDARD.encode(&bytes)});
            let is_text = Attachment::read(&name, bytes)?.block().is_none();
            if is_text { &mut read.texts } else { &mut read.others }.push(request);
        }
        Ok(read)
    }
}

fn bytes_of(file: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    let about = || format!("cannot attach {}", file.display());
    let size = std::fs::metadata(file).with_context(about)?.len();
    if size > MAX_PDF_BYTES as u64 {
        bail!("{} has {size} bytes; nothing larger than {MAX_PDF_BYTES} is taken", file.display());
    }
    let bytes = std::fs::read(file).with_context(about)?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    Ok((name.into_owned(), bytes))
}
