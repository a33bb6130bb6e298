use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use ratchet_core::improve::backlog::{
    GateLink, PromptVersion, ProposalAction, ProposalContent, ProposalRefused, ProposalRejection,
    ProposalSource, ProposalState, RejectionKind,
};
use ratchet_core::improve::diagnosis::Component;
use ratchet_core::improve::value::ProposalValue;
use ratchet_core::time::Timestamp;
use ratchet_stages::improve::backlog::{self, BacklogError};
use ratchet_store::catalog::{Catalog, ProposalQuery, StoredProposal};
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
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(act))
        .routes(routes!(value))
}

/// A proposal of the backlog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposalView {
    /// The proposal's id: the same in every week.
    pub id: String,
    /// How far it is: `new`, `accepted`, `in-experiment`, `gated`, `promoted` or `rejected`.
    pub state: String,
    /// Component, agent, title, change, evidence, impact, effort, priority and files.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub content: ProposalContent,
    /// The prompt version that has its change; null until there is one.
    #[schema(value_type = Option<Object>)]
    pub prompt_version: Option<PromptVersion>,
    /// The last gate on a run of that version; null until then.
    #[schema(value_type = Option<Object>)]
    pub gate: Option<GateLink>,
    /// Id of the promotion that brought it to users; null until then.
    pub promotion: Option<String>,
    /// Why it was rejected; null if it was not.
    #[schema(value_type = Option<Object>)]
    pub rejection: Option<ProposalRejection>,
    /// First day of the week that showed it first.
    pub first_week: String,
    /// First day of the week that showed it last.
    pub last_week: String,
    /// What became of it, oldest first; empty in lists.
    pub steps: Vec<ProposalStepView>,
    /// When it was found, RFC 3339.
    pub created_at: String,
    /// When it was last changed, RFC 3339.
    pub updated_at: String,
    /// URL of its page; null without a server.
    pub url: Option<String>,
}

/// A change of a proposal's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProposalStepView {
    /// The state that it came to.
    pub state: String,
    /// What was said of it.
    pub note: Option<String>,
    /// Who did it.
    pub actor: String,
    /// When, RFC 3339.
    pub at: String,
}

/// Proposals, highest priority first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProposalsView {
    /// A page of them.
    pub proposals: Vec<ProposalView>,
    /// All that match.
    pub total: u64,
}

/// Which proposals.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ProposalsRequest {
    /// Only about this agent.
    pub agent: Option<String>,
    /// Only in this state.
    pub state: Option<String>,
    /// Only about `prompt`, `tool`, `model`, `knowledge` or `judge`.
    pub component: Option<String>,
    /// Only of `failures`, `weekly-report`, `calibration` or `agent`.
    pub source: Option<String>,
    /// Page number, from 1.
    pub page: Option<u64>,
    /// Page size, 50 by default.
    pub limit: Option<u64>,
}

/// What to do with a proposal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProposalActionRequest {
    /// `accept`, `reject`, `reopen`, `experiment` or `done`.
    pub action: String,
    /// For a rejection: `wrong`, `unhelpful` or `declined` (the default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Why, for a rejection; a note for `done`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For an experiment: the prompt to change; by default the one that the evidence used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// For an experiment: a version of the prompt that has the change already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

impl From<BacklogError> for ApiError {
    fn from(error: BacklogError) -> Self {
        match error {
            BacklogError::Refused(refused @ ProposalRefused::State { .. }) => {
                Self::Conflict(refused.to_string())
            }
            BacklogError::Refused(refused @ ProposalRefused::Invalid { .. }) => {
                Self::Invalid(refused.to_string())
            }
            BacklogError::Invalid { .. } => Self::Invalid(error.to_string()),
            BacklogError::Store(error) => error.into(),
        }
    }
}

/// Where proposals are, and who acts.
#[derive(Clone, Copy, Debug)]
pub struct BacklogContext<'a> {
    pub catalog: &'a Catalog,
    pub project: &'a ProjectId,
    /// Public URL of the server, without a slash at the end; empty for a data folder.
    pub server: &'a str,
    pub now: Timestamp,
}

impl ProposalActionRequest {
    /// Does it.
    ///
    /// # Errors
    /// 400 naming the field, 404, or 409 naming what to do first.
    pub async fn act(self, context: BacklogContext<'_>, id: &str) -> ApiResult<ProposalView> {
        let of = (context.catalog, context.project);
        let stored = match self.action.as_str() {
            "experiment" => self.experiment(context, id).await?,
            _ => {
                let action = self.checked()?;
                backlog::act(of, id, action, context.now).await?
            }
        };
        Ok(view(stored, context))
    }

    async fn experiment(
        self,
        context: BacklogContext<'_>,
        id: &str,
    ) -> Result<StoredProposal, BacklogError> {
        let (of, now) = ((context.catalog, context.project), context.now);
        match (self.prompt, self.version) {
            (Some(name), Some(version)) => {
                backlog::link_version(of, id, PromptVersion { name, version }, now).await
            }
            (None, Some(_)) => {
                let problem = "name the prompt of the version".to_owned();
                Err(BacklogError::Invalid { field: "prompt", problem })
            }
            (prompt, None) => {
                let by = context.catalog.signer().name;
                backlog::open_experiment(of, id, (prompt, by), now).await
            }
        }
    }

