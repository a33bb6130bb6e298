//! Who is calling and what they may do.
//!
//! A handler names what it needs by the extractor it takes: `Caller` for anyone with a key,
//! `Reader`, `Recorder`, `Member` or `Owner` for a role, `Scorer` for feedback, which
//! also takes a public key alone.

/// What an Authorization header holds.
mod credentials;
/// Pages of other sites, which a server without keys must not serve.
mod site;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::ORIGIN;
use axum::http::request::Parts;
use ratchet_stages::record::events::Reach;
use ratchet_store::catalog::{Actor, ApiKey, Catalog, Role};
use ratchet_store::project::ProjectId;

use crate::app::{Access, App};
use crate::error::{ApiError, ApiResult};
use credentials::{Credentials, unauthorized};

/// Someone with a valid key, public and secret half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Which project the key opens.
    pub project: ProjectId,
    /// The key's id, for logs and limits.
    pub key: String,
    /// What the key may do.
    pub role: Role,
    /// Who it is in the audit log.
    pub actor: Actor,
}

/// A caller who may look.
#[derive(Clone, Debug)]
pub struct Reader(pub Caller);

/// A caller who may write telemetry.
#[derive(Clone, Debug)]
pub struct Recorder(pub Caller);

/// A caller who may write scores: a recorder, or a browser that has the public key only.
#[derive(Clone, Debug)]
pub struct Scorer {
    /// Who it is.
    pub caller: Caller,
    /// What they may speak about.
    pub reach: Reach,
}

/// A caller who may change what the project holds.
#[derive(Clone, Debug)]
pub struct Member(pub Caller);

/// A caller who may do everything, keys and projects included.
#[derive(Clone, Debug)]
pub struct Owner(pub Caller);

impl Caller {
    /// The catalog in the caller's hands: what is changed with it is noted as theirs.
    pub fn catalog(&self, app: &App) -> Catalog {
        app.store.catalog.by(self.actor.clone())
    }

    /// Works out who sent these headers, and counts the call against the key's rate.
    ///
    /// # Errors
    /// 401 without valid keys, 403 with a public key alone, 429 beyond the rate.
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

    /// Whether the caller may look.
    ///
    /// # Errors
    /// 403 for an ingest-only key.
    pub fn may_read(self) -> ApiResult<Reader> {
        match self.role {
            Role::Viewer | Role::Member | Role::Owner => Ok(Reader(self)),
            Role::IngestOnly => Err(self.refused("read; use a viewer, member or owner key")),
        }
    }

    /// Whether the caller may write telemetry.
    ///
    /// # Errors
    /// 403 for a viewer's key.
    pub fn may_record(self) -> ApiResult<Recorder> {
        match self.role {
            Role::IngestOnly | Role::Member | Role::Owner => Ok(Recorder(self)),
            Role::Viewer => Err(self.refused("record; use an ingest-only, member or owner key")),
        }
    }

    /// Whether the caller may change what the project holds.
    ///
    /// # Errors
    /// 403 for a viewer's or an ingest-only key.
    pub fn may_edit(self) -> ApiResult<Member> {
        match self.role {
            Role::Member | Role::Owner => Ok(Member(self)),
            Role::Viewer | Role::IngestOnly => {
                Err(self.refused("change this; use a member or owner key"))
            }
        }
    }

    /// Whether the caller may do everything.
    ///
    /// # Errors
    /// 403 for any key but an owner's.
    pub fn may_administer(self) -> ApiResult<Owner> {
        match self.role {
            Role::Owner => Ok(Owner(self)),
            Role::Member | Role::Viewer | Role::IngestOnly => {
                Err(self.refused("administer; use an owner key"))
            }
        }
    }

    fn refused(&self, what: &str) -> ApiError {
        ApiError::Forbidden(format!("a key with the role {} may not {what}", self.role.as_str()))
    }
}

impl From<ApiKey> for Caller {
    fn from(key: ApiKey) -> Self {
        let actor = Actor::key(&key);
        Self { project: key.project, key: key.id, role: key.role, actor }
    }
}

enum Identity {
    Full(Caller),
    PublicOnly(Caller),
}

async fn identify(app: &App, headers: &HeaderMap) -> ApiResult<Identity> {
    if let Access::Open(project) = &app.settings.access {
        site::refuse_others(headers)?;
        let (project, key) = (project.clone(), "open".to_owned());
        let (role, actor) = (Role::Owner, Actor::Anyone);
        return Ok(Identity::Full(Caller { project, key, role, actor }));
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
        let intake = app.store.catalog.intake(&caller.project).await?;
        site::refuse_strangers(headers, &intake.page_origins)?;
    }
    app.rates
        .take(&caller.key, app.clock.monotonic())
        .map_err(|retry_after| ApiError::TooManyRequests { retry_after })?;
    Ok(identity)
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Self::identify(app, &parts.headers).await
    }
}

impl FromRequestParts<App> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::identify(app, &parts.headers).await?.may_read()
    }
}

impl FromRequestParts<App> for Recorder {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::identify(app, &parts.headers).await?.may_record()
    }
}

impl FromRequestParts<App> for Scorer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        match identify(app, &parts.headers).await? {
            Identity::Full(caller) => {
                Ok(Self { caller: caller.may_record()?.0, reach: Reach::All })
            }
            Identity::PublicOnly(caller) => {
                app.public_rates.take(app, &caller.key, parts)?;
                Ok(Self { caller: caller.may_record()?.0, reach: Reach::Scores })
            }
        }
    }
}

impl FromRequestParts<App> for Member {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::identify(app, &parts.headers).await?.may_edit()
    }
}

impl FromRequestParts<App> for Owner {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        Caller::identify(app, &parts.headers).await?.may_administer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(role: Role) -> Caller {
        let (project, key) = (ProjectId::parse("p").unwrap(), "k".to_owned());
        Caller { project, key, role, actor: Actor::Anyone }
    }

    #[test]
    fn roles_do_what_they_say() {
        let may = |role| {
            [
                caller(role).may_read().is_ok(),
                caller(role).may_record().is_ok(),
                caller(role).may_edit().is_ok(),
                caller(role).may_administer().is_ok(),
            ]
        };
        assert_eq!(may(Role::IngestOnly), [false, true, false, false]);
        assert_eq!(may(Role::Viewer), [true, false, false, false]);
        assert_eq!(may(Role::Member), [true, true, true, false]);
        assert_eq!(may(Role::Owner), [true, true, true, true]);
    }
}
