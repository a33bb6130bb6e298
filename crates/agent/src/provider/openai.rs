mod request_body;
/// Streamed completions.
mod stream;

use ratchet_core::record::usage::Usage;
use reqwest::Client;
use serde_json::{Value, json};

use crate::access::ModelAccess;
use crate::error::ModelError;
use crate::http::{self, KeyHeader, ProviderHttp};
use crate::provider::{Listener, ProviderRequest};
use crate::request::ToolCall;
use crate::response::{ProviderResponse, StopReason};

/// The default base URL.
pub const BASE_URL: &str = "https://api.openai.com/v1";

const PATH: &str = "/chat/completions";

/// OpenAI's chat completions API or a compatible server.
#[derive(Clone, Debug)]
pub struct OpenAi {
    wire: ProviderHttp,
}

impl OpenAi {
    /// Creates a client; self-hosted servers may need no key.
    ///
    /// # Errors
    /// Fails if the key or a header cannot be sent over HTTP.
    pub fn new(client: Client, access: ModelAccess) -> Result<Self, ModelError> {
        Ok(Self { wire: ProviderHttp::new(client, access, KeyHeader::Bearer)? })
    }

    pub(crate) async fn complete(
        &self,
        provider_request: ProviderRequest<'_>,
        listener: Listener<'_>,
    ) -> Result<ProviderResponse, ModelError> {
        let mut body = request_body::body(provider_request);
        let Some(listener) = listener else {
            let answer = self.wire.post(PATH, &body).await?;
            let request = http::request_id(&answer);
            return response(&http::json(answer).await?, request);
        };
        body["stream"] = Value::Bool(true);
        body["stream_options"] = json!({"include_usage": true});
        let answer = self.wire.post(PATH, &body).await?;
        let request = http::request_id(&answer);
        response(&stream::completion(answer, listener).await?, request)
    }
}

fn response(completion: &Value, request: Option<String>) -> Result<ProviderResponse, ModelError> {
    let choice = &completion["choices"][0];
    let message = &choice["message"];
    if !message.is_object() {
        return Err(ModelError::MalformedResponse("the completion has no message".to_owned()));
    }
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let calls: Vec<ToolCall> = calls.map(call).collect::<Result<_, _>>()?;
    let refusal = message["refusal"].as_str().filter(|refusal| !refusal.is_empty());
    let stop = match (refusal, choice["finish_reason"].as_str().unwrap_or_default()) {
        (Some(_), _) | (None, "content_filter") => StopReason::Refused,
        (None, "stop") => StopReason::Done,
        (None, "length") => StopReason::MaxTokens,
        (None, "tool_calls") => StopReason::Tools,
        (None, other) => StopReason::Other(other.to_owned()),
    };
    let text = refusal.or_else(|| message["content"].as_str()).unwrap_or_default().to_owned();
    let usage = completion["usage"].as_object().map(Usage::from_details);
    Ok(ProviderResponse {
        text,
        calls,
        stop,
        usage: usage.filter(|usage| !usage.is_empty()),
        cost: None,
        model: completion["model"].as_str().map(str::to_owned),
        request,
        duplicate_key: None,
    })
}

/// The arguments of a call are JSON inside a string.
fn call(call: &Value) -> Result<ToolCall, ModelError> {
    let text_of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    let input = serde_json::from_str(arguments)
        .map_err(|error| ModelError::MalformedResponse(format!("arguments of a tool: {error}")))?;
    Ok(ToolCall { id: text_of(&call["id"]), name: text_of(&call["function"]["name"]), input })
}
