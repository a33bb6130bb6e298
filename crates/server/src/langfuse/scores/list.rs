use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use ratchet_core::id::TraceId;
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::score::{
    ListedScore, ListedScoreFields, ScoreTrace, ScoreView,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, PageNumber, Paging, Test, TimeRange, TraceColumn, TraceOrder,
    TraceQuery,
};

use super::query;
use super::query::{Group, ListRequest, ScoreParams};
use super::v1;
use crate::app::App;
use crate::auth::Reader;
use crate::error::ApiResult;
use crate::langfuse::params::{PageParams, Params, meta};

/// `GET /api/public/scores`: scores on traces and observations, newest first.
#[utoipa::path(
    get,
    path = "/api/public/scores",
    tag = "Scores",
    params(PageParams, ScoreParams),
    responses((status = 200, body = Paged<ListedScore>))
)]
pub(super) async fn first(
    State(app): State<App>,
    Reader(caller): Reader,
    headers: HeaderMap,
    params: Params,
) -> ApiResult<Json<Paged<ListedScore>>> {
    let mut asked = query::list(caller.project, params)?;
    asked.query.conditions.extend(v1::conditions(&headers));
    let mut page = answer(&app, asked).await?;
    for row in &mut page.data {
        // Its clients cannot parse a score without a trace.
        if row.beside.trace == Maybe::Null {
            row.beside.trace = Maybe::Value(ScoreTrace::default());
        }
    }
    Ok(Json(page))
}

/// `GET /api/public/v2/scores`: scores on anything, newest first.
#[utoipa::path(
    get,
    path = "/api/public/v2/scores",
    tag = "Scores",
    params(PageParams, ScoreParams),
    responses((status = 200, body = Paged<ListedScore>))
)]
pub(super) async fn second(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Json<Paged<ListedScore>>> {
    let asked = query::list(caller.project, params)?;
    answer(&app, asked).await.map(Json)
}

async fn answer(app: &App, asked: ListRequest) -> ApiResult<Paged<ListedScore>> {
    let ListRequest { query, page, groups } = asked;
    let project = query.project.clone();
    let found = app.store.telemetry.scores(query).await?;
    let wants_trace = groups.contains(&Group::Trace);
    let traces =
        if wants_trace { traces_of(app, project, &found.rows).await? } else { BTreeMap::new() };
    let show = |score: &Score| {
        let trace = trace_of(score).and_then(|id| traces.get(id)).cloned();
        let trace = if wants_trace { Maybe::or_null(trace) } else { Maybe::Absent };
        ListedScore { score: ScoreView::new(score), beside: ListedScoreFields { trace } }
    };
    Ok(Paged { data: found.rows.iter().map(show).collect(), meta: meta(page, found.total) })
}

/// The traces of scores, by id.
async fn traces_of(
    app: &App,
    project: ProjectId,
    scores: &[Score],
) -> ApiResult<BTreeMap<TraceId, ScoreTrace>> {
    let mut ids: Vec<String> =
        scores.iter().filter_map(trace_of).map(ToString::to_string).collect();
    ids.sort();
    ids.dedup();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let query = TraceQuery {
        project,
        range: TimeRange::default(),
        paging: Paging::Numbered(PageNumber { page: 1, limit: ids.len() as u64 }),
        conditions: vec![Condition { column: TraceColumn::Id, test: Test::AnyOf(ids) }],
        order: (TraceOrder::Id, Direction::Ascending),
        detail: Detail::Row,
    };
    let found = app.store.telemetry.traces(query).await?;
    Ok(found.rows.iter().map(|trace| (trace.id.clone(), ScoreTrace::new(trace))).collect())
}

fn trace_of(score: &Score) -> Option<&TraceId> {
    match &score.target {
        ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => Some(trace),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => None,
    }
}
