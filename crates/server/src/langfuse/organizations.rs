//! The organization is this server: its projects, its owners' keys, and its users.

use axum::Json;
use axum::extract::State;
use ratchet_remote::langfuse::wire::administration::{
    ApiKeys, MembershipEnd, MembershipEnded, MembershipRequest, MembershipRole, MembershipView,
    Memberships, OrganizationProject, OrganizationProjects,
};
use ratchet_remote::langfuse::wire::json::raw;
use ratchet_store::catalog::{Permission, Role, User};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::api_keys::key_view;
use super::json_fields::JsonFields;
use super::path::PathOf;
use super::projects::project_at;
use crate::app::App;
use crate::auth::Administrator;
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(projects))
        .routes(routes!(api_keys))
        .routes(routes!(people, set_role, remove))
        .routes(routes!(members, set_member, end_member))
}

/// `GET /api/public/organizations/projects`: all projects of the server.
#[utoipa::path(
    get,
    path = "/api/public/organizations/projects",
    tag = "Organizations",
    responses((status = 200, body = OrganizationProjects))
)]
pub(super) async fn projects(
    State(app): State<App>,
    _: Administrator,
) -> ApiResult<Json<OrganizationProjects>> {
    let mut projects = Vec::new();
    for project in app.store.catalog.projects().await? {
        let note = app.store.catalog.project_note(project.id.clone()).await?;
        let updated_at = note.as_ref().map_or(project.created_at, |note| note.updated_at);
        projects.push(OrganizationProject {
            id: project.id.to_string(),
            name: project.name,
            metadata: note.map(|note| raw(&note.metadata)),
            created_at: project.created_at.into(),
            updated_at: updated_at.into(),
        });
    }
    Ok(Json(OrganizationProjects { projects }))
}

/// `GET /api/public/organizations/apiKeys`: the keys that administer the server, which are the
/// owners'.
#[utoipa::path(
    get,
    path = "/api/public/organizations/apiKeys",
    tag = "Organizations",
    responses((status = 200, body = ApiKeys))
)]
pub(super) async fn api_keys(State(app): State<App>, _: Administrator) -> ApiResult<Json<ApiKeys>> {
    let mut api_keys = Vec::new();
    for project in app.store.catalog.projects().await? {
        let keys = app.store.catalog.keys(project.id).await?;
        let administering =
            keys.into_iter().filter(|key| key.permissions.has(Permission::Administration));
        api_keys.extend(administering.map(key_view));
    }
    Ok(Json(ApiKeys { api_keys }))
}

/// `GET /api/public/organizations/memberships`: all users.
#[utoipa::path(
    get,
    path = "/api/public/organizations/memberships",
    tag = "Organizations",
    responses((status = 200, body = Memberships))
)]
pub(super) async fn people(
    State(app): State<App>,
    _: Administrator,
) -> ApiResult<Json<Memberships>> {
    let users = app.store.catalog.users().await?;
    let memberships = users.into_iter().map(|user| view(user.role, user)).collect();
    Ok(Json(Memberships { memberships }))
}

/// `PUT /api/public/organizations/memberships`: sets a user's role on the whole server.
#[utoipa::path(
    put,
    path = "/api/public/organizations/memberships",
    tag = "Organizations",
    request_body = MembershipRequest,
    responses((status = 200, body = MembershipView))
)]
pub(super) async fn set_role(
    State(app): State<App>,
    Administrator(caller): Administrator,
    JsonFields(request): JsonFields<MembershipRequest>,
) -> ApiResult<Json<MembershipView>> {
    let role = role(request.role)?;
    let user = caller.catalog(&app).set_role(request.user_id, role, app.clock.now()).await?;
    Ok(Json(view(role, user)))
}

/// `DELETE /api/public/organizations/memberships`: deletes a user from the server.
#[utoipa::path(
    delete,
    path = "/api/public/organizations/memberships",
    tag = "Organizations",
    request_body = MembershipEnd,
    responses((status = 200, body = MembershipEnded))
)]
pub(super) async fn remove(
    State(app): State<App>,
    Administrator(caller): Administrator,
    JsonFields(request): JsonFields<MembershipEnd>,
) -> ApiResult<Json<MembershipEnded>> {
    caller.catalog(&app).delete_user(request.user_id.clone(), app.clock.now()).await?;
    Ok(Json(ended(request.user_id)))
}

/// `GET /api/public/projects/{projectId}/memberships`: the members of a project.
#[utoipa::path(
    get,
    path = "/api/public/projects/{project}/memberships",
    tag = "Organizations",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, body = Memberships))
)]
pub(super) async fn members(
    State(app): State<App>,
    _: Administrator,
    PathOf(project): PathOf<String>,
) -> ApiResult<Json<Memberships>> {
    let found = app.store.catalog.memberships(project_at(&project)?).await?;
    let memberships = found.into_iter().map(|member| view(member.role, member.user)).collect();
    Ok(Json(Memberships { memberships }))
}

/// `PUT /api/public/projects/{projectId}/memberships`: sets a user's role in a project.
#[utoipa::path(
    put,
    path = "/api/public/projects/{project}/memberships",
    tag = "Organizations",
    params(("project" = String, Path, description = "The project's id.")),
    request_body = MembershipRequest,
    responses((status = 200, body = MembershipView))
)]
pub(super) async fn set_member(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathOf(project): PathOf<String>,
    JsonFields(request): JsonFields<MembershipRequest>,
) -> ApiResult<Json<MembershipView>> {
    let (project, role) = (project_at(&project)?, role(request.role)?);
    let member = caller
        .catalog(&app)
        .set_membership(project, request.user_id, role, app.clock.now())
        .await?;
    Ok(Json(view(role, member.user)))
}

/// `DELETE /api/public/projects/{projectId}/memberships`: removes a user from a project.
#[utoipa::path(
    delete,
    path = "/api/public/projects/{project}/memberships",
    tag = "Organizations",
    params(("project" = String, Path, description = "The project's id.")),
    request_body = MembershipEnd,
    responses((status = 200, body = MembershipEnded))
)]
pub(super) async fn end_member(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathOf(project): PathOf<String>,
    JsonFields(request): JsonFields<MembershipEnd>,
) -> ApiResult<Json<MembershipEnded>> {
    let project = project_at(&project)?;
    caller.catalog(&app).end_membership(project, request.user_id.clone(), app.clock.now()).await?;
    Ok(Json(ended(request.user_id)))
}

fn ended(user_id: String) -> MembershipEnded {
    MembershipEnded { message: "membership deleted".to_owned(), user_id }
}

fn role(role: MembershipRole) -> ApiResult<Role> {
    match role {
        MembershipRole::Owner => Ok(Role::Owner),
        MembershipRole::Member => Ok(Role::Member),
        MembershipRole::Viewer => Ok(Role::Viewer),
        MembershipRole::Admin => {
            Err(ApiError::Invalid("role: must be OWNER, MEMBER or VIEWER".to_owned()))
        }
    }
}

fn view(role: Role, user: User) -> MembershipView {
    let role = match role {
        Role::Owner => MembershipRole::Owner,
        Role::Member => MembershipRole::Member,
        Role::Viewer | Role::Reviewer | Role::IngestOnly => MembershipRole::Viewer,
    };
    let name = user.name.unwrap_or_else(|| user.email.clone());
    MembershipView { user_id: user.id, role, name, email: user.email }
}
