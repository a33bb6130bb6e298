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
        Cause::MissingTool(_) => format!("No tool for requests about {topic}"),
        Cause::Unanswered => format!("No source for questions about {topic}"),
        Cause::Behaviour(Some(name)) => format!("Wrong {name} in answers about {topic}"),
        Cause::Behaviour(None) => format!("Wrong answers about {topic}"),
        Cause::Misjudged => format!("Judge rejects good answers to {topic}"),
        Cause::Lenient => format!("Judge accepts wrong answers to {topic}"),
    }
}

pub(super) fn change(cause: &Cause, terms: &[String], instruction: Option<&str>) -> String {
    let topic = topic(terms);
    if let Some(instruction) = instruction {
        let whose = if matches!(cause, Cause::Misjudged | Cause::Lenient) {
            "the judge's prompt"
        } else {
            "the agent's prompt"
        };
        return format!("Add to {whose}: \"{instruction}\"");
    }
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
            "Compare models on a dataset of the evidence traces: the data of {tool} was right and the answer was not. Until then add to the prompt: \"State figures only as {tool} returned them.\""
        ),
        Cause::MissingTool(_) => format!(
            "Add a tool that answers requests about {topic}, list it with the other tools, and name it in the prompt."
        ),
        Cause::Unanswered => format!(
            "Add what the agent should know about {topic} to its documents, or a tool that looks it up."
        ),
        _ => format!(
            "Add an instruction for requests about {topic}; the reviewers' comments on the evidence traces say what is expected."
        ),
    }
}

/// The line that would be added to a prompt; `None` where it is not known.
pub(super) fn instruction(cause: &Cause, terms: &[String], known: Option<&str>) -> Option<String> {
    let about = terms.join(", ");
    match cause {
        Cause::NotCalled(tool) if !terms.is_empty() => Some(format!(
            "For any question about {about}, call {tool} before you answer. Never answer such questions from memory."
        )),
        Cause::Behaviour(Some(_)) => known.map(str::to_owned),
        Cause::Misjudged if terms.is_empty() => Some(
            "Short messages such as greetings may have short answers; do not mark these down."
                .to_owned(),
        ),
        Cause::Misjudged => Some(format!(
            "Answers to requests about {about} may be short and without details; do not mark them down for that."
        )),
        Cause::Lenient if !terms.is_empty() => Some(format!(
            "For requests about {about}, an answer is bad if it states or promises what no tool and no instruction supports, however friendly it is."
        )),
        _ => None,
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
        Cause::MissingTool(Some(tool)) => {
            format!("No tool does what was asked; {tool} was called instead.")
        }
        Cause::MissingTool(None) => "No tool does what was asked.".to_owned(),
        Cause::Unanswered => "The agent says that it does not have the information.".to_owned(),
        Cause::Behaviour(Some(name)) => {
            format!("No tool failed; reviewers object to the {name} of the answers.")
        }
        Cause::Behaviour(None) => {
            "No tool failed and no data was missing; the failures share a topic.".to_owned()
        }
        Cause::Misjudged => {
            "People accept these answers, and the judge scores them low more often than others."
                .to_owned()
        }
        Cause::Lenient => {
            "People reject these answers, and the judge scores them high more often than others: until it sees them, no experiment can measure a fix."
                .to_owned()
        }
    }
}
