use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_remote::langfuse::wire::evaluation_rule::EvaluationRuleView;
use ratchet_remote::langfuse::wire::evaluator::{
    EvaluationStatus, EvaluatorVersionView, EvaluatorView, KeptEvaluator, RuleAssignment,
};
use ratchet_remote::langfuse::wire::evaluator_request::{EvaluatorChange, EvaluatorRequest};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::page::{DeletedId, Sliced};
use ratchet_store::StoreResult;
use ratchet_store::catalog::Documents;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::checks::{Checks, MAX_NAME_CHARS};
use super::documents::with_code;
use super::evaluation::{
    PAUSED_MESSAGE, PAUSED_REASON, delete_evaluator, evaluators, find_evaluator, keep_evaluator,
    latest, rules, rules_of, slice, version,
};
use super::params::Params;
use super::path::PathOf;
use super::sent::Sent;
use super::widgets::MAX_DESCRIPTION_CHARS;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::ApiResult;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, change, delete))
        .routes(routes!(versions))
        .layer(from_fn(with_code))
}

/// `GET /api/public/v2/evaluators`: evaluators, the last changed first.
#[utoipa::path(
    get,
    path = "/api/public/v2/evaluators",
    tag = "Evaluators",
    params(
        ("limit" = Option<u32>, Query, description = "Rows in a slice, up to 100."),
        ("cursor" = Option<String>, Query, description = "Where to go on."),
    ),
    responses((status = 200, body = Sliced<EvaluatorView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Sliced<EvaluatorView>>> {
    let (cursor, limit) = (params.text("cursor"), params.page().limit);
    params.finish()?;
    let work = |documents: &Documents<'_>| {
        let rules = rules(documents)?;
        evaluators(documents)?
            .iter()
            .map(|kept| view(kept, &rules))
            .collect::<StoreResult<Vec<_>>>()
    };
    let all = app.store.catalog.with_documents(caller.project, work).await?;
    Ok(Json(slice(all, cursor.as_deref(), limit)?))
}

/// `POST /api/public/v2/evaluators`: makes an evaluator, in its first version.
#[utoipa::path(
    post,
    path = "/api/public/v2/evaluators",
    tag = "Evaluators",
    request_body = EvaluatorRequest,
    responses((status = 200, body = EvaluatorView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    Sent(request): Sent<EvaluatorRequest>,
) -> ApiResult<Json<EvaluatorView>> {
    let now = app.clock.now();
    let evaluator = KeptEvaluator {
        id: Uuid::new_v4().to_string(),
        name: request.name.clone(),
        description: request.description.clone(),
        created_at: now.into(),
        updated_at: now.into(),
        versions: vec![version(request, 1, now)?],
    };
    let work = move |documents: &Documents<'_>| {
        view(&keep_evaluator(documents, evaluator, now)?, &rules(documents)?)
    };
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
}

/// `GET /api/public/v2/evaluators/{evaluatorId}`: one evaluator.
#[utoipa::path(
    get,
    path = "/api/public/v2/evaluators/{evaluator}",
    tag = "Evaluators",
    params(("evaluator" = String, Path, description = "The evaluator's id.")),
    responses((status = 200, body = EvaluatorView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<EvaluatorView>> {
    let work =
        move |documents: &Documents<'_>| view(&find_evaluator(documents, &id)?, &rules(documents)?);
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
}

/// `PATCH /api/public/v2/evaluators/{evaluatorId}`: renames an evaluator, or gives it a new
/// version.
#[utoipa::path(
    patch,
    path = "/api/public/v2/evaluators/{evaluator}",
    tag = "Evaluators",
    params(("evaluator" = String, Path, description = "The evaluator's id.")),
    request_body = EvaluatorChange,
    responses((status = 200, body = EvaluatorView))
)]
pub(super) async fn change(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
    Sent(change): Sent<EvaluatorChange>,
) -> ApiResult<Json<EvaluatorView>> {
    let now = app.clock.now();
    let (catalog, project) = (&app.store.catalog, caller.project);
    let wanted = id.clone();
    let found = catalog.with_documents(project.clone(), move |all| find_evaluator(all, &wanted));
    let mut evaluator = found.await?;
    if let Some(name) = &change.name {
        evaluator.name.clone_from(name);
    }
    match &change.description {
        Maybe::Absent => {}
        Maybe::Null => evaluator.description = None,
        Maybe::Value(text) => evaluator.description = Some(text.clone()),
    }
    check_names(&evaluator)?;
    if let Some(kind) = change.kind {
        let before = latest(&evaluator)?;
        let mut checks = Checks::default();
        checks.must(kind == before.kind, "type", "an evaluator keeps its type");
        checks.finish()?;
        let number = before.version.saturating_add(1);
        let request = EvaluatorRequest {
            name: evaluator.name.clone(),
            description: evaluator.description.clone(),
            kind,
            prompt: change.prompt,
            model_config: change.model_config,
            variable_mapping: change.variable_mapping,
            output_definition: change.output_definition,
            source_code: change.source_code,
            source_code_language: change.source_code_language,
        };
        evaluator.versions.push(version(request, number, now)?);
    }
    let work = move |documents: &Documents<'_>| {
        find_evaluator(documents, &id)?;
        view(&keep_evaluator(documents, evaluator, now)?, &rules(documents)?)
    };
    Ok(Json(catalog.with_documents(project, work).await?))
}

