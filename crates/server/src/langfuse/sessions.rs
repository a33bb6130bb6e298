use axum::Json;
use axum::extract::State;
use axum::response::Response;
use ratchet_core::record::field_table;
use ratchet_core::record::session::Session;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::session::{SessionView, SessionWithTraces};
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_stages::dashboards::filter::Filter;
use ratchet_store::query::{Condition, Paging, SessionColumn, SessionQuery, Test};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::stream::SessionStream;
use super::params::{PageParams, Params, meta};
use super::path::PathId;
use super::{response, review_scope};
use crate::app::App;
use crate::auth::{QueueReader, Reader};
use crate::error::ApiResult;

/// One session with its traces, streamed.
mod stream;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list)).routes(routes!(show))
}

/// `GET /api/public/sessions`: sessions, newest first.
#[utoipa::path(
    get,
    path = "/api/public/sessions",
    tag = "Sessions",
    params(
        PageParams,
        ("fromTimestamp" = Option<Time>, Query, description = "Started at this time or later."),
        ("toTimestamp" = Option<Time>, Query, description = "Started before this time."),
        ("environment" = Option<Vec<String>>, Query, description = "Any of these environments."),
        ("filter" = Option<String>, Query, description = "Conditions, as a JSON array."),
    ),
    responses((status = 200, body = Paged<SessionView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Paged<SessionView>>> {
    let page = params.page();
    let environments = params.list("environment");
    let mut simple =
        Filter { range: params.range("fromTimestamp", "toTimestamp"), conditions: Vec::new() };
    if !environments.is_empty() {
        let test = Test::AnyOf(environments);
        simple.conditions.push(Condition { column: SessionColumn::Environment, test });
    }
    let filter = params.filter_over(&field_table::SESSION, simple);
    let query = SessionQuery {
        project: caller.project.clone(),
        range: filter.range,
        conditions: filter.conditions,
        paging: Paging::Numbered(page),
    };
    params.finish()?;
    let found = app.store.telemetry.sessions(query).await?;
    let project = caller.project.as_str();
    let data = found.rows.iter().map(|session| SessionView::new(session, project)).collect();
    Ok(Json(Paged { data, meta: meta(page, found.total) }))
}

/// `GET /api/public/sessions/{id}`: one session with all its traces, oldest first.
#[utoipa::path(
    get,
    path = "/api/public/sessions/{*id}",
    tag = "Sessions",
    params(("id" = String, Path, description = "The session's id.")),
    responses((status = 200, body = SessionWithTraces))
)]
pub(super) async fn show(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    PathId(id): PathId<Session>,
) -> ApiResult<Response> {
    if !review_scope::has_session(&app, &caller, &id).await? {
        return Err(response::not_found("Session"));
    }
    let session = app.store.telemetry.session(caller.project.clone(), id.clone()).await?;
    let session = session.ok_or_else(|| response::not_found("Session"))?;
    SessionStream::new(app, caller.project, &session)?.answer().await
}
