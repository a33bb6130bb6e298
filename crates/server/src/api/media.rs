//! Upload and download of media. These two routes take a signed URL, valid for an hour, instead of
//! a key: SDKs send and fetch media as if from a bucket.
//!
//! Downloads are untrusted content. Only types without active content are shown inline, all others
//! are attachments, and headers forbid content sniffing and scripts.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use http_body_util::BodyExt;
use ratchet_core::record::media::MediaDisplay;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::error::ErrorBody;
use ratchet_store::blocking::run_blocking;
use ratchet_store::catalog::Media;
use ratchet_store::media::{Incoming, MediaFiles};
use ratchet_store::project::ProjectId;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

use crate::app::{App, Timeouts};
use crate::error::{ApiError, ApiResult};
use crate::file_stream::{FilePieces, FileStream, PIECE};
use crate::origin::Origin;

/// Lifetime of a signed URL.
const LIFETIME: Duration = Duration::from_secs(3_600);
/// The header in which SDKs repeat the hash, as S3 expects it.
const CHECKSUM: &str = "x-amz-checksum-sha256";

/// The operation that a signed URL allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grant {
    /// Upload of announced media.
    Upload,
    Download,
}

/// A signed URL for one media file, with an expiry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    project: ProjectId,
    media: String,
    grant: Grant,
    /// Unix time in seconds.
    until: i64,
}

/// An incoming signed URL, not yet verified.
#[derive(Debug)]
pub(super) struct UnverifiedLink {
    project: ProjectId,
    media: String,
    params: LinkParams,
}

#[derive(Debug, Deserialize)]
struct LinkParams {
    until: i64,
    signature: String,
}

impl FromRequestParts<App> for UnverifiedLink {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let Query(params) = Query::try_from_uri(&parts.uri).map_err(|_| not_ours())?;
        let path = Path::<(String, String)>::from_request_parts(parts, app).await;
        let Path((project, media)) = path.map_err(|_| not_ours())?;
        let project = ProjectId::parse(&project).map_err(|_| not_ours())?;
        Ok(Self { project, media, params })
    }
}

fn not_ours() -> ApiError {
    ApiError::Unauthorized("this link is invalid or has expired; request a new one".to_owned())
}

impl Link {
    /// Creates a URL that is valid from now on.
    pub(crate) fn new(project: ProjectId, media: String, grant: Grant, now: Timestamp) -> Self {
        let lifetime = i64::try_from(LIFETIME.as_secs()).unwrap_or(i64::MAX);
        let until = seconds(now).saturating_add(lifetime);
        Self { project, media, grant, until }
    }

    /// Expiry.
    pub(crate) fn until(&self) -> Timestamp {
        Timestamp::from_millis(self.until.saturating_mul(1_000))
    }

    /// The signed URL.
    ///
    /// # Errors
    /// 503 if the server's encryption key cannot be read or created.
    pub(crate) fn url(&self, app: &App, origin: &Origin) -> ApiResult<String> {
        let Self { project, media, until, .. } = self;
        let signature = app.store.secrets.sign(&self.text())?;
        Ok(format!("{origin}/api/v1/media/{project}/{media}?until={until}&signature={signature}"))
    }

    fn check(&self, app: &App, signature: &str) -> ApiResult<()> {
        let is_ours = app.store.secrets.is_signed(&self.text(), signature)?;
        let is_in_time = seconds(app.clock.now()) <= self.until;
        if is_ours && is_in_time { Ok(()) } else { Err(not_ours()) }
    }

    fn text(&self) -> String {
        let grant = match self.grant {
            Grant::Upload => "upload",
            Grant::Download => "download",
        };
        format!("media {grant} {} {} {}", self.project, self.media, self.until)
    }
}

fn seconds(time: Timestamp) -> i64 {
    time.nanos().div_euclid(1_000_000_000)
}

/// Verifies a signed URL and returns its media.
async fn linked(
    app: &App,
    grant: Grant,
    followed: UnverifiedLink,
) -> ApiResult<(ProjectId, Media)> {
    let UnverifiedLink { project, media, params } = followed;
    let link = Link { project, media, grant, until: params.until };
    link.check(app, &params.signature)?;
    let media = app.store.catalog.media(link.project.clone(), link.media).await?;
    Ok((link.project, media.ok_or_else(|| ApiError::NotFound("media not found".to_owned()))?))
}

