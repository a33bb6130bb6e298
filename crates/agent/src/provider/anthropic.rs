mod request_body;
/// Streamed messages.
mod stream;
mod batches;

use ratchet_core::record::tokens::{Provenance, Tokens};
use ratchet_core::record::usage::{AnthropicCounts, Usage};
use ratchet_core::unique_keys::duplicate_key;
use reqwest::Client;
use serde_json::Value;

use crate::access::ModelAccess;
use crate::error::ModelError;
use crate::http::{self, KeyHeader, ProviderHttp};
use crate::provider::{Listener, ProviderRequest};
use crate::request::ToolCall;
use crate::response::{ProviderResponse, StopReason};

/// The default base URL.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// Anthropic's Messages API or a compatible server.
#[derive(Clone, Debug)]
pub struct Anthropic {
    wire: ProviderHttp,
}

impl Anthropic {
    /// Creates a client.
    ///
    /// # Errors
    /// Fails if the key or a header cannot be sent over HTTP.
    pub fn new(client: Client, mut access: ModelAccess) -> Result<Self, ModelError> {
        let version = ratchet_core::secret::Secret::new("2023-06-01");
        access.headers.entry("anthropic-version".to_owned()).or_insert(version);
        Ok(Self { wire: ProviderHttp::new(client, access, KeyHeader::XApiKey)? })
    }

    pub(crate) async fn complete(
        &self,
        provider_request: ProviderRequest<'_>,
        listener: Listener<'_>,
    ) -> Result<ProviderResponse, ModelError> {
        let mut body = request_body::body(provider_request);
        let Some(listener) = listener else {
            let answer = self.wire.post("/v1/messages", &body).await?;
            let request = http::request_id(&answer);
            let body = http::whole(answer).await?;
            let message = serde_json::from_slice(&body)
                .map_err(|error| ModelError::MalformedResponse(error.to_string()))?;
            let duplicate_key = duplicate_key(&body);
            return Ok(ProviderResponse { duplicate_key, ..response(&message, request)? });
        };
        body["stream"] = Value::Bool(true);
        let answer = self.wire.post("/v1/messages", &body).await?;
        let request = http::request_id(&answer);
        response(&stream::message(answer, listener).await?, request)
    }

    /// Counts the tokens of a request.
    pub(crate) async fn count(
        &self,
        provider_request: ProviderRequest<'_>,
    ) -> Result<Tokens, ModelError> {
        let body = request_body::countable(provider_request);
        let answer = self.wire.post("/v1/messages/count_tokens", &body).await?;
        let count = http::json(answer).await?["input_tokens"].as_u64();
        let count =
            count.ok_or_else(|| ModelError::MalformedResponse("no input_tokens".to_owned()))?;
        Ok(Tokens { count, provenance: Provenance::Measured })
    }
}

fn response(message: &Value, request: Option<String>) -> Result<ProviderResponse, ModelError> {
    let Some(blocks) = message["content"].as_array() else {
        return Err(ModelError::MalformedResponse("the message has no content".to_owned()));
    };
    let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    let text = of_kind("text").filter_map(|block| block["text"].as_str()).collect();
    let text_of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let call = |block: &Value| ToolCall {
        id: text_of(&block["id"]),
        name: text_of(&block["name"]),
        input: block["input"].clone(),
    };
    Ok(ProviderResponse {
        text,
        calls: of_kind("tool_use").map(call).collect(),
        stop: stop_reason(message["stop_reason"].as_str().unwrap_or_default()),
        usage: Some(usage(&message["usage"])?),
        cost: None,
        model: message["model"].as_str().map(str::to_owned),
        request,
        duplicate_key: None,
    })
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::Done,
        "tool_use" => StopReason::Tools,
        "max_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refused,
        other => StopReason::Other(other.to_owned()),
    }
}

/// In this API `input_tokens` excludes cached tokens.
fn usage(sent: &Value) -> Result<Usage, ModelError> {
    let count = |name: &str| sent[name].as_u64();
    let missing = || ModelError::MalformedResponse("the message has no usage".to_owned());
    let counts = AnthropicCounts {
        input: Some(count("input_tokens").ok_or_else(missing)?),
        cache_read: count("cache_read_input_tokens"),
        cache_written: count("cache_creation_input_tokens"),
        cache_written_1h: sent["cache_creation"]["ephemeral_1h_input_tokens"].as_u64(),
        output: Some(count("output_tokens").ok_or_else(missing)?),
        web_searches: sent["server_tool_use"]["web_search_requests"].as_u64(),
    };
    counts.usage().ok_or_else(missing)
}
