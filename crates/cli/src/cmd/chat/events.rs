use anyhow::Context;
use ratchet_core::chat::event::EventKind;
use ratchet_core::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// An event of a chat, as the server told it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    /// Its place in the order.
    pub(crate) seq: u64,
    /// What kind of event; `None` for one that this version does not know.
    pub(crate) kind: Option<EventKind>,
    /// When, by the server's clock.
    pub(crate) at: Option<Timestamp>,
    pub(crate) body: Value,
    /// The whole of it, as it came.
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

impl Heard {
    pub(crate) fn read(line: &str) -> anyhow::Result<Self> {
        let read: Envelope = serde_json::from_str(line)
            .context("the server sent an invalid event; are the versions the same?")?;
        let kind = EventKind::parse(&read.r#type);
        let at = Timestamp::parse(&read.at).ok();
        Ok(Self { seq: read.seq, kind, at, body: read.body, line: line.to_owned() })
    }

    /// A text in what it says; nothing if there is none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.body[key].as_str().unwrap_or_default()
    }
}