/// `PUT /api/v1/media/{project}/{media}`: uploads the bytes of an announced media file.
///
/// The signed URL comes from `POST /api/public/media`; it replaces a key.
#[utoipa::path(
    put,
    path = "/api/v1/media/{project}/{media}",
    tag = "Media",
    security(()),
    params(
        ("project" = String, Path, description = "The project's id."),
        ("media" = String, Path, description = "The media's id."),
        ("until" = i64, Query, description = "Expiry of the signed URL, Unix time in seconds."),
        ("signature" = String, Query, description = "Signature of the URL."),
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "The bytes are stored"),
        (status = 401, description = "Invalid or expired signed URL", body = ErrorBody),
    )
)]
pub(super) async fn upload(
    State(app): State<App>,
    followed: UnverifiedLink,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<StatusCode> {
    let (project, media) = linked(&app, Grant::Upload, followed).await?;
    let expected = media.hash.to_base64();
    if headers.get(CHECKSUM).is_some_and(|stated| stated.as_bytes() != expected.as_bytes()) {
        return Err(ApiError::Invalid(format!("{CHECKSUM}: {expected} was announced")));
    }
    let files = app.store.media.clone();
    let upload = Upload { files: &files, len: media.content_length, body };
    let incoming = upload.receive(&app.settings.timeouts).await?;
    run_blocking(move || files.save(&incoming, media.hash)).await??;
    app.store.catalog.media_stored(project, media.id, app.clock.now()).await?;
    Ok(StatusCode::OK)
}

/// An upload in progress.
struct Upload<'a> {
    files: &'a MediaFiles,
    len: u64,
    body: Body,
}

impl Upload<'_> {
    async fn receive(mut self, timeouts: &Timeouts) -> ApiResult<Incoming> {
        let files = self.files.clone();
        let mut incoming = run_blocking(move || files.receive()).await??;
        let deadline = Instant::now() + timeouts.body;
        let mut waiting = BytesMut::new();
        loop {
            let gap_ends = Instant::now() + timeouts.body_gap;
            let frame = timeout_at(gap_ends.min(deadline), self.body.frame()).await;
            let frame =
                frame.map_err(|_| ApiError::TooSlow("the body stopped coming".to_owned()))?;
            let is_last = frame.is_none();
            if let Some(frame) = frame {
                let frame = frame
                    .map_err(|error| ApiError::Invalid(format!("the body ended early: {error}")))?;
                waiting.extend_from_slice(&frame.into_data().unwrap_or_default());
            }
            self.check_len(incoming.bytes().saturating_add(waiting.len() as u64), is_last)?;
            if is_last || waiting.len() as u64 >= PIECE {
                let piece = waiting.split().freeze();
                incoming =
                    run_blocking(move || incoming.write(&piece).map(|()| incoming)).await??;
            }
            if is_last {
                return Ok(incoming);
            }
        }
    }

    fn check_len(&self, came: u64, is_all: bool) -> ApiResult<()> {
        let is_wrong = came > self.len || (is_all && came < self.len);
        if !is_wrong {
            return Ok(());
        }
        let sent = if is_all { came.to_string() } else { "more".to_owned() };
        Err(ApiError::Invalid(format!("{} bytes were announced, {sent} were sent", self.len)))
    }
}

/// `GET /api/v1/media/{project}/{media}`: the bytes of a media file.
///
/// The signed URL comes from `GET /api/public/media/{id}`; it replaces a key.
#[utoipa::path(
    get,
    path = "/api/v1/media/{project}/{media}",
    tag = "Media",
    security(()),
    params(
        ("project" = String, Path, description = "The project's id."),
        ("media" = String, Path, description = "The media's id."),
        ("until" = i64, Query, description = "Expiry of the signed URL, Unix time in seconds."),
        ("signature" = String, Query, description = "Signature of the URL."),
    ),
    responses(
        (status = 200, description = "The bytes", body = Vec<u8>, content_type = "*/*"),
        (status = 401, description = "Invalid or expired signed URL", body = ErrorBody),
    )
)]
pub(super) async fn download(
    State(app): State<App>,
    followed: UnverifiedLink,
) -> ApiResult<Response> {
    let (_, media) = linked(&app, Grant::Download, followed).await?;
    let (files, hash) = (app.store.media.clone(), media.hash);
    let file = run_blocking(move || files.open(hash)).await??;
    let file = file.ok_or_else(|| ApiError::NotFound("media not found".to_owned()))?;
    let body = FilePieces::new(file, media.content_length).into_body();
    Ok((headers(&media), body).into_response())
}

fn headers(media: &Media) -> HeaderMap {
    let disposition = match media.content_type.shown() {
        MediaDisplay::Inline => "inline",
        MediaDisplay::AsFile => "attachment",
    };
    HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static(media.content_type.served_as())),
        (CONTENT_LENGTH, HeaderValue::from(media.content_length)),
        (CONTENT_DISPOSITION, HeaderValue::from_static(disposition)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (
            CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox; default-src 'none'; style-src 'unsafe-inline'"),
        ),
        (CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600, immutable")),
    ])
}
