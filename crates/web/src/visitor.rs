use ratchet_store::catalog::{Project, Role};

use crate::refusal::{PageResult, Refusal};
use crate::web::{Access, Web};

/// Someone who may look at a page, and what they may do there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visitor {
    /// What the page calls them.
    pub name: String,
    /// What they may do.
    pub role: Role,
}

impl Visitor {
    /// Works out who is looking.
    ///
    /// # Errors
    /// Refuses whoever is not signed in.
    pub fn identify(web: &Web) -> PageResult<Self> {
        match web.access {
            Access::Open(_) => Ok(Self { name: "owner".to_owned(), role: Role::Owner }),
            Access::People => Err(Refusal::Forbidden(
                "pages need a sign-in, which this server does not offer yet; on your own machine \
                 start it with --no-auth"
                    .to_owned(),
            )),
        }
    }

    /// The projects they may look at, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn projects(&self, web: &Web) -> PageResult<Vec<Project>> {
        Ok(web.store.catalog.projects().await?)
    }
}
