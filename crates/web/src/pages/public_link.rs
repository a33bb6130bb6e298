//! What a public link opens: one trace or one session, without signing in.
//!
//! Nothing but the token says what is read. Scores, comments, users, tags and metadata are not shown,
//! and no page of the project is linked.

/// What a token may read.
mod reader;
/// A trace with its observations.
mod trace_view;

use axum::Router;
use axum::extract::Path;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::payload::Payload;
use ratchet_core::record::message_formats::{self, Reading};
use ratchet_core::record::trace::Trace;

use self::reader::PublicReader;
use super::trace::payload;
use crate::components::message::{ContentLinks, MessageStyle};
use crate::components::{figure, json};
use crate::frame;
use crate::message_preview::Side;
use crate::page_error::{PageError, PageResult};
use crate::request_context::Link;
use crate::web::Web;

/// Bytes of a payload that is parsed; of a longer one the beginning is shown as it is.
const READ_UP_TO: usize = 1_000_000;
/// Bytes of JSON that are drawn; all of it is one click away.
const MAX_JSON: usize = 100_000;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/public/{token}", get(show))
        .route("/public/{token}/payload", get(whole))
        .route("/public/{token}/picture", get(picture))
        .route("/public/{token}/media/{media}", get(media))
}

/// Path of a public link.
pub(super) fn path(token: &str) -> String {
    format!("/public/{token}")
}

/// `GET /public/{token}`: the trace or session; `?trace=` is one of a session, `?observation=` one of
/// a trace.
async fn show(reader: PublicReader) -> PageResult<Response> {
    let (title, body) = match reader.asked_trace().await? {
        Some(trace) => trace_view::page(&reader, &trace).await?,
        None => session(&reader).await?,
    };
    let body = html! {
        p.muted { "Shared by link, read only. Times are in " (reader.time.zone_name()) "." }
        (body)
    };
    // Search engines index what they find linked somewhere; a shared link is not meant for them.
    Ok(([("x-robots-tag", "noindex, nofollow")], frame::shared(&title, &body)).into_response())
}

/// The turns of a session, some at a time.
async fn session(reader: &PublicReader) -> PageResult<(String, Markup)> {
    let turns = reader.turns().await?;
    if turns.rows.is_empty() {
        return Err(PageError::not_there("page"));
    }
    let next = turns.cursor.as_ref().map(|cursor| reader.link("").with("cursor", cursor));
    // Each is drawn before the next is read: what is drawn of a turn is short, the turn may be not.
    let mut drawn = Vec::with_capacity(turns.rows.len());
    for trace in turns.rows {
        drawn.push(turn(reader, &reader.with_content(trace).await?));
    }
    let body = html! {
        @for turn in &drawn { (turn) }
        @if let Some(next) = next { p { a.button rel="next" href=(next) { "Next turns" } } }
    };
    Ok(("Session".to_owned(), body))
}

fn turn(reader: &PublicReader, trace: &Trace) -> Markup {
    let link = reader.link("").with("trace", trace.id.to_string());
    html! {
        article.turn {
            header.turn-head {
                h2 { a href=(link) { bdi { (name(trace)) } } }
                span.turn-facts { (facts(reader, trace)) }
            }
            (content(reader, trace, None))
        }
    }
}

fn name(trace: &Trace) -> &str {
    trace.name.as_deref().filter(|name| !name.is_empty()).unwrap_or("Unnamed trace")
}

/// Time, duration, tokens and cost.
fn facts(reader: &PublicReader, trace: &Trace) -> Markup {
    let sums = &trace.summary;
    html! {
        (figure::when(trace.timestamp, &reader.time))
        @if let Some(nanos) = sums.latency() { span { (figure::duration(nanos)) } }
        @if sums.total_tokens > 0 {
            span { (figure::tokens_in_part(sums.total_tokens, sums.approximate_cost)) " tokens" }
            span { (figure::cost_in_part(sums.cost, sums.approximate_cost)) }
        }
    }
}

/// Input and output of a trace.
fn content(reader: &PublicReader, trace: &Trace, observation: Option<&str>) -> Markup {
    let content = trace.content.as_ref();
    let sides = [
        (Side::Input, content.and_then(|content| content.input.as_ref())),
        (Side::Output, content.and_then(|content| content.output.as_ref())),
    ];
    sides_of(reader, &trace.id.to_string(), observation, sides)
}

fn sides_of(
    reader: &PublicReader,
    trace: &str,
    observation: Option<&str>,
    sides: [(Side, Option<&Payload>); 2],
) -> Markup {
    let links = |side: Side| {
        let of = |what: &str| {
            let to = reader.link(what).with("trace", trace).with("side", side.as_str());
            observation.into_iter().fold(to, |to, id| to.with("observation", id))
        };
        ContentLinks {
            whole: of("payload").to_string(),
            pictures: of("picture").with("n", "").to_string(),
            media: format!("{}/", reader.link("media")),
        }
    };
    html! {
        @for (side, payload) in sides {
            @if let Some(payload) = payload {
                section.side { h3 { (side.label()) } (message(payload, &links(side))) }
            }
        }
        @if sides.iter().all(|(_, payload)| payload.is_none()) {
            p.muted { "No input or output recorded." }
        }
    }
}

fn message(payload: &Payload, at: &ContentLinks) -> Markup {
    let mut style = MessageStyle::new(at);
    if payload.as_str().len() > READ_UP_TO {
        return style.lone_text(payload.as_str());
    }
    match message_formats::read(payload.to_json().as_str()) {
        Reading::Messages(messages) => style.conversation(&messages),
        Reading::Text(text) => style.lone_text(&text),
        Reading::Data(text) if text.len() <= MAX_JSON => json::json(&text),
        Reading::Data(text) => style.lone_text(&text),
    }
}

/// `GET /public/{token}/payload`: a whole payload as text.
async fn whole(reader: PublicReader) -> PageResult<Response> {
    let kind = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
    Ok((kind, reader.payload().await?.as_str().to_owned()).into_response())
}

/// `GET /public/{token}/picture`: an inline image of a payload.
async fn picture(reader: PublicReader, headers: HeaderMap) -> PageResult<Response> {
    payload::picture(&reader.params, &headers, &reader.payload().await?)
}

/// `GET /public/{token}/media/{media}`: an uploaded file that the trace or session refers to.
async fn media(
    reader: PublicReader,
    headers: HeaderMap,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Response> {
    if !reader.reaches_media(&id).await? {
        return Err(PageError::not_there("media"));
    }
    payload::file(&reader.web, reader.project(), id, &headers).await
}

/// Link to a part of a public page.
fn link_to(token: &str, what: &str) -> Link {
    let rest = if what.is_empty() { String::new() } else { format!("/{what}") };
    Link::new(&format!("{}{rest}", path(token)))
}
