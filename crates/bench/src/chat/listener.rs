use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::agent::MARK;
use crate::client::{Client, Target};
use crate::clock::moment;

const FRAME_END: &[u8] = b"\n\n";
const DONE: &[u8] = b"event: done\n";

/// A client that follows a chat.
pub(super) struct Listener {
    body: Incoming,
    /// Bytes of an incomplete frame.
    rest: Vec<u8>,
    _connection: Client,
}

#[derive(Debug, Default)]
pub(super) struct ReceivedEvents {
    pub(super) events: u64,
    /// Latencies of the events with a timestamp.
    pub(super) took: Vec<Duration>,
}

impl ReceivedEvents {
    pub(super) fn add(&mut self, more: Self) {
        self.events += more.events;
        self.took.extend(more.took);
    }

    fn frame(&mut self, frame: &[u8], at: Duration) {
        if !frame.starts_with(b"id: ") {
            return;
        }
        self.events += 1;
        if let Some(said) = moment_in(frame) {
            self.took.push(at.saturating_sub(said));
        }
    }
}

impl Listener {
    /// Connects, and receives the earlier events: one turn.
    pub(super) async fn open(target: &Target, chat: &str) -> anyhow::Result<Self> {
        let mut connection = Client::connect(target).await?;
        let body = connection.follow(&format!("/api/v1/chats/{chat}/events")).await?;
        let mut listener = Self { body, rest: Vec::new(), _connection: connection };
        listener.hear().await?;
        Ok(listener)
    }

    /// Receives events until the turn is done.
    pub(super) async fn until_done(mut self) -> anyhow::Result<ReceivedEvents> {
        self.hear().await
    }

    async fn hear(&mut self) -> anyhow::Result<ReceivedEvents> {
        let mut received = ReceivedEvents::default();
        loop {
            let Some(frame) = self.body.frame().await else { bail!("a stream has ended") };
            let at = moment();
            self.rest.extend_from_slice(&frame?.into_data().unwrap_or_default());
            let mut is_done = false;
            let mut begin = 0;
            while let Some(len) = find(&self.rest[begin..], FRAME_END) {
                let frame = &self.rest[begin..begin + len];
                received.frame(frame, at);
                is_done |= find(frame, DONE).is_some();
                begin += len + FRAME_END.len();
            }
            self.rest.drain(..begin);
            if is_done {
                return Ok(received);
            }
        }
    }
}

fn find(within: &[u8], what: &[u8]) -> Option<usize> {
    within.windows(what.len()).position(|window| window == what)
}

/// The timestamp in a frame.
fn moment_in(frame: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(frame).ok()?;
    let nanos: u64 = text.split(MARK).nth(1)?.parse().context("no moment").ok()?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_found_and_counted() {
        let mut received = ReceivedEvents::default();
        received.frame(
            b"id: 3\nevent: raw\ndata: {\"text\":\"@@2000@@ words\"}",
            Duration::from_nanos(5_000),
        );
        received.frame(b"id: 4\nevent: state\ndata: {}", Duration::from_nanos(6_000));
        received.frame(b": still here", Duration::from_nanos(7_000));
        assert_eq!((received.events, received.took), (2, vec![Duration::from_nanos(3_000)]));
    }
}
