use axum::Json;
use axum::extract::{Path, State};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::catalog::agent::{AgentSettings, AgentTargets};
use ratchet_core::promotion::policy::PromotionPolicy;
use ratchet_core::time::Timestamp;
use ratchet_stages::review::agents::{self, AgentWindow};
use ratchet_store::Store;
use ratchet_store::catalog::Agent;
use ratchet_store::project::ProjectId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathProject, ProjectParam};
use super::projects::{own_project, project_id};
use crate::app::App;
use crate::auth::{Member, Reader};
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
    /// The accepted share of reviews without feedback for traces that the judge flagged; null for
    /// the default split.
    #[serde(default)]
    pub flagged_share: Option<f64>,
    /// Half-width of the accuracy's 95% interval that samples are planned for.
    #[serde(default)]
    pub half_width: f64,
    /// Share of the reviews for spot checks, which count for no estimate.
    #[serde(default)]
    pub spot_share: f64,
    /// How its versions are promoted.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub promotion: PromotionPolicy,
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
    /// Share of the reviews without feedback for traces that the judge flagged, from 0 to 1; null
    /// for the default split.
    #[serde(default, skip_serializing_if = "SplitChange::is_none")]
    #[schema(value_type = Option<f64>)]
    pub flagged_share: SplitChange,
    /// Half-width of the accuracy's 95% interval that samples are planned for, between 0 and 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// Share of the reviews for spot checks, from 0 to 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spot_share: Option<f64>,
    /// How its versions are promoted; fields that are left out are not changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promotion: Option<PolicyRequest>,
}

/// How versions of an agent are promoted. What is left out is not changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyRequest {
    /// Whether the label `production` of its prompts moves only by promotion or rollback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_required: Option<bool>,
    /// Prompts of the agent, besides those of its recorded versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Vec<String>>,
    /// Who approves, by email address; its owner if empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvers: Option<Vec<String>>,
    /// Whether a second person must approve: nobody who created the promotion or reviewed its results, and no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_person: Option<bool>,
    /// Environment that is promoted to, `production` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// How long production is watched after a promotion, in hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_hours: Option<u32>,
    /// Whether a version that is significantly worse is rolled back without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automatic_rollback: Option<bool>,
    /// Whether a promotion deploys, by the operator's command or webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deploys: Option<bool>,
    /// Minimum accuracy that a gate must demand, from 0 to 1, where promotion is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_accuracy: Option<f64>,
}

impl PolicyRequest {
    fn onto(self, was: PromotionPolicy) -> PromotionPolicy {
        PromotionPolicy {
            is_required: self.is_required.unwrap_or(was.is_required),
            prompts: self.prompts.unwrap_or(was.prompts),
            approvers: self.approvers.unwrap_or(was.approvers),
            second_person: self.second_person.unwrap_or(was.second_person),
            environment: self.environment.unwrap_or(was.environment),
            watch_hours: self.watch_hours.unwrap_or(was.watch_hours),
            automatic_rollback: self.automatic_rollback.unwrap_or(was.automatic_rollback),
            deploys: self.deploys.unwrap_or(was.deploys),
            min_accuracy: self.min_accuracy.unwrap_or(was.min_accuracy),
        }
    }
}

/// What a request changes of the split of reviews without feedback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Option<f64>", into = "Option<f64>")]
pub enum SplitChange {
    #[default]
    None,
    /// Back to the default split.
    Default,
    FlaggedShare(f64),
}

impl SplitChange {
    const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

impl From<Option<f64>> for SplitChange {
    fn from(share: Option<f64>) -> Self {
        share.map_or(Self::Default, Self::FlaggedShare)
    }
}

impl From<SplitChange> for Option<f64> {
    fn from(change: SplitChange) -> Self {
        match change {
            SplitChange::None | SplitChange::Default => None,
            SplitChange::FlaggedShare(share) => Some(share),
        }
    }
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
            flagged_share: match self.flagged_share {
                SplitChange::None => settings.flagged_share,
                SplitChange::Default => None,
                SplitChange::FlaggedShare(share) => Some(share),
            },
            half_width: self.half_width.unwrap_or(settings.half_width),
            spot_share: self.spot_share.unwrap_or(settings.spot_share),
            promotion: self.promotion.unwrap_or_default().onto(settings.promotion),
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
            flagged_share: settings.flagged_share,
            half_width: settings.half_width,
            spot_share: settings.spot_share,
            promotion: settings.promotion,
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
/// agent whose name becomes an alias is merged into this one. Where promotion is required, the policy
/// and the owner are changed only by an owner of the project or by an approver.
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
/// again when traces with its name arrive. Where promotion is required, only an owner of the project or
/// an approver deletes it.
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
