use std::path::PathBuf;

use anyhow::Context;
use ratchet_core::secret::Secret;
use ratchet_remote::langfuse::client::ServerCredentials;
use ratchet_store::project::ProjectId;

use super::lookup::Lookup;
use super::value::ServerUrl;

/// Settings of weekly reports.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportConfig {
    /// The file that suggestions are appended to.
    pub(crate) learnings: Option<PathBuf>,
    langfuse_url: Option<ServerUrl>,
    /// The half of the key that is no secret.
    langfuse_public_key: Option<String>,
    langfuse_secret_key: Option<Secret>,
    /// The project whose sessions are on that server.
    langfuse_project: Option<String>,
}

impl ReportConfig {
    pub(super) fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        let learnings: Option<String> =
            of.optional("reports.learnings", "file that weekly suggestions are appended to")?;
        Ok(Self {
            learnings: learnings.map(PathBuf::from),
            langfuse_url: of
                .optional("langfuse.url", "Langfuse server that schedules score and report on")?,
            langfuse_public_key: of.optional("langfuse.public_key", "its public key")?,
            langfuse_secret_key: of.secret("langfuse.secret_key", "its secret key"),
            langfuse_project: of
                .optional("langfuse.project", "ID of the project that gets these reports")?,
        })
    }

    /// Returns the Langfuse server that the sessions of a project are on; `None` if they are here.
    pub(crate) fn source_of(
        &self,
        project: &ProjectId,
    ) -> anyhow::Result<Option<ServerCredentials>> {
        let Some(url) = &self.langfuse_url else { return Ok(None) };
        let needs = |name: &str| format!("langfuse.url is set, but {name} is not");
        let wanted = self.langfuse_project.as_ref().with_context(|| needs("langfuse.project"))?;
        if wanted != project.as_str() {
            return Ok(None);
        }
        let public_key = self.langfuse_public_key.clone();
        let secret_key = self.langfuse_secret_key.clone();
        Ok(Some(ServerCredentials {
            url: url.0.clone(),
            public_key: public_key.with_context(|| needs("langfuse.public_key"))?,
            secret_key: secret_key.with_context(|| needs("langfuse.secret_key"))?,
        }))
    }
}
