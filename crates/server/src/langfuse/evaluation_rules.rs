use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_remote::langfuse::wire::evaluation_rule::{
    EvaluationRuleChange, EvaluationRuleRequest, EvaluationRuleView, RuleTarget,
};
use ratchet_remote::langfuse::wire::page::{DeletedId, Sliced};
use ratchet_store::StoreResult;
use ratchet_store::catalog::{DocumentKind, Documents};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::documents::{self, with_code};
use super::evaluation::{check_rule, keep_rule, rules, slice};
use super::params::Params;
use super::path::PathOf;
use super::sent::Sent;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::ApiResult;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, change, delete))
        .layer(from_fn(with_code))
}

/// `GET /api/public/v2/evaluation-rules`: rules, the last changed first.
#[utoipa::path(
    get,
    path = "/api/public/v2/evaluation-rules",
    tag = "EvaluationRules",
    params(
        ("limit" = Option<u32>, Query, description = "Rows in a slice, up to 100."),
        ("cursor" = Option<String>, Query, description = "Where to go on."),
    ),
    responses((status = 200, body = Sliced<EvaluationRuleView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Sliced<EvaluationRuleView>>> {
    let (cursor, limit) = (params.text("cursor"), params.page().limit);
    params.finish()?;
    let all = app.store.catalog.with_documents(caller.project, rules).await?;
    Ok(Json(slice(all, cursor.as_deref(), limit)?))
}

/// `POST /api/public/v2/evaluation-rules`: makes a rule.
#[utoipa::path(
    post,
    path = "/api/public/v2/evaluation-rules",
    tag = "EvaluationRules",
    request_body = EvaluationRuleRequest,
    responses((status = 200, body = EvaluationRuleView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    Sent(request): Sent<EvaluationRuleRequest>,
) -> ApiResult<Json<EvaluationRuleView>> {
    let now = app.clock.now();
    let rule = EvaluationRuleView {
        id: Uuid::new_v4().to_string(),
        name: request.name,
        enabled: request.enabled,
        sampling: request.sampling.unwrap_or(1.0),
        filter: request.filter.unwrap_or_default(),
        evaluator_assignments: request.evaluator_assignments,
        target: RuleTarget::Observation,
        created_at: now.into(),
        updated_at: now.into(),
    };
    check_rule(&rule)?;
    let work = move |documents: &Documents<'_>| keep_rule(documents, rule, now);
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
}

/// `GET /api/public/v2/evaluation-rules/{evaluationRuleId}`: one rule.
#[utoipa::path(
    get,
    path = "/api/public/v2/evaluation-rules/{rule}",
    tag = "EvaluationRules",
    params(("rule" = String, Path, description = "The rule's id.")),
    responses((status = 200, body = EvaluationRuleView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<EvaluationRuleView>> {
    let work = move |documents: &Documents<'_>| find(documents, &id);
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
}

/// `PATCH /api/public/v2/evaluation-rules/{evaluationRuleId}`: changes what is given.
#[utoipa::path(
    patch,
    path = "/api/public/v2/evaluation-rules/{rule}",
    tag = "EvaluationRules",
    params(("rule" = String, Path, description = "The rule's id.")),
    request_body = EvaluationRuleChange,
    responses((status = 200, body = EvaluationRuleView))
)]
pub(super) async fn change(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
    Sent(change): Sent<EvaluationRuleChange>,
) -> ApiResult<Json<EvaluationRuleView>> {
    let now = app.clock.now();
    let (catalog, project) = (&app.store.catalog, caller.project);
    let wanted = id.clone();
    let found = catalog.with_documents(project.clone(), move |all| find(all, &wanted)).await?;
    let loses_all = change.evaluator_assignments.as_ref().is_some_and(Vec::is_empty);
    let rule = EvaluationRuleView {
        name: change.name.unwrap_or(found.name),
        enabled: change.enabled.unwrap_or(found.enabled && !loses_all),
        sampling: change.sampling.unwrap_or(found.sampling),
        filter: change.filter.unwrap_or(found.filter),
        evaluator_assignments: change.evaluator_assignments.unwrap_or(found.evaluator_assignments),
        ..found
    };
    check_rule(&rule)?;
    let work = move |documents: &Documents<'_>| {
        find(documents, &id)?;
        keep_rule(documents, rule, now)
    };
    Ok(Json(catalog.with_documents(project, work).await?))
}

/// `DELETE /api/public/v2/evaluation-rules/{evaluationRuleId}`: removes a rule, not its
/// evaluators.
#[utoipa::path(
    delete,
    path = "/api/public/v2/evaluation-rules/{rule}",
    tag = "EvaluationRules",
    params(("rule" = String, Path, description = "The rule's id.")),
    responses((status = 200, body = DeletedId))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<DeletedId>> {
    let gone = id.clone();
    let work = move |all: &Documents<'_>| all.delete(DocumentKind::EvaluationRule, &gone);
    app.store.catalog.with_documents(caller.project, work).await?;
    Ok(Json(DeletedId { id }))
}

/// Returns a rule.
///
/// # Errors
/// Fails if the project has none of that id.
pub(super) fn find(documents: &Documents<'_>, id: &str) -> StoreResult<EvaluationRuleView> {
    documents::read(&documents.find(DocumentKind::EvaluationRule, id)?)
}
