use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::LlmAdapter;
use crate::catalog::validation::Invalid;
use crate::payload::Json;

const NAME_CHARS: RangeInclusive<usize> = 1..=500;
const SECRET_CHARS: RangeInclusive<usize> = 1..=20_000;
const MAX_MODELS: usize = 1_000;
const MAX_HEADERS: usize = 100;

/// A request to create or change an LLM connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionRequest<'a> {
    /// The provider's name within the project.
    pub provider: &'a str,
    pub adapter: LlmAdapter,
    pub secret: &'a str,
    /// Replaces the provider's default base URL.
    pub base_url: Option<&'a str>,
    /// Models beyond the adapter's defaults.
    pub custom_models: &'a [String],
    /// Extra headers of every request.
    pub headers: &'a BTreeMap<String, String>,
    /// Adapter-specific settings.
    pub config: Option<&'a Json>,
}

impl ConnectionRequest<'_> {
    /// Returns all validation errors, by API field name.
    pub fn faults(&self) -> Vec<Invalid> {
        let mut faults = Vec::new();
        let mut must = |holds: bool, field: &'static str, problem: String| {
            if !holds {
                faults.push(Invalid { field, problem });
            }
        };
        let (least, most) = NAME_CHARS.into_inner();
        let has_chars = format!("must have {least} to {most} characters");
        must(is_text(self.provider, NAME_CHARS), "provider", has_chars.clone());
        let (least, most) = SECRET_CHARS.into_inner();
        let problem = format!("must have {least} to {most} characters");
        must(is_text(self.secret, SECRET_CHARS), "secretKey", problem);
        let problem = format!("must have 0 to {MAX_MODELS} entries");
        must(self.custom_models.len() <= MAX_MODELS, "customModels", problem);
        let are_names = self.custom_models.iter().all(|model| is_text(model, NAME_CHARS));
        must(are_names, "customModels", has_chars);
        let problem = format!("must have 0 to {MAX_HEADERS} entries");
        must(self.headers.len() <= MAX_HEADERS, "extraHeaders", problem);
        let are_headers = self.headers.iter().all(|(name, value)| is_header(name, value));
        let problem = "must hold names and values that HTTP can send";
        must(are_headers, "extraHeaders", problem.to_owned());
        let is_url = self.base_url.is_none_or(is_web_url);
        must(is_url, "baseURL", "must be an http or https URL".to_owned());
        must(config_fits(self.adapter, self.config), "config", CONFIG.to_owned());
        faults
    }
}

const CONFIG: &str = "Bedrock needs {\"region\": text}, openai may have {\"useResponsesApi\": true or false}, \
     google-vertex-ai may have {\"location\": text}, all others have none";

/// Returns whether a text has an allowed length and is not blank.
fn is_text(text: &str, chars: RangeInclusive<usize>) -> bool {
    !text.trim().is_empty() && chars.contains(&text.chars().count())
}

/// Returns whether a header is valid in HTTP.
fn is_header(name: &str, value: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_sent = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
    !name.is_empty() && name.bytes().all(is_token) && value.bytes().all(is_sent)
}

/// Returns whether a text is an `http` or `https` URL.
fn is_web_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    !host.is_empty() && url.bytes().all(|byte| byte.is_ascii_graphic())
}

fn config_fits(adapter: LlmAdapter, config: Option<&Json>) -> bool {
    let Some(config) = config else { return adapter != LlmAdapter::Bedrock };
    let object: Map<String, Value> = serde_json::from_str(config.as_str()).unwrap_or_default();
    let is_only = |key: &str, fits: fn(&Value) -> bool| {
        object.len() == 1 && object.get(key).is_some_and(fits)
    };
    match adapter {
        LlmAdapter::Bedrock => is_only("region", Value::is_string),
        LlmAdapter::OpenAi => is_only("useResponsesApi", Value::is_boolean),
        LlmAdapter::VertexAi => is_only("location", Value::is_string),
        LlmAdapter::Anthropic | LlmAdapter::Azure | LlmAdapter::AiStudio => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(change: impl FnOnce(&mut ConnectionRequest<'_>), fields: &[&str]) {
        let headers = BTreeMap::new();
        let mut reach = ConnectionRequest {
            provider: "openai",
            adapter: LlmAdapter::OpenAi,
            secret: "sk",
            base_url: None,
            custom_models: &[],
            headers: &headers,
            config: None,
        };
        change(&mut reach);
        let found: Vec<&str> = reach.faults().iter().map(|fault| fault.field).collect();
        assert_eq!(found, fields);
    }

    #[test]
    fn each_field_is_checked() {
        check(|_| {}, &[]);
        check(|reach| (reach.provider, reach.secret) = (" ", ""), &["provider", "secretKey"]);
        check(|reach| reach.adapter = LlmAdapter::Bedrock, &["config"]);
        for url in ["ftp://a", "https://", "https:///x", "http://a b", "javascript:alert(1)"] {
            check(|reach| reach.base_url = Some(url), &["baseURL"]);
        }
        check(|reach| reach.base_url = Some("https://a.example/v1"), &[]);
    }

    #[test]
    fn headers_are_what_http_can_send() {
        assert!(is_header("x-team", "a b\tc"));
        for (name, value) in [("", "a"), ("a b", "c"), ("a", "b\r\nc: d"), ("a:", "b")] {
            assert!(!is_header(name, value), "{name}: {value}");
        }
    }
}
