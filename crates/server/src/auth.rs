//! Authentication and authorization.
//!
//! A handler declares what it needs by its extractor: `Caller` for any key, `Reader`, `Recorder`,
//! `Member` or `Owner` for a role in the key's project, `QueueReader` and `QueueReviewer` for queues, `Scorer` for feedback, which also accepts a
//! public key alone. Access beyond the project takes a permission: `ChatCaller` runs agents on the
//! server's machine, `BackupOperator` copies all data, `Administrator` manages every project, its
//! keys and its users.

/// Parsing of the Authorization header.
mod credentials;
/// Keys issued to commands on this machine.
mod local_keys;
/// Origin checks for servers without authentication.
mod site;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::ORIGIN;
use axum::http::request::Parts;
use ratchet_core::chat::workspace::WorkspaceSource;
use ratchet_stages::chat::Chats;
use ratchet_stages::review::reviewer_scope::ReviewerScope;
use ratchet_store::catalog::{Actor, ApiKey, Catalog, Permission, Permissions, Role};
use ratchet_store::project::ProjectId;

use crate::app::{Access, App};
use crate::body::PublicKeyOnly;
use crate::error::{ApiError, ApiResult};
use credentials::{Credentials, unauthorized};
pub use local_keys::{LocalKey, LocalKeys};

/// The error for a reviewer's key that belongs to nobody.
const IS_NOBODYS: &str = "this key has the role reviewer and belongs to nobody; create one of a \
     person with `ratchet keys create --role reviewer --person EMAIL`, and revoke this one";

/// A client with a valid public and secret key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The key's project.
    pub project: ProjectId,
    /// The key's id, for logs and rate limits.
    pub key: String,
    /// The key's role in its project.
    pub role: Role,
    /// The id of the user whose queues it sees, with the role reviewer.
    pub person: Option<String>,
    /// The key's permissions beyond its role.
    pub permissions: Permissions,
    /// Its actor in the audit log.
    pub actor: Actor,
}

/// A caller with read access.
#[derive(Clone, Debug)]
pub struct Reader(pub Caller);

/// A caller who may read queues and the records in them. A reviewer reads those of one person: the
/// handler checks that with [`Caller::reviewer_scope`].
#[derive(Clone, Debug)]
pub struct QueueReader(pub Caller);

/// A caller who may complete queue items, a reviewer those of one person.
#[derive(Clone, Debug)]
pub struct QueueReviewer(pub Caller);

/// A caller who may write telemetry.
#[derive(Clone, Debug)]
pub struct Recorder(pub Caller);

/// The records that a caller may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventScope {
    All,
    /// Scores only: a browser that holds the public key only.
    Scores,
    /// Scores on records in the queues of a person: a reviewer's key.
    Reviews,
}

/// A caller who may write scores: a recorder, a reviewer, or a browser with only the public key.
#[derive(Clone, Debug)]
pub struct Scorer {
    pub caller: Caller,
    /// What the scores may be about.
    pub reach: EventScope,
}

/// A caller who may change project data.
#[derive(Clone, Debug)]
pub struct Member(pub Caller);

/// A caller who may change the settings of its project.
#[derive(Clone, Debug)]
pub struct Owner(pub Caller);

/// A caller who may run agents on the server's machine.
///
/// It holds the chats on behalf of the caller: a route that starts one cannot forget the permission
/// check.
#[derive(Debug)]
pub struct ChatCaller {
    pub caller: Caller,
    pub chats: Chats,
    /// Where a workspace path of this caller comes from.
    pub workspace_source: WorkspaceSource,
}

/// A caller who may back up the server.
#[derive(Clone, Debug)]
pub struct BackupOperator(pub Caller);

/// A caller who may manage every project, its keys and its users.
#[derive(Clone, Debug)]
pub struct Administrator(pub Caller);

impl Caller {
    /// The catalog on behalf of the caller, for the audit log.
    pub fn catalog(&self, app: &App) -> Catalog {
        app.store.catalog.by(self.actor.clone())
    }

