use crate::capabilities::{Capabilities, Documents};
use crate::provider::Inquiry;
use crate::request::{CacheablePart, LlmRequest, Turn};

/// Builds the system prompt. Structured output can only be requested in prose.
pub(super) fn system(inquiry: Inquiry<'_>) -> String {
    let manner = Capabilities { documents: Documents::Asked, ..inquiry.manner };
    let plea = manner.plea(inquiry.ask);
    let system = inquiry.ask.system.iter().map(|passage| passage.text.as_str());
    let text = system.chain(plea.as_deref()).collect::<Vec<_>>().join("\n\n");
    // An empty one would make the program use its own default.
    if text.is_empty() { "Answer the question.".to_owned() } else { text }
}

/// Joins all turns to one text, because the program takes a single prompt. A single turn is passed unchanged.
pub(super) fn question(ask: &LlmRequest) -> String {
    if let [Turn::User(passages)] = ask.turns.as_slice() {
        return joined(passages);
    }
    let turns = ask.turns.iter().map(|turn| match turn {
        Turn::User(passages) => format!("## The user said\n\n{}", joined(passages)),
        Turn::Model { text, .. } => format!("## You said\n\n{text}"),
        Turn::Tools(results) => {
            let results: Vec<&str> = results.iter().map(|given| given.text.as_str()).collect();
            format!("## Tools gave\n\n{}", results.join("\n\n"))
        }
    });
    turns.collect::<Vec<_>>().join("\n\n")
}

fn joined(passages: &[CacheablePart]) -> String {
    passages.iter().map(|passage| passage.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_turn_is_told_as_it_is_and_more_with_who_said_them() {
        let mut ask = LlmRequest::new("Why?");
        assert_eq!(question(&ask), "Why?");
        let (text, calls) = ("Because.".to_owned(), Vec::new());
        ask.turns.push(Turn::Model { text, calls });
        ask.turns.push(Turn::User(vec![CacheablePart::new("And?")]));
        let told = question(&ask);
        assert_eq!(
            told,
            "## The user said\n\nWhy?\n\n## You said\n\nBecause.\n\n## The user said\n\nAnd?"
        );
    }
}
