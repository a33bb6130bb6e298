use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use ratchet_core::id::Id;
use ratchet_core::record::trace::{Content, Trace};
use ratchet_remote::langfuse::wire::observation::ObservationView;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::score::ScoreView;
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::trace::{
    DetailedTrace, TraceDetails, TraceView, TraceWithDetails,
};
use ratchet_store::attached::Attached;
use ratchet_store::project::ProjectId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::detail::Whole;
use self::query::{Group, Groups, TraceListRequest, Unknown};
use super::page_stream::{self, RowWriter};
use super::params::{PageParams, Params, meta};
use super::path::PathId;
use super::{response, review_scope};
use crate::app::App;
use crate::auth::{QueueReader, Reader};
use crate::error::ApiResult;

/// Query parameters and field groups.
mod query;
pub(super) mod delete;
/// One trace with its observations and scores.
mod detail;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list, delete::many)).routes(routes!(show, delete::one))
}

/// `GET /api/public/traces`: traces, newest first by default.
///
/// Each has the ids of at most 1,000 of its observations and of the 1,000 scores recorded last;
/// `GET /api/public/traces/{id}` returns all of them.
#[utoipa::path(
    get,
    path = "/api/public/traces",
    tag = "Traces",
    params(
        PageParams,
        ("userId" = Option<String>, Query, description = "Id of the user."),
        ("name" = Option<String>, Query, description = "Name."),
        ("sessionId" = Option<String>, Query, description = "Id of the session."),
        ("fromTimestamp" = Option<Time>, Query, description = "Started at this time or later."),
        ("toTimestamp" = Option<Time>, Query, description = "Started before this time."),
        ("orderBy" = Option<String>, Query, description = "A field and .asc or .desc."),
        ("tags" = Option<Vec<String>>, Query, description = "Has all of these tags."),
        ("version" = Option<String>, Query, description = "Version of the trace."),
        ("release" = Option<String>, Query, description = "The application's release."),
        ("environment" = Option<Vec<String>>, Query, description = "Any of these environments."),
        ("fields" = Option<String>, Query, description = "Comma-separated field groups."),
        ("filter" = Option<String>, Query, description = "Conditions, as a JSON array."),
    ),
    responses((status = 200, body = Paged<DetailedTrace<String, String>>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    headers: HeaderMap,
    params: Params,
) -> ApiResult<Response> {
    let TraceListRequest { query, page, groups } = query::list(caller.project.clone(), params)?;
    let found = app.store.telemetry.traces(query).await?;
    let attached = attached(&app, &caller.project, &found.rows, &groups).await?;
    let rows: Vec<_> = found.rows.into_iter().zip(attached).collect();
    let empty = Paged { data: Vec::<()>::new(), meta: meta(page, found.total) };
    let unknown = Unknown::for_client(&headers);
    let writer = TraceWriter { app: app.clone(), project: caller.project, groups, unknown };
    page_stream::respond(app, writer, rows, empty).await
}

/// Writes the traces of a list, with the ids of their observations and scores.
struct TraceWriter {
    app: App,
    project: ProjectId,
    groups: Groups,
    unknown: Unknown,
}

impl RowWriter for TraceWriter {
    type Row = (Trace, Attached);

    fn shows_content(&self) -> bool {
        self.groups.has(Group::Io)
    }

    fn content((trace, _): &Self::Row) -> Option<&Content> {
        trace.content.as_ref()
    }

    async fn load(&self, (trace, attached): Self::Row) -> ApiResult<Option<Self::Row>> {
        let trace = self.app.store.telemetry.trace(self.project.clone(), trace.id).await?;
        Ok(trace.map(|trace| (trace, attached)))
    }

    fn write(&self, (trace, attached): &Self::Row, text: &mut Vec<u8>) -> serde_json::Result<()> {
        let mut details = TraceDetails::new(trace, self.project.as_str());
        if self.groups.has(Group::Observations) {
            details.observations = attached.observations.iter().map(Id::to_string).collect();
        }
        if self.groups.has(Group::Scores) {
            details.scores = attached.scores.iter().map(Id::to_string).collect();
        }
        self.groups.hide_numbers(&mut details, self.unknown);
        let trace = TraceView::new(trace, self.project.as_str());
        let view: TraceWithDetails = DetailedTrace { trace, details };
        serde_json::to_writer(text, &view)
    }
}

/// `GET /api/public/traces/{id}`: one trace with its observations and scores.
#[utoipa::path(
    get,
    path = "/api/public/traces/{*id}",
    tag = "Traces",
    params(
        ("id" = String, Path, description = "The trace's id."),
        ("fields" = Option<String>, Query, description = "Comma-separated field groups."),
    ),
    responses((status = 200, body = DetailedTrace<ObservationView, ScoreView>))
)]
pub(super) async fn show(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    PathId(id): PathId<Trace>,
    headers: HeaderMap,
    mut params: Params,
) -> ApiResult<Response> {
    let groups = Groups::read(&mut params);
    params.finish()?;
    if !review_scope::has_trace(&app, &caller, &id).await? {
        return Err(response::not_found(&format!("Trace {id}")));
    }
    let project = caller.project;
    let trace = app.store.telemetry.trace(project.clone(), id.clone()).await?;
    let mut trace = trace.ok_or_else(|| response::not_found(&format!("Trace {id}")))?;
    if !groups.has(Group::Io) {
        trace.content = None;
    }
    Whole { app, project, trace, groups, headers }.answer().await
}

/// Observation and score ids of each trace, if requested.
async fn attached(
    app: &App,
    project: &ProjectId,
    traces: &[Trace],
    groups: &Groups,
) -> ApiResult<Vec<Attached>> {
    let is_asked = groups.has(Group::Observations) || groups.has(Group::Scores);
    if !is_asked {
        return Ok(vec![Attached::default(); traces.len()]);
    }
    let ids = traces.iter().map(|trace| trace.id.clone()).collect();
    Ok(app.store.telemetry.attached(project.clone(), ids).await?)
}
