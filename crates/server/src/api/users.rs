use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ratchet_core::catalog::account::{Email, PASSWORD_CHARS, is_password};
use ratchet_core::catalog::validation;
use ratchet_core::secret::Secret;
use ratchet_store::catalog::{NewUser, Role, User};
use ratchet_store::secrets::random_token;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::projects::project_id;
use crate::app::App;
use crate::auth::Administrator;
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};

/// A person who may sign in, as clients see them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    /// Their id.
    pub id: String,
    /// What they sign in as.
    pub email: String,
    /// What they are called, if they said.
    pub name: Option<String>,
    /// What they may do.
    pub role: String,
    /// Since when, RFC 3339.
    pub created_at: String,
}

impl From<User> for UserView {
    fn from(user: User) -> Self {
        Self {
            id: user.id,
            email: user.email,
            name: user.name,
            role: user.role.as_str().to_owned(),
            created_at: user.created_at.to_string(),
        }
    }
}

/// A person and the password that was made for them, as clients see it this once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserWithPassword {
    /// The person.
    #[serde(flatten)]
    pub user: UserView,
    /// A password made just now; null if the client chose it. A plain text because this is the one
    /// answer that must show it.
    pub password: Option<String>,
}

/// A person to be made, as clients ask for it.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UserRequest {
    /// What they sign in as.
    pub email: String,
    /// What they are called.
    pub name: Option<String>,
    /// What they may do: owner, member or viewer.
    pub role: String,
    /// Which project they work in; owners work in all of them.
    pub project_id: Option<String>,
    /// What they sign in with; a random one when left out.
    pub password: Option<String>,
}

/// A password to be set, as clients ask for it.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PasswordRequest {
    /// What they sign in with from now on; a random one when left out.
    pub password: Option<String>,
}

/// A password, and whether it is ours to tell.
#[derive(Clone, Debug)]
pub struct ChosenPassword {
    pub password: Secret,
    /// The same if it was made just now.
    pub made: Option<Secret>,
}

impl ChosenPassword {
    /// Puts the password beside its person if it was made just now.
    pub fn shown_with(&self, user: User) -> UserWithPassword {
        let password = self.made.as_ref().map(|made| made.expose().to_owned());
        UserWithPassword { user: user.into(), password }
    }
}

impl PasswordRequest {
    /// Checks the password, or makes one.
    ///
    /// # Errors
    /// 400 if it is too short or too long.
    pub fn check(self) -> ApiResult<ChosenPassword> {
        match self.password.map(Secret::new) {
            Some(password) if is_password(password.expose()) => {
                Ok(ChosenPassword { password, made: None })
            }
            Some(_) => {
                let (least, most) = (PASSWORD_CHARS.start(), PASSWORD_CHARS.end());
                Err(ApiError::Invalid(format!("password: {least} to {most} characters")))
            }
            None => {
                let password = random_token()?;
                Ok(ChosenPassword { made: Some(password.clone()), password })
            }
        }
    }
}

impl UserRequest {
    /// Checks the request and fills in what was left out.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn check(self) -> ApiResult<(NewUser, ChosenPassword)> {
        let invalid = |why: &str| ApiError::Invalid(why.to_owned());
        let email = Email::parse(&self.email).ok_or_else(|| invalid("email: no email address"))?;
        let role = Role::parse(&self.role).filter(|role| *role != Role::IngestOnly);
        let role = role.ok_or_else(|| invalid("role: owner, member or viewer"))?;
        let name = validation::person_name(self.name)?;
        let project = self.project_id.map(|id| project_id(&id)).transpose()?;
        let chosen = PasswordRequest { password: self.password }.check()?;
        let password = chosen.password.clone();
        Ok((NewUser { email, name, password, role, project }, chosen))
    }
}

/// `GET /api/v1/users`: everyone who may sign in.
#[utoipa::path(
    get,
    path = "/api/v1/users",
    tag = "Administration",
    responses((status = 200, body = Vec<UserView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    _: Administrator,
) -> ApiResult<Json<Vec<UserView>>> {
    let users = app.store.catalog.users().await?;
    Ok(Json(users.into_iter().map(UserView::from).collect()))
}

/// `POST /api/v1/users`: makes a person who may sign in.
#[utoipa::path(
    post,
    path = "/api/v1/users",
    tag = "Administration",
    request_body = UserRequest,
    responses((status = 201, body = UserWithPassword))
)]
pub(super) async fn create(
    State(app): State<App>,
    Administrator(caller): Administrator,
    JsonBody(request): JsonBody<UserRequest>,
) -> ApiResult<(StatusCode, Json<UserWithPassword>)> {
    let (new, chosen) = request.check()?;
    let user = caller.catalog(&app).create_user(new, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(chosen.shown_with(user))))
}

/// `PUT /api/v1/users/{user}/password`: sets what a person signs in with, and signs them out
/// everywhere.
#[utoipa::path(
    put,
    path = "/api/v1/users/{user}/password",
    tag = "Administration",
    params(("user" = String, Path, description = "The person's id or email.")),
    request_body = PasswordRequest,
    responses((status = 200, body = UserWithPassword))
)]
pub(super) async fn set_password(
    State(app): State<App>,
    Administrator(caller): Administrator,
    Path(user): Path<String>,
    JsonBody(request): JsonBody<PasswordRequest>,
) -> ApiResult<Json<UserWithPassword>> {
    let chosen = request.check()?;
    let user = app.store.catalog.user(user).await?;
    let no_session = None;
    caller
        .catalog(&app)
        .set_password(user.id.clone(), chosen.password.clone(), no_session, app.clock.now())
        .await?;
    Ok(Json(chosen.shown_with(user)))
}

/// `DELETE /api/v1/users/{user}`: removes a person; what they said stays.
#[utoipa::path(
    delete,
    path = "/api/v1/users/{user}",
    tag = "Administration",
    params(("user" = String, Path, description = "The person's id or email.")),
    responses((status = 200, body = UserView))
)]
pub(super) async fn remove(
    State(app): State<App>,
    Administrator(caller): Administrator,
    Path(user): Path<String>,
) -> ApiResult<Json<UserView>> {
    let user = app.store.catalog.user(user).await?;
    caller.catalog(&app).delete_user(user.id.clone(), app.clock.now()).await?;
    Ok(Json(user.into()))
}
