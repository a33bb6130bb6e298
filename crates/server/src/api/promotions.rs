/// Agent versions and what serves where.
pub mod versions;
/// A/B tests of prompts.
pub mod ab_tests;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::promotion::criteria::CriterionState;
use ratchet_core::promotion::evidence::PromotionEvidence;
use ratchet_core::promotion::state::{Action, Before, Promotion, PromotionOutcome, Refused};
use ratchet_core::promotion::watch::WatchResult;
use ratchet_core::time::Timestamp;
use ratchet_stages::gate::GateContext;
use ratchet_stages::promote::{self, PromoteContext, PromoteError, SentTests};
use ratchet_store::catalog::{Catalog, PromotionQuery, StoredPromotion};
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::path::{PathProject, ProjectParam};
use super::projects::{own_project, project_id};
use super::query::{asked, page_size};
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};
use crate::origin::Origin;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show))
        .routes(routes!(give))
        .routes(routes!(act))
        .routes(routes!(versions::list, versions::save))
        .routes(routes!(versions::serve))
        .routes(routes!(ab_tests::list, ab_tests::start))
        .routes(routes!(ab_tests::show))
        .routes(routes!(ab_tests::act))
        .routes(routes!(ab_tests::assigned))
}

/// A version of an agent on its way to production.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromotionView {
    /// The promotion's id.
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// Id of the agent version.
    pub version: String,
    /// Environment that is promoted to.
    pub environment: String,
    /// Name of the dataset that gates decide on.
    pub dataset: String,
    /// Who created it.
    pub author: String,
    /// Where it is: `draft`, `evidence`, `review`, `approved`, `deploying`, `live`, `confirmed`,
    /// `rolled-back`, `failed`, `superseded` or `abandoned`.
    pub state: String,
    /// The six criteria: whether each is met, on what evidence, and who can give what is missing.
    #[schema(value_type = Vec<Object>)]
    pub criteria: Vec<CriterionState>,
    /// What it rests on.
    #[schema(value_type = Object)]
    pub evidence: PromotionEvidence,
    /// What users got before; null until it is live.
    #[schema(value_type = Option<Object>)]
    pub before: Option<Before>,
    /// When it went live, RFC 3339.
    pub live_at: Option<String>,
    /// Production before and after; null until it is live.
    #[schema(value_type = Option<Object>)]
    pub watch: Option<WatchResult>,
    /// How it ended; null until then.
    #[schema(value_type = Option<Object>)]
    pub outcome: Option<PromotionOutcome>,
    /// When it was created, RFC 3339.
    pub created_at: String,
    /// When it was last changed, RFC 3339.
    pub updated_at: String,
    /// URL of its page; null without a server.
    pub url: Option<String>,
}

/// Promotions, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromotionsView {
    /// A page of them.
    pub promotions: Vec<PromotionView>,
    /// All that match.
    pub total: u64,
}

/// Which promotions.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PromotionsRequest {
    /// Only of this agent.
    pub agent: Option<String>,
    /// Page number, from 1.
    pub page: Option<u64>,
    /// Page size, 50 by default.
    pub limit: Option<u64>,
}

/// A promotion to create: of a recorded version, or of parts that are recorded now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewPromotionRequest {
    /// Id of a recorded version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The agent whose version the parts are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Prompts, model, tools and settings of the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub content: Option<AgentVersion>,
    /// Name of the dataset; the agent's global one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
}

/// Evidence for a promotion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvidenceRequest {
    /// Id of a gate's decision on a run of the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// Results of tool tests, as JUnit XML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub junit: Option<String>,
    /// Number of tool tests, instead of a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<u32>,
    /// Number of failed tool tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
    /// Where the results are from, such as the address of a CI job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The commit that was tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// What to do with a promotion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromotionActionRequest {
    /// `review`, `waive`, `approve`, `start`, `rollback`, `change-version` or `abandon`.
    pub action: String,
    /// Why, for a waiver or a rollback; a note otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Id of the new version, for `change-version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl From<PromoteError> for ApiError {
    fn from(error: PromoteError) -> Self {
        match error {
            PromoteError::Refused(refused) => match &refused {
                Refused::NotYours { .. } => Self::Forbidden(refused.to_string()),
                Refused::Invalid { .. } => Self::Invalid(refused.to_string()),
                Refused::Missing(_) | Refused::State { .. } | Refused::Ended(_) => {
                    Self::Conflict(refused.to_string())
                }
            },
            PromoteError::Gate(error) => error.into(),
            PromoteError::Junit(_) | PromoteError::Invalid(_) => Self::Invalid(error.to_string()),
            PromoteError::Store(error) => error.into(),
        }
    }
}

