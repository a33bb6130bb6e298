use axum::extract::State;
use axum::response::Response;
use ratchet_core::issue::Issue;
use ratchet_remote::langfuse::wire::metrics::{MetricsMeta, MetricsRequest, MetricsView};
use ratchet_remote::langfuse::wire::read::read;
use ratchet_store::aggregate::AggregateSource;
use ratchet_store::metrics::PERCENTILE_ERROR;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::query::{Version, question};
use super::params::Params;
use super::response;
use crate::app::App;
use crate::auth::{Caller, Reader};
use crate::error::{ApiError, ApiResult};

/// From the `query` parameter to a query.
mod query;
/// Numbers of traces by day and model.
pub(crate) mod daily_traces;
/// Daily metrics, for older clients.
pub(super) mod daily;

/// Approximate bytes of a row in the response.
const ROW_BYTES: usize = 200;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(first))
        .routes(routes!(second))
        .routes(routes!(daily::list))
}

/// `GET /api/public/metrics`: metrics of traces, observations or scores.
#[utoipa::path(
    get,
    path = "/api/public/metrics",
    tag = "Metrics",
    params(("query" = String, Query, description = "The query, as a JSON object.")),
    responses((status = 200, body = MetricsView))
)]
pub(super) async fn first(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Response> {
    figures(&app, caller, &params, Version::First).await
}

/// `GET /api/public/v2/metrics`: metrics of observations or scores.
#[utoipa::path(
    get,
    path = "/api/public/v2/metrics",
    tag = "Metrics",
    params(("query" = String, Query, description = "The query, as a JSON object.")),
    responses((status = 200, body = MetricsView))
)]
pub(super) async fn second(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Response> {
    figures(&app, caller, &params, Version::Second).await
}

async fn figures(
    app: &App,
    caller: Caller,
    params: &Params,
    version: Version,
) -> ApiResult<Response> {
    let invalid = |issues: Vec<Issue>| ApiError::InvalidFields(issues);
    let text = params.text("query");
    let text = text.ok_or_else(|| invalid(vec![Issue::at("query", "required, a JSON object")]))?;
    let sent: MetricsRequest = read(&text).map_err(|issue| invalid(vec![issue.inside("query")]))?;
    let (question, shape) = question(caller.project, sent, version).map_err(invalid)?;
    let found = question.answer(&app.store.telemetry).await?;
    let is_rough = found.source == AggregateSource::Rollup && shape.has_percentiles();
    let meta = MetricsMeta {
        source: match found.source {
            AggregateSource::Rollup => "rollup".to_owned(),
            AggregateSource::Scan => "scan".to_owned(),
        },
        rows_read: found.rows_read,
        percentile_error: is_rough.then_some(PERCENTILE_ERROR),
    };
    let size = found.rows.len().saturating_mul(ROW_BYTES);
    response::json(app, size, move || MetricsView { data: shape.show(found.rows), meta }).await
}
