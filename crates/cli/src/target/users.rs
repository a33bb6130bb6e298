//! Who may sign in.

use ratchet_server::api::users::{PasswordRequest, UserRequest, UserView, UserWithPassword};
use ratchet_server::clock::Clock;

use super::Target;

impl Target {
    /// Everyone who may sign in.
    pub(crate) async fn users(&self) -> anyhow::Result<Vec<UserView>> {
        match self {
            Self::Folder(folder) => {
                let users = folder.catalog.users().await?;
                Ok(users.into_iter().map(UserView::from).collect())
            }
            Self::Server(server) => server.get("/api/v1/users").await,
        }
    }

    pub(crate) async fn create_user(
        &self,
        request: UserRequest,
    ) -> anyhow::Result<UserWithPassword> {
        match self {
            Self::Folder(folder) => {
                let (new, chosen) = request.check()?;
                let user = folder.catalog.create_user(new, Clock::System.now()).await?;
                Ok(chosen.shown_with(user))
            }
            Self::Server(server) => server.post("/api/v1/users", &request).await,
        }
    }

    /// Sets what a person signs in with; they are named by id or email.
    pub(crate) async fn set_password(
        &self,
        user: &str,
        request: PasswordRequest,
    ) -> anyhow::Result<UserWithPassword> {
        match self {
            Self::Folder(folder) => {
                let chosen = request.check()?;
                let user = folder.catalog.user(user.to_owned()).await?;
                let (id, password) = (user.id.clone(), chosen.password.clone());
                let no_session = None;
                folder.catalog.set_password(id, password, no_session, Clock::System.now()).await?;
                Ok(chosen.shown_with(user))
            }
            Self::Server(server) => server.put_to(&["users", user, "password"], &request).await,
        }
    }

    /// Removes a person, named by id or email.
    pub(crate) async fn remove_user(&self, user: &str) -> anyhow::Result<UserView> {
        match self {
            Self::Folder(folder) => {
                let user = folder.catalog.user(user.to_owned()).await?;
                folder.catalog.delete_user(user.id.clone(), Clock::System.now()).await?;
                Ok(user.into())
            }
            Self::Server(server) => server.delete(&["users", user]).await,
        }
    }
}
