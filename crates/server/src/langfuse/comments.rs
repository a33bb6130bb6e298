use axum::Json;
use axum::extract::State;
use ratchet_core::catalog::annotation::CommentedKind;
use ratchet_core::id::Id;
use ratchet_core::issue::Issue;
use ratchet_remote::langfuse::wire::comment::{
    CommentCreated, CommentRequest, CommentView, CommentedKindName,
};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::wire_name::WireName;
use ratchet_stages::validation::Checks;
use ratchet_store::catalog::{Comment, CommentFilter, NewComment, Role};
use ratchet_store::project::ProjectId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::JsonFields;
use super::params::{self, PageParams, Params};
use super::path::PathOf;
use super::review_scope;
use crate::app::App;
use crate::auth::{QueueReader, QueueReviewer};
use crate::error::{ApiError, ApiResult};

const MAX_CONTENT_CHARS: usize = 5_000;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list, create)).routes(routes!(show))
}

/// `POST /api/public/comments`: comments on a trace, an observation, a session or a prompt.
#[utoipa::path(
    post,
    path = "/api/public/comments",
    tag = "Comments",
    request_body = CommentRequest,
    responses((status = 200, body = CommentCreated))
)]
pub(super) async fn create(
    State(app): State<App>,
    QueueReviewer(caller): QueueReviewer,
    JsonFields(request): JsonFields<CommentRequest>,
) -> ApiResult<Json<CommentCreated>> {
    let mut checks = Checks::default();
    checks.text("content", &request.content, 1..=MAX_CONTENT_CHARS);
    let is_own = request.project_id == caller.project.as_str();
    checks.must(is_own, "projectId", "is not the project of this key");
    checks.finish()?;
    let new = NewComment {
        kind: request.object_type.0,
        object: request.object_id,
        content: request.content,
        author: review_scope::comment_author(&caller, request.author_user_id)?,
    };
    must_exist(&app, &caller.project, new.kind, &new.object).await?;
    if !review_scope::has_commented(&app, &caller, (new.kind, &new.object)).await? {
        return Err(missing(new.kind, &new.object));
    }
    let made = caller.catalog(&app).create_comment(caller.project, new, app.clock.now()).await?;
    Ok(Json(CommentCreated { id: made.id }))
}

/// `GET /api/public/comments`: comments, newest first.
#[utoipa::path(
    get,
    path = "/api/public/comments",
    tag = "Comments",
    params(PageParams, ("objectType" = Option<CommentedKindName>, Query, description = "Kind of object."), ("objectId" = Option<String>, Query, description = "Id of the object; requires objectType."), ("authorUserId" = Option<String>, Query, description = "Id of the author.")),
    responses((status = 200, body = Paged<CommentView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    mut params: Params,
) -> ApiResult<Json<Paged<CommentView>>> {
    let page = params.page();
    let filter = CommentFilter {
        kind: params.wire_enum::<CommentedKind>("objectType"),
        object: params.text("objectId"),
        author: params.text("authorUserId"),
    };
    if filter.object.is_some() && params.text("objectType").is_none() {
        params.report([Issue::at("objectType", "is needed where objectId is given")]);
    }
    if caller.role == Role::Reviewer && (filter.object.is_none() || filter.kind.is_none()) {
        params.report([Issue::at("objectId", "is needed with the role reviewer")]);
    }
    params.finish()?;
    if let (Some(kind), Some(object)) = (filter.kind, &filter.object)
        && !review_scope::has_commented(&app, &caller, (kind, object)).await?
    {
        return Err(missing(kind, object));
    }
    let project = caller.project.clone();
    let found = app.store.catalog.comments(caller.project, filter, page).await?;
    let data = found.rows.into_iter().map(|comment| view(comment, &project)).collect();
    Ok(Json(Paged { data, meta: params::meta(page, found.total) }))
}

/// `GET /api/public/comments/{commentId}`: one comment.
#[utoipa::path(
    get,
    path = "/api/public/comments/{comment}",
    tag = "Comments",
    params(("comment" = String, Path, description = "The comment's id.")),
    responses((status = 200, body = CommentView))
)]
pub(super) async fn show(
    State(app): State<App>,
    QueueReader(caller): QueueReader,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<CommentView>> {
    let comment = app.store.catalog.comment(caller.project.clone(), id.clone()).await?;
    let commented = (comment.kind, comment.object.as_str());
    if !review_scope::has_commented(&app, &caller, commented).await? {
        return Err(ApiError::NotFound(format!("comment {id} not found")));
    }
    Ok(Json(view(comment, &caller.project)))
}

/// Rejects a comment on an object that does not exist.
async fn must_exist(
    app: &App,
    project: &ProjectId,
    kind: CommentedKind,
    object: &str,
) -> ApiResult<()> {
    let id = |_| missing(kind, object);
    let (telemetry, project) = (&app.store.telemetry, project.clone());
    let is_there = match kind {
        CommentedKind::Trace => {
            telemetry.trace(project, Id::parse(object).map_err(id)?).await?.is_some()
        }
        CommentedKind::Observation => {
            telemetry.observation(project, Id::parse(object).map_err(id)?).await?.is_some()
        }
        CommentedKind::Session => {
            telemetry.session(project, Id::parse(object).map_err(id)?).await?.is_some()
        }
        // The catalog checks it in the transaction that writes the comment.
        CommentedKind::Prompt => true,
    };
    if is_there { Ok(()) } else { Err(missing(kind, object)) }
}

fn missing(kind: CommentedKind, object: &str) -> ApiError {
    ApiError::NotFound(format!("{} {object} not found", kind.as_str()))
}

fn view(comment: Comment, project: &ProjectId) -> CommentView {
    CommentView {
        id: comment.id,
        project_id: project.to_string(),
        created_at: comment.created_at.into(),
        updated_at: comment.updated_at.into(),
        object_type: WireName(comment.kind),
        object_id: comment.object,
        content: comment.content,
        author_user_id: comment.author,
    }
}
