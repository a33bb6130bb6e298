use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use ratchet_core::experiment::plan::{ExperimentPlan, PlannedTarget};
use ratchet_remote::ratchet::experiments::{
    ClaimRequest, ClaimView, ExperimentRequest, ExperimentRunView, ExperimentsView, ExtendRequest,
    FinishRequest, LeaseView, RenewRequest, RunComparisonView, RunScoresRequest, RunSummaryView,
    TrialsView,
};
use ratchet_stages::experiment::service::{ExperimentError, ExperimentService};
use ratchet_stages::experiment::worker::ExperimentWorker;
use ratchet_stages::record::scores::ScoreWriteError;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::path::{PathProject, ProjectParam};
use super::projects::{own_project, project_id};
use super::query::{asked, page_size};
use crate::app::App;
use crate::auth::{Caller, Member, Reader};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show))
        .routes(routes!(trials))
        .routes(routes!(summary))
        .routes(routes!(comparison))
        .routes(routes!(score))
        .routes(routes!(extend))
        .routes(routes!(claim))
        .routes(routes!(renew))
        .routes(routes!(finish))
        .routes(routes!(cancel))
}

/// Which experiments.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExperimentQueryParams {
    /// Only runs over this dataset, by name.
    dataset: Option<String>,
}

/// Which trials.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TrialQueryParams {
    /// Where to go on, from the last page.
    cursor: Option<String>,
    /// From 1 to 1000; 50 by default.
    limit: Option<u64>,
}

/// Which run is compared with.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ComparisonQueryParams {
    /// Name or id of the earlier run.
    before: String,
}

impl From<ExperimentError> for ApiError {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Store(error) => error.into(),
            ExperimentError::Score(ScoreWriteError::Store(error)) => error.into(),
            ExperimentError::Score(error) => Self::Invalid(error.to_string()),
            ExperimentError::Invalid { .. } => Self::Invalid(error.to_string()),
            ExperimentError::NotFound(_) => Self::NotFound(error.to_string()),
            ExperimentError::Conflict(why) => Self::Conflict(why),
        }
    }
}

/// The experiments of the caller's project.
pub(super) fn service(app: &App, caller: &Caller, project: &str) -> ApiResult<ExperimentService> {
    let project = project_id(project)?;
    own_project(caller, &project)?;
    Ok(ExperimentService { store: app.store.clone(), catalog: caller.catalog(app), project })
}

/// The worker that runs targets of the server.
pub(super) fn worker(app: &App) -> ApiResult<&ExperimentWorker> {
    let none = || ApiError::Conflict("this server runs no experiments by itself".to_owned());
    app.experiments().map(AsRef::as_ref).ok_or_else(none)
}

/// Requires the permission to run agents for a target of the server that is a program there.
fn may_start(app: &App, caller: &Caller, target: &PlannedTarget) -> ApiResult<()> {
    let is_program = |worker: &ExperimentWorker| worker.targets().is_program(&target.name);
    if target.is_only_named() && app.experiments().is_some_and(|worker| is_program(worker)) {
        caller.clone().may_chat()?;
    }
    Ok(())
}

/// `GET /api/v1/projects/{project}/experiments`: runs of experiments, newest first, those of other
/// clients included.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/experiments",
    tag = "Experiments",
    params(ProjectParam, ExperimentQueryParams),
    responses((status = 200, body = ExperimentsView))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
    uri: Uri,
) -> ApiResult<Json<ExperimentsView>> {
    let service = service(&app, &caller, project.as_str())?;
    let query: ExperimentQueryParams = asked(&uri)?;
    Ok(Json(service.list(query.dataset.as_deref()).await?.into()))
}

/// `POST /api/v1/projects/{project}/experiments`: creates a run with its trials, or continues the
/// unfinished one of that name and plan. A runner then claims the trials. If the target has nothing
/// but a name, it is one of the server's own, which runs it by itself; if that is a command or
/// `claude`, the key needs the permission `chat`.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/experiments",
    tag = "Experiments",
    params(ProjectParam),
    request_body = ExperimentRequest,
    responses((status = 200, body = ExperimentRunView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    PathProject(project): PathProject,
    JsonBody(request): JsonBody<ExperimentRequest>,
) -> ApiResult<Json<ExperimentRunView>> {
    let service = service(&app, &caller, project.as_str())?;
    let plan = ExperimentPlan::from(request);
    may_start(&app, &caller, &plan.target)?;
    let run = if plan.target.is_only_named() {
        worker(&app)?.start(&service, plan, app.clock.now()).await?
    } else {
        service.open(plan, app.clock.now()).await?
    };
    Ok(Json(run.into()))
}

/// `GET /api/v1/projects/{project}/experiments/{run}`: a run by id or name.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/experiments/{run}",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("run" = String, Path, description = "Id or name of the run."),
    ),
    responses((status = 200, body = ExperimentRunView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, run)): Path<(String, String)>,
) -> ApiResult<Json<ExperimentRunView>> {
    Ok(Json(service(&app, &caller, &project)?.show(&run).await?.into()))
}

/// `GET /api/v1/projects/{project}/experiments/{run}/trials`: trials of a run in their order.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/experiments/{run}/trials",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("run" = String, Path, description = "Id or name of the run."),
        TrialQueryParams,
    ),
    responses((status = 200, body = TrialsView))
)]
pub(super) async fn trials(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, run)): Path<(String, String)>,
    uri: Uri,
) -> ApiResult<Json<TrialsView>> {
    let service = service(&app, &caller, &project)?;
    let query: TrialQueryParams = asked(&uri)?;
    let limit = page_size(query.limit)?;
    Ok(Json(service.trials(&run, (query.cursor, limit)).await?.into()))
}

