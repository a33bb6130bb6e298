use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use ratchet_core::gate::decision::{GateRule, Look};
use ratchet_core::gate::report::GateReport;
use ratchet_core::gate::stored_answer::StoredAnswers;
use ratchet_remote::ratchet::gates::{AnswerVerdictForm, StoredAnswersView};
use ratchet_stages::gate::{self, GateContext, GateError, GateOrder, GatePlan};
use ratchet_store::catalog::{Catalog, GateQuery, StoredGate};
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::path::{PathProject, ProjectParam};
use super::projects::{own_project, project_id};
use super::query::{asked, page_size};
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};
use crate::origin::Origin;

/// A decision on a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateView {
    /// The decision's id.
    pub id: String,
    /// Id of the run.
    pub run_id: String,
    /// When it was decided, RFC 3339.
    pub created_at: String,
    /// When the run became what users get, RFC 3339.
    pub promoted_at: Option<String>,
    /// URL of its page; null without a server.
    pub url: Option<String>,
    /// Verdict, accuracy, difference, flips and what they rest on.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub report: GateReport,
}

/// Decisions, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GatesView {
    /// A page of them.
    #[schema(value_type = Vec<Object>)]
    pub gates: Vec<GateView>,
    /// All that match.
    pub total: u64,
}

/// What to decide on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GateRequest {
    /// Name of the dataset.
    pub dataset: String,
    /// Name or id of the run.
    #[serde(default)]
    pub run: String,
    /// Name or id of the run to compare with, or `production`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Name of the score that counts; needed if the run has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<String>,
    /// Minimum accuracy, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_accuracy: Option<f64>,
    /// 1 minus the error rate; 0.95 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Maximum accepted drop; 0.1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Which planned look at the run this is: `only` (the default), `first` or `second`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub look: Option<Look>,
    /// Repeats per item, for a plan; 2 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// Verdicts of the run's evaluator on answers of earlier runs, which `…/gates/answers` lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged_again: Vec<AnswerVerdictForm>,
}

/// What a gate will be able to see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatePlanView {
    /// Active items of the dataset.
    pub items: usize,
    /// Smallest drop that is seen in four of five gates. Without a baseline that of a comparison with
    /// a run as right as the threshold; null without both.
    pub smallest_drop: Option<f64>,
    /// Why there is no baseline; null if there is one.
    #[serde(default)]
    pub no_baseline: Option<String>,
    /// Right items from which on accuracy passes; null without a threshold, or if all are too few.
    pub right_to_pass: Option<usize>,
    /// Cost by that of the baseline, in USD; null if unknown.
    pub cost: Option<f64>,
}

impl From<GatePlan> for GatePlanView {
    fn from(plan: GatePlan) -> Self {
        let GatePlan { items, smallest_drop, no_baseline, right_to_pass, cost } = plan;
        Self { items, smallest_drop, no_baseline, right_to_pass, cost }
    }
}

/// Which decisions.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GatesRequest {
    /// Only of this dataset, by name.
    pub dataset: Option<String>,
    /// Page number, from 1.
    pub page: Option<u64>,
    /// Page size, 50 by default.
    pub limit: Option<u64>,
}

impl GateRequest {
    fn order(self) -> GateOrder {
        let usual = GateRule::default();
        GateOrder {
            dataset: self.dataset,
            run: self.run,
            baseline: self.baseline,
            score: self.score,
            rule: GateRule {
                min_accuracy: self.min_accuracy,
                confidence: self.confidence.unwrap_or(usual.confidence),
                margin: self.margin.unwrap_or(usual.margin),
            },
            look: self.look.unwrap_or(Look::Only),
            judged_again: self.judged_again.into_iter().map(Into::into).collect(),
        }
    }

    /// Decides on a run, and stores the decision.
    ///
    /// # Errors
    /// 400 or 404, naming the field; 422 if the run says nothing about the agent.
    pub async fn decide(self, context: GateContext<'_>) -> ApiResult<GateView> {
        let (stored, _) = gate::decide(context, self.order()).await?;
        view(stored, context)
    }

    /// Lists the answers of earlier runs that the run's evaluator has not judged.
    ///
    /// # Errors
    /// 400 or 404, naming the field.
    pub async fn answers(self, context: GateContext<'_>) -> ApiResult<StoredAnswers> {
        Ok(gate::answers_to_judge(context, &self.order()).await?)
    }

    /// Plans a gate.
    ///
    /// # Errors
    /// 400 or 404, naming the field.
    pub async fn plan(self, context: GateContext<'_>) -> ApiResult<GatePlanView> {
        let repeats = usize::try_from(self.repeats.unwrap_or(2)).unwrap_or(2);
        Ok(gate::plan(context, &self.order(), repeats).await?.into())
    }
}

