use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_core::catalog::evaluator::document::EvaluatorState;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::error::ErrorBody;
use ratchet_remote::langfuse::wire::evaluation_rule::EvaluationRuleView;
use ratchet_remote::langfuse::wire::evaluator::{
    EvaluationStatus, EvaluatorVersionView, EvaluatorView, RuleAssignment, StoredEvaluator,
};
use ratchet_remote::langfuse::wire::evaluator_request::{EvaluatorChange, EvaluatorRequest};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::page::{DeletedId, SliceMeta, Sliced};
use ratchet_stages::validation::Checks;
use ratchet_store::catalog::Documents;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::documents::{self, View, set, with_code};
use super::evaluation::{apply, latest, rules_of, state, version};
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
        .routes(routes!(versions))
        .layer(from_fn(with_code))
}

/// `GET /api/public/v2/evaluators`: evaluators, last changed first.
#[utoipa::path(
    get,
    path = "/api/public/v2/evaluators",
    tag = "Evaluators",
    params(CursorParams),
    responses((status = 200, body = Sliced<EvaluatorView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Json<Sliced<EvaluatorView>>> {
    documents::slice(&app, caller.project, params).await
}

/// `POST /api/public/v2/evaluators`: creates an evaluator with its first version.
#[utoipa::path(
    post,
    path = "/api/public/v2/evaluators",
    tag = "Evaluators",
    request_body = EvaluatorRequest,
    responses(
        (status = 200, body = EvaluatorView),
        (status = 422, description = "No LLM connection has the model of an evaluator.", body = ErrorBody),
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    JsonFields(request): JsonFields<EvaluatorRequest>,
) -> ApiResult<Json<EvaluatorView>> {
    let make = move |_: &Documents<'_>, now: Timestamp| {
        Ok(StoredEvaluator {
            id: Uuid::new_v4().to_string(),
            name: request.name.clone(),
            description: request.description.clone(),
            created_at: now.into(),
            updated_at: now.into(),
            paused: None,
            daily_cost_cap: request.daily_cost_cap,
            versions: vec![version(request, 1, now)?],
        })
    };
    let view = documents::create(&app, caller, make).await?;
    apply(&app).await?;
    Ok(view)
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
    documents::show(&app, caller.project, id).await
}

/// `PATCH /api/public/v2/evaluators/{evaluatorId}`: renames an evaluator, or adds a new version.
#[utoipa::path(
    patch,
    path = "/api/public/v2/evaluators/{evaluator}",
    tag = "Evaluators",
    params(("evaluator" = String, Path, description = "The evaluator's id.")),
    request_body = EvaluatorChange,
    responses(
        (status = 200, body = EvaluatorView),
        (status = 422, description = "No LLM connection has the model of an evaluator.", body = ErrorBody),
    )
)]
pub(super) async fn change(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
    JsonFields(change): JsonFields<EvaluatorChange>,
) -> ApiResult<Json<EvaluatorView>> {
    let now = app.clock.now();
    let alter = move |_: &Documents<'_>, kept: &mut StoredEvaluator| alter(kept, change, now);
    let view = documents::change(&app, caller, id, alter).await?;
    apply(&app).await?;
    Ok(view)
}

/// `DELETE /api/public/v2/evaluators/{evaluatorId}`: deletes an evaluator that no rule uses.
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
    documents::delete::<StoredEvaluator>(&app, caller, id.clone()).await?;
    Ok(Json(DeletedId { id }))
}

