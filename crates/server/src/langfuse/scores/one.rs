use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use ratchet_core::id::ScoreId;
use ratchet_core::record::score::Score;
use ratchet_remote::langfuse::wire::score::ScoreView;
use ratchet_store::catalog::AuditObject;

use super::v1;
use crate::app::App;
use crate::auth::{Caller, Member, QueueReader};
use crate::error::ApiResult;
use crate::langfuse::path::PathId;
use crate::langfuse::response::not_found;
use crate::langfuse::review_scope;

/// Name of the resource in errors.
const SCORE: &str = "Score";

/// `GET /api/public/scores/{id}`: one score on a trace or an observation.
#[utoipa::path(
    get,
    path = "/api/public/scores/{*id}",
    tag = "Scores",
    params(
        ("id" = String, Path, description = "The score's id."),
    ),
    responses((status = 200, body = ScoreView))
)]
pub(super) async fn first(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    PathId(id): PathId<Score>,
    headers: HeaderMap,
) -> ApiResult<Json<ScoreView>> {
    let score = seen(&app, &caller, id).await?.filter(|score| v1::fits(score, &headers));
    Ok(Json(ScoreView::new(&score.ok_or_else(|| not_found(SCORE))?)))
}

/// `GET /api/public/v2/scores/{id}`: one score on anything.
#[utoipa::path(
    get,
    path = "/api/public/v2/scores/{*id}",
    tag = "Scores",
    params(
        ("id" = String, Path, description = "The score's id."),
    ),
    responses((status = 200, body = ScoreView))
)]
pub(super) async fn second(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    PathId(id): PathId<Score>,
) -> ApiResult<Json<ScoreView>> {
    let score = seen(&app, &caller, id).await?;
    Ok(Json(ScoreView::new(&score.ok_or_else(|| not_found(SCORE))?)))
}

/// The score, if the caller sees the record that it is on.
async fn seen(app: &App, caller: &Caller, id: ScoreId) -> ApiResult<Option<Score>> {
    let Some(score) = app.store.telemetry.score(caller.project.clone(), id).await? else {
        return Ok(None);
    };
    Ok(review_scope::has_score(app, caller, &score).await?.then_some(score))
}

/// `DELETE /api/public/scores/{id}`: deletes one score on anything.
#[utoipa::path(
    delete,
    path = "/api/public/scores/{*id}",
    tag = "Scores",
    params(
        ("id" = String, Path, description = "The score's id."),
    ),
    responses((status = 204, description = "Deleted"))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Member(caller): Member,
    PathId(id): PathId<Score>,
) -> ApiResult<StatusCode> {
    let (project, now) = (caller.project.clone(), app.clock.now());
    if app.store.telemetry.score(project.clone(), id.clone()).await?.is_none() {
        return Err(not_found(SCORE));
    }
    caller
        .catalog(&app)
        .note_deletion(project, AuditObject::Score, vec![id.to_string()], now)
        .await?;
    let was_there = app.store.telemetry.delete_score(caller.project, id).await?;
    if was_there { Ok(StatusCode::NO_CONTENT) } else { Err(not_found(SCORE)) }
}
