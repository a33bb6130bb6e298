use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::StreamExt as _;
use ratchet_core::permit_pool::NoPermit;
use ratchet_stages::chat::event_stream::{EventSelection, EventStream, LAST_EVENT, RELAY_HEADERS};
use serde::Deserialize;
use utoipa::IntoParams;

use super::error::ChatResult;
use super::{chat_id, chats};
use crate::api::query::asked;
use crate::app::App;
use crate::auth::Reader;
use crate::error::ApiError;

/// `Retry-After` when too many streams are open.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Query parameters of the event stream.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EventsRequest {
    /// Event types, separated by commas [default: all]. `raw` are the agent's own lines, unchanged.
    pub types: Option<String>,
    /// Only events after this `seq`. A `Last-Event-ID` header does the same and has precedence.
    pub after: Option<u64>,
    /// `false` returns stored events and ends; otherwise the stream continues with new ones.
    pub follow: Option<bool>,
}

/// `GET /api/v1/chats/{chat}/events`: streams the events of a chat.
///
/// Server-sent events. Each has its sequence number as `id`, its type as `event`, and as `data` an
/// object with `seq`, `at`, `type` and `body`. A client that reconnects with `Last-Event-ID`
/// continues there without a gap. The last event is `dropped`, without an id; its `reason` says why
/// the stream ends: the chat is closed, the server stops, or the client was too slow.
#[utoipa::path(
    get,
    path = "/api/v1/chats/{chat}/events",
    tag = "Chats",
    params(
        ("chat" = String, Path, description = "Id of the chat."),
        EventsRequest,
        ("Last-Event-ID" = Option<u64>, Header, description = "Sequence number of the last event that was received."),
    ),
    responses((status = 200, content_type = "text/event-stream", body = Object))
)]
pub(super) async fn follow(
    State(app): State<App>,
    Reader(caller): Reader,
    Path(chat): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> ChatResult<Response> {
    let request: EventsRequest = asked(&uri)?;
    let last_event = headers.get(LAST_EVENT).map(|last| last.to_str().unwrap_or("?"));
    let selection = EventSelection::read(request.types.as_deref(), request.after, last_event);
    let selection = selection.map_err(ApiError::Invalid)?;
    let (project, id) = (caller.project, chat_id(&chat)?);
    let feed = chats(&app)?.service.events(project.clone(), id.clone(), selection.after).await?;
    if selection.after > 0 {
        let last = app.store.telemetry.last_event(project.clone(), id).await;
        selection.check(last.map_err(ApiError::from)?).map_err(ApiError::Invalid)?;
    }
    let permit = app.streams.take(Some(project)).map_err(too_many)?;
    let closing = {
        let app = app.clone();
        async move { app.closing().await }
    };
    let relay = EventStream::new(feed, selection.kinds, closing);
    let relay = relay.alive_every(app.settings.timeouts.heartbeat);
    let relay = if request.follow.unwrap_or(true) { relay } else { relay.so_far() };
    // The permit is held until the stream is dropped.
    let pieces = relay.pieces().map(move |piece| {
        let _held = &permit;
        piece
    });
    Ok((RELAY_HEADERS, Body::from_stream(pieces)).into_response())
}

fn too_many(full: NoPermit) -> ApiError {
    let (open, whose) = match full {
        NoPermit::Total(open) => (open, "this server"),
        NoPermit::Each(open) => (open, "one project"),
    };
    let why = format!("{open} event streams are open, the maximum for {whose}");
    ApiError::Unavailable { why, retry_after: RETRY_AFTER }
}
