//! What happens in a session, as a stream of server-sent events to one client.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, Stream, StreamExt as _};
use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::record::limit::elide;

use super::event_feed::EventFeed;
use super::live_updates::LiveEvent;

/// Request header with the id of the last event that a reconnecting client received.
pub const LAST_EVENT: &str = "last-event-id";
/// Response headers. They also disable buffering in proxies.
pub const RELAY_HEADERS: [(&str, &str); 3] = [
    ("content-type", "text/event-stream"),
    ("cache-control", "no-store"),
    ("x-accel-buffering", "no"),
];

/// Interval of keep-alive messages to the client and proxies.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Bytes of events that go out together when they are there together.
const ENOUGH_BYTES: usize = 64 * 1024;
/// How much of a word that we do not know is repeated.
const SHOWN_BYTES: usize = 60;
/// Asks clients to come back after a second when the connection breaks.
const OPENING: &str = "retry: 1000\n\n";
const ALIVE: &str = ": still here\n\n";

/// Which events a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSelection {
    pub kinds: BTreeSet<EventKind>,
    /// After this place in their order.
    pub after: u64,
    /// Position of the client.
    field: &'static str,
}

impl EventSelection {
    /// Parses the request: comma-separated kinds (all when empty), and a position,
    /// which `Last-Event-ID` overrides.
    ///
    /// # Errors
    /// Says which of them makes no sense.
    pub fn read(
        types: Option<&str>,
        after: Option<u64>,
        last_event: Option<&str>,
    ) -> Result<Self, String> {
        let kinds = kinds(types.unwrap_or_default())?;
        match last_event.map(str::trim).filter(|id| !id.is_empty()) {
            None => Ok(Self { kinds, after: after.unwrap_or(0), field: "after" }),
            Some(id) => {
                let after = id.parse().map_err(|_| "Last-Event-ID: the id of an event")?;
                Ok(Self { kinds, after, field: "Last-Event-ID" })
            }
        }
    }

    /// Looks whether the place is there.
    ///
    /// # Errors
    /// Refuses an event that is not: what comes next would never come next.
    pub fn check(&self, last: u64) -> Result<(), String> {
        let Self { field, after, .. } = self;
        if *after <= last {
            return Ok(());
        }
        Err(format!(
            "{field}: there is no event {after}, the last one is {last}; what was there may have \
             been too old to be kept: begin anew, without {field}"
        ))
    }
}

fn kinds(types: &str) -> Result<BTreeSet<EventKind>, String> {
    let words: Vec<&str> =
        types.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Ok(EventKind::ALL.into());
    }
    let read = |word: &str| {
        let known = || EventKind::ALL.map(EventKind::as_str).join(", ");
        let unknown = || format!("types: {} is not one of {}", elide(word, SHOWN_BYTES), known());
        EventKind::parse(word).ok_or_else(unknown)
    };
    words.into_iter().map(read).collect()
}

/// A stream to one client. It is polled for the next piece only once the client took the last, so
/// that a slow client costs no memory; it falls behind, and gets an error.
pub struct EventStream {
    feed: EventFeed,
    kinds: BTreeSet<EventKind>,
    closing: BoxFuture<'static, ()>,
    heartbeat: Duration,
    /// Whether it waits for what is yet to come.
    follows: bool,
    is_over: bool,
}

impl EventStream {
    /// A stream of what a feed gives, as far as it is wanted, until the server is on its way out.
    pub fn new(
        feed: EventFeed,
        kinds: BTreeSet<EventKind>,
        closing: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let (closing, heartbeat) = (Box::pin(closing), HEARTBEAT);
        Self { feed, kinds, closing, heartbeat, follows: true, is_over: false }
    }

