//! Evaluators in the first version of the API: a text prompt, and a fixed name.

use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dataset::Deleted;
use ratchet_remote::langfuse::wire::error::ErrorBody;
use ratchet_remote::langfuse::wire::evaluation_rule::EvaluationRuleView;
use ratchet_remote::langfuse::wire::evaluator::{
    EvaluatorKind, FlatEvaluatorView, NestedOutput, StoredEvaluator,
};
use ratchet_remote::langfuse::wire::evaluator_request::{EvaluatorRequest, FlatEvaluatorRequest};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_store::StoreError;
use ratchet_store::catalog::Documents;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::documents::{self, View, with_code};
use super::evaluation::{apply, latest, rules_of, version};
use super::json_fields::JsonFields;
use super::params::{PageParams, Params};
use super::path::PathOf;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::ApiResult;

/// The variables of a code evaluator.
const CODE_VARIABLES: [&str; 3] = ["input", "output", "metadata"];

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, delete))
        .layer(from_fn(with_code))
}

/// `GET /api/public/unstable/evaluators`: the latest version of each evaluator.
#[utoipa::path(
    get,
    path = "/api/public/unstable/evaluators",
    tag = "Evaluators",
    params(PageParams),
    responses((status = 200, body = Paged<FlatEvaluatorView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Json<Paged<FlatEvaluatorView>>> {
    documents::list(&app, caller.project, params).await
}

/// `POST /api/public/unstable/evaluators`: creates an evaluator, or the next version of the one
/// with that name.
#[utoipa::path(
    post,
    path = "/api/public/unstable/evaluators",
    tag = "Evaluators",
    request_body = FlatEvaluatorRequest,
    responses(
        (status = 200, body = FlatEvaluatorView),
        (status = 422, description = "No LLM connection has the model of an evaluator.", body = ErrorBody),
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    JsonFields(request): JsonFields<FlatEvaluatorRequest>,
) -> ApiResult<Json<FlatEvaluatorView>> {
    let make = move |documents: &Documents<'_>, now: Timestamp| {
        let all: Vec<StoredEvaluator> = documents::all(documents)?;
        let known = all.into_iter().find(|kept| kept.name == request.name);
        let mut evaluator = known.unwrap_or_else(|| StoredEvaluator {
            id: Uuid::new_v4().to_string(),
            name: request.name.clone(),
            description: None,
            created_at: now.into(),
            updated_at: now.into(),
            versions: Vec::new(),
            paused: None,
            daily_cost_cap: None,
        });
        evaluator.daily_cost_cap = request.daily_cost_cap.or(evaluator.daily_cost_cap);
        let before = evaluator.versions.last();
        if before.is_some_and(|before| before.definition.kind != request.kind) {
            let what = format!("an evaluator {} of another type", evaluator.name);
            return Err(StoreError::Exists(what).into());
        }
        let number = before.map_or(0, |before| before.version).saturating_add(1);
        evaluator.versions.push(version(EvaluatorRequest::from(request), number, now)?);
        Ok(evaluator)
    };
    let view = documents::create(&app, caller, make).await?;
    apply(&app).await?;
    Ok(view)
}

/// `GET /api/public/unstable/evaluators/{evaluatorId}`: the latest version of an evaluator.
#[utoipa::path(
    get,
    path = "/api/public/unstable/evaluators/{evaluator}",
    tag = "Evaluators",
    params(("evaluator" = String, Path, description = "The evaluator's id.")),
    responses((status = 200, body = FlatEvaluatorView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<FlatEvaluatorView>> {
    documents::show(&app, caller.project, id).await
}

/// `DELETE /api/public/unstable/evaluators/{evaluatorId}`: deletes an evaluator that no rule uses.
#[utoipa::path(
    delete,
    path = "/api/public/unstable/evaluators/{evaluator}",
    tag = "Evaluators",
    params(("evaluator" = String, Path, description = "The evaluator's id.")),
    responses((status = 200, body = Deleted))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<Deleted>> {
    documents::delete::<StoredEvaluator>(&app, caller, id).await?;
    Ok(Json(Deleted { message: "Evaluator successfully deleted".to_owned() }))
}

impl View for FlatEvaluatorView {
    type Of = StoredEvaluator;

    fn all(documents: &Documents<'_>, kept: Vec<StoredEvaluator>) -> ApiResult<Vec<Self>> {
        let rules: Vec<EvaluationRuleView> = documents::all(documents)?;
        kept.iter().map(|kept| view(kept, &rules)).collect()
    }
}

fn view(kept: &StoredEvaluator, rules: &[EvaluationRuleView]) -> ApiResult<FlatEvaluatorView> {
    let latest = latest(kept)?;
    let definition = latest.definition.clone();
    let variables = match definition.kind {
        EvaluatorKind::LlmAsJudge => definition.variables(),
        EvaluatorKind::Code => CODE_VARIABLES.map(str::to_owned).to_vec(),
    };
    Ok(FlatEvaluatorView {
        id: kept.id.clone(),
        name: kept.name.clone(),
        version: latest.version,
        kind: definition.kind,
        variables,
        evaluation_rule_count: rules_of(rules, &kept.id).len(),
        created_at: kept.created_at,
        updated_at: kept.updated_at,
        prompt: definition.prompt_text(),
        mapping: definition.variable_mapping,
        output_definition: definition.output_definition.map(NestedOutput::from),
        model_config: definition.model_config,
        source_code: definition.source_code,
        source_code_language: definition.source_code_language,
    })
}
