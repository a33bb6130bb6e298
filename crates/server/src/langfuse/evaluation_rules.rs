use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::error::ErrorBody;
use ratchet_remote::langfuse::wire::evaluation_rule::{
    EvaluationRuleChange, EvaluationRuleRequest, EvaluationRuleView, RuleTarget,
};
use ratchet_remote::langfuse::wire::page::{DeletedId, Sliced};
use ratchet_store::catalog::Documents;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::documents::{self, set, with_code};
use super::evaluation::{apply, start};
use super::json_fields::JsonFields;
use super::params::{CursorParams, Params};
use super::path::PathOf;
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

/// `GET /api/public/v2/evaluation-rules`: rules, last changed first.
#[utoipa::path(
    get,
    path = "/api/public/v2/evaluation-rules",
    tag = "EvaluationRules",
    params(CursorParams),
    responses((status = 200, body = Sliced<EvaluationRuleView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Json<Sliced<EvaluationRuleView>>> {
    documents::slice(&app, caller.project, params).await
}

/// `POST /api/public/v2/evaluation-rules`: creates a rule.
#[utoipa::path(
    post,
    path = "/api/public/v2/evaluation-rules",
    tag = "EvaluationRules",
    request_body = EvaluationRuleRequest,
    responses(
        (status = 200, body = EvaluationRuleView),
        (status = 422, description = "No LLM connection has the model of an evaluator.", body = ErrorBody),
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    JsonFields(request): JsonFields<EvaluationRuleRequest>,
) -> ApiResult<Json<EvaluationRuleView>> {
    let make = move |_: &Documents<'_>, now: Timestamp| {
        Ok(EvaluationRuleView {
            id: Uuid::new_v4().to_string(),
            name: request.name,
            enabled: request.enabled,
            sampling: request.sampling.unwrap_or(1.0),
            filter: request.filter.unwrap_or_default(),
            evaluator_assignments: request.evaluator_assignments,
            target: request.target.unwrap_or(RuleTarget::Observation),
            created_at: now.into(),
            updated_at: now.into(),
            started_at: request.enabled.then_some(now.into()),
            delay_seconds: request.delay_seconds,
        })
    };
    let view = documents::create(&app, caller, make).await?;
    apply(&app).await?;
    Ok(view)
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
    documents::show(&app, caller.project, id).await
}

/// `PATCH /api/public/v2/evaluation-rules/{evaluationRuleId}`: changes the given fields.
#[utoipa::path(
    patch,
    path = "/api/public/v2/evaluation-rules/{rule}",
    tag = "EvaluationRules",
    params(("rule" = String, Path, description = "The rule's id.")),
    request_body = EvaluationRuleChange,
    responses(
        (status = 200, body = EvaluationRuleView),
        (status = 422, description = "No LLM connection has the model of an evaluator.", body = ErrorBody),
    )
)]
pub(super) async fn change(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
    JsonFields(change): JsonFields<EvaluationRuleChange>,
) -> ApiResult<Json<EvaluationRuleView>> {
    let now = app.clock.now();
    let alter = move |_: &Documents<'_>, kept: &mut EvaluationRuleView| {
        start(kept, change.enabled, now);
        let loses_all = change.evaluator_assignments.as_ref().is_some_and(Vec::is_empty);
        kept.enabled = change.enabled.unwrap_or(kept.enabled && !loses_all);
        set(&mut kept.name, change.name);
        set(&mut kept.sampling, change.sampling);
        set(&mut kept.filter, change.filter);
        set(&mut kept.evaluator_assignments, change.evaluator_assignments);
        set(&mut kept.target, change.target);
        kept.delay_seconds = change.delay_seconds.or(kept.delay_seconds);
        Ok(())
    };
    let view = documents::change(&app, caller, id, alter).await?;
    apply(&app).await?;
    Ok(view)
}

/// `DELETE /api/public/v2/evaluation-rules/{evaluationRuleId}`: deletes a rule, not its evaluators.
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
    documents::delete::<EvaluationRuleView>(&app, caller, id.clone()).await?;
    Ok(Json(DeletedId { id }))
}
