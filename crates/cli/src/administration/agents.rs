//! Agents of a project.

use ratchet_server::api::agents::{self, AgentRequest, AgentView, AgentsView, DeletedAgent};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::review::agents::{AgentWindow, discover};
use ratchet_store::project::ProjectId;

use super::Administration;

impl Administration {
    /// The agents of a project, by name. In a folder all traces are searched for new ones.
    pub(crate) async fn agents(&self, project: &str) -> anyhow::Result<AgentsView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (ProjectId::parse(project)?, Clock::System.now());
                discover(folder, project.clone(), AgentWindow::All, now).await?;
                Ok(AgentsView { agents: agents::agents_of(folder, project, now).await? })
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "agents"]).await?)
            }
        }
    }

    /// An agent by name or alias.
    pub(crate) async fn agent(&self, project: &str, name: &str) -> anyhow::Result<AgentView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (ProjectId::parse(project)?, Clock::System.now());
                Ok(agents::agent_of(folder, project, name.to_owned(), now).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "agents", name]).await?)
            }
        }
    }

    /// Creates an agent or changes its settings.
    pub(crate) async fn save_agent(
        &self,
        project: &str,
        name: &str,
        request: AgentRequest,
    ) -> anyhow::Result<AgentView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (ProjectId::parse(project)?, Clock::System.now());
                let target = (folder, &folder.catalog);
                Ok(agents::save_agent(target, project, name.to_owned(), request, now).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.put(&["v1", "projects", project, "agents", name], &request).await?)
            }
        }
    }

    /// Deletes an agent's record.
    pub(crate) async fn delete_agent(
        &self,
        project: &str,
        name: &str,
    ) -> anyhow::Result<DeletedAgent> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (ProjectId::parse(project)?, Clock::System.now());
                folder.catalog.delete_agent(project, name.to_owned(), now).await?;
                Ok(DeletedAgent { deleted: name.to_owned() })
            }
            DataTarget::Server(server) => {
                Ok(server.delete(&["v1", "projects", project, "agents", name]).await?)
            }
        }
    }
}
