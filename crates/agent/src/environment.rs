use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::secret::Secret;
use reqwest::Client;

use crate::access::ModelAccess;
use crate::claude::program;
use crate::claude::watchdog::Supervision;
use crate::error::ModelError;
use crate::judge::ProviderName;
use crate::provider::Provider;
use crate::provider::anthropic::{self, Anthropic};
use crate::provider::bedrock::{Bedrock, BedrockAccess, BedrockCredentials};
use crate::provider::claude::ClaudeProgram;
use crate::provider::openai::{self, OpenAi};

/// Looks up an environment variable.
pub type Variables<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// Creates the HTTP client for a URL; the caller decides on proxies and certificates.
pub type Clients<'a> = &'a (dyn Fn(&str) -> Result<Client, ModelError> + Sync);

/// Creates a provider from environment variables: `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL`,
/// `OPENAI_API_KEY` and `OPENAI_BASE_URL`, `AWS_…`, `RATCHET_CLAUDE_BIN`. Sends nothing. A provider
/// that is a program ends with this process, by `supervision`.
///
/// # Errors
/// Names the missing variable.
pub async fn open(
    provider: ProviderName,
    variables: Variables<'_>,
    clients: Clients<'_>,
    supervision: &Supervision,
) -> Result<Provider, ModelError> {
    match provider {
        ProviderName::Anthropic => {
            let access = anthropic_access(variables)?;
            let client = clients(&access.base_url)?;
            Ok(Provider::Anthropic(Anthropic::new(client, access)?))
        }
        ProviderName::OpenAi => {
            let access = openai_access(variables)?;
            let client = clients(&access.base_url)?;
            Ok(Provider::OpenAi(OpenAi::new(client, access)?))
        }
        ProviderName::Bedrock => {
            let region =
                said(variables, "AWS_REGION").or_else(|| said(variables, "AWS_DEFAULT_REGION"));
            let endpoint = said(variables, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME");
            let credentials = BedrockCredentials::Ambient;
            let outbound = OutboundPolicy::unrestricted();
            let access = BedrockAccess { region, endpoint, credentials, outbound };
            Ok(Provider::Bedrock(Bedrock::open(access).await?))
        }
        ProviderName::Claude => {
            let program = program::named(variables);
            Ok(Provider::Claude(ClaudeProgram::new(program, supervision.clone())))
        }
    }
}

fn anthropic_access(variables: Variables<'_>) -> Result<ModelAccess, ModelError> {
    let url = said(variables, "ANTHROPIC_BASE_URL");
    let url = url.unwrap_or_else(|| anthropic::BASE_URL.to_owned());
    let key = said(variables, "ANTHROPIC_API_KEY").ok_or_else(|| missing("ANTHROPIC_API_KEY"))?;
    Ok(ModelAccess::new(url, Secret::new(key)))
}

/// A self-hosted server may need no key; OpenAI's own does.
pub(crate) fn openai_access(variables: Variables<'_>) -> Result<ModelAccess, ModelError> {
    let url = said(variables, "OPENAI_BASE_URL");
    let key = said(variables, "OPENAI_API_KEY").map(Secret::new);
    if url.is_none() && key.is_none() {
        return Err(missing("OPENAI_API_KEY"));
    }
    let base_url = url.unwrap_or_else(|| openai::BASE_URL.to_owned());
    Ok(ModelAccess { base_url, key, headers: std::collections::BTreeMap::new() })
}

fn said(variables: Variables<'_>, name: &str) -> Option<String> {
    variables(name).filter(|value| !value.trim().is_empty())
}

fn missing(variable: &str) -> ModelError {
    ModelError::NotSetUp(format!(
        "{variable} is not set; set it, name a connection (connection:NAME), or take the offline \
         judge"
    ))
}
