use std::fmt;
use std::str::FromStr;

use super::run_evaluator::{RunEvaluator, RunRule};
use crate::judge::code_evaluator::{CODE_JUDGE, CodeEvaluator, InvalidEvaluator};

/// The evaluator that has a judge compare the answer with the expected one.
pub const ACCURACY: &str = "experiment-accuracy";
/// The prefix of evaluators that judge each sub-agent.
const EACH_AGENT: &str = "each-agent";
/// The prefix of evaluators of whole runs.
const RUN: &str = "run";
/// The prompt of [`ACCURACY`].
pub const ACCURACY_PROMPT: &str = include_str!("../../../../prompts/experiment-accuracy.md");
/// The file that overrides it, in the data folder's `prompts`.
pub const ACCURACY_FILE: &str = "experiment-accuracy.md";

/// An evaluator of an experiment, by its short form.
///
/// ```
/// use ratchet_core::experiment::evaluator::TrialEvaluator;
///
/// let judge: TrialEvaluator = "experiment-accuracy:anthropic:claude-sonnet-5".parse().unwrap();
/// assert_eq!(judge.score_name(), "experiment-accuracy");
/// assert!("each-agent:exact".parse::<TrialEvaluator>().unwrap().reads_trace());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum TrialEvaluator {
    /// A fixed rule, or a command.
    Code(CodeEvaluator),
    /// A judge compares the answer with the expected one.
    Accuracy {
        /// The judge's name, such as `connection:ours`.
        judge: String,
    },
    /// Another evaluator judges each sub-agent's own answer, by the field of its name in `agents` of
    /// the expected output.
    EachAgent(Box<TrialEvaluator>),
    /// The run as a whole, once its trials are finished.
    Run(RunEvaluator),
}

/// Why a text names no evaluator of experiments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTrialEvaluator {
    #[error("{0}, {ACCURACY}:JUDGE, {EACH_AGENT}:EVALUATOR, {forms}", forms = RunEvaluator::FORMS)]
    Unknown(InvalidEvaluator),
    #[error(transparent)]
    Code(InvalidEvaluator),
    #[error(
        "evaluator {ACCURACY}: name the judge, such as {ACCURACY}:anthropic or \
         {ACCURACY}:connection:NAME"
    )]
    NoJudge,
    #[error("evaluator {RUN}: {0:?} is none of {forms}", forms = RunEvaluator::FORMS)]
    NotForRuns(String),
    #[error("evaluator {EACH_AGENT}: {0} cannot judge a sub-agent; use another evaluator")]
    NotForAgents(String),
}

impl TrialEvaluator {
    /// Returns the name of its scores on traces.
    pub fn score_name(&self) -> &str {
        match self {
            Self::Code(code) => code.score_name(),
            Self::Accuracy { .. } => ACCURACY,
            Self::EachAgent(inner) => inner.score_name(),
            Self::Run(run) => run.score_name(),
        }
    }

    /// Returns whether it looks at what was recorded of the call, besides the answer.
    pub fn reads_trace(&self) -> bool {
        match self {
            Self::Code(code) => {
                matches!(code, CodeEvaluator::Trajectory { .. } | CodeEvaluator::Routing { .. })
            }
            Self::Accuracy { .. } | Self::Run(_) => false,
            Self::EachAgent(_) => true,
        }
    }

    /// Returns whether a score of a trial is its, by the score's name: on a trace, or `NAME@AGENT` on a sub-agent.
    pub fn gives(&self, score: &str) -> bool {
        if matches!(self, Self::Run(_)) {
            return false;
        }
        let rest = score.strip_prefix(self.score_name());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
    }

    /// Returns who judges, as scores name it: the judge that it asks, or `code:` and its short form.
    pub fn judge(&self) -> String {
        match self {
            Self::Code(code) => format!("{CODE_JUDGE}{code}"),
            Self::Accuracy { judge } => judge.clone(),
            Self::EachAgent(inner) => inner.judge(),
            Self::Run(run) => format!("{CODE_JUDGE}{RUN}:{run}"),
        }
    }

