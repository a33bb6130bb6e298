use ratchet_core::money::Money;
use ratchet_core::record::usage::Usage;
use serde_json::Value;

use crate::error::ModelError;
use crate::http;
use crate::provider::Listener;
use crate::response::{ProviderResponse, StopReason};

/// The output of the program so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The final `result` line.
    result: Value,
    stop: Option<String>,
}

impl Report {
    /// Processes a line; unknown types are ignored.
    pub(crate) fn take(&mut self, line: &str, listener: Listener<'_>) {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return };
        match message["type"].as_str().unwrap_or_default() {
            "result" => self.result = message,
            "stream_event" => {
                let event = &message["event"];
                let piece = event["delta"]["text"].as_str();
                if let (Some(piece), Some(listener)) = (piece, listener) {
                    listener(piece);
                }
                if let Some(stop) = event["delta"]["stop_reason"].as_str() {
                    self.stop = Some(stop.to_owned());
                }
            }
            "assistant" => {
                if let Some(stop) = message["message"]["stop_reason"].as_str() {
                    self.stop = Some(stop.to_owned());
                }
            }
            _ => {}
        }
    }

    /// Returns the response. The process served one request, so its totals are those of the
    /// response.
    pub(crate) fn response(self, complaint: &str) -> Result<ProviderResponse, ModelError> {
        let result = &self.result;
        let stderr: String = complaint.chars().take(500).collect();
        if !result.is_object() {
            return Err(ModelError::NotSetUp(format!("claude printed no result ({stderr})")));
        }
        let text = result["result"].as_str().unwrap_or_default().to_owned();
        let status = result["api_error_status"].as_u64().and_then(|code| u16::try_from(code).ok());
        if result["is_error"] == true {
            return Err(match status {
                Some(status) => http::failure(status, None, text),
                None if text.is_empty() => ModelError::MalformedResponse(stopped(result, stderr)),
                None => ModelError::NotSetUp(format!("claude: {text}")),
            });
        }
        let stop = result["stop_reason"].as_str().or(self.stop.as_deref()).unwrap_or("end_turn");
        let models = result["modelUsage"].as_object();
        Ok(ProviderResponse {
            text,
            calls: Vec::new(),
            stop: match stop {
                "end_turn" | "stop_sequence" => StopReason::Done,
                "max_tokens" => StopReason::MaxTokens,
                "refusal" => StopReason::Refused,
                other => StopReason::Other(other.to_owned()),
            },
            usage: usage(&result["usage"]),
            cost: result["total_cost_usd"].as_f64().and_then(Money::from_dollars),
            model: models.and_then(|models| models.keys().next()).cloned(),
            request: result["session_id"].as_str().map(str::to_owned),
            duplicate_key: None,
        })
    }
}

/// Why there is no answer: a limit of the call, or what the program said at its end.
fn stopped(result: &Value, stderr: String) -> String {
    match result["subtype"].as_str().filter(|subtype| subtype.starts_with("error_")) {
        Some(limit) => format!("claude stopped: {}", limit.replace('_', " ")),
        None => stderr,
    }
}

fn usage(sent: &Value) -> Option<Usage> {
    let count = |name: &str| sent[name].as_u64();
    let kinds = [
        ("input", count("input_tokens")?),
        ("input_cached_tokens", count("cache_read_input_tokens").unwrap_or(0)),
        ("input_cache_creation", count("cache_creation_input_tokens").unwrap_or(0)),
        ("output", count("output_tokens")?),
    ];
    Some(Usage::new(kinds.into_iter().map(|(kind, units)| (kind.to_owned(), units)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(lines: &[&str]) -> Result<ProviderResponse, ModelError> {
        let mut report = Report::default();
        lines.iter().for_each(|line| report.take(line, None));
        report.response("exit status: 1")
    }

    #[test]
    fn the_result_line_contains_the_response() {
        let message = report(&[
            "Warning: something",
            r#"{"type":"system","subtype":"init"}"#,
            r#"{"duration_ms":1,"type":"result","subtype":"success","is_error":false,"result":"Hi",
               "total_cost_usd":0.25,"usage":{"input_tokens":3,"output_tokens":4},
               "modelUsage":{"claude-x":{}}}"#
                .replace('\n', " ")
                .as_str(),
        ]);
        let message = message.unwrap();
        assert_eq!((message.text.as_str(), message.model.as_deref()), ("Hi", Some("claude-x")));
        assert_eq!(message.cost, Money::from_dollars(0.25));
        assert_eq!(message.usage.unwrap().total(), 7);
    }

    #[test]
    fn failures_are_classified() {
        let failed = |line: &str| report(&[line]).unwrap_err();
        let busy = r#"{"type":"result","is_error":true,"api_error_status":429,"result":"busy"}"#;
        assert!(matches!(failed(busy), ModelError::RateLimited { .. }));
        let out = r#"{"type":"result","is_error":true,"result":"Please run /login"}"#;
        assert!(failed(out).to_string().contains("/login"));
        assert!(failed("Segmentation fault").to_string().contains("exit status"));
    }
}
