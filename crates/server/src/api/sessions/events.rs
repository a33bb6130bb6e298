use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use ratchet_core::major::event::{EventKind, SessionEvent};
use ratchet_stages::major::Feed;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};
use utoipa::IntoParams;

use super::refusal::ChatResult;
use super::{chats, session_id};
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ApiResult};

/// What a client that lost its connection says it heard last.
const LAST_EVENT: &str = "last-event-id";
/// After so long without an event the client is told that we are still there, and proxies too.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Asks clients to come back after a second when the connection breaks.
const OPENING: &str = "retry: 1000\n\n";
const ALIVE: &str = ": still here\n\n";

/// Which events are wanted, as clients ask for them.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EventsRequest {
    /// Kinds of events, with commas; all when left out. `raw` are the agent's own lines, unchanged.
    pub types: Option<String>,
    /// Only those after this place in their order; a `Last-Event-ID` header says the same, and
    /// counts more.
    pub after: Option<u64>,
}

impl EventsRequest {
    fn kinds(&self) -> ApiResult<BTreeSet<EventKind>> {
        let words = self.types.as_deref().unwrap_or_default().split(',').map(str::trim);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return Ok(EventKind::ALL.into());
        }
        let read = |word: &str| {
            let known = || EventKind::ALL.map(EventKind::as_str).join(", ");
            let unknown = || ApiError::Invalid(format!("types: among {}", known()));
            EventKind::parse(word).ok_or_else(unknown)
        };
        words.into_iter().map(read).collect()
    }

    fn place(&self, headers: &HeaderMap) -> ApiResult<u64> {
        let Some(header) = headers.get(LAST_EVENT) else { return Ok(self.after.unwrap_or(0)) };
        let place = header.to_str().ok().map(str::trim);
        match place {
            Some("") => Ok(self.after.unwrap_or(0)),
            place => place
                .and_then(|place| place.parse().ok())
                .ok_or_else(|| ApiError::Invalid("Last-Event-ID: the id of an event".to_owned())),
        }
    }
}

/// `GET /api/v1/sessions/{session}/events`: what happens in a session, as it happens.
///
/// A stream of server-sent events. Each has its place in the order as `id`, its kind as `event`,
/// and as `data` an object with `seq`, `at`, `type` and `body`. Whoever comes back with the last id
/// goes on there, and misses nothing.
#[utoipa::path(
    get,
    path = "/api/v1/sessions/{session}/events",
    tag = "Sessions",
    params(
        ("session" = String, Path, description = "The session's id."),
        EventsRequest,
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that is known."),
    ),
    responses((status = 200, content_type = "text/event-stream", body = String))
)]
pub(super) async fn follow(
    State(app): State<App>,
    Reader(caller): Reader,
    Path(session): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> ChatResult<Response> {
    let request: EventsRequest = super::asked(&uri)?;
    let kinds = request.kinds()?;
    let after = request.place(&headers)?;
    let chats = chats(&app)?;
    let feed = chats.major.events(caller.project, session_id(&session)?, after).await?;
    let opening =
        stream::once(async { Ok::<_, Infallible>(Bytes::from_static(OPENING.as_bytes())) });
    let relay = Relay { feed, kinds, app: app.clone(), is_over: false };
    let told = stream::unfold(relay, |mut relay| async move {
        let piece = relay.next().await?;
        Some((Ok(piece), relay))
    });
    let mut response = Response::new(Body::from_stream(opening.chain(told)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Some proxies hold answers back until they are whole.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// A stream to one client. It is asked for the next piece only once the client took the last, so
/// that a slow client costs no memory; it falls behind, and is told so.
struct Relay {
    feed: Feed,
    kinds: BTreeSet<EventKind>,
    app: App,
    is_over: bool,
}

impl Relay {
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let until = Instant::now() + KEEP_ALIVE;
        loop {
            let told = tokio::select! {
                () = self.app.closing() => return self.last("the server is shutting down"),
                told = timeout_at(until, self.feed.next()) => told,
            };
            match told {
                Err(_elapsed) => return Some(Bytes::from_static(ALIVE.as_bytes())),
                Ok(None) => return self.last("the session is closed"),
                Ok(Some(Err(error))) => return self.last(&error.to_string()),
                Ok(Some(Ok(event))) if self.kinds.contains(&event.kind) => {
                    return Some(frame(&event));
                }
                Ok(Some(Ok(_))) => {}
            }
        }
    }

    /// Tells why nothing more comes. It has no id: whoever comes back does so after the last event.
    fn last(&mut self, why: &str) -> Option<Bytes> {
        self.is_over = true;
        let reason = serde_json::json!({"reason": why});
        Some(format!("event: dropped\ndata: {reason}\n\n").into())
    }
}

/// An event as it goes over the wire.
fn frame(event: &SessionEvent) -> Bytes {
    let SessionEvent { seq, at, kind, body } = event;
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
        let event = SessionEvent { seq: 7, at, kind: EventKind::TextDelta, body };
        let frame = String::from_utf8(frame(&event).to_vec()).unwrap();
        let lines: Vec<&str> = frame.lines().collect();
        assert_eq!(lines[..2], ["id: 7", "event: text_delta"]);
        let data: serde_json::Value =
            serde_json::from_str(lines[2].strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(data["body"]["text"], "a\nb");
        assert!(frame.ends_with("\n\n") && lines.len() == 4, "{frame:?}");
    }

    #[test]
    fn kinds_and_places_are_read() {
        let request = |types: &str| EventsRequest { types: Some(types.to_owned()), after: Some(3) };
        assert_eq!(request("done, error").kinds().unwrap().len(), 2);
        assert_eq!(request("").kinds().unwrap().len(), EventKind::ALL.len());
        assert!(request("nonsense").kinds().is_err());
        let mut headers = HeaderMap::new();
        assert_eq!(request("").place(&headers).unwrap(), 3);
        headers.insert(LAST_EVENT, HeaderValue::from_static("9"));
        assert_eq!(request("").place(&headers).unwrap(), 9);
        headers.insert(LAST_EVENT, HeaderValue::from_static("x"));
        assert!(request("").place(&headers).is_err());
    }
}
