use std::collections::BTreeMap;

use axum::extract::{FromRequest, Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use ratchet_core::record::limit::elide;
use ratchet_core::record::semantic_conventions::Sender;
use utoipa::openapi::{self as described, Object, RefOr, Schema};
use utoipa::{IntoResponses, PartialSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::record::{Delivery, Signal, deliver};
use super::{Format, Rejected, reply};
use crate::app::App;
use crate::auth::Caller;
use crate::body::Received;
use crate::error::{ApiError, ApiResult};
use crate::openapi::also_at;

/// The newest ingestion version of Langfuse's SDKs.
const INGESTION_VERSION: u64 = 4;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(also_at(routes!(traces), "/v1/traces"))
        .routes(also_at(routes!(logs), "/v1/logs"))
        .routes(also_at(routes!(metrics), "/v1/metrics"))
}

/// `POST /v1/traces` and `POST /api/public/otel/v1/traces`: records spans.
#[utoipa::path(
    post,
    path = "/api/public/otel/v1/traces",
    tag = "OpenTelemetry",
    request_body(
        description = "An ExportTraceServiceRequest",
        content((Object = "application/json"), (Vec<u8> = "application/x-protobuf"))
    ),
    responses(ExportAnswers)
)]
pub(crate) async fn traces(State(app): State<App>, request: Request) -> Response {
    answer(&app, Signal::Traces, request).await
}

/// `POST /v1/logs` and `POST /api/public/otel/v1/logs`: records Claude Code's events.
#[utoipa::path(
    post,
    path = "/api/public/otel/v1/logs",
    tag = "OpenTelemetry",
    request_body(
        description = "An ExportLogsServiceRequest",
        content((Object = "application/json"), (Vec<u8> = "application/x-protobuf"))
    ),
    responses(ExportAnswers)
)]
pub(crate) async fn logs(State(app): State<App>, request: Request) -> Response {
    answer(&app, Signal::Logs, request).await
}

/// `POST /v1/metrics` and `POST /api/public/otel/v1/metrics`: counts Claude Code's metrics; their
/// values are not stored.
#[utoipa::path(
    post,
    path = "/api/public/otel/v1/metrics",
    tag = "OpenTelemetry",
    request_body(
        description = "An ExportMetricsServiceRequest",
        content((Object = "application/json"), (Vec<u8> = "application/x-protobuf"))
    ),
    responses(ExportAnswers)
)]
pub(crate) async fn metrics(State(app): State<App>, request: Request) -> Response {
    answer(&app, Signal::Metrics, request).await
}

/// Responses of all exports, for the API description.
enum ExportAnswers {}

impl IntoResponses for ExportAnswers {
    fn responses() -> BTreeMap<String, RefOr<described::Response>> {
        let answer = |about: &str| {
            let content = |schema: RefOr<Schema>| described::Content::new(Some(schema));
            described::ResponseBuilder::new()
                .description(about)
                .content("application/json", content(Object::new().into()))
                .content("application/x-protobuf", content(Vec::<u8>::schema()))
                .into()
        };
        let (done, failed) = ("The service's answer", "A google.rpc.Status");
        let described = |what| answer(&format!("{what}, in the encoding of the request"));
        BTreeMap::from([
            ("200".to_owned(), described(done)),
            ("default".to_owned(), described(failed)),
        ])
    }
}

async fn answer(app: &App, signal: Signal, request: Request) -> Response {
    let format = format(request.headers());
    // Any other content type gets JSON, which people can read.
    let shown = *format.as_ref().unwrap_or(&Format::Json);
    match export(app, signal, format, request).await {
        Ok(rejected) => reply::success(signal, shown, &rejected),
        Err(error) => reply::failure(shown, &error),
    }
}

async fn export(
    app: &App,
    signal: Signal,
    format: ApiResult<Format>,
    request: Request,
) -> ApiResult<Rejected> {
    let caller = Caller::identify(app, request.headers()).await?.may_record()?.0;
    let format = format?;
    check_version(request.headers())?;
    let sender = sender(request.headers());
    let received = Received::from_request(request, app).await?;
    deliver(app, Delivery { caller, sender, signal, format, received }).await
}

fn format(headers: &HeaderMap) -> ApiResult<Format> {
    let header = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let media_type = header.split(';').next().unwrap_or("").trim();
    match media_type.to_ascii_lowercase().as_str() {
        "application/x-protobuf" | "application/protobuf" => Ok(Format::Protobuf),
        "application/json" => Ok(Format::Json),
        _ => Err(ApiError::UnsupportedMediaType(
            "Content-Type must be application/x-protobuf or application/json".to_owned(),
        )),
    }
}

fn check_version(headers: &HeaderMap) -> ApiResult<()> {
    let Some(version) = headers.get("x-langfuse-ingestion-version") else {
        return Ok(());
    };
    let version = version.to_str().ok().and_then(|text| text.trim().parse::<u64>().ok());
    match version {
        Some(version) if version <= INGESTION_VERSION => Ok(()),
        _ => Err(ApiError::Invalid(format!(
            "x-langfuse-ingestion-version must be a number up to {INGESTION_VERSION}; use an \
             older SDK or a newer ratchet"
        ))),
    }
}

/// Maximum stored length of an SDK's name or version: every span repeats them.
const SDK_BYTES: usize = 100;

/// The SDK that sent a request, from its headers.
pub(crate) fn sender(headers: &HeaderMap) -> Sender {
    let text = |name| {
        let value = headers.get(name)?.to_str().ok()?;
        Some(elide(value, SDK_BYTES).into_owned())
    };
    Sender { sdk_name: text("x-langfuse-sdk-name"), sdk_version: text("x-langfuse-sdk-version") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(value))])
    }

    #[track_caller]
    fn check(content_type: &'static str, expected: Option<Format>) {
        assert_eq!(format(&headers("content-type", content_type)).ok(), expected);
    }

    #[test]
    fn the_content_type_names_the_format() {
        check("application/x-protobuf", Some(Format::Protobuf));
        check("application/protobuf", Some(Format::Protobuf));
        check("Application/JSON; charset=utf-8", Some(Format::Json));
        check("text/plain", None);
        check("", None);
        assert!(format(&HeaderMap::new()).is_err());
    }

    #[test]
    fn newer_ingestion_versions_are_refused() {
        let check = |version| check_version(&headers("x-langfuse-ingestion-version", version));
        assert!(check("4").is_ok() && check("3").is_ok());
        assert!(check("5").is_err() && check("x").is_err() && check("").is_err());
        assert!(check_version(&HeaderMap::new()).is_ok());
    }
}
