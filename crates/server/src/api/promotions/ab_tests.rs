use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use ratchet_core::promotion::ab_test::AbSpec;
use ratchet_core::promotion::ab_test::comparison::AbResult;
use ratchet_core::promotion::watch::Mark;
use ratchet_stages::promote::PromoteContext;
use ratchet_stages::promote::ab;
use ratchet_store::catalog::{Catalog, StoredAbTest};
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{context, own_project};
use crate::api::path::{PathProject, ProjectParam};
use crate::api::projects::project_id;
use crate::api::query::{asked, page_size};
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};
use crate::origin::Origin;

/// An A/B test of two versions of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AbTestView {
    /// The test's id.
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// The prompt's name.
    pub prompt: String,
    /// Label of the control.
    pub control: String,
    /// Version of the control.
    pub control_version: u32,
    /// Label of the candidate.
    pub candidate: String,
    /// Version of the candidate.
    pub candidate_version: u32,
    /// Percentage of users who get the candidate.
    pub share: u32,
    /// What the candidate has to improve.
    pub primary: String,
    /// Users after which the test ends.
    pub max_units: u32,
    /// Days after which the test ends.
    pub max_days: u32,
    /// A user counts with the traces of so many hours after the first one.
    pub window_hours: u32,
    /// `running`, `harm`, `winner`, `no-difference`, `label-moved` or `stopped`.
    pub state: String,
    /// Both arms so far; null before the first look.
    #[schema(value_type = Option<Object>)]
    pub result: Option<AbResult>,
    /// How it ended, in words; null while it runs.
    pub outcome: Option<String>,
    /// Id of the winner's draft promotion.
    pub promotion: Option<String>,
    /// Why the winner's draft could not be opened.
    pub offer_problem: Option<String>,
    /// Who started it.
    pub author: String,
    /// When it was started, RFC 3339.
    pub started_at: String,
    /// When it was last changed, RFC 3339.
    pub updated_at: String,
}

/// A/B tests, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AbTestsView {
    /// A page of them.
    pub tests: Vec<AbTestView>,
    /// All of the project.
    pub total: u64,
}

/// Which page of A/B tests.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AbTestsRequest {
    /// Page number, from 1.
    pub page: Option<u64>,
    /// Page size, 50 by default.
    pub limit: Option<u64>,
}

/// An A/B test to start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewAbTestRequest {
    /// The agent that uses the prompt.
    pub agent: String,
    /// The prompt's name.
    pub prompt: String,
    /// Label of the candidate.
    pub candidate: String,
    /// Label of the control, `production` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// Percentage of users who get the candidate, 50 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<u32>,
    /// What the candidate has to improve: `quality` (default), `thumbs`, `errors`, `latency` or
    /// `cost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// Users after which the test ends, 2,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_units: Option<u32>,
    /// Days after which the test ends, 14 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_days: Option<u32>,
    /// Hours after a user's first trace whose traces count, 24 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_hours: Option<u32>,
}

/// What to do with an A/B test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AbActionRequest {
    /// `look`, `stop`, or `promote`: opens the winner's draft promotion.
    pub action: String,
    /// Why, for `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whose assignment.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VariantRequest {
    /// The prompt's name.
    pub prompt: String,
    /// The user's id as in traces, or the session's if traces have no user.
    pub unit: String,
}

/// What a user gets of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VariantView {
    /// Label to fetch the prompt by.
    pub label: String,
    /// Version; null without a running test.
    pub version: Option<u32>,
    /// Id of the running test, if there is one.
    pub test: Option<String>,
}

impl NewAbTestRequest {
    /// Starts the test.
    ///
    /// # Errors
    /// 400 or 404, naming the field; 403 if an approver has to do it; 409 if one runs already.
    pub async fn start(self, context: PromoteContext<'_>) -> ApiResult<AbTestView> {
        let primary = match self.primary.as_deref() {
            None => None,
            Some(name) => Some(Mark::parse(name).ok_or_else(|| {
                let why = "primary: must be quality, thumbs, errors, latency or cost";
                ApiError::Invalid(why.to_owned())
            })?),
        };
        let usual = AbSpec::new(&self.agent, &self.prompt, &self.candidate);
        let spec = AbSpec {
            control: self.control.unwrap_or(usual.control),
            share: self.share.unwrap_or(usual.share),
            primary: primary.unwrap_or(usual.primary),
            max_units: self.max_units.unwrap_or(usual.max_units),
            max_days: self.max_days.unwrap_or(usual.max_days),
            window_hours: self.window_hours.unwrap_or(usual.window_hours),
            ..usual
        };
        Ok(ab::start(context.gate, spec).await?.into())
    }
}

impl AbActionRequest {
    /// Does it.
    ///
    /// # Errors
    /// 404 if there is no such test, 409 if it has ended or has no winner.
    pub async fn act(self, context: PromoteContext<'_>, id: &str) -> ApiResult<AbTestView> {
        let done = match self.action.as_str() {
            "look" => ab::look(context, id).await?,
            "stop" => ab::stop(context.gate, id, self.reason.unwrap_or_default()).await?,
            "promote" => ab::offer(context, id).await?,
            _ => {
                let why = "action: must be look, stop or promote";
                return Err(ApiError::Invalid(why.to_owned()));
            }
        };
        Ok(done.into())
    }
}

