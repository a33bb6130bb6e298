use ratchet_core::json_schema::Schema;
use ratchet_core::money::Money;
use ratchet_core::record::tokens::{Provenance, Tokens};
use ratchet_core::record::usage::Usage;
use serde_json::Value;

use crate::request::ToolCall;

/// A validated model response with usage and cost.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmResponse {
    /// The text, or the JSON document as text.
    pub text: String,
    /// The JSON document where one was requested; valid against the schema.
    pub json: Option<Value>,
    pub calls: Vec<ToolCall>,
    pub stop: StopReason,
    pub usage: Usage,
    /// Verified, unless the provider does not report usage.
    pub provenance: Provenance,
    /// `None` when the price is unknown.
    pub cost: Option<Money>,
    /// The model id that the provider reports.
    pub model: String,
    /// The provider's request id, for support requests.
    pub request: Option<String>,
    /// The number of attempts.
    pub attempts: u32,
}

impl LlmResponse {
    /// Returns all input and output tokens.
    pub fn tokens(&self) -> Tokens {
        Tokens { count: self.usage.total(), provenance: self.provenance }
    }
}

/// What a provider bills for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bill {
    pub usage: Usage,
    /// Verified, unless the provider does not report usage.
    pub provenance: Provenance,
    /// `None` when the price is unknown.
    pub cost: Option<Money>,
}

/// Why generation stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    Done,
    Tools,
    /// The output limit was reached.
    MaxTokens,
    /// The model refused.
    Refused,
    /// The provider's value.
    Other(String),
}

/// A provider's response before validation and pricing.
#[derive(Debug)]
pub(crate) struct ProviderResponse {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) stop: StopReason,
    /// `None` where the provider does not report it.
    pub(crate) usage: Option<Usage>,
    /// Where the provider reports it.
    pub(crate) cost: Option<Money>,
    pub(crate) model: Option<String>,
    pub(crate) request: Option<String>,
    /// A key that an object in the response has twice, in words. A parsed document has lost one of
    /// the values.
    pub(crate) duplicate_key: Option<String>,
}

/// The name of the tool that carries structured output.
pub(crate) const OUTPUT_TOOL: &str = "answer";

impl ProviderResponse {
    /// Extracts and validates the JSON document of the response.
    pub(crate) fn document(&mut self, schema: &Schema) -> Result<Value, String> {
        let handed_in = self.calls.iter().position(|call| call.name == OUTPUT_TOOL);
        let document = match handed_in {
            Some(at) => {
                let document = self.calls.remove(at).input;
                self.text = document.to_string();
                if let Some(duplicate) = self.duplicate_key.take() {
                    return Err(duplicate);
                }
                document
            }
            None => read(&self.text).map_err(|why| self.bad(why))?,
        };
        schema.check(&document).map_err(|why| self.bad(why))?;
        if self.stop == StopReason::Tools {
            self.stop = StopReason::Done;
        }
        Ok(document)
    }

    /// Prefers the cause "output limit reached" over the violation that it led to.
    fn bad(&self, why: String) -> String {
        if self.stop == StopReason::MaxTokens {
            return "it was cut off at the most tokens that it may have".to_owned();
        }
        why
    }
}

/// Parses JSON from text: models add code fences or an introduction.
fn read(text: &str) -> Result<Value, String> {
    let whole = serde_json::from_str(text.trim());
    let Err(why) = whole else { return whole.map_err(|why| why.to_string()) };
    let inner = text.find('{').zip(text.rfind('}'));
    let inner = inner.and_then(|(from, to)| text.get(from..=to));
    inner
        .and_then(|inner| serde_json::from_str(inner).ok())
        .ok_or_else(|| format!("it is not JSON: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_with_a_key_twice_is_refused() {
        let id = "call_1".to_owned();
        let call = ToolCall { id, name: OUTPUT_TOOL.to_owned(), input: json!({"a": 2}) };
        let mut response = ProviderResponse {
            text: String::new(),
            calls: vec![call],
            stop: StopReason::Tools,
            usage: None,
            cost: None,
            model: None,
            request: None,
            duplicate_key: ratchet_core::unique_keys::duplicate_key(br#"{"x": {"a": 1, "a": 2}}"#),
        };
        let schema = Schema::read(&ratchet_core::payload::Json::from_value(&json!({}))).unwrap();
        let fault = response.document(&schema).unwrap_err();
        assert!(fault.starts_with("the key \"a\" stands twice"), "{fault}");
        assert_eq!(response.text, r#"{"a":2}"#, "what was said is shown to the model again");
    }

    #[test]
    fn a_document_is_found_within_words() {
        for text in ["{\"a\":1}", "Here:\n```json\n{\"a\":1}\n```\nDone.", " {\"a\":1}\n"] {
            assert_eq!(read(text), Ok(json!({"a": 1})), "{text}");
        }
        for text in ["", "no", "}{", "{\"a\":", "ä}é{ü"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
