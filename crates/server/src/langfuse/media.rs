use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::issue::Issue;
use ratchet_core::record::media::{MediaHash, MediaType};
use ratchet_remote::langfuse::wire::media::{MediaRequest, MediaUpload, MediaView, UploadOutcome};
use ratchet_store::catalog::{Media, MediaOwner, NewMedia, ReferenceLocation, UploadReport};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::JsonFields;
use super::path::PathOf;
use super::review_scope;
use crate::api::media::{Grant, Link};
use crate::app::{App, Limits};
use crate::auth::{QueueReader, Recorder};
use crate::error::{ApiError, ApiResult};
use crate::origin::Origin;

/// Maximum length of the error of an upload.
const MAX_ERROR_CHARS: usize = 10_000;
/// Fields of traces and observations that may contain media.
const TRACE_FIELDS: [&str; 3] = ["input", "output", "metadata"];
/// Fields of dataset items that may contain media.
const ITEM_FIELDS: [&str; 3] = ["input", "expectedOutput", "metadata"];

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(announce)).routes(routes!(show, report))
}

/// `POST /api/public/media`: returns the upload URL of a media file, unless it is stored already.
#[utoipa::path(
    post,
    path = "/api/public/media",
    tag = "Media",
    request_body = MediaRequest,
    responses((status = 200, body = MediaUpload))
)]
pub(super) async fn announce(
    State(app): State<App>,
    Recorder(caller): Recorder,
    origin: Origin,
    JsonFields(request): JsonFields<MediaRequest>,
) -> ApiResult<Json<MediaUpload>> {
    let new = check(request, &app.settings.limits).map_err(ApiError::InvalidFields)?;
    let now = app.clock.now();
    let media = app.store.catalog.announce_media(caller.project.clone(), new, now).await?;
    let is_here = media.stored_at.is_some();
    let link = Link::new(caller.project, media.id.clone(), Grant::Upload, now);
    let upload_url = if is_here { None } else { Some(link.url(&app, &origin)?) };
    Ok(Json(MediaUpload { upload_url, media_id: media.id }))
}

/// `GET /api/public/media/{mediaId}`: a media file and its download URL.
#[utoipa::path(
    get,
    path = "/api/public/media/{id}",
    tag = "Media",
    params(("id" = String, Path, description = "The media id, derived from the hash.")),
    responses((status = 200, body = MediaView))
)]
pub(super) async fn show(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    origin: Origin,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<MediaView>> {
    if !review_scope::has_media(&app, &caller, &id).await? {
        return Err(not_found());
    }
    let media = app.store.catalog.media(caller.project.clone(), id).await?;
    // A client may report its upload before the bytes arrive; the report counts, as in Langfuse.
    let is_there = |media: &Media| media.stored_at.is_some() || media.upload_status == Some(200);
    let media = media.filter(is_there).ok_or_else(not_found)?;
    let link = Link::new(caller.project, media.id.clone(), Grant::Download, app.clock.now());
    let uploaded_at = media.uploaded_at.or(media.stored_at).unwrap_or_default();
    Ok(Json(MediaView {
        url: link.url(&app, &origin)?,
        url_expiry: link.until().into(),
        media_id: media.id,
        content_type: media.content_type.name().to_owned(),
        content_length: media.content_length,
        uploaded_at: uploaded_at.into(),
    }))
}

/// `PATCH /api/public/media/{mediaId}`: reports the result of an upload.
#[utoipa::path(
    patch,
    path = "/api/public/media/{id}",
    tag = "Media",
    params(("id" = String, Path, description = "The media id, derived from the hash.")),
    request_body = UploadOutcome,
    responses((status = 204))
)]
pub(super) async fn report(
    State(app): State<App>,
    Recorder(caller): Recorder,
    PathOf(id): PathOf<String>,
    JsonFields(outcome): JsonFields<UploadOutcome>,
) -> ApiResult<StatusCode> {
    let error = outcome.upload_http_error;
    let report = UploadReport {
        at: outcome.uploaded_at.0,
        status: outcome.upload_http_status,
        error: error.map(|words| words.chars().take(MAX_ERROR_CHARS).collect()),
        millis: outcome.upload_time_ms,
    };
    app.store.catalog.media_uploaded(caller.project, id, report).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn not_found() -> ApiError {
    ApiError::NotFound("media not found, or its upload is not finished".to_owned())
}

fn check(request: MediaRequest, limits: &Limits) -> Result<NewMedia, Vec<Issue>> {
    let mut issues = Vec::new();
    let content_type = MediaType::parse(&request.content_type);
    if content_type.is_none() {
        let known: Vec<_> = MediaType::all().collect();
        issues.push(Issue::at("contentType", format!("must be one of {}", known.join(", "))));
    }
    let hash = MediaHash::parse(&request.sha256_hash);
    if let Err(why) = hash {
        issues.push(Issue::at("sha256Hash", why.to_string()));
    }
    let limit = limits.media_bytes as u64;
    if !(1..=limit).contains(&request.content_length) {
        issues.push(Issue::at("contentLength", format!("must be from 1 to {limit}")));
    }
    let content_length = request.content_length;
    let location = location(request).map_err(|issue| issues.push(issue));
    match (content_type, hash, location) {
        (Some(content_type), Ok(hash), Ok(location)) if issues.is_empty() => {
            Ok(NewMedia { hash, content_type, content_length, location })
        }
        _ => Err(issues),
    }
}

fn location(request: MediaRequest) -> Result<ReferenceLocation, Issue> {
    let is_id = |name: &str, id: &str| {
        TraceId::parse(id).map(drop).map_err(|why| Issue::at(name, why.to_string()))
    };
    let owner = match (
        request.trace_id,
        request.observation_id,
        request.dataset_id,
        request.dataset_item_id,
    ) {
        (Some(trace), None, None, None) => {
            is_id("traceId", &trace)?;
            MediaOwner::Trace(trace)
        }
        (Some(trace), Some(observation), None, None) => {
            is_id("traceId", &trace)?;
            ObservationId::parse(&observation)
                .map_err(|why| Issue::at("observationId", why.to_string()))?;
            MediaOwner::Observation { trace, observation }
        }
        (None, None, Some(dataset), Some(item)) => {
            is_id("datasetId", &dataset)?;
            is_id("datasetItemId", &item)?;
            MediaOwner::DatasetItem { dataset, item }
        }
        _ => {
            let message = "needs either traceId, with or without observationId, or datasetId and \
                           datasetItemId";
            return Err(Issue::at("traceId", message));
        }
    };
    let fields = match owner {
        MediaOwner::Trace(_) | MediaOwner::Observation { .. } => TRACE_FIELDS,
        MediaOwner::DatasetItem { .. } => ITEM_FIELDS,
    };
    if !fields.contains(&request.field.as_str()) {
        return Err(Issue::at("field", format!("must be one of {}", fields.join(", "))));
    }
    Ok(ReferenceLocation { owner, field: request.field })
}
