mod bounded_body;
mod request_body;
mod stream;
/// Conversion of JSON to the SDK's document type.
mod document;
mod failure;
/// DNS resolution under the outbound policy.
mod resolver;

use aws_sdk_bedrockruntime::config::retry::RetryConfig;
use aws_sdk_bedrockruntime::config::{
    BehaviorVersion, Credentials, Region, RuntimeComponents, SharedHttpClient, Token,
};
use aws_sdk_bedrockruntime::operation::RequestId;
use aws_sdk_bedrockruntime::types::{
    ContentBlock, ConverseOutput, StopReason as Stopped, TokenUsage,
};
use aws_sdk_bedrockruntime::{Client, Config};
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Builder, Connector};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::record::usage::Usage;
use ratchet_core::secret::Secret;
use reqwest::Url;

use crate::error::ModelError;
use crate::provider::{Listener, ProviderRequest};
use crate::request::ToolCall;
use crate::response::{ProviderResponse, StopReason};
use bounded_body::BoundedClient;
use resolver::PolicyResolver;

/// Amazon Bedrock's Converse API.
#[derive(Clone, Debug)]
pub struct Bedrock {
    client: Client,
    /// The only credential that is sent as it is, and so must be redacted from responses.
    key: Option<Secret>,
}

/// Region, endpoint and credentials.
#[derive(Clone, Debug)]
pub struct BedrockAccess {
    /// Defaults to the environment's region.
    pub region: Option<String>,
    /// Replaces the region's endpoint.
    pub endpoint: Option<String>,
    pub credentials: BedrockCredentials,
    /// The policy that applies to the endpoint.
    pub outbound: OutboundPolicy,
}

/// AWS credentials.
#[derive(Clone, Debug)]
pub enum BedrockCredentials {
    /// The default credential chain: environment, profile, container or instance.
    Ambient,
    /// An access key pair.
    Keys {
        id: String,
        secret: Secret,
        /// Session token of temporary credentials.
        session: Option<Secret>,
    },
    /// A Bedrock API key.
    ApiKey(Secret),
}

impl BedrockCredentials {
    /// Parses the secret of a connection: a JSON object with `accessKeyId`, `secretAccessKey` and
    /// optionally `sessionToken`; anything else is a Bedrock API key.
    pub fn read(secret: &Secret) -> Self {
        let pair: serde_json::Value = serde_json::from_str(secret.expose()).unwrap_or_default();
        let text = |name: &str| pair[name].as_str();
        match (text("accessKeyId"), text("secretAccessKey")) {
            (Some(id), Some(secret)) => Self::Keys {
                id: id.to_owned(),
                secret: Secret::new(secret),
                session: text("sessionToken").map(Secret::new),
            },
            _ => Self::ApiKey(Secret::new(secret.expose())),
        }
    }
}

impl Bedrock {
    /// Creates a client; credentials are resolved at the first request.
    ///
    /// # Errors
    /// Fails if neither the caller nor the environment names a region.
    pub async fn open(access: BedrockAccess) -> Result<Self, ModelError> {
        let BedrockAccess { region, endpoint, credentials, outbound } = access;
        let region = region.map(Region::new);
        let key = match &credentials {
            BedrockCredentials::ApiKey(key) => Some(key.clone()),
            BedrockCredentials::Ambient | BedrockCredentials::Keys { .. } => None,
        };
        let latest = BehaviorVersion::latest();
        let config = match credentials {
            BedrockCredentials::Ambient => {
                let loader = aws_config::defaults(latest).http_client(connection(None));
                let loader = match region {
                    Some(region) => loader.region(region),
                    None => loader,
                };
                aws_sdk_bedrockruntime::config::Builder::from(&loader.load().await)
            }
            BedrockCredentials::Keys { id, secret, session } => {
                let session = session.map(|session| session.expose().to_owned());
                let lent_until = None;
                let keys = Credentials::new(id, secret.expose(), session, lent_until, "ratchet");
                Config::builder().behavior_version(latest).credentials_provider(keys).region(region)
            }
            BedrockCredentials::ApiKey(key) => {
                let ends = None;
                let token = Token::new(key.expose(), ends);
                Config::builder().behavior_version(latest).bearer_token(token).region(region)
            }
        };
        // The SDK's retries are off: retries are decided in one place for all providers.
        let resolver = endpoint.as_deref().and_then(|entered| resolver(entered, outbound));
        let config = config.http_client(connection(resolver));
        let config = config.retry_config(RetryConfig::disabled());
        let config = match endpoint {
            Some(endpoint) => config.endpoint_url(endpoint),
            None => config,
        };
        let config = config.build();
        if config.region().is_none() {
            let why = "Bedrock needs a region: set AWS_REGION, or name one in the connection";
            return Err(ModelError::NotSetUp(why.to_owned()));
        }
        Ok(Self { client: Client::from_conf(config), key })
    }

