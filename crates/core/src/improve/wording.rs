use super::diagnosis::Cause;

/// The topic in quotes: single words, no text of a trace.
fn topic(terms: &[String]) -> String {
    if terms.is_empty() { "short messages".to_owned() } else { format!("\"{}\"", terms.join(", ")) }
}

pub(super) fn title(cause: &Cause, terms: &[String]) -> String {
    let topic = topic(terms);
    match cause {
        Cause::ToolFails(tool) => format!("{tool} fails ({topic})"),
        Cause::ToolEmpty(tool) => format!("{tool} returns nothing ({topic})"),
        Cause::WrongData(tool) => format!("{tool} returns wrong data ({topic})"),
        Cause::Ungrounded(tool) => format!("Answers differ from what {tool} returned ({topic})"),
        Cause::NotCalled(tool) => format!("{tool} is not called for {topic}"),
        Cause::Unanswered => format!("No source for questions about {topic}"),
        Cause::Behaviour => format!("Wrong answers about {topic}"),
        Cause::Misjudged => format!("Judge rejects good answers to {topic}"),
    }
}

pub(super) fn change(cause: &Cause, terms: &[String]) -> String {
    let topic = topic(terms);
    match cause {
        Cause::ToolFails(tool) => format!(
            "Fix the errors of {tool}: reproduce the calls of the evidence traces, handle the error, and add a test for it."
        ),
        Cause::ToolEmpty(tool) => format!(
            "Fix the lookup of {tool}: for the inputs of the evidence traces it returns nothing. Return the record, or an explicit \"not found\"."
        ),
        Cause::WrongData(tool) => format!(
            "Correct the data that {tool} returns for the inputs of the evidence traces, and add those inputs as tests."
        ),
        Cause::Ungrounded(tool) => format!(
            "Compare models on a dataset of the evidence traces: the data of {tool} was right and the answer was not. Until then add to the system prompt: \"State figures only as {tool} returned them.\""
        ),
        Cause::NotCalled(tool) => format!(
            "Add to the system prompt: \"For any question about {}, call {tool} before you answer. Never answer such questions from memory.\"",
            terms.join(", ")
        ),
        Cause::Unanswered => format!(
            "Add a tool or a document that answers questions about {topic}, and name it in the system prompt."
        ),
        Cause::Behaviour => format!(
            "Add an instruction to the system prompt for questions about {topic}; the reviewers' comments on the evidence traces say what is expected."
        ),
        Cause::Misjudged => format!(
            "Add an exception to the judge's prompt for {topic}, with the evidence traces as examples of good answers."
        ),
    }
}

pub(super) fn reason(cause: &Cause) -> String {
    match cause {
        Cause::ToolFails(tool) => format!("The last call of {tool} failed in these traces."),
        Cause::ToolEmpty(tool) => format!("{tool} was called and returned no content."),
        Cause::WrongData(tool) => {
            format!("The answers repeat what {tool} returned, and are wrong.")
        }
        Cause::Ungrounded(tool) => {
            format!("{tool} returned data, and the answers state something else.")
        }
        Cause::NotCalled(tool) => {
            format!("Similar questions were answered well with {tool}; here it was not called.")
        }
        Cause::Unanswered => "The agent says that it does not have the information.".to_owned(),
        Cause::Behaviour => {
            "No tool failed and no data was missing; the failures share a topic.".to_owned()
        }
        Cause::Misjudged => {
            "People accept these answers, and the judge scores them low.".to_owned()
        }
    }
}
