use ratchet_core::json_schema::Schema;
use ratchet_core::money::Money;
use ratchet_core::record::tokens::{Provenance, Tokens};
use ratchet_core::record::usage::Usage;
use serde_json::Value;

use crate::request::ToolCall;

/// What a model answered, and what that took.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmResponse {
    /// What it said; of a JSON document its text.
    pub text: String,
    /// The document, where one was asked for; it fits the schema.
    pub json: Option<Value>,
    pub calls: Vec<ToolCall>,
    pub stop: StopReason,
    pub usage: Usage,
    /// How the usage is known: verified, unless the provider does not tell.
    pub provenance: Provenance,
    /// What it cost, if the price is known.
    pub cost: Option<Money>,
    /// The model as the provider names it.
    pub model: String,
    /// The provider's name for the request, for its support.
    pub request: Option<String>,
    /// How often it was asked before it answered.
    pub attempts: u32,
}

impl LlmResponse {
    /// Everything that went in and came out.
    pub fn tokens(&self) -> Tokens {
        Tokens { count: self.usage.total(), provenance: self.provenance }
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    Done,
    Tools,
    /// It reached the most tokens that the answer may have.
    MaxTokens,
    /// It would not answer.
    Refused,
    /// Something else, in the provider's words.
    Other(String),
}

/// What a provider said, before it is checked and priced.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) stop: StopReason,
    /// None where the provider does not tell.
    pub(crate) usage: Option<Usage>,
    /// Where the provider tells it itself.
    pub(crate) cost: Option<Money>,
    pub(crate) model: Option<String>,
    pub(crate) request: Option<String>,
}

/// The name of the tool through which a model hands in a document.
pub(crate) const HAND_IN: &str = "answer";

impl Said {
    /// Takes the document out of the answer and checks it.
    pub(crate) fn document(&mut self, schema: &Schema) -> Result<Value, String> {
        let handed_in = self.calls.iter().position(|call| call.name == HAND_IN);
        let document = match handed_in {
            Some(at) => {
                let document = self.calls.remove(at).input;
                self.text = document.to_string();
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

    /// What is wrong is less telling than that the model never came to the end.
    fn bad(&self, why: String) -> String {
        if self.stop == StopReason::MaxTokens {
            return "it was cut off at the most tokens that it may have".to_owned();
        }
        why
    }
}

/// Reads a document from words: models like to fence them, or to say something before.
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
    fn a_document_is_found_within_words() {
        for text in ["{\"a\":1}", "Here:\n```json\n{\"a\":1}\n```\nDone.", " {\"a\":1}\n"] {
            assert_eq!(read(text), Ok(json!({"a": 1})), "{text}");
        }
        for text in ["", "no", "}{", "{\"a\":", "ä}é{ü"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
