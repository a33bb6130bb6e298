use serde::{Deserialize, Serialize};

use super::features::GroupFeatures;
use super::phrases::Blame;

/// The component that a proposal changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    Prompt,
    Tool,
    Model,
    Knowledge,
    Judge,
}

impl Component {
    pub const ALL: [Self; 5] =
        [Self::Prompt, Self::Tool, Self::Model, Self::Knowledge, Self::Judge];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::Knowledge => "knowledge",
            Self::Judge => "judge",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|component| component.as_str() == word)
    }

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

/// The behaviour of answers in another language than the question.
const LANGUAGE: &str = "language";

/// Why the traces of a group failed. Tools and behaviours are named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    ToolFails(String),
    ToolEmpty(String),
    /// The answers repeat what the tool returned, and are wrong.
    WrongData(String),
    /// The tool returned data, and the answers say something else.
    Ungrounded(String),
    /// The tool that answers such questions was not called.
    NotCalled(String),
    /// No tool can do what was asked; the one that was called instead, if any.
    MissingTool(Option<String>),
    /// The agent lacks the information.
    Unanswered,
    /// How the agent behaves; what the comments name, if they do.
    Behaviour(Option<String>),
    /// The judge scores good answers low.
    Misjudged,
    /// The judge scores bad answers high.
    Lenient,
}

impl Cause {
    /// Returns the component that would be changed.
    pub const fn component(&self) -> Component {
        match self {
            Self::ToolFails(_) | Self::ToolEmpty(_) | Self::WrongData(_) | Self::MissingTool(_) => {
                Component::Tool
            }
            Self::Ungrounded(_) => Component::Model,
            Self::NotCalled(_) | Self::Behaviour(_) => Component::Prompt,
            Self::Unanswered => Component::Knowledge,
            Self::Misjudged | Self::Lenient => Component::Judge,
        }
    }

    /// Returns whether the cause is inferred from few features, so that it needs confirmation.
    pub const fn is_inferred(&self) -> bool {
        matches!(
            self,
            Self::WrongData(_) | Self::Ungrounded(_) | Self::Behaviour(_) | Self::MissingTool(_)
        )
    }

    /// Returns the tool that it names.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::ToolFails(tool)
            | Self::ToolEmpty(tool)
            | Self::WrongData(tool)
            | Self::Ungrounded(tool)
            | Self::NotCalled(tool) => Some(tool),
            Self::MissingTool(tool) => tool.as_deref(),
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
            Self::MissingTool(_) => "missing-tool",
            Self::Unanswered => "unanswered",
            Self::Behaviour(Some(name)) => return format!("behaviour/{name}"),
            Self::Behaviour(None) => "behaviour",
            Self::Misjudged => "misjudged",
            Self::Lenient => "lenient",
        };
        self.tool().map_or_else(|| kind.to_owned(), |tool| format!("{kind}/{tool}"))
    }
}

/// Returns why the traces of a group failed, by the features that most of them share. What was
/// recorded precedes what people say, which precedes the comparison of figures.
pub fn diagnose(features: &GroupFeatures) -> Cause {
    let blame = features.blame();
    let tool = features.tool.clone();
    if let Some(tool) = tool.clone().filter(|_| features.failing >= 0.5) {
        return Cause::ToolFails(tool);
    }
    if features.other_language >= 0.5 {
        return Cause::Behaviour(Some(LANGUAGE.to_owned()));
    }
    let lacks = matches!(blame, Some(Blame::MissingTool | Blame::MissingKnowledge));
    if let Some(usual) = features.usual.clone().filter(|_| features.not_called >= 0.5 && !lacks) {
        return Cause::NotCalled(usual);
    }
    if let Some(tool) = tool.clone().filter(|_| features.empty >= 0.5) {
        return Cause::ToolEmpty(tool);
    }
    let blames_data = matches!(blame, Some(Blame::Invented | Blame::WrongData));
    if blame == Some(&Blame::MissingTool) || (features.generic >= 0.5 && !blames_data) {
        return Cause::MissingTool(tool);
    }
    if features.unknown >= 0.5 || blame == Some(&Blame::MissingKnowledge) {
        return Cause::Unanswered;
    }
    let Some(tool) = tool else { return Cause::Behaviour(behaviour(blame)) };
    match blame {
        Some(Blame::Invented) => Cause::Ungrounded(tool),
        Some(Blame::WrongData) => Cause::WrongData(tool),
        Some(Blame::Behaviour(name)) => Cause::Behaviour(Some(name.clone())),
        Some(Blame::NotCalled | Blame::MissingTool | Blame::MissingKnowledge) => {
            Cause::Behaviour(None)
        }
        None if features.repeats_data >= 0.5 => Cause::WrongData(tool),
        None if features.differs_from_data >= 0.5 => Cause::Ungrounded(tool),
        None => Cause::Behaviour(None),
    }
}