    /// What a reviewer's key sees; `None` for keys that see the whole project.
    ///
    /// # Errors
    /// 403 for a key that belongs to nobody.
    pub async fn reviewer_scope<'a>(&self, app: &'a App) -> ApiResult<Option<ReviewerScope<'a>>> {
        let Some(person) = self.reviewed_person()? else { return Ok(None) };
        Ok(Some(ReviewerScope::of(&app.store, self.project.clone(), person).await?))
    }

    /// The person whose queues a reviewer's key sees; `None` for keys that see all of them.
    ///
    /// # Errors
    /// 403 for a key that belongs to nobody.
    pub fn reviewed_person(&self) -> ApiResult<Option<&str>> {
        match (self.role, &self.person) {
            (Role::Reviewer, Some(person)) => Ok(Some(person)),
            (Role::Reviewer, None) => Err(ApiError::Forbidden(IS_NOBODYS.to_owned())),
            _ => Ok(None),
        }
    }

    /// Authenticates a request and applies the key's rate limit.
    ///
    /// # Errors
    /// 401 without valid keys, 403 with only a public key, 429 beyond the rate limit.
    pub async fn identify(app: &App, headers: &HeaderMap) -> ApiResult<Self> {
        match identify(app, headers).await? {
            Identity::Full(caller) => Ok(caller),
            Identity::PublicOnly(_) => Err(ApiError::Forbidden(
                "a public key alone may only write scores; use Basic auth with public and secret \
                 key"
                .to_owned(),
            )),
        }
    }

    /// Requires read access.
    ///
    /// # Errors
    /// 403 for an ingest-only key.
    pub fn may_read(self) -> ApiResult<Reader> {
        match self.role {
            Role::Viewer | Role::Member | Role::Owner => Ok(Reader(self)),
            Role::Reviewer | Role::IngestOnly => {
                Err(self.refused("read; use a viewer, member or owner key"))
            }
        }
    }

    /// Requires read access to queues and their traces.
    ///
    /// # Errors
    /// 403 for an ingest-only key.
    pub fn may_read_queues(self) -> ApiResult<QueueReader> {
        match self.role {
            Role::Reviewer | Role::Viewer | Role::Member | Role::Owner => Ok(QueueReader(self)),
            Role::IngestOnly => {
                Err(self.refused("read; use a reviewer, viewer, member or owner key"))
            }
        }
    }

    /// Requires permission to complete queue items.
    ///
    /// # Errors
    /// 403 for a viewer's or an ingest-only key.
    pub fn may_review(self) -> ApiResult<QueueReviewer> {
        match self.role {
            Role::Reviewer | Role::Member | Role::Owner => Ok(QueueReviewer(self)),
            Role::Viewer | Role::IngestOnly => {
                Err(self.refused("review; use a reviewer, member or owner key"))
            }
        }
    }

    /// Requires permission to write telemetry.
    ///
    /// # Errors
    /// 403 for a viewer's key.
    pub fn may_record(self) -> ApiResult<Recorder> {
        match self.role {
            Role::IngestOnly | Role::Member | Role::Owner => Ok(Recorder(self)),
            Role::Viewer | Role::Reviewer => {
                Err(self.refused("record; use an ingest-only, member or owner key"))
            }
        }
    }

    /// Requires permission to change project data.
    ///
    /// # Errors
    /// 403 for a viewer's or an ingest-only key.
    pub fn may_edit(self) -> ApiResult<Member> {
        match self.role {
            Role::Member | Role::Owner => Ok(Member(self)),
            Role::Viewer | Role::Reviewer | Role::IngestOnly => {
                Err(self.refused("change this; use a member or owner key"))
            }
        }
    }

    /// Requires permission to change the project's settings.
    ///
    /// # Errors
    /// 403 for any key but an owner's.
    pub fn may_own(self) -> ApiResult<Owner> {
        match self.role {
            Role::Owner => Ok(Owner(self)),
            Role::Member | Role::Viewer | Role::Reviewer | Role::IngestOnly => {
                Err(self.refused("change settings; use an owner key"))
            }
        }
    }

    /// Requires permission to run agents on the server's machine.
    ///
    /// # Errors
    /// 403 for a viewer's or an ingest-only key, and without the permission.
    pub fn may_chat(self) -> ApiResult<Self> {
        self.may_edit()?.0.permitted(Permission::Chat, "run agents on the server's machine")
    }

    /// Requires permission to back up the server.
    ///
    /// # Errors
    /// 403 without the permission.
    pub fn may_back_up(self) -> ApiResult<BackupOperator> {
        self.permitted(Permission::Backup, "take a backup, which contains every project")
            .map(BackupOperator)
    }

    /// Requires permission to manage every project and its users.
    ///
    /// # Errors
    /// 403 for any key but an owner's, and without the permission.
    pub fn may_administer(self) -> ApiResult<Administrator> {
        if self.role != Role::Owner {
            return Err(self.refused("administer; use an owner key"));
        }
        self.permitted(Permission::Administration, "manage projects, keys and people")
            .map(Administrator)
    }

    fn permitted(self, permission: Permission, what: &str) -> ApiResult<Self> {
        if self.permissions.has(permission) {
            return Ok(self);
        }
        let (word, key) = (permission.as_str(), &self.key);
        Err(ApiError::Forbidden(format!(
            "a key without the permission {word} may not {what}; whoever administers the server \
             grants it in Settings › API keys or with `ratchet keys grant {key} {word}`"
        )))
    }

    fn refused(&self, what: &str) -> ApiError {
        ApiError::Forbidden(format!("a key with the role {} may not {what}", self.role.as_str()))
    }
}