impl NewPromotionRequest {
    /// Creates the promotion, and records its version if that is new.
    ///
    /// # Errors
    /// 400 or 404, naming the field.
    pub async fn create(self, context: PromoteContext<'_>) -> ApiResult<PromotionView> {
        let version = match (self.version, self.agent, self.content) {
            (Some(version), None, None) => version,
            (None, Some(agent), Some(content)) => {
                promote::save_version(context.gate, &agent, content).await?.id
            }
            _ => {
                let why = "version: give a recorded version, or agent and content";
                return Err(ApiError::Invalid(why.to_owned()));
            }
        };
        let stored = promote::create(context, &version, self.dataset).await?;
        view(context, stored).await
    }
}

impl EvidenceRequest {
    /// Attaches the evidence.
    ///
    /// # Errors
    /// 400 or 404, naming the field; 409 if it is not taken any more.
    pub async fn give(self, context: PromoteContext<'_>, id: &str) -> ApiResult<PromotionView> {
        let has_tests = self.junit.is_some() || self.tests.is_some();
        if !has_tests && self.gate.is_none() {
            return Err(ApiError::Invalid("gate: give a gate, or results of tests".to_owned()));
        }
        if has_tests {
            let sent = SentTests {
                junit: self.junit,
                tests: self.tests.unwrap_or_default(),
                failed: self.failed.unwrap_or_default(),
                skipped: 0,
                source: short("source", self.source)?,
                commit: short("commit", self.commit)?,
            };
            promote::attach_tests(context, id, sent).await?;
        }
        if let Some(gate) = &self.gate {
            promote::attach_gate(context, id, gate).await?;
        }
        shown(context, id).await
    }
}

/// The longest source or commit, in characters.
const MAX_CHARS: usize = 500;

fn short(field: &str, text: Option<String>) -> ApiResult<Option<String>> {
    match text {
        Some(text) if text.chars().count() > MAX_CHARS => {
            Err(ApiError::Invalid(format!("{field}: at most {MAX_CHARS} characters")))
        }
        text => Ok(text),
    }
}

impl PromotionActionRequest {
    /// Does it.
    ///
    /// # Errors
    /// 409 naming what is missing and who can give it, 403 if somebody else has to do it.
    pub async fn act(self, context: PromoteContext<'_>, id: &str) -> ApiResult<PromotionView> {
        let by = context.gate.catalog.signer();
        let (note, reason) = (self.reason.clone(), self.reason.unwrap_or_default());
        let action = match self.action.as_str() {
            "review" => Action::Review { by, note },
            "waive" => Action::Waive { by, reason },
            "approve" => Action::Approve { by, note },
            "start" => Action::Start,
            "rollback" => Action::Rollback { by, reason },
            "abandon" => Action::Abandon,
            "change-version" => {
                let named = self.version.ok_or_else(|| {
                    ApiError::Invalid("version: name the new agent version".to_owned())
                })?;
                Action::ChangeVersion { version: named, by }
            }
            _ => {
                let why = "action: must be review, waive, approve, start, rollback, \
                           change-version or abandon";
                return Err(ApiError::Invalid(why.to_owned()));
            }
        };
        let stored = promote::act(context, id, action).await?;
        view(context, stored).await
    }
}

/// Returns a promotion, with what people said about its gate's items meanwhile.
///
/// # Errors
/// 404 if there is none.
pub async fn shown(context: PromoteContext<'_>, id: &str) -> ApiResult<PromotionView> {
    let (catalog, project) = (context.gate.catalog, context.gate.project.clone());
    let stored = catalog.promotion(project, id.to_owned()).await?;
    view(context, stored).await
}

/// Returns promotions, newest first.
///
/// # Errors
/// Fails only when the database does.
pub async fn listed(
    context: PromoteContext<'_>,
    request: PromotionsRequest,
) -> ApiResult<PromotionsView> {
    let query = PromotionQuery {
        project: context.gate.project.clone(),
        agent: request.agent,
        page: PageNumber {
            page: request.page.unwrap_or(1).max(1),
            limit: page_size(request.limit)?,
        },
    };
    let page = context.gate.catalog.promotions(query).await?;
    let mut promotions = Vec::new();
    for stored in page.rows {
        promotions.push(view(context, stored).await?);
    }
    Ok(PromotionsView { promotions, total: page.total.unwrap_or(0) })
}

