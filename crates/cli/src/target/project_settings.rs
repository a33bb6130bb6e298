//! What a project has settled about whatever it records.

use ratchet_server::api::audit::{AuditRequest, AuditView};
use ratchet_server::api::origins::OriginsView;
use ratchet_server::api::redaction::{
    PresetView, RedactionRuleRequest, RedactionRuleView, TrialRequest, TrialView, refused,
};
use ratchet_server::clock::Clock;
use ratchet_store::project::ProjectId;

use super::Target;

impl Target {
    /// Who changed what, in a project or on the whole server.
    pub(crate) async fn audit(
        &self,
        project: Option<&str>,
        request: AuditRequest,
    ) -> anyhow::Result<AuditView> {
        match self {
            Self::Folder(folder) => {
                let project = project.map(ProjectId::parse).transpose()?;
                Ok(folder.catalog.audit(request.check(project)?).await?.into())
            }
            Self::Server(server) => {
                let path = match project {
                    Some(project) => format!("/api/v1/projects/{project}/audit"),
                    None => "/api/v1/audit".to_owned(),
                };
                server.get_with(&path, &request.pairs()).await
            }
        }
    }

    /// Whose pages may call with a project's keys.
    pub(crate) async fn origins(&self, project: &str) -> anyhow::Result<OriginsView> {
        match self {
            Self::Folder(folder) => {
                Ok(folder.catalog.page_origins(ProjectId::parse(project)?).await?.into())
            }
            Self::Server(server) => {
                server.get(&format!("/api/v1/projects/{project}/origins")).await
            }
        }
    }

    /// Says whose pages may call with a project's keys.
    pub(crate) async fn set_origins(
        &self,
        project: &str,
        request: OriginsView,
    ) -> anyhow::Result<OriginsView> {
        match self {
            Self::Folder(folder) => {
                let id = ProjectId::parse(project)?;
                Ok(folder
                    .catalog
                    .set_page_origins(id, request.check()?, Clock::System.now())
                    .await?
                    .into())
            }
            Self::Server(server) => {
                server.put(&format!("/api/v1/projects/{project}/origins"), &request).await
            }
        }
    }

    /// The redaction rules of a project, oldest first.
    pub(crate) async fn redaction_rules(
        &self,
        project: &str,
    ) -> anyhow::Result<Vec<RedactionRuleView>> {
        match self {
            Self::Folder(folder) => {
                let rules = folder.catalog.redaction_rules(ProjectId::parse(project)?).await?;
                Ok(rules.into_iter().map(RedactionRuleView::from).collect())
            }
            Self::Server(server) => {
                server.get(&format!("/api/v1/projects/{project}/redaction")).await
            }
        }
    }

    pub(crate) async fn add_redaction_rule(
        &self,
        project: &str,
        request: RedactionRuleRequest,
    ) -> anyhow::Result<RedactionRuleView> {
        match self {
            Self::Folder(folder) => {
                let (id, rule) = (ProjectId::parse(project)?, request.check()?);
                let added = folder.catalog.add_redaction_rule(id, rule, Clock::System.now());
                Ok(added.await?.map_err(|why| refused(&why))?.into())
            }
            Self::Server(server) => {
                server.post(&format!("/api/v1/projects/{project}/redaction"), &request).await
            }
        }
    }

    pub(crate) async fn remove_redaction_rule(
        &self,
        project: &str,
        rule: &str,
    ) -> anyhow::Result<RedactionRuleView> {
        match self {
            Self::Folder(folder) => {
                let id = ProjectId::parse(project)?;
                Ok(folder
                    .catalog
                    .remove_redaction_rule(id, rule.to_owned(), Clock::System.now())
                    .await?
                    .into())
            }
            Self::Server(server) => server.delete(&["projects", project, "redaction", rule]).await,
        }
    }

    /// Tries the redaction rules of a project on a text.
    pub(crate) async fn try_redaction(
        &self,
        project: &str,
        request: TrialRequest,
    ) -> anyhow::Result<TrialView> {
        match self {
            Self::Folder(folder) => {
                let rules = folder.catalog.redaction_rules(ProjectId::parse(project)?).await?;
                Ok(request.run(rules)?)
            }
            Self::Server(server) => {
                server.post(&format!("/api/v1/projects/{project}/redaction/test"), &request).await
            }
        }
    }

    /// The presets that rules can name.
    pub(crate) async fn redaction_presets(&self) -> anyhow::Result<Vec<PresetView>> {
        match self {
            Self::Folder(_) => Ok(ratchet_core::record::redact::preset::all()
                .iter()
                .map(PresetView::from)
                .collect()),
            Self::Server(server) => server.get("/api/v1/redaction/presets").await,
        }
    }
}