    fn checked(&self) -> ApiResult<ProposalAction> {
        let reason = self.reason.clone();
        match self.action.as_str() {
            "accept" => Ok(ProposalAction::Accept),
            "reopen" => Ok(ProposalAction::Reopen),
            "done" => Ok(ProposalAction::Done { note: reason }),
            "reject" => {
                let kind = self.kind.as_deref().unwrap_or(RejectionKind::Declined.as_str());
                let kind = RejectionKind::parse(kind).ok_or_else(|| {
                    ApiError::Invalid("kind: must be wrong, unhelpful or declined".to_owned())
                })?;
                let reason = reason.unwrap_or_default();
                Ok(ProposalAction::Reject(ProposalRejection { kind, reason }))
            }
            _ => {
                let why = "action: must be accept, reject, reopen, experiment or done";
                Err(ApiError::Invalid(why.to_owned()))
            }
        }
    }
}

/// Returns a proposal with its steps.
///
/// # Errors
/// 404 if there is none.
pub async fn shown(context: BacklogContext<'_>, id: &str) -> ApiResult<ProposalView> {
    let stored = context.catalog.proposal(context.project.clone(), id.to_owned()).await?;
    Ok(view(stored, context))
}

/// Returns proposals, highest priority first.
///
/// # Errors
/// 400 naming the parameter.
pub async fn listed(
    context: BacklogContext<'_>,
    request: ProposalsRequest,
) -> ApiResult<ProposalsView> {
    let page =
        PageNumber { page: request.page.unwrap_or(1).max(1), limit: page_size(request.limit)? };
    let query = ProposalQuery {
        agent: request.agent,
        state: one_of("state", request.state, ProposalState::parse)?,
        component: one_of("component", request.component, Component::parse)?,
        source: one_of("source", request.source, ProposalSource::parse)?,
        ..ProposalQuery::all(context.project.clone(), page)
    };
    let page = context.catalog.proposals(query).await?;
    let proposals = page.rows.into_iter().map(|stored| view(stored, context)).collect();
    Ok(ProposalsView { proposals, total: page.total.unwrap_or(0) })
}

fn one_of<T>(
    name: &str,
    given: Option<String>,
    parse: impl Fn(&str) -> Option<T>,
) -> ApiResult<Option<T>> {
    let read = |word: String| {
        parse(&word).ok_or_else(|| ApiError::Invalid(format!("{name}: there is no such {name}")))
    };
    given.map(read).transpose()
}

fn view(stored: StoredProposal, context: BacklogContext<'_>) -> ProposalView {
    let BacklogContext { project, server, .. } = context;
    let url = format!("{server}/project/{project}/proposals/{}", stored.id);
    let step = |step: ratchet_store::catalog::ProposalStep| ProposalStepView {
        state: step.state.as_str().to_owned(),
        note: step.note,
        actor: step.actor,
        at: step.at.to_string(),
    };
    ProposalView {
        id: stored.id,
        state: stored.status.state.as_str().to_owned(),
        content: stored.content,
        prompt_version: stored.status.prompt,
        gate: stored.status.gate,
        promotion: stored.status.promotion,
        rejection: stored.status.rejection,
        first_week: stored.first_week,
        last_week: stored.last_week,
        steps: stored.steps.into_iter().map(step).collect(),
        created_at: stored.created_at.to_string(),
        updated_at: stored.updated_at.to_string(),
        url: Some(url).filter(|_| !server.is_empty()),
    }
}

/// `GET /api/v1/projects/{project}/proposals`: the backlog, highest priority first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/proposals",
    tag = "Proposals",
    params(ProjectParam, ProposalsRequest),
    responses((status = 200, body = ProposalsView))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
    origin: Origin,
    uri: Uri,
) -> ApiResult<Json<ProposalsView>> {
    own_project(&caller, &project)?;
    let (catalog, server, now) = (caller.catalog(&app), origin.to_string(), app.clock.now());
    let context = BacklogContext { catalog: &catalog, project: &project, server: &server, now };
    Ok(Json(listed(context, asked(&uri)?).await?))
}

/// `GET /api/v1/projects/{project}/proposals/{proposal}`: a proposal with what became of it.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/proposals/{proposal}",
    tag = "Proposals",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("proposal" = String, Path, description = "The proposal's id."),
    ),
    responses((status = 200, body = ProposalView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, id)): Path<(String, String)>,
    origin: Origin,
) -> ApiResult<Json<ProposalView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let (catalog, server, now) = (caller.catalog(&app), origin.to_string(), app.clock.now());
    let context = BacklogContext { catalog: &catalog, project: &project, server: &server, now };
    Ok(Json(shown(context, &id).await?))
}

/// `POST /api/v1/projects/{project}/proposals/{proposal}/actions`: accepts, rejects or reopens a
/// proposal, opens its experiment, or notes that its change was made elsewhere.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/proposals/{proposal}/actions",
    tag = "Proposals",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("proposal" = String, Path, description = "The proposal's id."),
    ),
    request_body = ProposalActionRequest,
    responses((status = 200, body = ProposalView))
)]
pub(super) async fn act(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, id)): Path<(String, String)>,
    origin: Origin,
    JsonBody(request): JsonBody<ProposalActionRequest>,
) -> ApiResult<Json<ProposalView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let (catalog, server, now) = (caller.catalog(&app), origin.to_string(), app.clock.now());
    let context = BacklogContext { catalog: &catalog, project: &project, server: &server, now };
    shown(context, &id).await?;
    Ok(Json(request.act(context, &id).await?))
}

/// `GET /api/v1/projects/{project}/proposal-value`: what proposals were worth.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/proposal-value",
    tag = "Proposals",
    params(ProjectParam),
    responses((status = 200, body = Object))
)]
pub(super) async fn value(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
) -> ApiResult<Json<ProposalValue>> {
    own_project(&caller, &project)?;
    Ok(Json(backlog::value(&caller.catalog(&app), &project).await?))
}