async fn view(context: PromoteContext<'_>, stored: StoredPromotion) -> ApiResult<PromotionView> {
    let GateContext { catalog, project, server, .. } = context.gate;
    let responsible = catalog.responsible(project.clone(), stored.promotion.agent.clone()).await?;
    let criteria = stored.promotion.criteria(&responsible);
    let Promotion { agent, version, environment, dataset, author, state, .. } = stored.promotion;
    let url = format!("{server}/project/{project}/promotions/{}", stored.id);
    Ok(PromotionView {
        id: stored.id,
        agent,
        version,
        environment,
        dataset,
        author: author.name,
        state: state.as_str().to_owned(),
        criteria,
        evidence: stored.promotion.evidence,
        before: stored.promotion.before,
        live_at: stored.promotion.live_at.map(|at| Timestamp::from_nanos(at).to_string()),
        watch: stored.promotion.watch,
        outcome: stored.promotion.outcome,
        created_at: stored.created_at.to_string(),
        updated_at: stored.updated_at.to_string(),
        url: Some(url).filter(|_| !server.is_empty()),
    })
}

/// `GET /api/v1/projects/{project}/promotions`: promotions, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/promotions",
    tag = "Promotions",
    params(ProjectParam, PromotionsRequest),
    responses((status = 200, body = PromotionsView))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
    origin: Origin,
    uri: Uri,
) -> ApiResult<Json<PromotionsView>> {
    own_project(&caller, &project)?;
    let (catalog, server) = (caller.catalog(&app), origin.to_string());
    let context = context(&app, &catalog, (&project, &server));
    Ok(Json(listed(context, asked(&uri)?).await?))
}

/// `POST /api/v1/projects/{project}/promotions`: creates a promotion of an agent version.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/promotions",
    tag = "Promotions",
    params(ProjectParam),
    request_body = NewPromotionRequest,
    responses((status = 200, body = PromotionView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    PathProject(project): PathProject,
    origin: Origin,
    JsonBody(request): JsonBody<NewPromotionRequest>,
) -> ApiResult<Json<PromotionView>> {
    own_project(&caller, &project)?;
    let (catalog, server) = (caller.catalog(&app), origin.to_string());
    Ok(Json(request.create(context(&app, &catalog, (&project, &server))).await?))
}

/// `GET /api/v1/projects/{project}/promotions/{promotion}`: a promotion with its six criteria.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/promotions/{promotion}",
    tag = "Promotions",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("promotion" = String, Path, description = "The promotion's id."),
    ),
    responses((status = 200, body = PromotionView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, id)): Path<(String, String)>,
    origin: Origin,
) -> ApiResult<Json<PromotionView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let (catalog, server) = (caller.catalog(&app), origin.to_string());
    Ok(Json(shown(context(&app, &catalog, (&project, &server)), &id).await?))
}

/// `POST /api/v1/projects/{project}/promotions/{promotion}/evidence`: attaches results of tool tests
/// or a gate's decision.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/promotions/{promotion}/evidence",
    tag = "Promotions",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("promotion" = String, Path, description = "The promotion's id."),
    ),
    request_body = EvidenceRequest,
    responses((status = 200, body = PromotionView))
)]
pub(super) async fn give(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, id)): Path<(String, String)>,
    origin: Origin,
    JsonBody(request): JsonBody<EvidenceRequest>,
) -> ApiResult<Json<PromotionView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let (catalog, server) = (caller.catalog(&app), origin.to_string());
    let context = context(&app, &catalog, (&project, &server));
    Ok(Json(request.give(context, &id).await?))
}

/// `POST /api/v1/projects/{project}/promotions/{promotion}/actions`: reviews, waives, approves,
/// starts, rolls back or abandons a promotion, or changes its version.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/promotions/{promotion}/actions",
    tag = "Promotions",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("promotion" = String, Path, description = "The promotion's id."),
    ),
    request_body = PromotionActionRequest,
    responses((status = 200, body = PromotionView))
)]
pub(super) async fn act(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, id)): Path<(String, String)>,
    origin: Origin,
    JsonBody(request): JsonBody<PromotionActionRequest>,
) -> ApiResult<Json<PromotionView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let (catalog, server) = (caller.catalog(&app), origin.to_string());
    let context = context(&app, &catalog, (&project, &server));
    Ok(Json(request.act(context, &id).await?))
}

fn context<'a>(
    app: &'a App,
    catalog: &'a Catalog,
    (project, server): (&'a ProjectId, &'a str),
) -> PromoteContext<'a> {
    let now = app.clock.now();
    let gate = GateContext { store: &app.store, catalog, project, server, now };
    PromoteContext { gate, can_deploy: app.state.can_deploy() }
}