/// Marks a request that this process makes to its own API for a caller who is authenticated
/// already. Only code of this process can add it: clients send headers, not extensions.
#[derive(Clone, Debug)]
pub(crate) struct AuthenticatedCaller(pub(crate) Caller);

impl From<ApiKey> for Caller {
    fn from(key: ApiKey) -> Self {
        let actor = Actor::key(&key);
        let ApiKey { id, project, role, permissions, person, .. } = key;
        let person = person.map(|person| person.id);
        Self { project, key: id, role, person, permissions, actor }
    }
}

enum Identity {
    Full(Caller),
    PublicOnly(Caller),
}

async fn identify(app: &App, headers: &HeaderMap) -> ApiResult<Identity> {
    if let Access::Open(project) = &app.settings.access {
        site::reject_cross_site(headers)?;
        let (project, key) = (project.clone(), "open".to_owned());
        let (role, permissions, actor) = (Role::Owner, Permissions::ALL, Actor::Anyone);
        let person = None;
        return Ok(Identity::Full(Caller { project, key, role, person, permissions, actor }));
    }
    let identity = match Credentials::from_headers(headers)? {
        Credentials::Pair { public, secret } => {
            let key = app.store.catalog.authenticate(&public, secret.expose()).await?;
            Identity::Full(key.ok_or_else(|| unauthorized("unknown or revoked key"))?.into())
        }
        Credentials::Public(public) => {
            let key = app.store.catalog.public_key(&public).await?;
            Identity::PublicOnly(key.ok_or_else(|| unauthorized("unknown public key"))?.into())
        }
    };
    let (Identity::Full(caller) | Identity::PublicOnly(caller)) = &identity;
    if headers.contains_key(ORIGIN) {
        let settings = app.store.catalog.recording_settings(&caller.project).await?;
        site::check_page_origin(headers, &settings.page_origins)?;
    }
    app.rates
        .take(&caller.key, app.clock.monotonic())
        .map_err(|retry_after| ApiError::TooManyRequests { retry_after })?;
    Ok(identity)
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        match parts.extensions.get() {
            Some(AuthenticatedCaller(caller)) => Ok(caller.clone()),
            None => Self::identify(app, &parts.headers).await,
        }
    }
}

impl FromRequestParts<App> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::from_request_parts(parts, app).await?.may_read()
    }
}

