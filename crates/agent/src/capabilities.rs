use crate::error::ModelError;
use crate::request::LlmRequest;

/// Parameters that a model supports. Providers report unsupported ones only by rejecting a request:
/// the first rejection is remembered for all later requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) temperature: Temperature,
    pub(crate) structured_output: StructuredOutput,
    pub(crate) limit: LimitName,
}

/// Whether a temperature is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Temperature {
    #[default]
    Sent,
    LeftOut,
}

/// The method for structured output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StructuredOutput {
    /// The provider enforces the schema.
    #[default]
    Schema,
    /// A tool is offered, and the prompt asks the model to call it.
    Tool,
    PromptOnly,
}

/// The name of the output limit parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LimitName {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

impl Capabilities {
    /// Returns the capabilities to retry with after a rejection; `None` when a change would not
    /// help.
    pub(crate) fn after(self, request: &LlmRequest, error: &ModelError) -> Option<Self> {
        let ModelError::Rejected { status: 400 | 422, why } = error else { return None };
        let why = why.to_ascii_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| why.contains(word));
        let sends_temperature =
            request.temperature.is_some() && self.temperature == Temperature::Sent;
        if sends_temperature && names(&["temperature"]) {
            return Some(Self { temperature: Temperature::LeftOut, ..self });
        }
        if self.limit == LimitName::MaxTokens && names(&["max_completion_tokens"]) {
            return Some(Self { limit: LimitName::MaxCompletionTokens, ..self });
        }
        request.schema()?;
        if !names(&["tool_choice", "toolchoice", "response_format", "schema", "tool use"]) {
            return None;
        }
        let structured_output = match self.structured_output {
            StructuredOutput::Schema => StructuredOutput::Tool,
            StructuredOutput::Tool => StructuredOutput::PromptOnly,
            StructuredOutput::PromptOnly => return None,
        };
        Some(Self { structured_output, ..self })
    }

    pub(crate) fn temperature(self, request: &LlmRequest) -> Option<f64> {
        request.temperature.filter(|_| self.temperature == Temperature::Sent)
    }

    /// Returns the prompt text that describes the JSON Schema, where the provider does not enforce
    /// it.
    pub(crate) fn schema_prompt(self, request: &LlmRequest) -> Option<String> {
        let schema =
            request.schema().filter(|_| self.structured_output != StructuredOutput::Schema)?;
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
        let response_format = ResponseFormat::Json(json!({"type": "object"}));
        let request =
            LlmRequest { response_format, temperature: Some(0.0), ..LlmRequest::new("?") };
        let capabilities = Capabilities::default();
        let capabilities =
            capabilities.after(&request, &rejected("`temperature` is deprecated")).unwrap();
        assert_eq!(capabilities.after(&request, &rejected("`temperature` is deprecated")), None);
        assert_eq!(capabilities.temperature(&request), None);
        let capabilities = capabilities.after(&request, &rejected("no json_schema here")).unwrap();
        let capabilities =
            capabilities.after(&request, &rejected("no response_format at all")).unwrap();
        assert_eq!(capabilities.structured_output, StructuredOutput::PromptOnly);
        assert_eq!(capabilities.after(&request, &rejected("no response_format at all")), None);
    }

    #[test]
    fn other_rejections_stay() {
        let request = LlmRequest::new("?");
        for why in ["messages: at least one", "temperature", "schema"] {
            assert_eq!(Capabilities::default().after(&request, &rejected(why)), None, "{why}");
        }
    }
}