fn behaviour(blame: Option<&Blame>) -> Option<String> {
    match blame {
        Some(Blame::Behaviour(name)) => Some(name.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::improve::observed::{ObservedToolCall, ObservedTrace};
    use crate::improve::phrases::FailurePhrases;
    use crate::improve::signals::Signals;

    type Call<'a> = (&'a str, &'a str, bool);

    fn failed(answer: &str, tools: &[Call<'_>], comment: &str) -> ObservedTrace {
        let tool = |(name, output, failed): &Call<'_>| ObservedToolCall {
            name: (*name).to_owned(),
            output: (*output).to_owned(),
            failed: *failed,
        };
        let comments = Some(comment.to_owned()).filter(|text| !text.is_empty());
        ObservedTrace {
            answer: answer.to_owned(),
            tools: tools.iter().map(tool).collect(),
            signals: Signals {
                correct: Some(false),
                comments: comments.into_iter().collect(),
                ..Signals::default()
            },
            ..ObservedTrace::default()
        }
    }

    fn cause(traces: &[ObservedTrace], usual: Option<&str>) -> Cause {
        let members: Vec<&ObservedTrace> = traces.iter().collect();
        diagnose(&GroupFeatures::of(&members, usual, FailurePhrases::shipped()))
    }

    /// Each feature in two of three traces, and in one of three.
    #[test]
    fn a_feature_of_most_traces_decides_and_one_of_few_does_not() {
        let price: Call<'_> = ("price", "{\"price\": 30}", false);
        let name = || "price".to_owned();
        let plain = failed("It is cheap", &[price], "");
        let cases = [
            (failed("sorry", &[("price", "timeout", true)], ""), Cause::ToolFails(name())),
            (failed("nothing", &[("price", "[]", false)], ""), Cause::ToolEmpty(name())),
            (failed("It costs 30", &[price], ""), Cause::WrongData(name())),
            (failed("It costs 45", &[price], ""), Cause::Ungrounded(name())),
            (failed("I don't have that information", &[price], ""), Cause::Unanswered),
        ];
        for (trace, wanted) in cases {
            let most = [trace.clone(), trace.clone(), plain.clone()];
            assert_eq!(cause(&most, None), wanted);
            let few = [trace, plain.clone(), plain.clone()];
            assert_eq!(cause(&few, None), Cause::Behaviour(None), "{wanted:?}");
        }
    }

    #[test]
    fn what_most_comments_blame_decides() {
        let price: Call<'_> = ("price", "{\"price\": 30}", false);
        let of = |comment: &str| {
            let other = failed("It is cheap", &[price], "Whatever.");
            let one = failed("It is cheap", &[price], comment);
            cause(&[one.clone(), one, other], None)
        };
        assert_eq!(of("made up"), Cause::Ungrounded("price".to_owned()));
        assert_eq!(of("price is outdated"), Cause::WrongData("price".to_owned()));
        assert_eq!(of("there is no tool for that"), Cause::MissingTool(Some("price".to_owned())));
        assert_eq!(of("not in the knowledge base"), Cause::Unanswered);
        assert_eq!(of("tone is rude"), Cause::Behaviour(Some("tone".to_owned())));
        assert_eq!(of("hm"), Cause::Behaviour(None));
    }

    #[test]
    fn a_usual_tool_that_most_did_not_call_should_be_called() {
        let without = failed("It costs 45", &[], "");
        let with = failed("It costs 45", &[("price", "{\"price\": 45}", false)], "");
        let most = [without.clone(), without.clone(), with.clone()];
        assert_eq!(cause(&most, Some("price")), Cause::NotCalled("price".to_owned()));
        assert_eq!(cause(&most, None), Cause::Behaviour(None));
        let few = [without, with.clone(), with];
        assert_eq!(cause(&few, Some("price")), Cause::WrongData("price".to_owned()));
        let lacking = failed("Maybe", &[], "no tool can do that");
        assert_eq!(cause(&[lacking], Some("price")), Cause::MissingTool(None));
    }
}
