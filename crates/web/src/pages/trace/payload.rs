use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::media::MediaType;
use ratchet_core::record::trace::Content;
use std::io::{Read, Seek, SeekFrom};

use super::byte_range::Part;
use super::{StepPath, TracePath, run, trace_id};
use crate::message_preview::Side;
use crate::page_error::{PageError, PageResult};
use crate::pages::queues;
use crate::request_context::{Params, RequestContext};
use crate::web::Web;
use ratchet_core::record::message_formats::{self, Medium, Picture};
use ratchet_store::blocking::run_blocking;
use ratchet_store::project::ProjectId;

/// Maximum media size on pages; larger files need the API.
const MAX_MEDIA: u64 = 50_000_000;

/// Input or output, by the URL.
fn asked(ctx: &RequestContext, content: Option<Content>) -> PageResult<Payload> {
    let content = content.unwrap_or_default();
    let is_output = ctx.params.get("side") == Some(Side::Output.as_str());
    let side = if is_output { content.output } else { content.input };
    side.ok_or_else(|| PageError::not_there("payload"))
}

/// `GET …/traces/{trace}/payload`: the whole payload as text.
pub(super) async fn of_trace(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace)): TracePath,
) -> PageResult<Response> {
    let trace = run::trace(&web, &ctx, trace_id(&trace)?).await?;
    Ok(plain(&asked(&ctx, trace.content)?))
}

/// `GET …/observations/{observation}/payload`: the whole payload as text.
pub(super) async fn of_step(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace, step)): StepPath,
) -> PageResult<Response> {
    let step = run::step(&web, &ctx, &trace_id(&trace)?, &run::step_id(&step)?).await?;
    Ok(plain(&asked(&ctx, step.content)?))
}

fn plain(payload: &Payload) -> Response {
    let kind = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
    (kind, payload.as_str().to_owned()).into_response()
}

/// `GET …/traces/{trace}/picture`: an inline image of a payload.
pub(super) async fn picture_of_trace(
    State(web): State<Web>,
    ctx: RequestContext,
    headers: HeaderMap,
    Path((_, trace)): TracePath,
) -> PageResult<Response> {
    let id = trace_id(&trace)?;
    must_reach(&web, &ctx, &id, None).await?;
    let trace = run::trace(&web, &ctx, id).await?;
    picture(&ctx.params, &headers, &asked(&ctx, trace.content)?)
}

/// `GET …/observations/{observation}/picture`: an inline image of a payload.
pub(super) async fn picture_of_step(
    State(web): State<Web>,
    ctx: RequestContext,
    headers: HeaderMap,
    Path((_, trace, step)): StepPath,
) -> PageResult<Response> {
    let (trace, step) = (trace_id(&trace)?, run::step_id(&step)?);
    must_reach(&web, &ctx, &trace, Some(&step)).await?;
    let step = run::step(&web, &ctx, &trace, &step).await?;
    picture(&ctx.params, &headers, &asked(&ctx, step.content)?)
}

/// To a reviewer, a picture outside of their queues looks like none at all.
async fn must_reach(
    web: &Web,
    ctx: &RequestContext,
    trace: &TraceId,
    step: Option<&ObservationId>,
) -> PageResult<()> {
    if queues::reaches_pictures(web, ctx, trace, step).await? {
        return Ok(());
    }
    Err(PageError::not_there("picture"))
}

/// The inline image at the index in the URL.
pub(in crate::pages) fn picture(
    params: &Params,
    headers: &HeaderMap,
    payload: &Payload,
) -> PageResult<Response> {
    let missing = || PageError::not_there("picture");
    let number: usize = params.get("n").and_then(|n| n.parse().ok()).ok_or_else(missing)?;
    let reading = message_formats::read(payload.to_json().as_str());
    let found = message_formats::pictures(&reading).into_iter().nth(number).ok_or_else(missing)?;
    let Picture::Inline { mime, data } = found else { return Err(missing()) };
    let bytes = STANDARD.decode(data.trim()).map_err(|_| missing())?;
    // Whatever a browser might run is a file to save, never a page.
    let kind = Medium::of(mime).map_or(MediaType::OTHER, |(_, kind)| kind);
    let part = Part::asked(headers, bytes.len() as u64);
    let bytes = part.of(bytes);
    Ok(part.answer(kind, bytes))
}

/// `GET /project/{project}/media/{media}`: an uploaded media file.
pub(super) async fn media(
    State(web): State<Web>,
    ctx: RequestContext,
    headers: HeaderMap,
    Path((_, id)): TracePath,
) -> PageResult<Response> {
    if !queues::reaches_media(&web, &ctx, &id).await? {
        return Err(PageError::not_there("media"));
    }
    file(&web, ctx.project_id(), id, &headers).await
}

/// An uploaded media file; the caller has checked that it may be read.
pub(in crate::pages) async fn file(
    web: &Web,
    project: ProjectId,
    id: String,
    headers: &HeaderMap,
) -> PageResult<Response> {
    let missing = || PageError::not_there("media");
    let media = web.store.catalog.media(project, id).await?.ok_or_else(missing)?;
    if media.content_length > MAX_MEDIA {
        return Err(PageError::Bad(
            "the file is too large to display; download it with the API".to_owned(),
        ));
    }
    let (files, hash) = (web.store.media.clone(), media.hash);
    let part = Part::asked(headers, media.content_length);
    let read = move || -> PageResult<Option<Vec<u8>>> {
        let Some(mut file) = files.open(hash)? else { return Ok(None) };
        let mut bytes = Vec::new();
        let (from, length) = part.span();
        let read = file
            .seek(SeekFrom::Start(from))
            .and_then(|_| file.take(length.min(MAX_MEDIA)).read_to_end(&mut bytes));
        read.map_err(|_| PageError::not_there("media"))?;
        Ok(Some(bytes))
    };
    let bytes = run_blocking(read).await??.ok_or_else(missing)?;
    Ok(part.answer(media.content_type, bytes))
}
