use crate::capabilities::{Capabilities, StructuredOutput};
use crate::provider::ProviderRequest;
use crate::request::{CacheablePart, LlmRequest, Turn};

/// Builds the system prompt. Structured output can only be requested in prose.
pub(super) fn system(provider_request: ProviderRequest<'_>) -> String {
    let capabilities = Capabilities {
        structured_output: StructuredOutput::PromptOnly,
        ..provider_request.capabilities
    };
    let schema_prompt = capabilities.schema_prompt(provider_request.ask);
    let system = provider_request.ask.system.iter().map(|part| part.text.as_str());
    let text = system.chain(schema_prompt.as_deref()).collect::<Vec<_>>().join("\n\n");
    // An empty one would make the program use its own default.
    if text.is_empty() { "Answer the question.".to_owned() } else { text }
}

/// Joins all turns to one text, because the program takes a single prompt. A single turn is passed
/// unchanged.
pub(super) fn request_body(request: &LlmRequest) -> String {
    if let [Turn::User(parts)] = request.turns.as_slice() {
        return joined(parts);
    }
    let turns = request.turns.iter().map(|turn| match turn {
        Turn::User(parts) => format!("## The user said\n\n{}", joined(parts)),
        Turn::Model { text, .. } => format!("## You said\n\n{text}"),
        Turn::Tools(results) => {
            let results: Vec<&str> = results.iter().map(|given| given.text.as_str()).collect();
            format!("## Tools gave\n\n{}", results.join("\n\n"))
        }
    });
    turns.collect::<Vec<_>>().join("\n\n")
}

fn joined(parts: &[CacheablePart]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_turn_is_sent_unchanged_and_several_with_roles() {
        let mut request = LlmRequest::new("Why?");
        assert_eq!(request_body(&request), "Why?");
        let (text, calls) = ("Because.".to_owned(), Vec::new());
        request.turns.push(Turn::Model { text, calls });
        request.turns.push(Turn::User(vec![CacheablePart::new("And?")]));
        let prompt = request_body(&request);
        assert_eq!(
            prompt,
            "## The user said\n\nWhy?\n\n## You said\n\nBecause.\n\n## The user said\n\nAnd?"
        );
    }
}
