use super::observed::{ObservedTrace, Standing};
use super::phrases::{Blame, blame, figures, says_unknown};

/// The component that a proposal changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    Prompt,
    Tool,
    Model,
    Knowledge,
    Judge,
}

impl Component {
    /// Returns the name on reports.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Prompt => "Prompt",
            Self::Tool => "Tool",
            Self::Model => "Model",
            Self::Knowledge => "Knowledge",
            Self::Judge => "Judge",
        }
    }
}

/// Why a trace failed, by its features. Tools are named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    ToolFails(String),
    ToolEmpty(String),
    /// The answer repeats what the tool returned, and is wrong.
    WrongData(String),
    /// The tool returned data, and the answer says something else.
    Ungrounded(String),
    /// The tool that answers such questions was not called.
    NotCalled(String),
    /// The agent says that it lacks the information.
    Unanswered,
    /// None of the above: how the agent behaves.
    Behaviour,
    Misjudged,
}

impl Cause {
    /// Returns the component that would be changed.
    pub const fn component(&self) -> Component {
        match self {
            Self::ToolFails(_) | Self::ToolEmpty(_) | Self::WrongData(_) => Component::Tool,
            Self::Ungrounded(_) => Component::Model,
            Self::NotCalled(_) | Self::Behaviour => Component::Prompt,
            Self::Unanswered => Component::Knowledge,
            Self::Misjudged => Component::Judge,
        }
    }

    /// Returns whether failures of this cause are grouped by topic; others are by tool.
    pub const fn is_by_topic(&self) -> bool {
        matches!(self, Self::Unanswered | Self::Behaviour | Self::Misjudged)
    }

    /// Returns whether the cause is inferred from few features, so that it needs confirmation.
    pub const fn is_inferred(&self) -> bool {
        matches!(self, Self::WrongData(_) | Self::Ungrounded(_) | Self::Behaviour)
    }

    /// Returns the tool that it names.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::ToolFails(tool)
            | Self::ToolEmpty(tool)
            | Self::WrongData(tool)
            | Self::Ungrounded(tool)
            | Self::NotCalled(tool) => Some(tool),
            _ => None,
        }
    }

    /// Returns the name that identifies it in every week.
    pub fn key(&self) -> String {
        let kind = match self {
            Self::ToolFails(_) => "tool-fails",
            Self::ToolEmpty(_) => "tool-empty",
            Self::WrongData(_) => "wrong-data",
            Self::Ungrounded(_) => "ungrounded",
            Self::NotCalled(_) => "not-called",
            Self::Unanswered => "unanswered",
            Self::Behaviour => "behaviour",
            Self::Misjudged => "misjudged",
        };
        self.tool().map_or_else(|| kind.to_owned(), |tool| format!("{kind}/{tool}"))
    }
}

/// Returns the cause of a failed trace; `None` if it is fine. `usual` is the tool that answers such
/// questions.
pub fn cause(trace: &ObservedTrace, usual: Option<&str>) -> Option<Cause> {
    match trace.standing() {
        Standing::Fine => return None,
        Standing::Misjudged => return Some(Cause::Misjudged),
        Standing::Failed | Standing::ToolFailed => {}
    }
    if let Some(call) = trace.failing_tool() {
        return Some(Cause::ToolFails(call.name.clone()));
    }
    let blamed = blame(&trace.signals.comments);
    if let Some(tool) = usual.filter(|tool| !trace.called(tool))
        && blamed != Some(Blame::Missing)
    {
        return Some(Cause::NotCalled(tool.to_owned()));
    }
    let Some(last) = trace.tools.last() else { return Some(without_tools(trace, blamed)) };
    if last.is_empty() {
        return Some(Cause::ToolEmpty(last.name.clone()));
    }
    if says_unknown(&trace.answer) || blamed == Some(Blame::Missing) {
        return Some(Cause::Unanswered);
    }
    Some(match blamed {
        Some(Blame::Invented) => Cause::Ungrounded(last.name.clone()),
        Some(Blame::WrongData) => Cause::WrongData(last.name.clone()),
        Some(Blame::Behaviour | Blame::Missing) => Cause::Behaviour,
        None => by_data(trace, &last.name),
    })
}

fn without_tools(trace: &ObservedTrace, blamed: Option<Blame>) -> Cause {
    if says_unknown(&trace.answer) || blamed == Some(Blame::Missing) {
        return Cause::Unanswered;
    }
    Cause::Behaviour
}

/// Compares the figures of the answer, and of a correction, with those that tools returned.
fn by_data(trace: &ObservedTrace, tool: &str) -> Cause {
    let returned =
        figures(&trace.tools.iter().map(|call| call.output.as_str()).collect::<Vec<_>>().join(" "));
    let expected = trace.signals.correction.as_deref().map(figures).filter(|all| !all.is_empty());
    if let Some(expected) = expected {
        let is_right = expected.is_subset(&returned);
        let tool = tool.to_owned();
        return if is_right { Cause::Ungrounded(tool) } else { Cause::WrongData(tool) };
    }
    let asked = figures(&trace.question);
    let mut said = figures(&trace.answer);
    said.retain(|figure| !asked.contains(figure));
    if said.is_empty() {
        return Cause::Behaviour;
    }
    if said.is_subset(&returned) {
        Cause::WrongData(tool.to_owned())
    } else {
        Cause::Ungrounded(tool.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::improve::observed::ObservedToolCall;
    use crate::improve::signals::Signals;

    fn failed(answer: &str, tools: &[(&str, &str, bool)], comment: &str) -> ObservedTrace {
        let tool = |(name, output, failed): &(&str, &str, bool)| ObservedToolCall {
            name: (*name).to_owned(),
            output: (*output).to_owned(),
            failed: *failed,
        };
        let comments = Some(comment.to_owned()).filter(|text| !text.is_empty()).into_iter();
        ObservedTrace {
            answer: answer.to_owned(),
            tools: tools.iter().map(tool).collect(),
            signals: Signals {
                correct: Some(false),
                comments: comments.collect(),
                ..Signals::default()
            },
            ..ObservedTrace::default()
        }
    }

    #[test]
    fn each_feature_has_its_component() {
        let of = |answer, tools: &[_], comment, usual| {
            cause(&failed(answer, tools, comment), usual).map(|cause| cause.component())
        };
        let price = ("price", "{\"price\": 30}", false);
        assert_eq!(of("sorry", &[("price", "timeout", true)], "", None), Some(Component::Tool));
        assert_eq!(of("nothing", &[("price", "[]", false)], "", None), Some(Component::Tool));
        assert_eq!(of("It costs 30", &[price], "", None), Some(Component::Tool));
        assert_eq!(of("It costs 45", &[price], "", None), Some(Component::Model));
        assert_eq!(of("It is cheap", &[price], "made up", None), Some(Component::Model));
        assert_eq!(of("I don't have that information", &[], "", None), Some(Component::Knowledge));
        assert_eq!(of("It costs 45", &[], "", Some("price")), Some(Component::Prompt));
        assert_eq!(of("Whatever.", &[], "tone is rude", None), Some(Component::Prompt));
        let mut fine = failed("30", &[price], "");
        fine.signals.correct = Some(true);
        assert_eq!(cause(&fine, None), None);
        fine.signals.quality = Some(0.1);
        assert_eq!(cause(&fine, None), Some(Cause::Misjudged));
    }
}
