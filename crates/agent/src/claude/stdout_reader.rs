/// Lines of any length, within reason.
mod chunk;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt, BufReader};
use tokio::process::ChildStderr;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use super::lines::{ClaudeLines, CliLine, FromClaude};
use super::mcp::McpHandler;
use super::message::Reply;
use super::pending_requests::PendingRequests;
use super::request::{CliRequest, CliRequestKind, McpRequest};
use super::stdin_writer::StdinLine;
use chunk::Chunk;

/// Lines that wait to be taken.
const QUEUE: usize = 1024;
/// KiB of lines that wait to be taken; the longest line fits twice.
const ROOM: u32 = 128 * 1024;
/// How many messages to servers of ours are worked on at once.
const MAX_MCP_TASKS: usize = 16;
/// How much of its complaints is kept, in bytes.
const MAX_STDERR: usize = 16 * 1024;
/// How many lines that are no JSON are kept, and how much of each, in characters.
const MAX_NOISE: (usize, usize) = (20, 500);

/// Sender of parsed lines, with backpressure.
#[derive(Clone, Debug)]
pub(super) struct LineSender {
    lines: mpsc::Sender<(FromClaude, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

/// Output that belongs to no request: stderr, lines that are no JSON, errors of the last result.
#[derive(Debug, Default)]
pub(super) struct UnroutedOutput(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    stderr: VecDeque<u8>,
    noise: VecDeque<String>,
    errors: Vec<String>,
}

/// All that is needed to hear a process out.
#[derive(Debug)]
pub(super) struct StdoutReader {
    pub(super) pending: Arc<PendingRequests>,
    pub(super) line_sender: LineSender,
    pub(super) unrouted: Arc<UnroutedOutput>,
    pub(super) servers: BTreeMap<String, McpHandler>,
    pub(super) stdin_lines: mpsc::Sender<StdinLine>,
}

impl LineSender {
    pub(super) fn new() -> (Self, ClaudeLines) {
        let (lines, taken) = mpsc::channel(QUEUE);
        let room = Arc::new(Semaphore::new(ROOM as usize));
        (Self { lines, room }, ClaudeLines(taken))
    }

    /// Whether the reader is slower than the process.
    pub(super) fn is_crowded(&self) -> bool {
        let has_reader = !self.lines.is_closed();
        has_reader
            && (self.lines.capacity() < QUEUE || self.room.available_permits() < ROOM as usize)
    }

    /// Sends a line when the channel has capacity; drops it when the receiver is gone.
    pub(super) async fn send(&self, said: FromClaude) {
        let bytes = match &said {
            FromClaude::Line(line) => line.raw.get().len(),
            FromClaude::Request(request) => request.raw.get().len(),
            FromClaude::Withdrawn { .. } | FromClaude::Lost { .. } | FromClaude::Ended(_) => 0,
        };
        let size = u32::try_from(bytes >> 10).unwrap_or(ROOM).clamp(1, ROOM);
        let has_left = self.lines.closed();
        let room = tokio::select! {
            room = Arc::clone(&self.room).acquire_many_owned(size) => room,
            () = has_left => return,
        };
        if let Ok(room) = room {
            drop(self.lines.send((said, room)).await);
        }
    }
}

impl StdoutReader {
    /// Reads stdout to its end, then drops `reading_guard`.
    pub(super) async fn run(self, stdout: impl AsyncRead + Unpin, reading_guard: mpsc::Sender<()>) {
        let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
        let mut mcp_tasks = JoinSet::new();
        loop {
            match chunk::next(&mut stdout).await {
                Chunk::Line(bytes) => self.handle_line(bytes, &mut mcp_tasks).await,
                Chunk::TooLong { bytes } => self.line_sender.send(FromClaude::Lost { bytes }).await,
                Chunk::End => break,
            }
        }
        self.pending.close();
        drop(reading_guard);
    }

    async fn handle_line(&self, bytes: Vec<u8>, mcp_tasks: &mut JoinSet<()>) {
        let Some(line) = self.read(bytes) else { return };
        let is_done = line.is("result");
        self.pending.line_received(is_done);
        if is_done {
            self.unrouted.result(line.raw.get());
        }
        match line.name.as_str() {
            "control_response" if self.pending.answered(&line.raw) => {}
            "control_request" => self.handle_request(line, mcp_tasks).await,
            "control_cancel_request" => self.handle_cancel(line).await,
            _ => self.line_sender.send(FromClaude::Line(line)).await,
        }
    }

    fn read(&self, bytes: Vec<u8>) -> Option<CliLine> {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(broken) => {
                self.unrouted.noise(&String::from_utf8_lossy(broken.as_bytes()));
                return None;
            }
        };
        if text.trim().is_empty() {
            return None;
        }
        // Kept before it is known to be needed, for reading takes the text.
        let beginning: String = text.chars().take(MAX_NOISE.1).collect();
        let line = if text.starts_with('{') { CliLine::read(text) } else { None };
        if line.is_none() {
            self.unrouted.noise(&beginning);
        }
        line
    }

    async fn handle_request(&self, line: CliLine, mcp_tasks: &mut JoinSet<()>) {
        let Some(request) = CliRequest::read(&line.raw) else {
            return self.line_sender.send(FromClaude::Line(line)).await;
        };
        self.pending.request_received(&request.id);
        if let CliRequestKind::Mcp(ask) = &request.ask
            && let Some(server) = self.servers.get(&ask.server_name)
        {
            if mcp_tasks.len() >= MAX_MCP_TASKS {
                mcp_tasks.join_next().await;
            }
            let (pending, stdin_lines) = (Arc::clone(&self.pending), self.stdin_lines.clone());
            let (server, ask, id) = (server.clone(), ask.clone(), request.id);
            mcp_tasks.spawn(async move {
                let reply = served(&server, &ask).await;
                let Ok(spoken) = StdinLine::reply(&id, &reply) else { return };
                if pending.settle(&id) {
                    // A process that has ended needs no answer.
                    drop(stdin_lines.send(spoken).await);
                }
            });
            return;
        }
        self.line_sender.send(FromClaude::Request(request)).await;
    }

    async fn handle_cancel(&self, line: CliLine) {
        let Ok(Withdrawal { request_id }) = serde_json::from_str(line.raw.get()) else {
            return self.line_sender.send(FromClaude::Line(line)).await;
        };
        self.pending.settle(&request_id);
        self.line_sender.send(FromClaude::Withdrawn { id: request_id, raw: line.raw }).await;
    }
}

async fn served(server: &McpHandler, ask: &McpRequest) -> Reply {
    let reply = match serde_json::from_str(ask.message.get()) {
        Ok(message) => Reply::mcp(&server.answer(message).await),
        Err(error) => Ok(Reply::Error(error.to_string())),
    };
    reply.unwrap_or_else(|error| Reply::Error(error.to_string()))
}

#[derive(Deserialize)]
struct Withdrawal {
    request_id: String,
}

#[derive(Deserialize)]
struct Failed {
    #[serde(default)]
    errors: Vec<String>,
}

impl UnroutedOutput {
    fn noise(&self, text: &str) {
        let (most, length) = MAX_NOISE;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.noise.len() == most {
            kept.noise.pop_front();
        }
        kept.noise.push_back(text.trim_end().chars().take(length).collect());
    }

    fn push_stderr(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.stderr.extend(bytes);
        let over = kept.stderr.len().saturating_sub(MAX_STDERR);
        kept.stderr.drain(..over);
    }

    fn result(&self, line: &str) {
        let errors = serde_json::from_str(line).map(|Failed { errors }| errors);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.errors = errors.unwrap_or_default();
    }

    /// Returns stderr, lines that are no JSON, and the errors of the last result.
    pub(super) fn summary(&self) -> (String, Vec<String>, Vec<String>) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stderr: Vec<u8> = kept.stderr.iter().copied().collect();
        let noise = kept.noise.iter().cloned().collect();
        (String::from_utf8_lossy(&stderr).into_owned(), noise, kept.errors.clone())
    }
}

/// Collects the last part of stderr, then drops `reading_guard`.
pub(super) async fn collect_stderr(
    mut stderr: ChildStderr,
    unrouted: Arc<UnroutedOutput>,
    reading_guard: mpsc::Sender<()>,
) {
    let mut buffer = vec![0; 4096];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        unrouted.push_stderr(buffer.get(..read).unwrap_or_default());
    }
    drop(reading_guard);
}
