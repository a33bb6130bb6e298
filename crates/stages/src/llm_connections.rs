//! Models behind the connections that a project has settled.

/// Models behind the names that judges have.
pub mod judge;

use std::fmt;
use std::time::Duration;

use ratchet_agent::access::ModelAccess;
use ratchet_agent::error::ModelError;
use ratchet_agent::judge::{DefaultModels, ProviderName};
use ratchet_agent::model::{Model, PriceList};
use ratchet_agent::provider::Provider;
use ratchet_agent::provider::anthropic::{self, Anthropic};
use ratchet_agent::provider::bedrock::{Bedrock, BedrockAccess, BedrockCredentials};
use ratchet_agent::provider::openai::{self, OpenAi};
use ratchet_agent::request::{CacheablePart, LlmRequest, Turn};
use ratchet_core::catalog::llm::LlmAdapter;
use ratchet_core::catalog::prompt::{ChatMessage, PromptBody};
use ratchet_core::outbound::{OutboundPolicy, OutboundRefused};
use ratchet_core::time::Timestamp;
use ratchet_remote::http;
use ratchet_store::catalog::{LlmConnection, LlmCredentials};
use ratchet_store::project::ProjectId;
use ratchet_store::{Store, StoreError};
use reqwest::{Client, ClientBuilder, Url, redirect};

use crate::user_files::UserFileError;

/// How long a provider may take to be reached.
const CONNECT: Duration = Duration::from_secs(10);

/// Why there is no model behind a connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The secrets cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The connection's settings are incomplete.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The user's prompt or signals cannot be used.
    #[error(transparent)]
    UserFile(#[from] UserFileError),
}

impl ConnectError {
    /// Public error message, without the provider's response.
    pub fn without_reply(&self) -> String {
        match self {
            Self::Store(error) => error.to_string(),
            Self::Model(error) => error.without_reply(),
            Self::UserFile(error) => error.to_string(),
        }
    }
}

/// Opens a model through a connection of a project; nothing is sent yet.
///
/// # Errors
/// Fails if the connection's secrets cannot be opened, or if its API is not supported.
pub async fn model(
    folder: &Store,
    project: &ProjectId,
    (connection, name): (&LlmConnection, &str),
    outbound: &OutboundPolicy,
    at: Timestamp,
) -> Result<Model, ConnectError> {
    let (catalog, secrets) = (&folder.catalog, folder.secrets.clone());
    let provider = connection.provider.clone();
    let credentials = catalog.llm_credentials(project.clone(), provider, secrets).await?;
    let provider = match connection.adapter {
        LlmAdapter::Bedrock => bedrock(connection, &credentials, outbound).await?,
        _ => over_http(connection, credentials, outbound).await?,
    };
    let prices = PriceList { table: folder.prices(project), at };
    Ok(Model::new(provider, name, prices))
}

async fn over_http(
    connection: &LlmConnection,
    credentials: LlmCredentials,
    outbound: &OutboundPolicy,
) -> Result<Provider, ModelError> {
    let usual = usual_url(connection.adapter)?;
    let access = ModelAccess {
        base_url: connection.base_url.clone().unwrap_or_else(|| usual.to_owned()),
        key: Some(credentials.secret),
        headers: credentials.headers,
    };
    let client = match &connection.base_url {
        Some(entered) => client_entered(entered, outbound).await?,
        None => client(usual)?,
    };
    Ok(match connection.adapter {
        LlmAdapter::Anthropic => Provider::Anthropic(Anthropic::new(client, access)?),
        _ => Provider::OpenAi(OpenAi::new(client, access)?),
    })
}

/// The region is in the connection's additional settings.
async fn bedrock(
    connection: &LlmConnection,
    credentials: &LlmCredentials,
    outbound: &OutboundPolicy,
) -> Result<Provider, ModelError> {
    let config = connection.config.as_ref().map(|config| serde_json::from_str(config.as_str()));
    let config: serde_json::Value = config.and_then(Result::ok).unwrap_or_default();
    if let Some(entered) = &connection.base_url {
        http::check_resolved(&read_url(entered)?, outbound)
            .await
            .map_err(|why| not_allowed(&why))?;
    }
    let region = config["region"].as_str();
    // It becomes part of a host name.
    if region.is_some_and(|region| !is_region(region)) {
        let why = "config: the region is a word such as eu-central-1".to_owned();
        return Err(ModelError::NotSetUp(why));
    }
    let access = BedrockAccess {
        region: region.map(str::to_owned),
        endpoint: connection.base_url.clone(),
        credentials: BedrockCredentials::read(&credentials.secret),
        outbound: outbound.clone(),
    };
    Ok(Provider::Bedrock(Bedrock::open(access).await?))
}

/// Where a provider usually is.
fn usual_url(adapter: LlmAdapter) -> Result<&'static str, ModelError> {
    match adapter {
        LlmAdapter::Anthropic => Ok(anthropic::BASE_URL),
        LlmAdapter::OpenAi => Ok(openai::BASE_URL),
        LlmAdapter::Azure | LlmAdapter::Bedrock | LlmAdapter::VertexAi | LlmAdapter::AiStudio => {
            Err(ModelError::Unsupported {
                provider: adapter.as_str(),
                what: "be asked through a connection yet; anthropic, bedrock and openai can, and \
                       whatever speaks as they do",
            })
        }
    }
}