/// `GET /api/v1/projects/{project}/experiments/{run}/summary`: a run as a whole, by its finished
/// trials: each score with its interval and missing verdicts, latency, faults and cost.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/experiments/{run}/summary",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("run" = String, Path, description = "Id or name of the run."),
    ),
    responses((status = 200, body = RunSummaryView))
)]
pub(super) async fn summary(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, run)): Path<(String, String)>,
) -> ApiResult<Json<RunSummaryView>> {
    let summary = service(&app, &caller, &project)?.summary(&run).await?;
    Ok(Json(RunSummaryView { summary }))
}

/// `GET /api/v1/projects/{project}/experiments/{run}/comparison`: a run against an earlier one, by
/// each of their scores, as people corrected them.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/experiments/{run}/comparison",
    tag = "Experiments",
    params(
        ProjectParam,
        ("run" = String, Path, description = "Name or id of the later run."),
        ComparisonQueryParams
    ),
    responses((status = 200, body = RunComparisonView))
)]
pub(super) async fn comparison(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, run)): Path<(String, String)>,
    uri: Uri,
) -> ApiResult<Json<RunComparisonView>> {
    let service = service(&app, &caller, &project)?;
    let query: ComparisonQueryParams = asked(&uri)?;
    let comparison = service.compare(&query.before, &run, app.clock.now()).await?;
    Ok(Json(RunComparisonView { comparison }))
}

/// `POST /api/v1/projects/{project}/experiments/{run}/scores`: scores of a run as a whole, from its
/// evaluators `run:…`.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/experiments/{run}/scores",
    tag = "Experiments",
    params(
        ProjectParam,
        ("run" = String, Path, description = "Id or name of the run.")
    ),
    request_body = RunScoresRequest,
    responses((status = 200, body = ExperimentRunView))
)]
pub(super) async fn score(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, run)): Path<(String, String)>,
    JsonBody(request): JsonBody<RunScoresRequest>,
) -> ApiResult<Json<ExperimentRunView>> {
    let service = service(&app, &caller, &project)?;
    let known = service.show(&run).await?;
    let scores = request.scores.into_iter().map(Into::into).collect();
    service.score_run(&run, scores, app.clock.now()).await?;
    Ok(Json(known.into()))
}

/// `POST /api/v1/projects/{project}/experiments/{run}/extend`: adds repeats to a run, of all its items
/// or of some. The same request again adds nothing. The key needs what starting the run needs.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/experiments/{run}/extend",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("run" = String, Path, description = "Id or name of the run."),
    ),
    request_body = ExtendRequest,
    responses((status = 200, body = ExperimentRunView))
)]
pub(super) async fn extend(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, run)): Path<(String, String)>,
    JsonBody(request): JsonBody<ExtendRequest>,
) -> ApiResult<Json<ExperimentRunView>> {
    let service = service(&app, &caller, &project)?;
    if let Some(target) = service.show(&run).await?.target {
        may_start(&app, &caller, &target)?;
    }
    Ok(Json(service.extend(&run, request.into(), app.clock.now()).await?.into()))
}

/// `POST /api/v1/projects/{project}/experiments/{run}/claim`: hands out trials to a runner. The call
/// of each is counted.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/experiments/{run}/claim",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("run" = String, Path, description = "Id or name of the run."),
    ),
    request_body = ClaimRequest,
    responses((status = 200, body = ClaimView))
)]
pub(super) async fn claim(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, run)): Path<(String, String)>,
    JsonBody(request): JsonBody<ClaimRequest>,
) -> ApiResult<Json<ClaimView>> {
    let service = service(&app, &caller, &project)?;
    Ok(Json(service.claim(&run, request.into(), app.clock.now()).await?.into()))
}

/// `POST /api/v1/projects/{project}/experiments/{run}/renew`: extends leases, and counts further
/// calls before they are sent.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/experiments/{run}/renew",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("run" = String, Path, description = "Id or name of the run."),
    ),
    request_body = RenewRequest,
    responses((status = 200, body = LeaseView))
)]
pub(super) async fn renew(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, run)): Path<(String, String)>,
    JsonBody(request): JsonBody<RenewRequest>,
) -> ApiResult<Json<LeaseView>> {
    let service = service(&app, &caller, &project)?;
    Ok(Json(service.renew(&run, request.into(), app.clock.now()).await?.into()))
}

/// `POST /api/v1/projects/{project}/experiments/{run}/finish`: records results as traces, run items
/// and scores, and ends their trials.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/experiments/{run}/finish",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("run" = String, Path, description = "Id or name of the run."),
    ),
    request_body = FinishRequest,
    responses((status = 200, body = LeaseView))
)]
pub(super) async fn finish(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, run)): Path<(String, String)>,
    JsonBody(request): JsonBody<FinishRequest>,
) -> ApiResult<Json<LeaseView>> {
    let service = service(&app, &caller, &project)?;
    Ok(Json(service.finish(&run, request.results(), app.clock.now()).await?.into()))
}

/// `POST /api/v1/projects/{project}/experiments/{run}/cancel`: stops a run. Calls in progress end,
/// and no further trial is handed out.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/experiments/{run}/cancel",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("run" = String, Path, description = "Id or name of the run."),
    ),
    responses((status = 200, body = ExperimentRunView))
)]
pub(super) async fn cancel(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, run)): Path<(String, String)>,
) -> ApiResult<Json<ExperimentRunView>> {
    let service = service(&app, &caller, &project)?;
    Ok(Json(service.cancel(&run, app.clock.now()).await?.into()))
}
