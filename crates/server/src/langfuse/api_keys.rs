use axum::Json;
use axum::extract::State;
use ratchet_core::secret::Secret;
use ratchet_remote::langfuse::wire::administration::{
    ApiKeyCreated, ApiKeyRequest, ApiKeyView, ApiKeys,
};
use ratchet_remote::langfuse::wire::queue::Success;
use ratchet_store::catalog::{ApiKey, KeyPair, NewKey};
use ratchet_store::project::ProjectId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::JsonFields;
use super::path::PathOf;
use super::projects::project_at;
use crate::api::keys::KeyRequest;
use crate::app::App;
use crate::auth::Administrator;
use crate::error::{ApiError, ApiResult};

const MIN_SECRET_CHARS: usize = 16;
const MAX_KEY_CHARS: usize = 200;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list, create)).routes(routes!(delete))
}

/// `GET /api/public/projects/{projectId}/apiKeys`: the keys of a project, without their secrets.
#[utoipa::path(
    get,
    path = "/api/public/projects/{project}/apiKeys",
    tag = "Projects",
    params(("project" = String, Path, description = "The project's id.")),
    responses((status = 200, body = ApiKeys))
)]
pub(super) async fn list(
    State(app): State<App>,
    _: Administrator,
    PathOf(project): PathOf<String>,
) -> ApiResult<Json<ApiKeys>> {
    let project = existing(&app, &project).await?;
    let keys = app.store.catalog.keys(project).await?;
    Ok(Json(ApiKeys { api_keys: keys.into_iter().map(key_view).collect() }))
}

/// `POST /api/public/projects/{projectId}/apiKeys`: creates a key; its secret is shown only once.
#[utoipa::path(
    post,
    path = "/api/public/projects/{project}/apiKeys",
    tag = "Projects",
    params(("project" = String, Path, description = "The project's id.")),
    request_body = ApiKeyRequest,
    responses((status = 200, body = ApiKeyCreated))
)]
pub(super) async fn create(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathOf(project): PathOf<String>,
    JsonFields(request): JsonFields<ApiKeyRequest>,
) -> ApiResult<Json<ApiKeyCreated>> {
    let project = existing(&app, &project).await?;
    let pair = pair(request.public_key, request.secret_key)?;
    // A member's key does all that Langfuse's do; only administration needs an owner's.
    let request = KeyRequest {
        role: request.role,
        permissions: None,
        note: request.note,
        person: request.person,
    };
    let new = request.check(project)?;
    let (key, pair) =
        caller.catalog(&app).create_key(NewKey { pair, ..new }, app.clock.now()).await?;
    let view = key_view(key);
    Ok(Json(ApiKeyCreated {
        id: view.id,
        created_at: view.created_at,
        public_key: pair.public_key,
        secret_key: pair.secret_key.expose().to_owned(),
        display_secret_key: view.display_secret_key,
        note: view.note,
    }))
}

/// `DELETE /api/public/projects/{projectId}/apiKeys/{apiKeyId}`: revokes a key.
#[utoipa::path(
    delete,
    path = "/api/public/projects/{project}/apiKeys/{key}",
    tag = "Projects",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("key" = String, Path, description = "The key's id."),
    ),
    responses((status = 200, body = Success))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathOf((project, key)): PathOf<(String, String)>,
) -> ApiResult<Json<Success>> {
    caller.catalog(&app).revoke_key(project_at(&project)?, key, app.clock.now()).await?;
    Ok(Json(Success { success: true }))
}

async fn existing(app: &App, project: &str) -> ApiResult<ProjectId> {
    let id = project_at(project)?;
    let is_there = app.store.catalog.projects().await?.iter().any(|project| project.id == id);
    let missing = || ApiError::NotFound(format!("project {project} not found"));
    is_there.then_some(id).ok_or_else(missing)
}

/// The key pair that a client chose, if any.
fn pair(public: Option<String>, secret: Option<String>) -> ApiResult<Option<KeyPair>> {
    let fits = |key: &str, start: &str, least: usize| {
        let is_plain = key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
        key.starts_with(start) && is_plain && (least..=MAX_KEY_CHARS).contains(&key.len())
    };
    match (public, secret) {
        (None, None) => Ok(None),
        (Some(public), Some(secret))
            if fits(&public, "pk-lf-", "pk-lf-".len() + 1)
                && fits(&secret, "sk-lf-", MIN_SECRET_CHARS) =>
        {
            Ok(Some(KeyPair { public_key: public, secret_key: Secret::new(secret) }))
        }
        _ => Err(ApiError::Invalid(
            "publicKey and secretKey: both or none; they begin with pk-lf- and sk-lf-, hold plain \
             ASCII without colons, and the secret has at least 16 characters"
                .to_owned(),
        )),
    }
}

/// The response form of a key.
pub(super) fn key_view(key: ApiKey) -> ApiKeyView {
    ApiKeyView {
        id: key.id,
        created_at: key.created_at.into(),
        expires_at: None,
        last_used_at: None,
        note: key.note,
        public_key: key.public_key,
        display_secret_key: format!("sk-lf-...{}", key.secret_hint),
    }
}
