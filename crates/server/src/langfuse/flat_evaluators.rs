//! Evaluators in the older family's form: one text as prompt, and a name that stays.

use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_remote::langfuse::wire::dataset::Deleted;
use ratchet_remote::langfuse::wire::evaluation_rule::EvaluationRuleView;
use ratchet_remote::langfuse::wire::evaluator::{
    EvaluatorKind, FlatEvaluatorView, KeptEvaluator, NestedOutput,
};
use ratchet_remote::langfuse::wire::evaluator_request::{EvaluatorRequest, FlatEvaluatorRequest};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_store::catalog::Documents;
use ratchet_store::{StoreError, StoreResult};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::documents::with_code;
use super::evaluation::{
    delete_evaluator, evaluators, find_evaluator, keep_evaluator, latest, rules, rules_of, version,
};
use super::params::{self, PageParams, Params};
use super::path::PathOf;
use super::sent::Sent;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::ApiResult;

/// What a program is given.
const CODE_VARIABLES: [&str; 3] = ["input", "output", "metadata"];

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, delete))
        .layer(from_fn(with_code))
}

/// `GET /api/public/unstable/evaluators`: evaluators in their latest versions.
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
    mut params: Params,
) -> ApiResult<Json<Paged<FlatEvaluatorView>>> {
    let page = params.page();
    params.finish()?;
    let work = |documents: &Documents<'_>| {
        let rules = rules(documents)?;
        evaluators(documents)?
            .iter()
            .map(|kept| view(kept, &rules))
            .collect::<StoreResult<Vec<_>>>()
    };
    let all = app.store.catalog.with_documents(caller.project, work).await?;
    let total = all.len() as u64;
    let skipped = usize::try_from(page.offset()).unwrap_or(usize::MAX);
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let data = all.into_iter().skip(skipped).take(limit).collect();
    Ok(Json(Paged { data, meta: params::meta(page, Some(total)) }))
}

/// `POST /api/public/unstable/evaluators`: makes an evaluator, or the next version of the one
/// with that name.
#[utoipa::path(
    post,
    path = "/api/public/unstable/evaluators",
    tag = "Evaluators",
    request_body = FlatEvaluatorRequest,
    responses((status = 200, body = FlatEvaluatorView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    Sent(request): Sent<FlatEvaluatorRequest>,
) -> ApiResult<Json<FlatEvaluatorView>> {
    let now = app.clock.now();
    let name = request.name.clone();
    let made = version(EvaluatorRequest::from(request), 1, now)?;
    let work = move |documents: &Documents<'_>| {
        let known = evaluators(documents)?.into_iter().find(|kept| kept.name == name);
        let mut evaluator = known.unwrap_or_else(|| KeptEvaluator {
            id: Uuid::new_v4().to_string(),
            name,
            description: None,
            created_at: now.into(),
            updated_at: now.into(),
            versions: Vec::new(),
        });
        let before = evaluator.versions.last();
        if before.is_some_and(|before| before.kind != made.kind) {
            let what = format!("an evaluator {} of another type", evaluator.name);
            return Err(StoreError::Exists(what));
        }
        let mut next = made;
        next.version = before.map_or(0, |before| before.version).saturating_add(1);
        evaluator.versions.push(next);
        view(&keep_evaluator(documents, evaluator, now)?, &rules(documents)?)
    };
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
}

/// `GET /api/public/unstable/evaluators/{evaluatorId}`: one evaluator in its latest version.
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
    let work =
        move |documents: &Documents<'_>| view(&find_evaluator(documents, &id)?, &rules(documents)?);
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
}

/// `DELETE /api/public/unstable/evaluators/{evaluatorId}`: removes an evaluator that no rule uses.
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
    let work = move |documents: &Documents<'_>| delete_evaluator(documents, &id);
    app.store.catalog.with_documents(caller.project, work).await?;
    Ok(Json(Deleted { message: "Evaluator successfully deleted".to_owned() }))
}

fn view(kept: &KeptEvaluator, rules: &[EvaluationRuleView]) -> StoreResult<FlatEvaluatorView> {
    let latest = latest(kept)?.clone();
    let variables = match latest.kind {
        EvaluatorKind::LlmAsJudge => latest.variables(),
        EvaluatorKind::Code => CODE_VARIABLES.map(str::to_owned).to_vec(),
    };
    Ok(FlatEvaluatorView {
        id: kept.id.clone(),
        name: kept.name.clone(),
        version: latest.version,
        kind: latest.kind,
        variables,
        evaluation_rule_count: rules_of(rules, &kept.id).len(),
        created_at: kept.created_at,
        updated_at: kept.updated_at,
        prompt: latest.prompt_text(),
        mapping: latest.variable_mapping,
        output_definition: latest.output_definition.map(NestedOutput::from),
        model_config: latest.model_config,
        source_code: latest.source_code,
        source_code_language: latest.source_code_language,
    })
}
