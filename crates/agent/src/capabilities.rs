use crate::error::ModelError;
use crate::request::LlmRequest;

/// How a model wants to be asked. Models differ in what they take, and say so only when asked: the
/// first question finds out, and all others profit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) temperature: Temperature,
    pub(crate) documents: Documents,
    pub(crate) limit: LimitName,
}

/// Whether a temperature is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Temperature {
    #[default]
    Sent,
    LeftOut,
}

/// How a model is made to answer with a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Documents {
    /// The provider holds it to the schema.
    #[default]
    Forced,
    /// The provider offers it a way to, and words ask it to take it.
    Offered,
    Asked,
}

/// What the most tokens of an answer are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LimitName {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

impl Capabilities {
    /// Returns how to ask the same again after a rejection; `None` when manners do not help.
    pub(crate) fn after(self, ask: &LlmRequest, error: &ModelError) -> Option<Self> {
        let ModelError::Rejected { status: 400 | 422, why } = error else { return None };
        let why = why.to_ascii_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| why.contains(word));
        let sends_temperature = ask.temperature.is_some() && self.temperature == Temperature::Sent;
        if sends_temperature && names(&["temperature"]) {
            return Some(Self { temperature: Temperature::LeftOut, ..self });
        }
        if self.limit == LimitName::MaxTokens && names(&["max_completion_tokens"]) {
            return Some(Self { limit: LimitName::MaxCompletionTokens, ..self });
        }
        ask.schema()?;
        if !names(&["tool_choice", "toolchoice", "response_format", "schema", "tool use"]) {
            return None;
        }
        let documents = match self.documents {
            Documents::Forced => Documents::Offered,
            Documents::Offered => Documents::Asked,
            Documents::Asked => return None,
        };
        Some(Self { documents, ..self })
    }

    pub(crate) fn temperature(self, ask: &LlmRequest) -> Option<f64> {
        ask.temperature.filter(|_| self.temperature == Temperature::Sent)
    }

    /// What words alone must say about the document, where the provider does not hold the model to
    /// its schema.
    pub(crate) fn plea(self, ask: &LlmRequest) -> Option<String> {
        let schema = ask.schema().filter(|_| self.documents != Documents::Forced)?;
        Some(format!(
            "Answer with one JSON document and nothing else, no words before or after it. It must \
             fit this JSON Schema:\n{schema}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::ResponseFormat;

    fn rejected(why: &str) -> ModelError {
        ModelError::Rejected { status: 400, why: why.to_owned() }
    }

    #[test]
    fn a_model_is_asked_for_less_until_it_takes_it() {
        let form = ResponseFormat::Json(json!({"type": "object"}));
        let ask = LlmRequest { form, temperature: Some(0.0), ..LlmRequest::new("?") };
        let manner = Capabilities::default();
        let manner = manner.after(&ask, &rejected("`temperature` is deprecated")).unwrap();
        assert_eq!(manner.after(&ask, &rejected("`temperature` is deprecated")), None);
        assert_eq!(manner.temperature(&ask), None);
        let manner = manner.after(&ask, &rejected("no json_schema here")).unwrap();
        let manner = manner.after(&ask, &rejected("no response_format at all")).unwrap();
        assert_eq!(manner.documents, Documents::Asked);
        assert_eq!(manner.after(&ask, &rejected("no response_format at all")), None);
    }

    #[test]
    fn other_rejections_stay() {
        let ask = LlmRequest::new("?");
        for why in ["messages: at least one", "temperature", "schema"] {
            assert_eq!(Capabilities::default().after(&ask, &rejected(why)), None, "{why}");
        }
    }
}
