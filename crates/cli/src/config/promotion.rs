use std::path::PathBuf;

use ratchet_core::secret::Secret;
use ratchet_stages::promote::DeployTarget;

use super::evaluators::CommandWords;
use super::lookup::Lookup;

/// How promotions deploy.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromotionConfig {
    command: Option<CommandWords>,
    agentcore: Option<String>,
    webhook: Option<Secret>,
    webhook_secret: Option<Secret>,
}

impl PromotionConfig {
    pub(super) fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            command: of.optional(
                "promotion.command",
                "command that deploys agent versions; gets JSON on stdin",
            )?,
            agentcore: of.optional(
                "promotion.agentcore",
                "file that names AgentCore runtimes by agent and environment",
            )?,
            webhook: of.secret("promotion.webhook", "URL that deploys agent versions"),
            webhook_secret: of.secret("promotion.webhook_secret", "signing secret for that URL"),
        })
    }

    /// How versions are deployed: the first that is set of command, AgentCore and webhook.
    pub(crate) fn target(&self) -> Option<DeployTarget> {
        let command = self.command.as_ref().map(|words| DeployTarget::Command(words.0.clone()));
        let webhook = || {
            let url = self.webhook.clone()?;
            Some(DeployTarget::Webhook(url, self.webhook_secret.clone()))
        };
        let agentcore =
            || self.agentcore.as_ref().map(|file| DeployTarget::AgentCore(PathBuf::from(file)));
        command.or_else(agentcore).or_else(webhook)
    }
}
