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
use super::{chats, session_id};
use crate::api::query::asked;
use crate::app::App;
use crate::auth::Reader;
use crate::error::ApiError;

/// When to come back when too many follow.
const LATER: Duration = Duration::from_secs(5);

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
    /// `false` gives what is kept and ends there; otherwise it goes on with what is yet to come.
    pub follow: Option<bool>,
}

/// `GET /api/v1/sessions/{session}/events`: what happens in a session, as it happens.
///
/// A stream of server-sent events. Each has its place in the order as `id`, its kind as `event`,
/// and as `data` an object with `seq`, `at`, `type` and `body`. Whoever comes back with the last id
/// goes on there, and misses nothing. The last one is `dropped`, without an id; its `reason` says
/// why nothing more comes: the session is closed, the server stops, or the client was too slow.
#[utoipa::path(
    get,
    path = "/api/v1/sessions/{session}/events",
    tag = "Sessions",
    params(
        ("session" = String, Path, description = "The session's id."),
        EventsRequest,
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that is known."),
    ),
    responses((status = 200, content_type = "text/event-stream", body = Object))
)]
pub(super) async fn follow(
    State(app): State<App>,
    Reader(caller): Reader,
    Path(session): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> ChatResult<Response> {
    let request: EventsRequest = asked(&uri)?;
    let last_event = headers.get(LAST_EVENT).map(|last| last.to_str().unwrap_or("?"));
    let wanted = EventSelection::read(request.types.as_deref(), request.after, last_event);
    let wanted = wanted.map_err(ApiError::Invalid)?;
    let (project, id) = (caller.project, session_id(&session)?);
    let feed = chats(&app)?.major.events(project.clone(), id.clone(), wanted.after).await?;
    if wanted.after > 0 {
        let last = app.store.telemetry.last_event(project.clone(), id).await;
        wanted.check(last.map_err(ApiError::from)?).map_err(ApiError::Invalid)?;
    }
    let open = app.streams.take(Some(project)).map_err(too_many)?;
    let closing = {
        let app = app.clone();
        async move { app.closing().await }
    };
    let relay = EventStream::new(feed, wanted.kinds, closing);
    let relay = relay.alive_every(app.settings.timeouts.heartbeat);
    let relay = if request.follow.unwrap_or(true) { relay } else { relay.so_far() };
    // It counts as open until it is gone.
    let pieces = relay.pieces().map(move |piece| {
        let _held = &open;
        piece
    });
    Ok((RELAY_HEADERS, Body::from_stream(pieces)).into_response())
}

fn too_many(full: NoPermit) -> ApiError {
    let (open, whose) = match full {
        NoPermit::Total(open) => (open, "this server keeps"),
        NoPermit::Each(open) => (open, "one project may have"),
    };
    let why = format!("{open} streams of events are open, as many as {whose}");
    ApiError::Unavailable { why, retry_after: LATER }
}
