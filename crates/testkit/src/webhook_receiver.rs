//! A receiver of webhooks and push messages with scripted responses.

/// A browser that can decrypt push messages.
mod browser;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratchet_core::secret::Secret;
use ratchet_remote::webhook;
use serde_json::Value;

use crate::wait;

pub use browser::FakeBrowser;

/// Maximum number of unread messages.
const MAX_WAITING: usize = 1_000;

/// The response to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxAnswer {
    Status(u16),
    /// A status with `Retry-After` in seconds.
    Busy(u16, u64),
    /// A redirect.
    Elsewhere,
    /// No response, with the connection left open.
    Silence,
    /// No response, and the connection is closed.
    HangUp,
}

#[derive(Clone, Debug)]
pub struct ReceivedMessage {
    /// Path of the request.
    pub path: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl ReceivedMessage {
    /// The value of a header.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or_else(|| panic!("no header {name} in {:?}", self.headers), |(_, value)| value)
    }

    /// Its id and body, after verification of the signature.
    #[track_caller]
    pub fn verified(&self, secret: &str) -> (String, Value) {
        let (id, time) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let text = std::str::from_utf8(&self.body).unwrap();
        let expected = webhook::signature(&Secret::new(secret), (id, time), text);
        assert_eq!(self.header("webhook-signature"), expected);
        (id.to_owned(), serde_json::from_str(text).unwrap())
    }
}

/// A receiver: responds with 204 by default.
#[derive(Debug)]
pub struct Inbox {
    address: SocketAddr,
    heard: Receiver<ReceivedMessage>,
    answers: Arc<Mutex<VecDeque<InboxAnswer>>>,
}

impl Inbox {
    /// Starts listening on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, heard) = sync_channel(MAX_WAITING);
        let answers: Arc<Mutex<VecDeque<InboxAnswer>>> = Arc::default();
        let recorded = Arc::clone(&answers);
        std::thread::spawn(move || listen(&listener, &sender, &recorded));
        Self { address, heard, answers }
    }

    /// Sets the responses to the next messages, in order.
    pub fn answer(&self, answers: impl IntoIterator<Item = InboxAnswer>) {
        self.answers.lock().unwrap().extend(answers);
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Waits for the next message.
    ///
    /// # Panics
    /// On timeout.
    #[track_caller]
    pub fn next(&self) -> ReceivedMessage {
        wait::receive("message", &self.heard)
    }

    /// Whether there are no unread messages.
    pub fn is_empty(&self) -> bool {
        matches!(self.heard.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout))
    }
}

fn listen(
    listener: &TcpListener,
    heard: &SyncSender<ReceivedMessage>,
    answers: &Mutex<VecDeque<InboxAnswer>>,
) {
    // Connections that are left open.
    let mut open = Vec::new();
    loop {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let Some(letter) = hear(&stream) else { continue };
        let answer = answers.lock().unwrap().pop_front().unwrap_or(InboxAnswer::Status(204));
        let head = match answer {
            InboxAnswer::Status(status) => format!("HTTP/1.1 {status} So\r\n"),
            InboxAnswer::Busy(status, wait) => {
                format!("HTTP/1.1 {status} So\r\nretry-after: {wait}\r\n")
            }
            InboxAnswer::Elsewhere => "HTTP/1.1 307 So\r\nlocation: /elsewhere\r\n".to_owned(),
            InboxAnswer::Silence | InboxAnswer::HangUp => String::new(),
        };
        if !head.is_empty() {
            let text = format!("{head}content-length: 0\r\nconnection: close\r\n\r\n");
            // The client may have disconnected.
            drop(stream.write_all(text.as_bytes()));
        }
        if answer == InboxAnswer::Silence {
            open.push(stream);
        } else {
            drop(stream);
        }
        if heard.send(letter).is_err() {
            return;
        }
    }
}

fn hear(stream: &TcpStream) -> Option<ReceivedMessage> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length")?;
    let mut body = vec![0; length.1.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedMessage { path, headers, body })
}
