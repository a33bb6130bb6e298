use axum::Json;
use axum::extract::{Path, State};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::catalog::agent::{AgentSettings, AgentTargets};
use ratchet_core::time::Timestamp;
use ratchet_stages::review::agents::{self, AgentWindow};
use ratchet_store::Store;
use ratchet_store::catalog::Agent;
use ratchet_store::project::ProjectId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathProject, ProjectParam};
use super::projects::project_id;
use crate::app::App;
use crate::auth::{Caller, Member, Reader};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};

/// An agent of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// The name that traces have.
    pub name: String,
    /// Other names in traces that mean this agent.
    pub aliases: Vec<String>,
    /// The person or team responsible for it.
    pub owner: Option<String>,
    /// The people on call, a week each, in order.
    pub on_call: Vec<String>,
    /// Who is on call this week; null without a rota.
    pub on_call_now: Option<String>,
    /// Its environments.
    pub environments: Vec<String>,
    /// The name of its review queue.
    pub queue: String,
    /// Its datasets.
    pub datasets: Vec<String>,
    /// The targets of its weekly metrics.
    pub targets: TargetsView,
    /// Traces that people review per week.
    pub review_capacity: u32,
    /// When it was created, RFC 3339.
    pub created_at: String,
    /// When it was last changed, RFC 3339.
    pub updated_at: String,
}

/// The targets of an agent's weekly metrics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TargetsView {
    /// Share of reviewed traces that are correct.
    pub agent_accuracy: f64,
    /// Share of reviewed traces where judge and person agree.
    pub judge_accuracy: f64,
    /// Share of thumbs up.
    pub user_satisfaction: f64,
    /// Reviewed traces per week.
    pub traces_reviewed: u32,
}

impl Default for TargetsView {
    fn default() -> Self {
        AgentTargets::default().into()
    }
}

impl From<AgentTargets> for TargetsView {
    fn from(targets: AgentTargets) -> Self {
        let AgentTargets { agent_accuracy, judge_accuracy, user_satisfaction, traces_reviewed } =
            targets;
        Self { agent_accuracy, judge_accuracy, user_satisfaction, traces_reviewed }
    }
}

impl From<TargetsView> for AgentTargets {
    fn from(targets: TargetsView) -> Self {
        let TargetsView { agent_accuracy, judge_accuracy, user_satisfaction, traces_reviewed } =
            targets;
        Self { agent_accuracy, judge_accuracy, user_satisfaction, traces_reviewed }
    }
}

/// Settings of an agent. What is left out is not changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentRequest {
    /// Other names in traces that mean this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aliases: Option<Vec<String>>,
    /// The person or team responsible for it; empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The people on call, a week each, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_call: Option<Vec<String>>,
    /// Its environments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<String>>,
    /// The name of its review queue; empty for the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Its datasets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datasets: Option<Vec<String>>,
    /// Share of reviewed traces that are correct, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_accuracy: Option<f64>,
    /// Share of reviewed traces where judge and person agree, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_accuracy: Option<f64>,
    /// Share of thumbs up, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_satisfaction: Option<f64>,
    /// Reviewed traces per week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traces_reviewed: Option<u32>,
    /// Traces that people review per week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_capacity: Option<u32>,
}

impl AgentRequest {
    /// The settings after this change.
    fn onto(self, settings: AgentSettings) -> AgentSettings {
        let was = settings.targets;
        AgentSettings {
            aliases: self.aliases.unwrap_or(settings.aliases),
            owner: self.owner.or(settings.owner),
            on_call: self.on_call.unwrap_or(settings.on_call),
            environments: self.environments.unwrap_or(settings.environments),
            queue: self.queue.or(settings.queue),
            datasets: self.datasets.unwrap_or(settings.datasets),
            targets: AgentTargets {
                agent_accuracy: self.agent_accuracy.unwrap_or(was.agent_accuracy),
                judge_accuracy: self.judge_accuracy.unwrap_or(was.judge_accuracy),
                user_satisfaction: self.user_satisfaction.unwrap_or(was.user_satisfaction),
                traces_reviewed: self.traces_reviewed.unwrap_or(was.traces_reviewed),
            },
            review_capacity: self.review_capacity.unwrap_or(settings.review_capacity),
        }
    }
}

impl AgentView {
    /// The view of an agent in a project with this number of agents.
    pub fn new(agent: Agent, agents: usize, now: Timestamp) -> Self {
        let week = Week::of(now, &Zone::of_this_machine());
        let Agent { name, settings, created_at, updated_at } = agent;
        Self {
            queue: settings.queue_name(&name, agents),
            on_call_now: settings.on_call_in(&week).map(str::to_owned),
            name,
            aliases: settings.aliases,
            owner: settings.owner,
            on_call: settings.on_call,
            environments: settings.environments,
            datasets: settings.datasets,
            targets: settings.targets.into(),
            review_capacity: settings.review_capacity,
            created_at: created_at.to_string(),
            updated_at: updated_at.to_string(),
        }
    }
}