impl From<StoredAbTest> for AbTestView {
    fn from(stored: StoredAbTest) -> Self {
        let test = stored.test;
        let end = test.outcome.as_ref().map(|outcome| outcome.end);
        Self {
            id: stored.id,
            agent: test.spec.agent,
            prompt: test.spec.prompt,
            control: test.spec.control,
            control_version: test.control_version,
            candidate: test.spec.candidate,
            candidate_version: test.candidate_version,
            share: test.spec.share,
            primary: test.spec.primary.as_str().to_owned(),
            max_units: test.spec.max_units,
            max_days: test.spec.max_days,
            window_hours: test.spec.window_hours,
            state: end.map_or("running", |end| end.as_str()).to_owned(),
            result: test.result,
            outcome: test.outcome.map(|outcome| outcome.text),
            promotion: test.promotion,
            offer_problem: test.offer_problem,
            author: test.author.name,
            started_at: test.started_at.to_string(),
            updated_at: stored.updated_at.to_string(),
        }
    }
}

impl VariantRequest {
    /// Returns what a user gets.
    ///
    /// # Errors
    /// 400 if the unit is empty or too long.
    pub async fn assign(&self, catalog: (&Catalog, &ProjectId)) -> ApiResult<VariantView> {
        let found = ab::assignment(catalog, &self.prompt, &self.unit).await?;
        Ok(VariantView { label: found.label, version: found.version, test: found.test })
    }
}

/// Returns A/B tests, newest first.
///
/// # Errors
/// Fails only when the database does.
pub async fn listed(
    (catalog, project): (&Catalog, &ProjectId),
    request: AbTestsRequest,
) -> ApiResult<AbTestsView> {
    let limit = page_size(request.limit)?;
    let page = PageNumber { page: request.page.unwrap_or(1).max(1), limit };
    let found = catalog.ab_tests(project.clone(), page).await?;
    let tests = found.rows.into_iter().map(Into::into).collect();
    Ok(AbTestsView { tests, total: found.total.unwrap_or(0) })
}

/// `GET /api/v1/projects/{project}/ab-tests`: A/B tests of prompts, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/ab-tests",
    tag = "Promotions",
    params(ProjectParam, AbTestsRequest),
    responses((status = 200, body = AbTestsView))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
    uri: Uri,
) -> ApiResult<Json<AbTestsView>> {
    own_project(&caller, &project)?;
    let request: AbTestsRequest = asked(&uri)?;
    Ok(Json(listed((&app.store.catalog, &project), request).await?))
}

/// `POST /api/v1/projects/{project}/ab-tests`: starts an A/B test of two labels of a prompt.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/ab-tests",
    tag = "Promotions",
    params(ProjectParam),
    request_body = NewAbTestRequest,
    responses((status = 200, body = AbTestView))
)]
pub(super) async fn start(
    State(app): State<App>,
    Member(caller): Member,
    PathProject(project): PathProject,
    origin: Origin,
    JsonBody(request): JsonBody<NewAbTestRequest>,
) -> ApiResult<Json<AbTestView>> {
    own_project(&caller, &project)?;
    let (catalog, server) = (caller.catalog(&app), origin.to_string());
    Ok(Json(request.start(context(&app, &catalog, (&project, &server))).await?))
}

/// `GET /api/v1/projects/{project}/ab-tests/{test}`: an A/B test with its last comparison.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/ab-tests/{test}",
    tag = "Promotions",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("test" = String, Path, description = "The test's id."),
    ),
    responses((status = 200, body = AbTestView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, id)): Path<(String, String)>,
) -> ApiResult<Json<AbTestView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    Ok(Json(app.store.catalog.ab_test(project, id).await?.into()))
}

/// `POST /api/v1/projects/{project}/ab-tests/{test}/actions`: looks at a test now, stops it, or
/// opens the winner's draft promotion.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/ab-tests/{test}/actions",
    tag = "Promotions",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("test" = String, Path, description = "The test's id."),
    ),
    request_body = AbActionRequest,
    responses((status = 200, body = AbTestView))
)]
pub(super) async fn act(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, id)): Path<(String, String)>,
    origin: Origin,
    JsonBody(request): JsonBody<AbActionRequest>,
) -> ApiResult<Json<AbTestView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let (catalog, server) = (caller.catalog(&app), origin.to_string());
    let context = context(&app, &catalog, (&project, &server));
    Ok(Json(request.act(context, &id).await?))
}

/// `GET /api/v1/projects/{project}/ab-assignment`: the label and version of a prompt that a user
/// gets.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/ab-assignment",
    tag = "Promotions",
    params(ProjectParam, VariantRequest),
    responses((status = 200, body = VariantView))
)]
pub(super) async fn assigned(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
    uri: Uri,
) -> ApiResult<Json<VariantView>> {
    own_project(&caller, &project)?;
    let request: VariantRequest = asked(&uri)?;
    Ok(Json(request.assign((&app.store.catalog, &project)).await?))
}
