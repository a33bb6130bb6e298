/// What the routes say of an evaluator.
mod view;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use ratchet_core::money::Money;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::time::Timestamp;
use ratchet_stages::score::evaluators::backfill::{
    BackfillEstimate, BackfillPlan, MAX_BACKFILL, MAX_TEST, TestVerdict, parse_span,
};
use ratchet_stages::score::evaluators::manage::{self, EvaluatorOverview, ManageError};
use ratchet_store::Store;
use ratchet_store::project::ProjectId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::path::{PathProject, ProjectParam};
use super::projects::project_id;
use super::query::asked;
use crate::app::App;
use crate::auth::Administrator;
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};
use view::target;
pub use view::{ActivityView, AgreementView, EvaluatorStatusView, RuleStatusView};

/// Records of a backfill, unless the request names another number.
const DEFAULT_LIMIT: usize = 1_000;
/// Records of a test, unless the request names another number.
const DEFAULT_TEST: usize = 3;
/// How far a backfill goes back, unless the request says otherwise.
const DEFAULT_SINCE: &str = "7d";

/// Which evaluators, and of what.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EvaluatorsRequest {
    /// Agreement with people, and verdicts, about this agent only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The evaluators of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EvaluatorsView {
    /// The evaluators, by name.
    pub evaluators: Vec<EvaluatorStatusView>,
}

/// Whether an evaluator is to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluatorSwitch {
    /// `active` or `paused`.
    pub state: EvaluatorTarget,
    /// Why it is paused.
    pub reason: Option<String>,
}

/// The state that an evaluator is switched to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EvaluatorTarget {
    /// It judges what arrives.
    Active,
    /// It judges nothing.
    Paused,
}

/// A request to test an evaluator, or to judge what was recorded before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackfillRequest {
    /// How far back: a time span such as `7d` or `12h`; 7 days by default. Not for tests.
    pub since: Option<String>,
    /// At most so many records, the newest: 1000 by default, or 3 for a test.
    pub limit: Option<usize>,
    /// Whether to estimate only: no model is called and nothing is enqueued.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a test or backfill costs at most, and what a test says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackfillView {
    /// Matching records.
    pub records: usize,
    /// `trace`, `observation` or `session`.
    pub target: String,
    /// Those that have a verdict of this version, which are not judged again.
    pub judged: usize,
    /// What judging the others costs at most, in US dollars; null without a known price.
    pub max_cost: Option<f64>,
    /// The judge.
    pub judge: String,
    /// Whether it was only estimated.
    pub dry_run: bool,
    /// Verdicts of a test. No score was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<TestVerdictView>,
}

/// What a judge says of one record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TestVerdictView {
    /// Kind and id of the record.
    pub record: String,
    /// The score; null without one.
    #[schema(value_type = Option<Object>)]
    pub value: Option<serde_json::Value>,
    /// The rationale, or why there is no score.
    pub comment: String,
    /// In US dollars; null if unknown.
    pub cost: Option<f64>,
}

impl From<TestVerdict> for TestVerdictView {
    fn from(tested: TestVerdict) -> Self {
        let (value, comment) = match tested.verdict {
            Ok(verdict) => (Some(verdict.value), verdict.rationale),
            Err(why) => (None, why),
        };
        let value = value.map(|value| match value {
            SentValue::Number(number) => number.into(),
            SentValue::Text(text) => text.into(),
            SentValue::Bool(truth) => truth.into(),
        });
        Self { record: tested.record, value, comment, cost: tested.cost.map(Money::dollars) }
    }
}

impl BackfillView {
    /// The answer to a request.
    pub fn new(estimate: BackfillEstimate, dry_run: bool, verdicts: Vec<TestVerdict>) -> Self {
        Self {
            records: estimate.records,
            target: target(estimate.target).to_owned(),
            judged: estimate.judged,
            max_cost: estimate.max_cost.map(Money::dollars),
            judge: estimate.judge,
            dry_run,
            verdicts: verdicts.into_iter().map(Into::into).collect(),
        }
    }
}

impl BackfillRequest {
    /// Validates a backfill.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn plan(&self, now: Timestamp) -> ApiResult<BackfillPlan> {
        let span = parse_span(self.since.as_deref().unwrap_or(DEFAULT_SINCE));
        let invalid = || ApiError::Invalid("since: a time span such as 7d, 12h or 30m".to_owned());
        let nanos = i64::try_from(span.ok_or_else(invalid)?.as_nanos()).unwrap_or(i64::MAX);
        let limit = bounded(self.limit.unwrap_or(DEFAULT_LIMIT), MAX_BACKFILL)?;
        Ok(BackfillPlan { since: Some(now.plus_nanos(-nanos)), limit })
    }

    /// Validates a test; returns the number of records.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn records(&self) -> ApiResult<usize> {
        bounded(self.limit.unwrap_or(DEFAULT_TEST), MAX_TEST)
    }
}

fn bounded(limit: usize, most: usize) -> ApiResult<usize> {
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    Err(ApiError::Invalid(format!("limit: from 1 to {most}")))
}

impl From<ManageError> for ApiError {
    fn from(error: ManageError) -> Self {
        match error {
            ManageError::Store(error) => error.into(),
            ManageError::Unknown { .. } => Self::NotFound(error.to_string()),
            ManageError::Refused(why) => Self::Conflict(why),
        }
    }
}

