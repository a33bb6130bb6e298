//! Code evaluators: an answer is compared with what was expected of it, by a fixed rule and without
//! a model. Online evaluators, experiments and the gate use the same ones.

/// Reading and writing as a short text, and as a table of TOML or JSON.
mod notation;
/// Comparison of texts.
mod text;
/// Comparison of numbers.
mod number;
/// Comparison of JSON values.
mod json_match;
/// Comparison of calls of tools, and of the choice of sub-agents.
mod trajectory;
/// What a command is given, and what it may answer.
mod command;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use command::{InvalidAnswer, MAX_ANSWER_BYTES};
pub use json_match::IgnoredPath;
pub use notation::InvalidEvaluator;
pub use trajectory::{CallOrder, ExpectedCall, RoutingRule};

/// Begins the names of judges that are code: `code:python`, `code:exact`.
pub const CODE_JUDGE: &str = "code:";
/// The maximum length of a rationale.
const MAX_RATIONALE_CHARS: usize = 1_000;

/// A deterministic evaluator. Its text form is short (`numeric:0.01`); its table has all options.
///
/// ```
/// use ratchet_core::judge::code_evaluator::{CodeEvaluator, EvaluatedCase};
/// use serde_json::json;
///
/// let evaluator: CodeEvaluator = "exact".parse().unwrap();
/// let (input, expected) = (json!("1 + 1"), json!("2"));
/// let case = EvaluatedCase::new(&input, "2\n").expecting(&expected);
/// assert_eq!(evaluator.evaluate(&case).verdict().unwrap().score, 1.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CodeEvaluator {
    /// The answer is the expected text.
    Exact,
    /// The answer contains a text: its own, or else the expected one.
    Contains {
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        ignore_case: bool,
    },
    /// A pattern matches somewhere in the answer.
    Regex { pattern: Pattern },
    /// The answer is the expected JSON value, apart from ignored fields.
    JsonMatch { ignore: Vec<IgnoredPath> },
    /// The answer's number is the expected one, within the greater of both tolerances.
    Numeric { absolute: Tolerance, relative: Tolerance },
    /// The expected tools were called.
    Trajectory {
        order: CallOrder,
        /// Taken from the expected output if empty.
        tools: Vec<ExpectedCall>,
    },
    /// The expected sub-agent was chosen.
    Routing {
        rule: RoutingRule,
        /// Taken from the expected output if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// A command of the operator, by its name in `ratchet.toml`.
    Command { name: String },
}

/// A regular expression of bounded size, which matches in linear time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(Regex);

/// A permitted difference. Invariant: finite, not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Tolerance(f64);

/// One answer of an agent, and what was expected of it.
#[derive(Clone, Copy, Debug)]
pub struct EvaluatedCase<'a> {
    pub input: &'a Value,
    pub output: &'a str,
    pub expected_output: Option<&'a Value>,
    /// In the order of their start.
    pub tool_calls: &'a [EvaluatedCall<'a>],
    /// Names, in the order in which they were chosen.
    pub sub_agents: &'a [&'a str],
}

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct EvaluatedCall<'a> {
    pub name: &'a str,
    pub arguments: Option<&'a Value>,
}

/// What an evaluator says of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum CodeEvaluation {
    Verdict(CodeVerdict),
    NotApplicable(NotApplicable),
    /// The verdict is that of a command, by name; see [`EvaluatedCase::to_command_input`] and
    /// [`CodeVerdict::from_command_output`].
    NeedsCommand(String),
}

/// A score and its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeVerdict {
    /// From 0 to 1.
    pub score: f64,
    pub rationale: String,
}

/// Why a case has no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApplicable {
    #[error("no expected output")]
    NoExpectedOutput,
    #[error("the expected output is no number")]
    ExpectedNoNumber,
    #[error(
        "the expected output names no tools; give a list of names, or an object with a field `tools`"
    )]
    ExpectedNoTools,
    #[error(
        "the expected output names no sub-agent; give its name, or an object with a field `agent`"
    )]
    ExpectedNoAgent,
    #[error("{count} tool calls; at most {max} are compared")]
    TooManyCalls { count: usize, max: usize },
}

impl CodeEvaluator {
    /// Compares an answer with what was expected. The same case always gets the same verdict.
    pub fn evaluate(&self, case: &EvaluatedCase) -> CodeEvaluation {
        let result = match self {
            Self::Exact => text::exact(case),
            Self::Contains { text, ignore_case } => {
                text::contains(case, text.as_deref(), *ignore_case)
            }
            Self::Regex { pattern } => Ok(text::matches(case, &pattern.0)),
            Self::JsonMatch { ignore } => json_match::compare(case, ignore),
            Self::Numeric { absolute, relative } => number::compare(case, absolute.0, relative.0),
            Self::Trajectory { order, tools } => trajectory::compare(case, *order, tools),
            Self::Routing { rule, agent } => trajectory::routing(case, *rule, agent.as_deref()),
            Self::Command { name } => return CodeEvaluation::NeedsCommand(name.clone()),
        };
        result.map_or_else(CodeEvaluation::NotApplicable, CodeEvaluation::Verdict)
    }

    /// Returns the usual name of its scores: the kind, or the name of the command.
    pub fn score_name(&self) -> &str {
        match self {
            Self::Command { name } => name,
            other => other.kind(),
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Contains { .. } => "contains",
            Self::Regex { .. } => "regex",
            Self::JsonMatch { .. } => "json-match",
            Self::Numeric { .. } => "numeric",
            Self::Trajectory { .. } => "trajectory",
            Self::Routing { .. } => "routing",
            Self::Command { .. } => "command",
        }
    }
}

impl<'a> EvaluatedCase<'a> {
    /// Creates a case without expected output, tool calls and sub-agents.
    pub const fn new(input: &'a Value, output: &'a str) -> Self {
        Self { input, output, expected_output: None, tool_calls: &[], sub_agents: &[] }
    }

    /// Returns the case with an expected output.
    #[must_use]
    pub const fn expecting(self, expected: &'a Value) -> Self {
        Self { expected_output: Some(expected), ..self }
    }

    /// Null means that nothing is expected, as a missing value does.
    fn expected(&self) -> Result<&'a Value, NotApplicable> {
        let given = self.expected_output.filter(|value| !value.is_null());
        given.ok_or(NotApplicable::NoExpectedOutput)
    }

    /// The answer without its last line break, which commands print.
    fn answer(&self) -> &'a str {
        let unix = self.output.strip_suffix('\n');
        unix.map_or(self.output, |text| text.strip_suffix('\r').unwrap_or(text))
    }
}

impl CodeEvaluation {
    /// Returns the verdict, if there is one.
    pub fn verdict(&self) -> Option<&CodeVerdict> {
        match self {
            Self::Verdict(verdict) => Some(verdict),
            Self::NotApplicable(_) | Self::NeedsCommand(_) => None,
        }
    }
}

impl CodeVerdict {
    fn new(score: f64, rationale: impl AsRef<str>) -> Self {
        let rationale = rationale.as_ref().chars().take(MAX_RATIONALE_CHARS).collect();
        Self { score: score.clamp(0.0, 1.0), rationale }
    }

    fn correct(is_correct: bool, rationale: impl AsRef<str>) -> Self {
        Self::new(if is_correct { 1.0 } else { 0.0 }, rationale)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl From<Tolerance> for f64 {
    fn from(tolerance: Tolerance) -> Self {
        tolerance.0
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests;