    pub(crate) async fn complete(
        &self,
        provider_request: ProviderRequest<'_>,
        listener: Listener<'_>,
    ) -> Result<ProviderResponse, ModelError> {
        let request_body = request_body::ConverseRequest::of(provider_request)?;
        let Some(listener) = listener else {
            let sent = request_body.put(self.client.converse()).send().await;
            let answer = sent.map_err(|error| failure::of_request(&error, self.key.as_ref()))?;
            let request = answer.request_id().map(str::to_owned);
            let usage = answer.usage.as_ref().map(usage);
            let Some(ConverseOutput::Message(message)) = answer.output else {
                return Err(ModelError::MalformedResponse("the answer has no message".to_owned()));
            };
            return Ok(response(message.content, &answer.stop_reason, usage, request));
        };
        let sent = request_body.put_streamed(self.client.converse_stream()).send().await;
        let answer = sent.map_err(|error| failure::of_request(&error, self.key.as_ref()))?;
        let request = answer.request_id().map(str::to_owned);
        let whole = stream::whole(answer.stream, listener).await?;
        Ok(response(whole.content, &whole.stop, whole.usage.as_ref().map(usage), request))
    }
}

/// Creates an HTTP client with the program's TLS provider and the environment's proxies.
pub(crate) fn connection(resolver: Option<PolicyResolver>) -> SharedHttpClient {
    let client = Builder::new().build_with_connector_fn(move |settings, components| {
        let mut builder = Connector::builder()
            .proxy_config(ProxyConfig::from_env())
            .tls_provider(tls::Provider::Rustls(CryptoMode::Ring));
        builder.set_connector_settings(settings.cloned());
        builder.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        match resolver.clone() {
            Some(resolver) => builder.build_with_resolver(resolver),
            None => builder.build(),
        }
    });
    SharedHttpClient::new(BoundedClient(client))
}

/// Returns a resolver for a user-entered endpoint; `None` where the policy is unrestricted.
fn resolver(entered: &str, policy: OutboundPolicy) -> Option<PolicyResolver> {
    let url = Url::parse(entered).ok().filter(|_| !policy.is_unrestricted())?;
    Some(PolicyResolver { policy, host: url.host_str()?.to_owned() })
}

fn response(
    content: Vec<ContentBlock>,
    stop: &Stopped,
    usage: Option<Usage>,
    request: Option<String>,
) -> ProviderResponse {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for block in content {
        match block {
            ContentBlock::Text(piece) => text.push_str(&piece),
            ContentBlock::ToolUse(call) => calls.push(ToolCall {
                id: call.tool_use_id,
                name: call.name,
                input: document::to_json(&call.input),
            }),
            // Reasoning, citations and images are not requested.
            _ => {}
        }
    }
    let stop = match stop {
        Stopped::EndTurn | Stopped::StopSequence => StopReason::Done,
        Stopped::ToolUse => StopReason::Tools,
        Stopped::MaxTokens => StopReason::MaxTokens,
        Stopped::ContentFiltered | Stopped::GuardrailIntervened => StopReason::Refused,
        other => StopReason::Other(other.as_str().to_owned()),
    };
    let (cost, model, duplicate_key) = (None, None, None);
    ProviderResponse { text, calls, stop, usage, cost, model, request, duplicate_key }
}

/// In this API `inputTokens` excludes cached tokens.
fn usage(sent: &TokenUsage) -> Usage {
    let count = |number: i32| u64::try_from(number).unwrap_or(0);
    let kinds = [
        ("input", count(sent.input_tokens())),
        ("input_cached_tokens", count(sent.cache_read_input_tokens().unwrap_or(0))),
        ("input_cache_creation", count(sent.cache_write_input_tokens().unwrap_or(0))),
        ("output", count(sent.output_tokens())),
    ];
    let used = kinds.into_iter().filter(|(kind, units)| *units > 0 || *kind == "output");
    Usage::new(used.map(|(kind, units)| (kind.to_owned(), units)).collect())
}