/// Returns one evaluator of a project.
///
/// # Errors
/// 404 if there is none of that name or id.
pub async fn one(
    store: &Store,
    project: &ProjectId,
    name: &str,
    now: Timestamp,
) -> ApiResult<EvaluatorStatusView> {
    let all = manage::list(store, project, now).await?;
    let is_it = |one: &EvaluatorOverview| one.evaluator.id == name || one.evaluator.name == name;
    let known: Vec<&str> = all.iter().map(|one| one.evaluator.name.as_str()).collect();
    let missing = format!("evaluator {name} not found; available: {}", known.join(", "));
    let found = all.into_iter().find(is_it);
    Ok(found.ok_or(ApiError::NotFound(missing))?.into())
}

/// `GET /api/v1/projects/{project}/evaluators`: the online evaluators of a project.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/evaluators",
    tag = "Quality",
    params(ProjectParam, EvaluatorsRequest),
    responses((status = 200, body = EvaluatorsView))
)]
pub(super) async fn list(
    State(app): State<App>,
    _: Administrator,
    PathProject(project): PathProject,
    uri: Uri,
) -> ApiResult<Json<EvaluatorsView>> {
    let EvaluatorsRequest { agent } = asked(&uri)?;
    let now = app.clock.now();
    let all = manage::list_of(&app.store, &project, agent.as_deref(), now).await?;
    Ok(Json(EvaluatorsView { evaluators: all.into_iter().map(Into::into).collect() }))
}

/// `GET /api/v1/projects/{project}/evaluators/{name}`: one evaluator, by name or id.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/evaluators/{name}",
    tag = "Quality",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("name" = String, Path, description = "Name or id of the evaluator."),
    ),
    responses((status = 200, body = EvaluatorStatusView))
)]
pub(super) async fn show(
    State(app): State<App>,
    _: Administrator,
    Path((project, name)): Path<(String, String)>,
) -> ApiResult<Json<EvaluatorStatusView>> {
    let project = project_id(&project)?;
    Ok(Json(one(&app.store, &project, &name, app.clock.now()).await?))
}

/// `PUT /api/v1/projects/{project}/evaluators/{name}/state`: pauses or resumes an evaluator.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/evaluators/{name}/state",
    tag = "Quality",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("name" = String, Path, description = "Name or id of the evaluator."),
    ),
    request_body = EvaluatorSwitch,
    responses((status = 200, body = EvaluatorStatusView))
)]
pub(super) async fn switch(
    State(app): State<App>,
    Administrator(caller): Administrator,
    Path((project, name)): Path<(String, String)>,
    JsonBody(request): JsonBody<EvaluatorSwitch>,
) -> ApiResult<Json<EvaluatorStatusView>> {
    let (project, now) = (project_id(&project)?, app.clock.now());
    let catalog = caller.catalog(&app);
    match request.state {
        EvaluatorTarget::Active => {
            manage::resume(&catalog, project.clone(), name.clone(), now).await?;
        }
        EvaluatorTarget::Paused => {
            let reason = request.reason.unwrap_or_else(|| "paused by a person".to_owned());
            manage::pause(&catalog, project.clone(), (name.clone(), reason), now).await?;
        }
    }
    if let Some(worker) = app.evaluators() {
        worker.prepare().await?;
        worker.wake();
    }
    Ok(Json(one(&app.store, &project, &name, now).await?))
}

/// `POST /api/v1/projects/{project}/evaluators/{name}/test`: judges some records without writing
/// scores.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/evaluators/{name}/test",
    tag = "Quality",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("name" = String, Path, description = "Name or id of the evaluator."),
    ),
    request_body = BackfillRequest,
    responses((status = 200, body = BackfillView))
)]
pub(super) async fn test(
    State(app): State<App>,
    _: Administrator,
    Path((project, name)): Path<(String, String)>,
    JsonBody(request): JsonBody<BackfillRequest>,
) -> ApiResult<Json<BackfillView>> {
    let (project, records) = (project_id(&project)?, request.records()?);
    let worker = app.evaluators().ok_or_else(not_running)?;
    if request.dry_run {
        let plan = BackfillPlan { since: None, limit: records };
        let estimate = worker.estimate(&project, (&name, plan)).await?;
        return Ok(Json(BackfillView::new(estimate, true, Vec::new())));
    }
    let (estimate, verdicts) = worker.test(&project, (&name, records)).await?;
    Ok(Json(BackfillView::new(estimate, false, verdicts)))
}

/// `POST /api/v1/projects/{project}/evaluators/{name}/backfill`: judges what was recorded before.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/evaluators/{name}/backfill",
    tag = "Quality",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("name" = String, Path, description = "Name or id of the evaluator."),
    ),
    request_body = BackfillRequest,
    responses((status = 200, body = BackfillView))
)]
pub(super) async fn backfill(
    State(app): State<App>,
    _: Administrator,
    Path((project, name)): Path<(String, String)>,
    JsonBody(request): JsonBody<BackfillRequest>,
) -> ApiResult<Json<BackfillView>> {
    let (project, plan) = (project_id(&project)?, request.plan(app.clock.now())?);
    let worker = app.evaluators().ok_or_else(not_running)?;
    let estimate = match request.dry_run {
        true => worker.estimate(&project, (&name, plan)).await?,
        false => worker.backfill(&project, (&name, plan)).await?,
    };
    Ok(Json(BackfillView::new(estimate, request.dry_run, Vec::new())))
}

fn not_running() -> ApiError {
    ApiError::Conflict(
        "this server runs no evaluators; use one started by ratchet serve".to_owned(),
    )
}
