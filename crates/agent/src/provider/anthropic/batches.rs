use ratchet_core::unique_keys::duplicate_key;
use serde_json::{Value, json};

use super::{Anthropic, request_body, response};
use crate::error::ModelError;
use crate::http;
use crate::provider::ProviderRequest;
use crate::response::ProviderResponse;

const PATH: &str = "/v1/messages/batches";
/// Page size of batch lists.
const PAGE: usize = 100;

impl Anthropic {
    /// Submits requests with custom ids.
    pub(crate) async fn submit<'a>(
        &self,
        inquiries: impl Iterator<Item = (&'a str, ProviderRequest<'a>)>,
    ) -> Result<Value, ModelError> {
        let requests = inquiries
            .map(|(name, provider_request)| json!({"custom_id": name, "params": request_body::body(provider_request)}));
        let body = json!({"requests": requests.collect::<Vec<_>>()});
        http::json(self.wire.post(PATH, &body).await?).await
    }

    pub(crate) async fn batch(&self, id: &str) -> Result<Value, ModelError> {
        http::json(self.wire.get(&format!("{PATH}/{}", plain(id)?)).await?).await
    }

    /// Lists batches, newest first.
    pub(crate) async fn batches(&self, after: Option<&str>) -> Result<Value, ModelError> {
        let after = after.map(plain).transpose()?;
        let after = after.map_or_else(String::new, |id| format!("&after_id={id}"));
        http::json(self.wire.get(&format!("{PATH}?limit={PAGE}{after}")).await?).await
    }

    /// Reads the result of each request.
    pub(crate) async fn results(
        &self,
        id: &str,
        mut take: impl FnMut(&str, Result<ProviderResponse, ModelError>) + Send,
    ) -> Result<(), ModelError> {
        let answer = self.wire.get(&format!("{PATH}/{}/results", plain(id)?)).await?;
        http::lines(answer, |line| {
            let duplicate_key = duplicate_key(line);
            let line: Value = serde_json::from_slice(line)
                .map_err(|error| ModelError::MalformedResponse(error.to_string()))?;
            let result = &line["result"];
            let outcome = match result["type"].as_str().unwrap_or_default() {
                "succeeded" => response(&result["message"], None)
                    .map(|response| ProviderResponse { duplicate_key, ..response }),
                "errored" => Err(failure(&result["error"])),
                other => Err(ModelError::CutStream(format!("the batch says {other}"))),
            };
            take(line["custom_id"].as_str().unwrap_or_default(), outcome);
            Ok(())
        })
        .await
    }
}

/// Validates that an id is safe in a URL path.
fn plain(id: &str) -> Result<&str, ModelError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !id.is_empty() && id.bytes().all(fits) {
        return Ok(id);
    }
    Err(ModelError::MalformedResponse(format!("{id:?} is no name of a batch")))
}

fn failure(error: &Value) -> ModelError {
    let inner = if error["error"].is_object() { &error["error"] } else { error };
    let kind = inner["type"].as_str().unwrap_or_default();
    let status = match kind {
        "authentication_error" => 401,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "overloaded_error" => 529,
        "api_error" => 500,
        _ => 400,
    };
    let why = format!("{kind}: {}", inner["message"].as_str().unwrap_or_default());
    http::failure(status, None, why)
}
