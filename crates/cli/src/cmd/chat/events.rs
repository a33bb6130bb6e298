use anyhow::Context;
use ratchet_core::chat::event::EventKind;
use ratchet_core::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// An event of a chat, as the server sent it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReceivedEvent {
    /// Sequence number.
    pub(crate) seq: u64,
    /// `None` for a type that this version does not know.
    pub(crate) kind: Option<EventKind>,
    /// Time by the server's clock.
    pub(crate) at: Option<Timestamp>,
    pub(crate) body: Value,
    /// The whole event as JSON.
    pub(crate) line: String,
}

#[derive(Deserialize)]
struct Envelope {
    seq: u64,
    r#type: String,
    #[serde(default)]
    at: String,
    body: Value,
}

impl ReceivedEvent {
    pub(crate) fn read(line: &str) -> anyhow::Result<Self> {
        let read: Envelope = serde_json::from_str(line)
            .context("the server sent an invalid event; are the versions the same?")?;
        let kind = EventKind::parse(&read.r#type);
        let at = Timestamp::parse(&read.at).ok();
        Ok(Self { seq: read.seq, kind, at, body: read.body, line: line.to_owned() })
    }

    /// A text field of the body; empty if it is absent.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.body[key].as_str().unwrap_or_default()
    }
}