    /// The same, with a sign of life after another time.
    #[must_use]
    pub fn alive_every(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// The same with stored events only.
    #[must_use]
    pub fn so_far(mut self) -> Self {
        self.feed = self.feed.so_far();
        self.follows = false;
        self
    }

    /// What goes over the wire, piece by piece.
    pub fn pieces(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
        let opening = stream::once(async { Bytes::from_static(OPENING.as_bytes()) });
        let events = stream::unfold(self, |mut relay| async move {
            let piece = relay.next().await?;
            Some((piece, relay))
        });
        opening.chain(events).map(Ok)
    }

    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let mut silence = pin!(tokio::time::sleep(self.heartbeat));
        loop {
            let events = tokio::select! {
                () = &mut self.closing => return self.last("the server is shutting down"),
                events = self.feed.next() => events,
                () = &mut silence => return Some(Bytes::from_static(ALIVE.as_bytes())),
            };
            match events {
                None if self.follows => return self.last("the chat is closed"),
                None => return None,
                Some(Err(error)) => return self.last(&error.to_string()),
                Some(Ok(event)) => {
                    if let Some(piece) = self.together(event) {
                        return Some(piece);
                    }
                }
            }
        }
    }

    /// An event with those at hand behind it, as far as they are wanted; each in the form that is
    /// made once for all clients.
    fn together(&mut self, first: Arc<LiveEvent>) -> Option<Bytes> {
        let (mut forms, mut bytes) = (Vec::new(), 0);
        let mut next = Some(first);
        while let Some(event) = next {
            if self.kinds.contains(&event.kind) {
                let form = event.form(frame);
                bytes += form.len();
                forms.push(form);
            }
            next = if bytes < ENOUGH_BYTES { self.feed.at_hand() } else { None };
        }
        match forms.len() {
            0 => None,
            1 => forms.pop().map(Bytes::from_owner),
            _ => Some(forms.concat().into()),
        }
    }

    /// The reason of the end. It has no id, so that a client resumes after the last event.
    fn last(&mut self, why: &str) -> Option<Bytes> {
        self.is_over = true;
        let reason = serde_json::json!({"reason": why});
        Some(format!("event: dropped\ndata: {reason}\n\n").into())
    }
}

/// An event as it goes over the wire.
fn frame(event: &ChatEvent) -> Vec<u8> {
    let ChatEvent { seq, at, kind, body } = event;
    let kind = kind.as_str();
    // Line breaks in JSON are white space, and would end the line here.
    let body = body.replace(['\n', '\r'], " ");
    let data = format!("{{\"seq\":{seq},\"at\":\"{at}\",\"type\":\"{kind}\",\"body\":{body}}}");
    format!("id: {seq}\nevent: {kind}\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use ratchet_core::time::Timestamp;

    use super::*;

    #[test]
    fn an_event_is_one_frame() {
        let body = "{\"text\":\"a\\nb\",\n\"n\":1}".into();
        let at = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
        let frame = frame(&ChatEvent { seq: 7, at, kind: EventKind::TextDelta, body });
        let frame = String::from_utf8(frame).unwrap();
        let lines: Vec<&str> = frame.lines().collect();
        assert_eq!(lines[..2], ["id: 7", "event: text_delta"]);
        let data: serde_json::Value =
            serde_json::from_str(lines[2].strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(data["body"]["text"], "a\nb");
        assert!(frame.ends_with("\n\n") && lines.len() == 4, "{frame:?}");
    }

    #[test]
    fn kinds_and_places_are_read() {
        let read = |types: &str, last| EventSelection::read(Some(types), Some(3), last);
        assert_eq!(read("done, error", None).unwrap().kinds.len(), 2);
        let all = read("", None).unwrap();
        assert_eq!((all.kinds.len(), all.after), (EventKind::ALL.len(), 3));
        assert!(read("nonsense", None).is_err());
        assert_eq!(read("", Some("9")).unwrap().after, 9);
        assert_eq!(read("", Some(" ")).unwrap().after, 3);
        assert!(read("", Some("x")).is_err());
        assert!(all.check(3).is_ok());
        assert!(all.check(2).unwrap_err().starts_with("after: there is no event 3"));
    }
}