impl FromRequestParts<App> for QueueReader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::from_request_parts(parts, app).await?.may_read_queues()
    }
}

impl FromRequestParts<App> for QueueReviewer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::from_request_parts(parts, app).await?.may_review()
    }
}

impl FromRequestParts<App> for Recorder {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::from_request_parts(parts, app).await?.may_record()
    }
}

impl FromRequestParts<App> for Scorer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let identity = match parts.extensions.get() {
            Some(AuthenticatedCaller(caller)) => Identity::Full(caller.clone()),
            None => identify(app, &parts.headers).await?,
        };
        match identity {
            Identity::Full(caller) if caller.role == Role::Reviewer => {
                Ok(Self { caller, reach: EventScope::Reviews })
            }
            Identity::Full(caller) => {
                Ok(Self { caller: caller.may_record()?.0, reach: EventScope::All })
            }
            Identity::PublicOnly(caller) => {
                parts.extensions.insert(PublicKeyOnly);
                app.public_rates.take(app, &caller.key, parts)?;
                Ok(Self { caller: caller.may_record()?.0, reach: EventScope::Scores })
            }
        }
    }
}

impl FromRequestParts<App> for Member {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::from_request_parts(parts, app).await?.may_edit()
    }
}

impl FromRequestParts<App> for Owner {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::from_request_parts(parts, app).await?.may_own()
    }
}

impl FromRequestParts<App> for ChatCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let caller = Caller::from_request_parts(parts, app).await?.may_chat()?;
        let none = || ApiError::NotFound("this server runs no agents".to_owned());
        let chats = app.chats().ok_or_else(none)?.by(caller.actor.clone());
        let is_here = match app.settings.access {
            Access::Open(_) => true,
            Access::Keys => app.local_keys.has(&caller.key),
        };
        let workspace_source =
            if is_here { WorkspaceSource::OwnMachine } else { WorkspaceSource::Network };
        Ok(Self { caller, chats, workspace_source })
    }
}

impl FromRequestParts<App> for BackupOperator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::from_request_parts(parts, app).await?.may_back_up()
    }
}

impl FromRequestParts<App> for Administrator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::from_request_parts(parts, app).await?.may_administer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(role: Role, permissions: Permissions) -> Caller {
        let (project, key) = (ProjectId::parse("p").unwrap(), "k".to_owned());
        Caller { project, key, role, person: None, permissions, actor: Actor::Anyone }
    }

    #[test]
    fn roles_do_what_they_say() {
        let may = |role| {
            let caller = || caller(role, Permissions::NONE);
            [
                caller().may_read().is_ok(),
                caller().may_record().is_ok(),
                caller().may_edit().is_ok(),
                caller().may_own().is_ok(),
            ]
        };
        assert_eq!(may(Role::IngestOnly), [false, true, false, false]);
        assert_eq!(may(Role::Viewer), [true, false, false, false]);
        assert_eq!(may(Role::Member), [true, true, true, false]);
        assert_eq!(may(Role::Owner), [true, true, true, true]);
    }

    #[test]
    fn what_reaches_beyond_the_project_takes_a_permission_and_its_role() {
        let may = |role, permissions| {
            [
                caller(role, permissions).may_chat().is_ok(),
                caller(role, permissions).may_back_up().is_ok(),
                caller(role, permissions).may_administer().is_ok(),
            ]
        };
        for role in Role::ALL {
            assert_eq!(may(role, Permissions::NONE), [false; 3], "{role:?}");
        }
        assert_eq!(may(Role::Owner, Permissions::ALL), [true; 3]);
        assert_eq!(may(Role::Member, Permissions::ALL), [true, true, false]);
        assert_eq!(may(Role::Viewer, Permissions::ALL), [false, true, false]);
        for permission in Permission::ALL {
            let only = Permissions::NONE.with(permission);
            assert_eq!(may(Role::Owner, only), Permission::ALL.map(|one| one == permission));
        }
    }
}
