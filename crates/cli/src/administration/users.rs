//! Who may sign in.

use ratchet_server::api::users::{PasswordRequest, UserRequest, UserView, UserWithPassword};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;

use super::Administration;

impl Administration {
    /// Everyone who may sign in.
    pub(crate) async fn users(&self) -> anyhow::Result<Vec<UserView>> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let users = folder.catalog.users().await?;
                Ok(users.into_iter().map(UserView::from).collect())
            }
            DataTarget::Server(server) => Ok(server.get(&["v1", "users"]).await?),
        }
    }

    pub(crate) async fn create_user(
        &self,
        request: UserRequest,
    ) -> anyhow::Result<UserWithPassword> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (new, chosen) = request.check()?;
                let user = folder.catalog.create_user(new, Clock::System.now()).await?;
                Ok(chosen.shown_with(user))
            }
            DataTarget::Server(server) => Ok(server.post(&["v1", "users"], &request).await?),
        }
    }

    /// Sets what a person signs in with; they are named by id or email.
    pub(crate) async fn set_password(
        &self,
        user: &str,
        request: PasswordRequest,
    ) -> anyhow::Result<UserWithPassword> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let chosen = request.check()?;
                let user = folder.catalog.user(user.to_owned()).await?;
                let (id, password) = (user.id.clone(), chosen.password.clone());
                let no_session = None;
                folder.catalog.set_password(id, password, no_session, Clock::System.now()).await?;
                Ok(chosen.shown_with(user))
            }
            DataTarget::Server(server) => {
                Ok(server.put(&["v1", "users", user, "password"], &request).await?)
            }
        }
    }

    /// Removes a person, named by id or email.
    pub(crate) async fn remove_user(&self, user: &str) -> anyhow::Result<UserView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let user = folder.catalog.user(user.to_owned()).await?;
                folder.catalog.delete_user(user.id.clone(), Clock::System.now()).await?;
                Ok(user.into())
            }
            DataTarget::Server(server) => Ok(server.delete(&["v1", "users", user]).await?),
        }
    }
}
