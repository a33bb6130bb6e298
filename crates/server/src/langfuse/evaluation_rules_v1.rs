//! Rules in the first version of the API: evaluators are referenced by name.

use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_core::catalog::evaluator::document::EvaluatorState;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dataset::Deleted;
use ratchet_remote::langfuse::wire::error::ErrorBody;
use ratchet_remote::langfuse::wire::evaluation_rule::{
    AssignmentReference, EvaluationRuleView, EvaluatorAssignment, EvaluatorReference,
    FlatRuleChange, FlatRuleRequest, FlatRuleView, NamedAssignment, NamedEvaluator,
};
use ratchet_remote::langfuse::wire::evaluator::{
    EvaluationStatus, StoredEvaluator, VariableMapping,
};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_store::StoreError;
use ratchet_store::catalog::Documents;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::documents::{self, View, set, with_code};
use super::evaluation::{apply, latest, start, state};
use super::json_fields::JsonFields;
use super::params::{PageParams, Params};
use super::path::PathOf;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, change, delete))
        .layer(from_fn(with_code))
}

/// `GET /api/public/unstable/evaluation-rules`: rules, last changed first.
#[utoipa::path(
    get,
    path = "/api/public/unstable/evaluation-rules",
    tag = "EvaluationRules",
    params(PageParams),
    responses((status = 200, body = Paged<FlatRuleView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Json<Paged<FlatRuleView>>> {
    documents::list(&app, caller.project, params).await
}

/// `POST /api/public/unstable/evaluation-rules`: creates a rule.
#[utoipa::path(
    post,
    path = "/api/public/unstable/evaluation-rules",
    tag = "EvaluationRules",
    request_body = FlatRuleRequest,
    responses(
        (status = 200, body = FlatRuleView),
        (status = 422, description = "No LLM connection has the model of an evaluator.", body = ErrorBody),
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    JsonFields(request): JsonFields<FlatRuleRequest>,
) -> ApiResult<Json<FlatRuleView>> {
    let named = references(request.evaluators, request.evaluator, request.mapping)?;
    let named = named.ok_or_else(|| ApiError::Invalid("evaluators: required".to_owned()))?;
    let make = move |documents: &Documents<'_>, now: Timestamp| {
        check_name(documents, &request.name)?;
        Ok(EvaluationRuleView {
            id: Uuid::new_v4().to_string(),
            name: request.name,
            enabled: request.enabled,
            sampling: request.sampling.unwrap_or(1.0),
            filter: request.filter.unwrap_or_default(),
            evaluator_assignments: resolve(documents, named)?,
            target: request.target,
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

/// `GET /api/public/unstable/evaluation-rules/{evaluationRuleId}`: one rule.
#[utoipa::path(
    get,
    path = "/api/public/unstable/evaluation-rules/{rule}",
    tag = "EvaluationRules",
    params(("rule" = String, Path, description = "The rule's id.")),
    responses((status = 200, body = FlatRuleView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<FlatRuleView>> {
    documents::show(&app, caller.project, id).await
}

/// `PATCH /api/public/unstable/evaluation-rules/{evaluationRuleId}`: changes the given fields.
#[utoipa::path(
    patch,
    path = "/api/public/unstable/evaluation-rules/{rule}",
    tag = "EvaluationRules",
    params(("rule" = String, Path, description = "The rule's id.")),
    request_body = FlatRuleChange,
    responses(
        (status = 200, body = FlatRuleView),
        (status = 422, description = "No LLM connection has the model of an evaluator.", body = ErrorBody),
    )
)]
pub(super) async fn change(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
    JsonFields(change): JsonFields<FlatRuleChange>,
) -> ApiResult<Json<FlatRuleView>> {
    let mapping = change.mapping.clone();
    let named = references(change.evaluators, change.evaluator, change.mapping)?;
    let now = app.clock.now();
    let alter = move |documents: &Documents<'_>, kept: &mut EvaluationRuleView| {
        match (named, mapping) {
            (Some(named), _) => kept.evaluator_assignments = resolve(documents, named)?,
            (None, Some(mapping)) => {
                if let Some(first) = kept.evaluator_assignments.first_mut() {
                    first.variable_mapping = Some(mapping);
                }
            }
            (None, None) => {}
        }
        if let Some(name) = change.name.filter(|name| *name != kept.name) {
            check_name(documents, &name)?;
            kept.name = name;
        }
        start(kept, change.enabled, now);
        kept.delay_seconds = change.delay_seconds.or(kept.delay_seconds);
        set(&mut kept.enabled, change.enabled);
        set(&mut kept.sampling, change.sampling);
        set(&mut kept.filter, change.filter);
        set(&mut kept.target, change.target);
        Ok(())
    };
    let view = documents::change(&app, caller, id, alter).await?;
    apply(&app).await?;
    Ok(view)
}

/// `DELETE /api/public/unstable/evaluation-rules/{evaluationRuleId}`: deletes a rule, not its
/// evaluators.
#[utoipa::path(
    delete,
    path = "/api/public/unstable/evaluation-rules/{rule}",
    tag = "EvaluationRules",
    params(("rule" = String, Path, description = "The rule's id.")),
    responses((status = 200, body = Deleted))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<Deleted>> {
    documents::delete::<EvaluationRuleView>(&app, caller, id).await?;
    Ok(Json(Deleted { message: "Evaluation rule successfully deleted".to_owned() }))
}

/// Rejects a name that is taken: clients of this version rely on the conflict to find out that the
/// rule exists. In the newer version rules may share a name.
fn check_name(documents: &Documents<'_>, name: &str) -> ApiResult<()> {
    let rules: Vec<EvaluationRuleView> = documents::all(documents)?;
    if rules.iter().any(|rule| rule.name == name) {
        return Err(StoreError::Exists(format!("an evaluation rule {name}")).into());
    }
    Ok(())
}

/// The evaluators in a request, in either of its two forms; `None` if it has none.
fn references(
    several: Option<Vec<AssignmentReference>>,
    one: Option<EvaluatorReference>,
    mapping: Option<Vec<VariableMapping>>,
) -> ApiResult<Option<Vec<AssignmentReference>>> {
    match (several, one, mapping) {
        (Some(several), None, None) => Ok(Some(several)),
        (None, Some(evaluator), mapping) => {
            Ok(Some(vec![AssignmentReference { evaluator, mapping }]))
        }
        (None, None, _) => Ok(None),
        (Some(_), _, _) => Err(ApiError::Invalid(
            "evaluators: cannot be combined with evaluator or mapping".to_owned(),
        )),
    }
}

fn resolve(
    documents: &Documents<'_>,
    named: Vec<AssignmentReference>,
) -> ApiResult<Vec<EvaluatorAssignment>> {
    let known: Vec<StoredEvaluator> = documents::all(documents)?;
    let resolved = named.into_iter().map(|AssignmentReference { evaluator, mapping }| {
        let EvaluatorReference { name, kind } = evaluator;
        let fits = |kept: &&StoredEvaluator| {
            let latest = latest(kept).ok();
            kept.name == name
                && kind.is_none_or(|kind| latest.is_some_and(|it| it.definition.kind == kind))
        };
        let found = known.iter().find(fits);
        let found = found.ok_or_else(|| StoreError::NotFound(format!("evaluator {name}")))?;
        Ok(EvaluatorAssignment { evaluator_id: found.id.clone(), variable_mapping: mapping })
    });
    resolved.collect()
}

impl View for FlatRuleView {
    type Of = EvaluationRuleView;

    fn all(documents: &Documents<'_>, kept: Vec<EvaluationRuleView>) -> ApiResult<Vec<Self>> {
        kept.into_iter().map(|rule| view(documents, rule)).collect()
    }
}

/// Why a rule does not run: none of its evaluators does.
fn obstacle(
    evaluators: &[StoredEvaluator],
    rule: &EvaluationRuleView,
) -> ApiResult<Option<(String, String)>> {
    let mut why = None;
    for evaluator in evaluators {
        match state(evaluator, std::slice::from_ref(rule))? {
            EvaluatorState::Paused(reason, message) => why = Some((reason.to_owned(), message)),
            EvaluatorState::Active | EvaluatorState::Inactive => return Ok(None),
        }
    }
    Ok(why)
}

fn view(documents: &Documents<'_>, rule: EvaluationRuleView) -> ApiResult<FlatRuleView> {
    let mut named = Vec::new();
    let mut first_mapping = None;
    let mut kept_evaluators = Vec::new();
    for assignment in rule.evaluator_assignments.clone() {
        let kept: StoredEvaluator = documents::find(documents, &assignment.evaluator_id)?;
        let definition = &latest(&kept)?.definition;
        let usual = definition.variable_mapping.clone();
        let effective = assignment.variable_mapping.clone().or(usual).unwrap_or_default();
        first_mapping.get_or_insert(effective);
        let (id, name) = (kept.id.clone(), kept.name.clone());
        let evaluator = NamedEvaluator { kind: definition.kind, id, name };
        named.push(NamedAssignment { evaluator, mapping: assignment.variable_mapping });
        kept_evaluators.push(kept);
    }
    let paused = if rule.enabled { obstacle(&kept_evaluators, &rule)? } else { None };
    let (paused_reason, paused_message) = paused.unzip();
    let status = match (rule.enabled, &paused_reason) {
        (false, _) => EvaluationStatus::Inactive,
        (true, Some(_)) => EvaluationStatus::Paused,
        (true, None) => EvaluationStatus::Active,
    };
    Ok(FlatRuleView {
        id: rule.id,
        name: rule.name,
        evaluator: named.first().map(|first| first.evaluator.clone()),
        evaluators: named,
        target: rule.target,
        enabled: rule.enabled,
        status,
        paused_reason,
        paused_message,
        sampling: rule.sampling,
        filter: rule.filter,
        mapping: first_mapping.unwrap_or_default(),
        created_at: rule.created_at,
        updated_at: rule.updated_at,
    })
}
