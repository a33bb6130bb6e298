//! What a project has settled about whatever it records.

use ratchet_server::api::audit::{AuditRequest, AuditView};
use ratchet_server::api::origins::OriginsView;
use ratchet_server::api::redaction::{
    PresetView, RedactionRuleRequest, RedactionRuleView, RedactionTrialView, TrialRequest, refused,
};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_store::project::ProjectId;

use super::Administration;

impl Administration {
    /// Who changed what, in a project or on the whole server.
    pub(crate) async fn audit(
        &self,
        project: Option<&str>,
        request: AuditRequest,
    ) -> anyhow::Result<AuditView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let project = project.map(ProjectId::parse).transpose()?;
                Ok(folder.catalog.audit(request.check(project)?).await?.into())
            }
            DataTarget::Server(server) => {
                let path: &[&str] = match project {
                    Some(project) => &["v1", "projects", project, "audit"],
                    None => &["v1", "audit"],
                };
                Ok(server.get_with(path, &request.pairs()).await?)
            }
        }
    }

    /// Whose pages may call with a project's keys.
    pub(crate) async fn origins(&self, project: &str) -> anyhow::Result<OriginsView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                Ok(folder.catalog.page_origins(ProjectId::parse(project)?).await?.into())
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "origins"]).await?)
            }
        }
    }

    /// Says whose pages may call with a project's keys.
    pub(crate) async fn set_origins(
        &self,
        project: &str,
        request: OriginsView,
    ) -> anyhow::Result<OriginsView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let id = ProjectId::parse(project)?;
                Ok(folder
                    .catalog
                    .set_page_origins(id, request.check()?, Clock::System.now())
                    .await?
                    .into())
            }
            DataTarget::Server(server) => {
                Ok(server.put(&["v1", "projects", project, "origins"], &request).await?)
            }
        }
    }

    /// The redaction rules of a project, oldest first.
    pub(crate) async fn redaction_rules(
        &self,
        project: &str,
    ) -> anyhow::Result<Vec<RedactionRuleView>> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let rules = folder.catalog.redaction_rules(ProjectId::parse(project)?).await?;
                Ok(rules.into_iter().map(RedactionRuleView::from).collect())
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "redaction"]).await?)
            }
        }
    }

    pub(crate) async fn add_redaction_rule(
        &self,
        project: &str,
        request: RedactionRuleRequest,
    ) -> anyhow::Result<RedactionRuleView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (id, rule) = (ProjectId::parse(project)?, request.check()?);
                let added = folder.catalog.add_redaction_rule(id, rule, Clock::System.now());
                Ok(added.await?.map_err(|why| refused(&why))?.into())
            }
            DataTarget::Server(server) => {
                Ok(server.post(&["v1", "projects", project, "redaction"], &request).await?)
            }
        }
    }

    pub(crate) async fn remove_redaction_rule(
        &self,
        project: &str,
        rule: &str,
    ) -> anyhow::Result<RedactionRuleView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let id = ProjectId::parse(project)?;
                Ok(folder
                    .catalog
                    .remove_redaction_rule(id, rule.to_owned(), Clock::System.now())
                    .await?
                    .into())
            }
            DataTarget::Server(server) => {
                Ok(server.delete(&["v1", "projects", project, "redaction", rule]).await?)
            }
        }
    }

    /// Tries the redaction rules of a project on a text.
    pub(crate) async fn try_redaction(
        &self,
        project: &str,
        request: TrialRequest,
    ) -> anyhow::Result<RedactionTrialView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let rules = folder.catalog.redaction_rules(ProjectId::parse(project)?).await?;
                Ok(request.run(rules)?)
            }
            DataTarget::Server(server) => {
                Ok(server.post(&["v1", "projects", project, "redaction", "test"], &request).await?)
            }
        }
    }

    /// The presets that rules can name.
    pub(crate) async fn redaction_presets(&self) -> anyhow::Result<Vec<PresetView>> {
        match &self.0 {
            DataTarget::Folder(_) => Ok(ratchet_core::record::redact::preset::all()
                .iter()
                .map(PresetView::from)
                .collect()),
            DataTarget::Server(server) => Ok(server.get(&["v1", "redaction", "presets"]).await?),
        }
    }
}
