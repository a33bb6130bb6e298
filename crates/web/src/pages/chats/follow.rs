//! The event stream of a chat, and files sent with messages.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use ratchet_core::chat::event::EventKind;
use ratchet_core::payload::{Json, Payload};
use ratchet_stages::chat::event_stream::{EventSelection, EventStream, LAST_EVENT, RELAY_HEADERS};
use serde_json::Value;

use super::{agents, find, outcome, turns};
use crate::page_error::{PageError, PageResult};
use crate::pages::trace::payload;
use crate::request_context::RequestContext;
use crate::web::Web;

/// `GET …/chats/{chat}/events`: the same stream as in the API, for browsers.
pub(super) async fn events(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> PageResult<Response> {
    let chat = find(&web, &ctx, &id).await?;
    let last_event = headers.get(LAST_EVENT).map(|last| last.to_str().unwrap_or("?"));
    let after = ctx.params.get("after").and_then(|after| after.parse().ok());
    let wanted = EventSelection::read(ctx.params.get("types"), after, last_event);
    let EventSelection { kinds, after, .. } = wanted.map_err(PageError::Bad)?;
    let feed = agents(&web)?.service.events(ctx.project_id(), chat.id, after).await;
    let permit = ctx.viewer.take(&web.streams, "chat streams")?;
    let closing = async move { web.closing().await };
    let relay = EventStream::new(feed.map_err(outcome::refusal)?, kinds, closing);
    // The permit is held until the stream is dropped.
    let pieces = relay.pieces().map(move |piece| {
        let _held = &permit;
        piece
    });
    Ok((RELAY_HEADERS, Body::from_stream(pieces)).into_response())
}

/// `GET …/chats/{chat}/picture`: a file that was sent with a message.
pub(super) async fn picture(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> PageResult<Response> {
    let missing = || PageError::not_there("picture");
    let chat = find(&web, &ctx, &id).await?;
    let seq = ctx.params.get("seq").and_then(|seq| seq.parse::<u64>().ok());
    let before = seq.and_then(|seq| seq.checked_sub(1)).ok_or_else(missing)?;
    let (project, telemetry) = (ctx.project_id(), &web.store.telemetry);
    let events = telemetry.chat_events(project, chat.id, before, 1).await?;
    let event = events.first().filter(|event| event.kind == EventKind::Message);
    let event = event.filter(|event| Some(event.seq) == seq).ok_or_else(missing)?;
    let body: Value = serde_json::from_str(&event.body).map_err(|_| missing())?;
    let message = Json::from_value(&turns::as_payload(&body["content"]));
    payload::picture(&ctx.params, &headers, &Payload::Json(message))
}