impl From<GateError> for ApiError {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Invalid(why) => Self::Invalid(why),
            GateError::NotFound(why) => Self::NotFound(why),
            GateError::CouldNotRun(why) => Self::Unprocessable(why.to_string()),
            GateError::Store(error) => error.into(),
        }
    }
}

fn view(stored: StoredGate, context: GateContext<'_>) -> ApiResult<GateView> {
    let report = serde_json::from_str(stored.report.as_str())
        .map_err(|error| ApiError::Unprocessable(format!("stored report: {error}")))?;
    let url = format!("{}/project/{}/gates/{}", context.server, context.project, stored.id);
    Ok(GateView {
        id: stored.id,
        run_id: stored.run,
        created_at: stored.created_at.to_string(),
        promoted_at: stored.promoted_at.map(|at| at.to_string()),
        url: Some(url).filter(|_| !context.server.is_empty()),
        report,
    })
}

/// `GET /api/v1/projects/{project}/gates`: decisions of gates, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/gates",
    tag = "Gates",
    params(ProjectParam, GatesRequest),
    responses((status = 200, body = GatesView))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
    origin: Origin,
    uri: Uri,
) -> ApiResult<Json<GatesView>> {
    own_project(&caller, &project)?;
    let request: GatesRequest = asked(&uri)?;
    let (catalog, server) = (caller.catalog(&app), origin.to_string());
    let context = context(&app, &catalog, (&project, &server));
    let dataset = match &request.dataset {
        Some(name) => Some(gate::dataset(context, name).await?.id),
        None => None,
    };
    let query = GateQuery {
        project: project.clone(),
        dataset,
        run: None,
        page: PageNumber {
            page: request.page.unwrap_or(1).max(1),
            limit: page_size(request.limit)?,
        },
    };
    let page = app.store.catalog.gates(query).await?;
    let gates = page.rows.into_iter().map(|gate| view(gate, context)).collect::<ApiResult<_>>()?;
    Ok(Json(GatesView { gates, total: page.total.unwrap_or(0) }))
}

/// `GET /api/v1/projects/{project}/gates/{gate}`: a decision.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/gates/{gate}",
    tag = "Gates",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("gate" = String, Path, description = "The decision's id."),
    ),
    responses((status = 200, body = GateView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, id)): Path<(String, String)>,
    origin: Origin,
) -> ApiResult<Json<GateView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let (catalog, server) = (caller.catalog(&app), origin.to_string());
    let context = context(&app, &catalog, (&project, &server));
    Ok(Json(view(catalog.gate(project.clone(), id).await?, context)?))
}

/// `POST /api/v1/projects/{project}/gates`: decides on a recorded run, and stores the decision.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/gates",
    tag = "Gates",
    params(ProjectParam),
    request_body = GateRequest,
    responses((status = 200, body = GateView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    PathProject(project): PathProject,
    origin: Origin,
    JsonBody(request): JsonBody<GateRequest>,
) -> ApiResult<Json<GateView>> {
    own_project(&caller, &project)?;
    let (catalog, server) = (caller.catalog(&app), origin.to_string());
    let context = context(&app, &catalog, (&project, &server));
    Ok(Json(request.decide(context).await?))
}

/// `POST /api/v1/projects/{project}/gates/plan`: what a gate will be able to see, before it runs.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/gates/plan",
    tag = "Gates",
    params(ProjectParam),
    request_body = GateRequest,
    responses((status = 200, body = GatePlanView))
)]
pub(super) async fn plan(
    State(app): State<App>,
    Member(caller): Member,
    PathProject(project): PathProject,
    JsonBody(request): JsonBody<GateRequest>,
) -> ApiResult<Json<GatePlanView>> {
    own_project(&caller, &project)?;
    let context = context(&app, &app.store.catalog, (&project, ""));
    Ok(Json(request.plan(context).await?))
}

/// `POST /api/v1/projects/{project}/gates/answers`: answers of the baseline and of the best promoted
/// run that the run's evaluator has not judged, for a command that has the evaluator.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/gates/answers",
    tag = "Gates",
    params(ProjectParam),
    request_body = GateRequest,
    responses((status = 200, body = StoredAnswersView))
)]
pub(super) async fn answers(
    State(app): State<App>,
    Member(caller): Member,
    PathProject(project): PathProject,
    JsonBody(request): JsonBody<GateRequest>,
) -> ApiResult<Json<StoredAnswersView>> {
    own_project(&caller, &project)?;
    let context = context(&app, &app.store.catalog, (&project, ""));
    Ok(Json(request.answers(context).await?.into()))
}

fn context<'a>(
    app: &'a App,
    catalog: &'a Catalog,
    (project, server): (&'a ProjectId, &'a str),
) -> GateContext<'a> {
    GateContext { store: &app.store, catalog, project, server, now: app.clock.now() }
}