fn is_region(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(is_letter)
}

/// A client for an address that the operator has chosen.
fn client(base_url: &str) -> Result<Client, ModelError> {
    let url = read_url(base_url)?;
    // A redirected question would take its key somewhere else.
    built(base_url, http::client_builder_for(&url).redirect(redirect::Policy::none()))
}

/// A client for an address that was entered by an API caller or on a page.
async fn client_entered(base_url: &str, outbound: &OutboundPolicy) -> Result<Client, ModelError> {
    let url = read_url(base_url)?;
    http::check_resolved(&url, outbound).await.map_err(|why| not_allowed(&why))?;
    built(base_url, http::client_for_entered_url(&url, outbound).map_err(|why| not_allowed(&why))?)
}

fn read_url(base_url: &str) -> Result<Url, ModelError> {
    Url::parse(base_url).map_err(|why| unfit(base_url, &why))
}

fn built(base_url: &str, client: ClientBuilder) -> Result<Client, ModelError> {
    client.connect_timeout(CONNECT).build().map_err(|why| unfit(base_url, &why))
}

fn unfit(base_url: &str, why: &dyn fmt::Display) -> ModelError {
    ModelError::NotSetUp(format!("the address {base_url}: {why}"))
}

fn not_allowed(why: &OutboundRefused) -> ModelError {
    ModelError::NotSetUp(why.to_string())
}

/// The default model of a connection: the first of its own, or the
/// provider's default.
pub fn usual_model(connection: &LlmConnection) -> Option<String> {
    let usual = || {
        let provider = match connection.adapter {
            LlmAdapter::Anthropic => ProviderName::Anthropic,
            LlmAdapter::OpenAi => ProviderName::OpenAi,
            _ => return None,
        };
        DefaultModels::builtin().of(provider).map(str::to_owned)
    };
    let usual = || connection.has_default_models.then(usual).flatten();
    connection.custom_models.first().cloned().or_else(usual)
}

/// A prompt as a model request: system messages apart, the rest as turns.
///
/// A prompt with only system messages is sent as a user message, since models need
/// one. Consecutive turns of the same role are merged.
pub fn ask(prompt: &PromptBody) -> LlmRequest {
    let messages = match prompt {
        PromptBody::Text(text) => return LlmRequest::new(text.as_str()),
        PromptBody::Chat(messages) => messages,
    };
    let (mut system, mut turns) = (Vec::new(), Vec::<Turn>::new());
    for message in messages {
        let ChatMessage::Said { role, content, .. } = message else { continue };
        match role.as_str() {
            "system" | "developer" => system.push(CacheablePart::new(content.as_str())),
            "assistant" | "model" => match turns.last_mut() {
                Some(Turn::Model { text, .. }) => {
                    text.push('\n');
                    text.push_str(content);
                }
                _ => turns.push(Turn::Model { text: content.clone(), calls: Vec::new() }),
            },
            _ => match turns.last_mut() {
                Some(Turn::User(said)) => said.push(CacheablePart::new(content.as_str())),
                _ => turns.push(Turn::User(vec![CacheablePart::new(content.as_str())])),
            },
        }
    }
    if !turns.iter().any(|turn| matches!(turn, Turn::User(_))) {
        turns.insert(0, Turn::User(std::mem::take(&mut system)));
    }
    LlmRequest { system, turns, ..LlmRequest::new("") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(said: &[(&str, &str)]) -> PromptBody {
        let message = |(role, content): &(&str, &str)| ChatMessage::Said {
            role: (*role).to_owned(),
            content: (*content).to_owned(),
            rest: serde_json::Map::new(),
        };
        PromptBody::Chat(said.iter().map(message).collect())
    }

    fn user(said: &[&str]) -> Turn {
        Turn::User(said.iter().map(|text| CacheablePart::new(*text)).collect())
    }

    #[test]
    fn a_chat_becomes_a_question() {
        let asked = ask(&chat(&[
            ("system", "Be brief."),
            ("user", "Hi"),
            ("tool", "42"),
            ("assistant", "Yes?"),
            ("user", "Why?"),
        ]));
        assert_eq!(asked.system, [CacheablePart::new("Be brief.")]);
        let model = Turn::Model { text: "Yes?".to_owned(), calls: Vec::new() };
        assert_eq!(asked.turns, [user(&["Hi", "42"]), model, user(&["Why?"])]);
    }

    #[test]
    fn what_only_the_system_says_is_asked_by_the_user() {
        let asked = ask(&chat(&[("system", "Sort this.")]));
        assert_eq!((asked.system.len(), asked.turns), (0, vec![user(&["Sort this."])]));
        assert_eq!(ask(&PromptBody::Text("Why?".to_owned())), LlmRequest::new("Why?"));
    }
}