/// `DELETE /api/public/v2/evaluators/{evaluatorId}`: removes an evaluator that no rule uses.
#[utoipa::path(
    delete,
    path = "/api/public/v2/evaluators/{evaluator}",
    tag = "Evaluators",
    params(("evaluator" = String, Path, description = "The evaluator's id.")),
    responses((status = 200, body = DeletedId))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<DeletedId>> {
    let gone = id.clone();
    let work = move |documents: &Documents<'_>| delete_evaluator(documents, &gone);
    app.store.catalog.with_documents(caller.project, work).await?;
    Ok(Json(DeletedId { id }))
}

/// `GET /api/public/v2/evaluators/{evaluatorId}/versions`: all versions, newest first.
#[utoipa::path(
    get,
    path = "/api/public/v2/evaluators/{evaluator}/versions",
    tag = "Evaluators",
    params(
        ("evaluator" = String, Path, description = "The evaluator's id."),
        ("limit" = Option<u32>, Query, description = "Rows in a slice, up to 100."),
        ("cursor" = Option<String>, Query, description = "Where to go on."),
    ),
    responses((status = 200, body = Sliced<EvaluatorVersionView>))
)]
pub(super) async fn versions(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(id): PathOf<String>,
    mut params: Params,
) -> ApiResult<Json<Sliced<EvaluatorVersionView>>> {
    let (cursor, limit) = (params.text("cursor"), params.page().limit);
    params.finish()?;
    let work = move |documents: &Documents<'_>| find_evaluator(documents, &id);
    let mut all = app.store.catalog.with_documents(caller.project, work).await?.versions;
    all.reverse();
    Ok(Json(slice(all, cursor.as_deref(), limit)?))
}

fn check_names(evaluator: &KeptEvaluator) -> ApiResult<()> {
    let mut checks = Checks::default();
    checks.text("name", &evaluator.name, 1..=MAX_NAME_CHARS);
    let description = evaluator.description.as_deref().unwrap_or_default();
    checks.text("description", description, 0..=MAX_DESCRIPTION_CHARS);
    checks.finish()
}

fn view(kept: &KeptEvaluator, rules: &[EvaluationRuleView]) -> StoreResult<EvaluatorView> {
    let latest = latest(kept)?.clone();
    let assignment = |rule: &&EvaluationRuleView| {
        let own = rule.evaluator_assignments.iter().find(|one| one.evaluator_id == kept.id);
        RuleAssignment {
            evaluation_rule_id: rule.id.clone(),
            variable_mapping_override: own.and_then(|one| one.variable_mapping.clone()),
        }
    };
    Ok(EvaluatorView {
        id: kept.id.clone(),
        name: kept.name.clone(),
        description: kept.description.clone(),
        status: EvaluationStatus::Paused,
        paused_at: Some(kept.created_at),
        paused_reason: Some(PAUSED_REASON.to_owned()),
        paused_message: Some(PAUSED_MESSAGE.to_owned()),
        evaluation_rule_assignments: rules_of(rules, &kept.id).iter().map(assignment).collect(),
        created_at: kept.created_at,
        updated_at: kept.updated_at,
        version_id: latest.id,
        version: latest.version,
        version_created_at: latest.created_at,
        kind: latest.kind,
        prompt: latest.prompt,
        variables: latest.variables,
        model_config: latest.model_config,
        variable_mapping: latest.variable_mapping,
        output_definition: latest.output_definition,
        source_code: latest.source_code,
        source_code_language: latest.source_code_language,
    })
}
