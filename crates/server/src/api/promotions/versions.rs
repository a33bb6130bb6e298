use axum::Json;
use axum::extract::{Path, State};
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_stages::gate::GateContext;
use ratchet_stages::promote;
use ratchet_store::catalog::{Serving, StoredAgentVersion};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{context, own_project};
use crate::api::projects::project_id;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::body::JsonBody;
use crate::error::ApiResult;

/// A recorded version of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentVersionView {
    /// The content id: the same parts have the same one.
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// Prompts, model, tools and settings.
    #[schema(value_type = Object)]
    pub content: AgentVersion,
    /// Who recorded it first.
    pub created_by: String,
    /// When it was first recorded, RFC 3339.
    pub created_at: String,
}

/// What served in an environment from a time on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServingView {
    /// The environment.
    pub environment: String,
    /// Id of the agent version; null if it was not recorded.
    pub version: Option<String>,
    /// Id of the promotion that brought it there.
    pub promotion: Option<String>,
    /// Since when, RFC 3339.
    pub since: String,
}

/// Versions of an agent, and what served where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentVersionsView {
    /// Newest first.
    pub versions: Vec<AgentVersionView>,
    /// Newest first; the first of each environment serves now.
    pub serving: Vec<ServingView>,
}

/// A version that serves in an environment now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServingRequest {
    /// Id of the agent version.
    pub version: String,
    /// The environment, such as beta.
    pub environment: String,
}

impl From<StoredAgentVersion> for AgentVersionView {
    fn from(stored: StoredAgentVersion) -> Self {
        Self {
            id: stored.id,
            agent: stored.agent,
            content: stored.version,
            created_by: stored.created_by,
            created_at: stored.created_at.to_string(),
        }
    }
}

impl From<Serving> for ServingView {
    fn from(serving: Serving) -> Self {
        let Serving { environment, version, promotion, since } = serving;
        Self { environment, version, promotion, since: since.to_string() }
    }
}

/// Returns the versions of an agent, and what served where.
///
/// # Errors
/// 404 if there is no such agent.
pub async fn of_agent(context: GateContext<'_>, agent: String) -> ApiResult<AgentVersionsView> {
    let (catalog, project) = (context.catalog, context.project);
    let agent = catalog.agent(project.clone(), agent).await?.name;
    let versions = catalog.agent_versions(project.clone(), agent.clone()).await?;
    let serving = catalog.serving_history(project.clone(), agent).await?;
    Ok(AgentVersionsView {
        versions: versions.into_iter().map(Into::into).collect(),
        serving: serving.into_iter().map(Into::into).collect(),
    })
}

/// `GET /api/v1/projects/{project}/agents/{agent}/versions`: versions of an agent, and what served
/// where.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/agents/{agent}/versions",
    tag = "Promotions",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("agent" = String, Path, description = "The agent's name or one of its aliases."),
    ),
    responses((status = 200, body = AgentVersionsView))
)]
pub(in crate::api) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, agent)): Path<(String, String)>,
) -> ApiResult<Json<AgentVersionsView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let catalog = caller.catalog(&app);
    let context = context(&app, &catalog, (&project, ""));
    Ok(Json(of_agent(context.gate, agent).await?))
}

/// `POST /api/v1/projects/{project}/agents/{agent}/versions`: records a version of an agent.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/agents/{agent}/versions",
    tag = "Promotions",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("agent" = String, Path, description = "The agent's name or one of its aliases."),
    ),
    request_body(content = Object),
    responses((status = 200, body = AgentVersionView))
)]
pub(in crate::api) async fn save(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, agent)): Path<(String, String)>,
    JsonBody(content): JsonBody<AgentVersion>,
) -> ApiResult<Json<AgentVersionView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let catalog = caller.catalog(&app);
    let context = context(&app, &catalog, (&project, ""));
    Ok(Json(promote::save_version(context.gate, &agent, content).await?.into()))
}

/// `POST /api/v1/projects/{project}/agents/{agent}/serving`: records which version serves in an
/// environment, such as after a deployment to beta.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/agents/{agent}/serving",
    tag = "Promotions",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("agent" = String, Path, description = "The agent's name or one of its aliases."),
    ),
    request_body = ServingRequest,
    responses((status = 200, body = ServingView))
)]
pub(in crate::api) async fn serve(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, agent)): Path<(String, String)>,
    JsonBody(request): JsonBody<ServingRequest>,
) -> ApiResult<Json<ServingView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let catalog = caller.catalog(&app);
    catalog.agent(project.clone(), agent).await?;
    let which = (request.version, request.environment);
    Ok(Json(catalog.record_serving(project, which, app.clock.now()).await?.into()))
}
