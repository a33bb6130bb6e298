use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;
use ratchet_core::permit_pool::{NoPermit, Permit, PermitPool};
use ratchet_store::catalog::{Actor, Catalog, LoginUser, Project, Role};
use uuid::Uuid;

use crate::cookie::Cookie;
use crate::csrf::{FormToken, RequestUser};
use crate::page_error::{PageError, PageResult};
use crate::web::{Access, Web};

/// The authenticated user of a page request, with role and CSRF token.
///
/// Extractor of page handlers, on its own or inside a `RequestContext`; redirects to the sign-in
/// page without a valid login.
#[derive(Clone, Debug)]
pub struct Viewer {
    pub who: Identity,
    /// Role in the current project, or on the server outside of projects.
    pub role: Role,
    /// CSRF token for forms.
    pub form_token: FormToken,
    /// Id of the browser, where nobody signs in and it has one.
    pub browser: Option<Uuid>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A signed-in user.
    Person(LoginUser),
    /// The local user of a server without authentication.
    Anyone,
}

impl Viewer {
    /// Authenticates the request.
    ///
    /// # Errors
    /// Redirects to the sign-in page.
    pub async fn identify(web: &Web, parts: &Parts) -> PageResult<Self> {
        if let Access::Open(_) = web.access {
            let form_token = FormToken::open(web)?;
            let browser = Cookie::Browser.read(&parts.headers);
            let browser = browser.and_then(|id| Uuid::parse_str(id.expose()).ok());
            return Ok(Self { who: Identity::Anyone, role: Role::Owner, form_token, browser });
        }
        let Some(token) = Cookie::Session.read(&parts.headers) else {
            return Err(sign_in_first(parts));
        };
        let signed_in = match parts.extensions.get::<RequestUser>() {
            Some(RequestUser(signed_in)) => signed_in.clone(),
            None => web.store.catalog.signed_in(&token, web.now()).await?,
        };
        let Some(signed_in) = signed_in else {
            return Err(sign_in_first(parts));
        };
        let form_token = FormToken::of(web, &token)?;
        let role = signed_in.user.role;
        Ok(Self { role, who: Identity::Person(signed_in), form_token, browser: None })
    }

    /// Actor for the audit log.
    pub fn actor(&self) -> Actor {
        match &self.who {
            Identity::Person(LoginUser { user, .. }) => Actor::person(user),
            Identity::Anyone => Actor::Anyone,
        }
    }

    /// Catalog handle whose changes are audited as this user's.
    pub fn catalog(&self, web: &Web) -> Catalog {
        web.store.catalog.by(self.actor())
    }

    /// Display name.
    pub fn name(&self) -> &str {
        match &self.who {
            Identity::Person(LoginUser { user, .. }) => user.name.as_deref().unwrap_or(&user.email),
            Identity::Anyone => "Local user",
        }
    }

    /// User ID, for records the user creates.
    pub fn person(&self) -> Option<&str> {
        match &self.who {
            Identity::Person(signed_in) => Some(&signed_in.user.id),
            Identity::Anyone => None,
        }
    }

    /// Acquires a permit of a per-user concurrency limit.
    ///
    /// # Errors
    /// Fails if the user's share or the total is exhausted.
    pub(crate) fn take(&self, pool: &PermitPool<String>, what: &str) -> PageResult<Permit<String>> {
        let taken = pool.take(self.person().map(str::to_owned));
        taken.map_err(|full| match full {
            NoPermit::Total(_) => PageError::Waiting(what.to_owned()),
            NoPermit::Each(most) => PageError::HasShare { what: what.to_owned(), most },
        })
    }

    /// Accessible projects, oldest first, with the role in each.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn projects(&self, web: &Web) -> PageResult<Vec<(Project, Role)>> {
        match &self.who {
            Identity::Person(signed_in) => {
                Ok(web.store.catalog.projects_of(&signed_in.user).await?)
            }
            Identity::Anyone => {
                let projects = web.store.catalog.projects().await?;
                Ok(projects.into_iter().map(|project| (project, Role::Owner)).collect())
            }
        }
    }

    /// Whether the user may edit the project.
    pub fn can_change(&self) -> bool {
        matches!(self.role, Role::Member | Role::Owner)
    }

    /// Whether the user may read all of the project.
    pub fn can_read(&self) -> bool {
        matches!(self.role, Role::Viewer | Role::Member | Role::Owner)
    }

    /// Requires a role that reviews queue items.
    ///
    /// # Errors
    /// Rejects viewers.
    pub fn may_review(&self) -> PageResult<()> {
        match self.role {
            Role::Reviewer | Role::Member | Role::Owner => Ok(()),
            Role::Viewer | Role::IngestOnly => {
                Err(self.refused("review", "reviewer, member or owner"))
            }
        }
    }

    /// Whether the user is a project owner.
    pub fn can_own(&self) -> bool {
        self.role == Role::Owner
    }

    /// Requires the role member or owner.
    ///
    /// # Errors
    /// Rejects viewers.
    pub fn may_change(&self) -> PageResult<()> {
        if self.can_change() { Ok(()) } else { Err(self.refused("change this", "member or owner")) }
    }

    /// Requires the role owner.
    ///
    /// # Errors
    /// Rejects all others.
    pub fn may_own(&self) -> PageResult<()> {
        if self.can_own() { Ok(()) } else { Err(self.refused("do this", "owner")) }
    }

    /// Whether the user is a server owner.
    pub fn owns_server(&self) -> bool {
        match &self.who {
            Identity::Person(LoginUser { user, .. }) => user.role == Role::Owner,
            Identity::Anyone => true,
        }
    }

    /// Requires a server owner.
    ///
    /// # Errors
    /// Rejects all others.
    pub fn may_own_server(&self) -> PageResult<()> {
        if self.owns_server() {
            return Ok(());
        }
        Err(PageError::Forbidden("only a server owner may do this".to_owned()))
    }

    fn refused(&self, what: &str, needed: &str) -> PageError {
        let role = self.role.as_str();
        PageError::Forbidden(format!("a {role} may not {what}; the role {needed} is required"))
    }
}

impl FromRequestParts<Web> for Viewer {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> PageResult<Self> {
        Self::identify(web, parts).await
    }
}

/// Redirects to the sign-in page, and back after sign-in for GET requests.
fn sign_in_first(parts: &Parts) -> PageError {
    // A request by a script gets an error status instead of the sign-in page.
    let is_script = parts.headers.get("sec-fetch-dest").is_some_and(|dest| dest == "empty");
    if is_script {
        return PageError::SignedOut;
    }
    let is_look = [Method::GET, Method::HEAD].contains(&parts.method);
    let here = parts.uri.path_and_query().filter(|_| is_look);
    PageError::SignIn { next: here.map_or("/", |here| here.as_str()).to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_do_what_they_say() {
        let may = |role| {
            let viewer = Viewer {
                who: Identity::Anyone,
                role,
                form_token: FormToken::blank(),
                browser: None,
            };
            assert_eq!(viewer.can_change(), viewer.may_change().is_ok());
            assert_eq!(viewer.can_own(), viewer.may_own().is_ok());
            [viewer.can_change(), viewer.can_own()]
        };
        assert_eq!(may(Role::IngestOnly), [false, false]);
        assert_eq!(may(Role::Reviewer), [false, false]);
        assert_eq!(may(Role::Viewer), [false, false]);
        assert_eq!(may(Role::Member), [true, false]);
        assert_eq!(may(Role::Owner), [true, true]);
    }
}
