use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ratchet_core::catalog::validation;
use ratchet_store::catalog::{ApiKey, KeyPair, NewKey, Permission, Permissions, Role};
use ratchet_store::project::ProjectId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathProject, ProjectParam};
use crate::app::App;
use crate::auth::Administrator;
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};

/// An API key without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    /// The key's id.
    pub id: String,
    /// The project the key belongs to.
    pub project_id: String,
    /// The public key.
    pub public_key: String,
    /// The last characters of the secret key.
    pub secret_hint: String,
    /// The role in its project.
    pub role: String,
    /// Permissions beyond the role: `chat`, `backup`, `administration`.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// What the key is used for.
    pub note: Option<String>,
    /// The email address of the user that it belongs to, with the role reviewer.
    #[serde(default)]
    pub person: Option<String>,
    /// Time of creation, RFC 3339.
    pub created_at: String,
}

impl From<ApiKey> for KeyView {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id,
            project_id: key.project.to_string(),
            public_key: key.public_key,
            secret_hint: key.secret_hint,
            role: key.role.as_str().to_owned(),
            permissions: key.permissions.iter().map(|one| one.as_str().to_owned()).collect(),
            note: key.note,
            person: key.person.map(|person| person.email),
            created_at: key.created_at.to_string(),
        }
    }
}

/// A new key with its secret, which is shown only once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewKeyView {
    /// The key.
    #[serde(flatten)]
    pub key: KeyView,
    /// The secret key, shown only in this response.
    pub secret_key: String,
}

impl From<(ApiKey, KeyPair)> for NewKeyView {
    fn from((key, pair): (ApiKey, KeyPair)) -> Self {
        Self { key: key.into(), secret_key: pair.secret_key.expose().to_owned() }
    }
}

/// A key to create.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyRequest {
    /// The role in its project: owner, member, viewer, reviewer or ingest-only. Member by default,
    /// the least privilege with which an SDK records and reads prompts and datasets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Permissions beyond the role: `chat`, `backup`, `administration`. By default, an owner's key
    /// has all of them and any other none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Vec<String>>,
    /// What the key is used for.
    pub note: Option<String>,
    /// The user whose queues a key with the role reviewer sees, by email address or id. Other keys
    /// have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
}

/// The permissions of a key.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionsRequest {
    /// `chat`, `backup`, `administration`; those not listed are revoked.
    pub permissions: Vec<String>,
}

impl PermissionsRequest {
    /// Validates the request.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn check(self) -> ApiResult<Permissions> {
        permissions(&self.permissions)
    }
}

fn permissions(words: &[String]) -> ApiResult<Permissions> {
    let read = |word: &String| {
        Permission::parse(word).ok_or_else(|| {
            let all = "chat, backup or administration";
            ApiError::Invalid(format!("permissions: {word} is none of {all}"))
        })
    };
    words.iter().map(read).collect()
}

impl KeyRequest {
    /// Validates the request.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn check(self, project: ProjectId) -> ApiResult<NewKey> {
        let role = self.role.as_deref().map_or(Some(Role::Member), Role::parse);
        let role = role.ok_or_else(|| {
            ApiError::Invalid("role: owner, member, viewer, reviewer or ingest-only".to_owned())
        })?;
        let permissions = match &self.permissions {
            Some(words) => permissions(words)?,
            None => Permissions::usual(role),
        };
        let note = validation::key_note(self.note)?;
        Ok(NewKey { project, role, permissions, note, person: self.person, pair: None })
    }
}

/// `GET /api/v1/projects/{project}/keys`: the keys of a project, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/keys",
    tag = "Administration",
    params(ProjectParam),
    responses((status = 200, body = Vec<KeyView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    _: Administrator,
    PathProject(project): PathProject,
) -> ApiResult<Json<Vec<KeyView>>> {
    let keys = app.store.catalog.keys(project).await?;
    Ok(Json(keys.into_iter().map(KeyView::from).collect()))
}

/// `POST /api/v1/projects/{project}/keys`: creates a key; its secret is shown only once.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/keys",
    tag = "Administration",
    params(ProjectParam),
    request_body = KeyRequest,
    responses((status = 201, body = NewKeyView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathProject(project): PathProject,
    JsonBody(request): JsonBody<KeyRequest>,
) -> ApiResult<(StatusCode, Json<NewKeyView>)> {
    let new = request.check(project)?;
    let made = caller.catalog(&app).create_key(new, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// `PUT /api/v1/projects/{project}/keys/{key}/permissions`: sets the permissions of a key beyond
/// its role.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/keys/{key}/permissions",
    tag = "Administration",
    params(
        ProjectParam,
        ("key" = String, Path, description = "The key's id or public key."),
    ),
    request_body = PermissionsRequest,
    responses((status = 200, body = KeyView))
)]
pub(super) async fn permit(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathProject(project): PathProject,
    Path((_, key)): Path<(String, String)>,
    JsonBody(request): JsonBody<PermissionsRequest>,
) -> ApiResult<Json<KeyView>> {
    let (catalog, now) = (caller.catalog(&app), app.clock.now());
    Ok(Json(catalog.set_permissions(project, key, request.check()?, now).await?.into()))
}

/// `DELETE /api/v1/projects/{project}/keys/{key}`: revokes a key.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/keys/{key}",
    tag = "Administration",
    params(
        ProjectParam,
        ("key" = String, Path, description = "The key's id or public key."),
    ),
    responses((status = 200, body = KeyView))
)]
pub(super) async fn revoke(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathProject(project): PathProject,
    Path((_, key)): Path<(String, String)>,
) -> ApiResult<Json<KeyView>> {
    Ok(Json(caller.catalog(&app).revoke_key(project, key, app.clock.now()).await?.into()))
}