    /// Returns the judge that it asks, and the command that it runs.
    pub fn needs(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Code(CodeEvaluator::Command { name }) => (None, Some(name)),
            Self::Code(_) => (None, None),
            Self::Accuracy { judge } => (Some(judge), None),
            Self::EachAgent(inner) => inner.needs(),
            Self::Run(run) => match run.rule() {
                RunRule::Command(name) => (None, Some(name)),
                RunRule::Figure(..) => (None, None),
            },
        }
    }
}

impl FromStr for TrialEvaluator {
    type Err = InvalidTrialEvaluator;

    fn from_str(text: &str) -> Result<Self, InvalidTrialEvaluator> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind.trim() {
            ACCURACY if rest.trim().is_empty() => Err(InvalidTrialEvaluator::NoJudge),
            ACCURACY => Ok(Self::Accuracy { judge: rest.trim().to_owned() }),
            RUN => match rest.trim().parse() {
                Ok(run) => Ok(Self::Run(run)),
                Err(()) => Err(InvalidTrialEvaluator::NotForRuns(rest.to_owned())),
            },
            EACH_AGENT => {
                let inner: Self = rest.parse()?;
                let is_fit = match &inner {
                    Self::Code(code) => !matches!(code, CodeEvaluator::Routing { .. }),
                    Self::Accuracy { .. } => true,
                    Self::EachAgent(_) | Self::Run(_) => false,
                };
                if is_fit {
                    return Ok(Self::EachAgent(Box::new(inner)));
                }
                Err(InvalidTrialEvaluator::NotForAgents(rest.to_owned()))
            }
            _ => text.parse().map(Self::Code).map_err(|why| match why {
                InvalidEvaluator::Unknown(_) => InvalidTrialEvaluator::Unknown(why),
                other => InvalidTrialEvaluator::Code(other),
            }),
        }
    }
}

impl fmt::Display for TrialEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => code.fmt(f),
            Self::Accuracy { judge } => write!(f, "{ACCURACY}:{judge}"),
            Self::EachAgent(inner) => write!(f, "{EACH_AGENT}:{inner}"),
            Self::Run(run) => write!(f, "{RUN}:{run}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_name_who_judged() {
        let judges = [
            ("exact", "exact", "code:exact"),
            ("command:tone", "tone", "code:command:tone"),
            ("experiment-accuracy:offline", "experiment-accuracy", "offline"),
            ("each-agent:contains", "contains@billing", "code:contains"),
        ];
        for (text, score, judge) in judges {
            let evaluator: TrialEvaluator = text.parse().unwrap();
            assert!(evaluator.gives(score), "{text}");
            assert_eq!(evaluator.judge(), judge);
        }
        assert!(!"exact".parse::<TrialEvaluator>().unwrap().gives("exactness"));
    }

    #[test]
    fn short_forms_are_read_and_written() {
        for text in [
            "exact",
            "numeric:0.01",
            "trajectory:any-order",
            "experiment-accuracy:connection:ours:model",
            "each-agent:experiment-accuracy:offline",
            "each-agent:contains",
            "run:mean:exact",
            "run:passed:experiment-accuracy",
            "run:command:tone",
        ] {
            let read: TrialEvaluator = text.parse().unwrap();
            assert_eq!(read.to_string().parse(), Ok(read), "{text}");
        }
        for (text, why) in [
            ("experiment-accuracy", "name the judge"),
            ("each-agent:each-agent:exact", "cannot judge a sub-agent"),
            ("each-agent:routing", "cannot judge a sub-agent"),
            ("each-agent:run:mean:exact", "cannot judge a sub-agent"),
            ("run:median:exact", "run:mean:SCORE"),
            ("run:command:", "run:command:NAME"),
            ("magic", "experiment-accuracy:JUDGE"),
            ("regex:(", "regex"),
        ] {
            let said = text.parse::<TrialEvaluator>().unwrap_err().to_string();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