/// `GET /api/public/v2/evaluators/{evaluatorId}/versions`: all versions, newest first.
#[utoipa::path(
    get,
    path = "/api/public/v2/evaluators/{evaluator}/versions",
    tag = "Evaluators",
    params(
        ("evaluator" = String, Path, description = "The evaluator's id."),
        CursorParams,
    ),
    responses((status = 200, body = Sliced<EvaluatorVersionView>))
)]
pub(super) async fn versions(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(id): PathOf<String>,
    mut params: Params,
) -> ApiResult<Json<Sliced<EvaluatorVersionView>>> {
    let behind: Option<u32> =
        params.parsed("cursor", |text| text.parse().map_err(|_| "malformed".to_owned()));
    let (_, limit) = params.slice();
    params.finish()?;
    let work = move |documents: &Documents<'_>| documents::find::<StoredEvaluator>(documents, &id);
    let kept = app.store.catalog.with_documents(caller.project, work).await?;
    let is_older = |one: &EvaluatorVersionView| behind.is_none_or(|it| one.version < it);
    let rows = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut rest = kept.versions.into_iter().rev().filter(is_older).peekable();
    let data: Vec<_> = rest.by_ref().take(rows).collect();
    let last = data.last().filter(|_| rest.peek().is_some());
    let cursor = last.map(|last| last.version.to_string());
    Ok(Json(Sliced { data, meta: SliceMeta { limit, cursor } }))
}

fn alter(kept: &mut StoredEvaluator, change: EvaluatorChange, now: Timestamp) -> ApiResult<()> {
    set(&mut kept.name, change.name);
    match change.description {
        Maybe::Absent => {}
        Maybe::Null => kept.description = None,
        Maybe::Value(text) => kept.description = Some(text),
    }
    kept.daily_cost_cap = change.daily_cost_cap.or(kept.daily_cost_cap);
    let Some(kind) = change.kind else { return Ok(()) };
    let before = latest(kept)?;
    let mut checks = Checks::default();
    checks.must(kind == before.definition.kind, "type", "the type of an evaluator cannot change");
    checks.finish()?;
    let number = before.version.saturating_add(1);
    let request = EvaluatorRequest {
        name: kept.name.clone(),
        description: kept.description.clone(),
        kind,
        prompt: change.prompt,
        model_config: change.model_config,
        variable_mapping: change.variable_mapping,
        output_definition: change.output_definition,
        source_code: change.source_code,
        source_code_language: change.source_code_language,
        judge: change.judge,
        score_name: change.score_name,
        daily_cost_cap: change.daily_cost_cap,
    };
    kept.versions.push(version(request, number, now)?);
    Ok(())
}

impl View for EvaluatorView {
    type Of = StoredEvaluator;

    fn all(documents: &Documents<'_>, kept: Vec<StoredEvaluator>) -> ApiResult<Vec<Self>> {
        let rules: Vec<EvaluationRuleView> = documents::all(documents)?;
        kept.iter().map(|kept| view(kept, &rules)).collect()
    }
}

fn view(kept: &StoredEvaluator, rules: &[EvaluationRuleView]) -> ApiResult<EvaluatorView> {
    let latest = latest(kept)?.clone();
    let assignment = |rule: &&EvaluationRuleView| {
        let own = rule.evaluator_assignments.iter().find(|one| one.evaluator_id == kept.id);
        RuleAssignment {
            evaluation_rule_id: rule.id.clone(),
            variable_mapping_override: own.and_then(|one| one.variable_mapping.clone()),
        }
    };
    let state = state(kept, rules)?;
    let (status, paused) = match &state {
        // Clients know no third status: an evaluator without a rule is ready, and judges nothing.
        EvaluatorState::Active | EvaluatorState::Inactive => (EvaluationStatus::Active, None),
        EvaluatorState::Paused(reason, message) => {
            (EvaluationStatus::Paused, Some(((*reason).to_owned(), message.clone())))
        }
    };
    let (paused_reason, paused_message) = paused.unzip();
    let since = kept.paused.as_ref().map_or(kept.created_at, |pause| pause.since);
    Ok(EvaluatorView {
        id: kept.id.clone(),
        name: kept.name.clone(),
        description: kept.description.clone(),
        status,
        paused_at: paused_reason.is_some().then_some(since),
        paused_reason,
        paused_message,
        daily_cost_cap: kept.daily_cost_cap,
        evaluation_rule_assignments: rules_of(rules, &kept.id).iter().map(assignment).collect(),
        created_at: kept.created_at,
        updated_at: kept.updated_at,
        version_id: latest.id,
        version: latest.version,
        version_created_at: latest.created_at,
        definition: latest.definition,
    })
}