/// Agents of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentsView {
    /// By name.
    pub agents: Vec<AgentView>,
}

/// A deleted agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeletedAgent {
    /// The agent's name.
    pub deleted: String,
}

/// Returns the agents of a project; if it has none, looks for them in its traces first.
///
/// # Errors
/// Fails only when the database does.
pub async fn agents_of(
    store: &Store,
    project: ProjectId,
    now: Timestamp,
) -> ApiResult<Vec<AgentView>> {
    let mut found = store.catalog.agents(project.clone()).await?;
    if found.is_empty() {
        agents::discover(store, project.clone(), AgentWindow::First, now).await?;
        found = store.catalog.agents(project).await?;
    }
    let agents = found.len();
    Ok(found.into_iter().map(|agent| AgentView::new(agent, agents, now)).collect())
}

/// Returns an agent by name or alias.
///
/// # Errors
/// Fails if there is none.
pub async fn agent_of(
    store: &Store,
    project: ProjectId,
    name: String,
    now: Timestamp,
) -> ApiResult<AgentView> {
    let agents = agents_of(store, project.clone(), now).await?.len();
    let agent = store.catalog.agent(project, name).await?;
    Ok(AgentView::new(agent, agents, now))
}

/// Creates an agent, or changes the one with this name or alias.
///
/// # Errors
/// Fails on invalid settings, naming the field.
pub async fn save_agent(
    (store, catalog): (&Store, &ratchet_store::catalog::Catalog),
    project: ProjectId,
    name: String,
    request: AgentRequest,
    now: Timestamp,
) -> ApiResult<AgentView> {
    agents_of(store, project.clone(), now).await?;
    let known = match catalog.agent(project.clone(), name.clone()).await {
        Ok(known) => Some(known),
        Err(ratchet_store::StoreError::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let name = known.as_ref().map_or(name, |known| known.name.clone());
    let settings = request.onto(known.map(|known| known.settings).unwrap_or_default());
    let settings = settings
        .checked(&name)
        .map_err(|wrong| ApiError::Invalid(format!("{}: {}", wrong.field, wrong.problem)))?;
    let agent = catalog.save_agent(project.clone(), name, settings, now).await?;
    let agents = catalog.agents(project).await?.len();
    Ok(AgentView::new(agent, agents, now))
}

/// `GET /api/v1/projects/{project}/agents`: the agents of a project, by name.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/agents",
    tag = "Agents",
    params(ProjectParam),
    responses((status = 200, body = AgentsView))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
) -> ApiResult<Json<AgentsView>> {
    own_project(&caller, &project)?;
    Ok(Json(AgentsView { agents: agents_of(&app.store, project, app.clock.now()).await? }))
}

/// `GET /api/v1/projects/{project}/agents/{agent}`: an agent by name or alias.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/agents/{agent}",
    tag = "Agents",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("agent" = String, Path, description = "The agent's name or one of its aliases."),
    ),
    responses((status = 200, body = AgentView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    Path((project, name)): Path<(String, String)>,
) -> ApiResult<Json<AgentView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    Ok(Json(agent_of(&app.store, project, name, app.clock.now()).await?))
}

/// `PUT /api/v1/projects/{project}/agents/{agent}`: creates an agent or changes its settings. An
/// agent whose name becomes an alias is merged into this one.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/agents/{agent}",
    tag = "Agents",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("agent" = String, Path, description = "The agent's name."),
    ),
    request_body = AgentRequest,
    responses((status = 200, body = AgentView))
)]
pub(super) async fn save(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, name)): Path<(String, String)>,
    JsonBody(request): JsonBody<AgentRequest>,
) -> ApiResult<Json<AgentView>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    let catalog = caller.catalog(&app);
    let saved = save_agent((&app.store, &catalog), project, name, request, app.clock.now());
    Ok(Json(saved.await?))
}

/// `DELETE /api/v1/projects/{project}/agents/{agent}`: deletes an agent's record. It is created
/// again when traces with its name arrive.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/agents/{agent}",
    tag = "Agents",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("agent" = String, Path, description = "The agent's name."),
    ),
    responses((status = 200, body = DeletedAgent))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, name)): Path<(String, String)>,
) -> ApiResult<Json<DeletedAgent>> {
    let project = project_id(&project)?;
    own_project(&caller, &project)?;
    caller.catalog(&app).delete_agent(project, name.clone(), app.clock.now()).await?;
    Ok(Json(DeletedAgent { deleted: name }))
}

/// A role covers the key's own project only; another one looks like none at all.
fn own_project(caller: &Caller, project: &ProjectId) -> ApiResult<()> {
    if caller.project == *project {
        return Ok(());
    }
    Err(ApiError::NotFound(format!("project {project} not found")))
}
