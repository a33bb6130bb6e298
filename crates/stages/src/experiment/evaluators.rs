//! Verdicts on answers: fixed rules, commands of the operator and judges, on the whole answer, on each
//! sub-agent, or on the run. The rules and the judge's request are those of online evaluators.

/// Verdicts of judges.
mod accuracy;
/// Scores of whole runs.
mod run;
/// What the agent recorded of its way to an answer.
mod steps;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ratchet_agent::bounded_command::BoundedCommand;
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_agent::environment::Variables;
use ratchet_agent::judge::{DefaultModels, JudgeName, JudgeNameError};
use ratchet_core::experiment::evaluator::{
    ACCURACY_FILE, ACCURACY_PROMPT, InvalidTrialEvaluator, TrialEvaluator,
};
use ratchet_core::experiment::runner::{JudgeCall, MissingVerdict, TrialCall, TrialScore};
use ratchet_core::experiment::trajectory::{CalledTool, SubAgent, Trajectory};
use ratchet_core::experiment::trial::CallTrace;
use ratchet_core::gate::stored_answer::StoredAnswer;
use ratchet_core::judge::code_evaluator::{
    CodeEvaluation, CodeEvaluator, CodeVerdict, EvaluatedCall, EvaluatedCase,
};
use ratchet_core::judge::evaluator;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_remote::backoff_clock::BackoffClock;
use serde_json::Value;
use tracing::warn;

use super::site::ExperimentSite;
use super::target::TargetAnswer;
use crate::user_files::{self, UserFileError};
use accuracy::AccuracyJudge;
use steps::StepReader;

/// How long a command may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// How much memory it may use.
const COMMAND_MEMORY: u64 = 2 << 30;
/// How long its answer may be.
const COMMAND_OUTPUT: usize = 64 << 10;

/// The evaluators of a run.
#[derive(Clone, Debug, Default)]
pub struct TrialEvaluators {
    all: Vec<TrialEvaluator>,
    opened: Option<Arc<OpenedEvaluators>>,
}

/// What evaluators need besides the answer.
#[derive(Debug)]
struct OpenedEvaluators {
    judges: BTreeMap<String, AccuracyJudge>,
    commands: BTreeMap<String, Vec<String>>,
    supervision: Supervision,
    steps: StepReader,
}

/// What evaluators need from the machine that runs them.
#[derive(Clone, Debug)]
pub struct EvaluatorMachine {
    /// Where traces and LLM connections are.
    pub host: ExperimentSite,
    /// Commands of the operator, by name.
    pub commands: BTreeMap<String, Vec<String>>,
    /// The prompts of judges: general instructions, and that about accuracy.
    pub prompts: JudgePrompts,
    /// Which addresses LLM connections may lead to.
    pub outbound: OutboundPolicy,
    /// Who ends commands and the `claude` program with this process.
    pub supervision: Supervision,
    pub clock: Arc<dyn BackoffClock>,
    /// An unguessable text, from which the markers around evidence are derived.
    pub seed: String,
}

/// The prompts of judges, with the user's own in their place.
#[derive(Clone, Debug)]
pub struct JudgePrompts {
    pub instructions: String,
    pub accuracy: String,
}

impl JudgePrompts {
    /// Reads those of a data folder; the built-in ones where it has none.
    ///
    /// # Errors
    /// Fails if a file of the user cannot be read.
    pub fn read(data: Option<&Path>) -> Result<Self, UserFileError> {
        Ok(Self {
            instructions: user_files::prompt(data, evaluator::FILE, evaluator::SHIPPED)?,
            accuracy: user_files::prompt(data, ACCURACY_FILE, ACCURACY_PROMPT)?,
        })
    }
}

/// Why evaluators cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EvaluatorError {
    #[error(transparent)]
    Invalid(#[from] InvalidTrialEvaluator),
    #[error("evaluator experiment-accuracy: {0}")]
    Judge(#[from] JudgeNameError),
    #[error("evaluator experiment-accuracy: {0}")]
    NoJudge(String),
    #[error(
        "evaluator command:{0}: this machine has no such command; add `{0} = [\"program\"]` below \
         [evaluators.commands] in ratchet.toml"
    )]
    NoCommand(String),
}

/// What evaluators said of an answer.
#[derive(Clone, Debug, Default)]
pub struct TrialJudgement {
    pub scores: Vec<TrialScore>,
    /// Evaluators that failed. One that does not apply to an item is not among them.
    pub not_judged: Vec<MissingVerdict>,
    /// Model calls of judges that were answered.
    pub calls: Vec<JudgeCall>,
}

impl TrialJudgement {
    fn add(&mut self, name: &str, verdict: VerdictResult) {
        let of_score = |call: JudgeCall| JudgeCall { score: name.to_owned(), ..call };
        match verdict {
            Ok(None) => {}
            Ok(Some(GivenVerdict { score, calls })) => {
                self.scores.push(score);
                self.calls.extend(calls.into_iter().map(of_score));
            }
            Err(NoVerdict { reason, cost, calls }) => {
                self.calls.extend(calls.into_iter().map(of_score));
                self.not_judged.push(MissingVerdict { name: name.to_owned(), reason, cost });
            }
        }
    }
}

/// A score, or none because the evaluator does not apply.
type VerdictResult = Result<Option<GivenVerdict>, NoVerdict>;

/// A score, and the calls of the judge that gave it.
#[derive(Clone, Debug)]
struct GivenVerdict {
    score: TrialScore,
    calls: Vec<JudgeCall>,
}

impl From<TrialScore> for GivenVerdict {
    fn from(score: TrialScore) -> Self {
        Self { score, calls: Vec::new() }
    }
}

/// Why an evaluator that applies has no verdict.
#[derive(Clone, Debug)]
struct NoVerdict {
    reason: String,
    /// In US dollars.
    cost: Option<f64>,
    calls: Vec<JudgeCall>,
}

impl NoVerdict {
    fn unpaid(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), cost: None, calls: Vec::new() }
    }
}

/// One answer, and what it is compared with.
struct Judged<'a> {
    input: &'a Value,
    output: &'a str,
    expected: Option<&'a Value>,
    calls: &'a [CalledTool],
    agents: Vec<&'a str>,
    /// Which answer it is, for the markers around it.
    what: &'a str,
}

impl TrialEvaluators {
    /// Reads evaluators in their short form, such as `exact` or `numeric:0.01`. Those that need more
    /// than the answer must be opened before they judge.
    ///
    /// # Errors
    /// Fails if one is invalid.
    pub fn parse(texts: &[String]) -> Result<Self, EvaluatorError> {
        let mut all = Vec::with_capacity(texts.len());
        for text in texts {
            let evaluator: TrialEvaluator = text.parse()?;
            if let (Some(judge), _) = evaluator.needs() {
                JudgeName::parse(judge, &DefaultModels::builtin())?;
            }
            all.push(evaluator);
        }
        Ok(Self { all, opened: None })
    }

    /// Opens judges and looks for commands; no model is called yet.
    ///
    /// # Errors
    /// Fails if a judge cannot be asked from here, or if there is no such command.
    pub async fn open(
        self,
        machine: EvaluatorMachine,
        variables: Variables<'_>,
    ) -> Result<Self, EvaluatorError> {
        let (mut judges, mut commands) = (BTreeMap::new(), BTreeMap::new());
        for evaluator in &self.all {
            let (judge, command) = evaluator.needs();
            if let Some(judge) = judge {
                let opened = AccuracyJudge::open(judge, &machine, variables).await;
                judges.insert(judge.to_owned(), opened.map_err(EvaluatorError::NoJudge)?);
            }
            if let Some(name) = command {
                let words = machine.commands.get(name).cloned();
                let words = words.ok_or_else(|| EvaluatorError::NoCommand(name.to_owned()))?;
                commands.insert(name.to_owned(), words);
            }
        }
        let steps = StepReader::new(&machine);
        let supervision = machine.supervision;
        let opened = Arc::new(OpenedEvaluators { judges, commands, supervision, steps });
        Ok(Self { opened: Some(opened), ..self })
    }

    /// Returns the versions of judges, by the short form of their evaluators. Known once they are open.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let Some(opened) = &self.opened else { return BTreeMap::new() };
        let of_judge = |evaluator: &TrialEvaluator| {
            let judge = opened.judges.get(evaluator.needs().0?)?;
            Some((evaluator.to_string(), judge.version()))
        };
        self.all.iter().filter_map(of_judge).collect()
    }

    /// Judges a stored answer with the evaluator of a score; `None` if it does not apply.
    ///
    /// # Errors
    /// Says why there is no verdict.
    pub async fn judge_stored(
        &self,
        score: &str,
        answer: &StoredAnswer,
    ) -> Result<Option<TrialScore>, MissingVerdict> {
        let is_it = |one: &&TrialEvaluator| {
            let is_of_answers =
                !matches!(one, TrialEvaluator::EachAgent(_) | TrialEvaluator::Run(_));
            one.score_name() == score && is_of_answers
        };
        let missing = |NoVerdict { reason, cost, .. }| MissingVerdict {
            name: score.to_owned(),
            reason,
            cost,
        };
        let evaluator = self.all.iter().find(is_it);
        let evaluator = evaluator
            .ok_or_else(|| missing(NoVerdict::unpaid("no evaluator here has this score")))?;
        let recorded = match (&self.opened, evaluator.reads_trace()) {
            (Some(opened), true) => opened.steps.recorded(&answer.trace).await,
            _ => None,
        };
        if evaluator.reads_trace() && recorded.is_none() {
            return Err(missing(NoVerdict::unpaid("no spans of the agent are recorded")));
        }
        let agents = recorded.iter().flat_map(|found| &found.agents);
        let judged = Judged {
            input: &answer.input,
            output: &answer.output,
            expected: (!answer.expected_output.is_null()).then_some(&answer.expected_output),
            calls: recorded.as_ref().map_or(&[], |found| &found.calls),
            agents: agents.map(|agent| agent.name.as_str()).collect(),
            what: &answer.trace,
        };
        let verdict = self.verdict(evaluator, &judged).await.map_err(missing)?;
        Ok(verdict.map(|given| given.score))
    }

    /// Judges the answer of a call of a trial. An answer that an evaluator does not apply to gets no
    /// score of it; without an answer, every score is 0.
    pub async fn judge(
        &self,
        trial: &TrialCall,
        answer: Option<&TargetAnswer>,
        call: u32,
    ) -> TrialJudgement {
        let Some(answer) = answer else {
            let scores = self.all.iter().filter_map(without_answer).collect();
            return TrialJudgement { scores, ..TrialJudgement::default() };
        };
        let trajectory = self.trajectory(trial, answer, call).await;
        let mut judgement = TrialJudgement::default();
        for evaluator in &self.all {
            let name = evaluator.score_name();
            match evaluator {
                // What the agent did is not known: no verdict.
                other if other.reads_trace() && trajectory.is_none() => {
                    let reason = "no spans of the agent arrived";
                    judgement.add(name, Err(NoVerdict::unpaid(reason)));
                }
                TrialEvaluator::EachAgent(inner) => {
                    let agents = trajectory.iter().flat_map(|found| &found.agents);
                    for agent in agents {
                        let name = format!("{name}@{}", agent.name);
                        judgement.add(&name, self.of_agent(inner, trial, agent).await);
                    }
                }
                other => {
                    let judged = Judged::of_answer(trial, answer, trajectory.as_ref());
                    judgement.add(name, self.verdict(other, &judged).await);
                }
            }
        }
        judgement
    }

    /// What the agent did, if an evaluator asks for it.
    async fn trajectory(
        &self,
        trial: &TrialCall,
        answer: &TargetAnswer,
        call: u32,
    ) -> Option<Trajectory> {
        let opened = self.opened.as_ref()?;
        if let Some(calls) = &answer.calls {
            let own = CallTrace::of(&trial.id, trial.lease, call).ok()?;
            return Some(Trajectory::of_calls(calls, |id| own.step(id).ok()));
        }
        if !self.all.iter().any(TrialEvaluator::reads_trace) {
            return None;
        }
        opened.steps.trajectory(trial, call).await
    }

    async fn of_agent(
        &self,
        evaluator: &TrialEvaluator,
        trial: &TrialCall,
        agent: &SubAgent,
    ) -> VerdictResult {
        let expected = trial.expected_output.get("agents");
        let Some(expected) = expected.and_then(|agents| agents.get(&agent.name)) else {
            return Ok(None);
        };
        // What worked on a cached answer is recorded in the trace of that answer, and some sub-agents
        // in traces of their own: their scores are on the item's trace.
        let is_here = trial.cached.is_none() && agent.apart.is_none();
        let own = agent.observation.as_ref().filter(|_| is_here);
        let observation = own.map(ToString::to_string);
        let name = format!("{}@{}", evaluator.score_name(), agent.name);
        let Some(output) = &agent.output else {
            let comment = Some("the sub-agent did not answer".to_owned());
            let score = TrialScore { name, comment, observation, ..TrialScore::default() };
            return Ok(Some(score.into()));
        };
        let what = format!("{} {}", trial.id, observation.as_deref().unwrap_or_default());
        let judged = Judged {
            input: &agent.input,
            output,
            expected: Some(expected),
            calls: &agent.calls,
            agents: Vec::new(),
            what: &what,
        };
        let verdict = self.verdict(evaluator, &judged).await?;
        Ok(verdict.map(|GivenVerdict { score, calls }| {
            let at = agent.apart.as_ref().map(|trace| format!(" (of trace {trace})"));
            let comment = score.comment.map(|said| said + &at.unwrap_or_default());
            let score = TrialScore { name, observation, comment, ..score };
            GivenVerdict { score, calls }
        }))
    }

    async fn verdict(&self, evaluator: &TrialEvaluator, judged: &Judged<'_>) -> VerdictResult {
        let name = evaluator.score_name().to_owned();
        let opened = self.opened.as_deref();
        match evaluator {
            TrialEvaluator::Code(code) => {
                let Some(verdict) = of_code(code, judged, opened).await? else { return Ok(None) };
                let comment = Some(verdict.rationale);
                let value = verdict.score;
                let score = TrialScore { name, value, comment, ..TrialScore::default() };
                Ok(Some(score.into()))
            }
            TrialEvaluator::Accuracy { judge } => {
                match opened.and_then(|opened| opened.judges.get(judge)) {
                    Some(judge) => judge.verdict(judged).await,
                    None => Err(NoVerdict::unpaid("the judge is not open")),
                }
            }
            TrialEvaluator::EachAgent(_) | TrialEvaluator::Run(_) => Ok(None),
        }
    }
}

/// The verdict on a call without an answer; there is no sub-agent to judge.
fn without_answer(evaluator: &TrialEvaluator) -> Option<TrialScore> {
    if matches!(evaluator, TrialEvaluator::EachAgent(_) | TrialEvaluator::Run(_)) {
        return None;
    }
    let comment = Some("the target did not answer".to_owned());
    let name = evaluator.score_name().to_owned();
    Some(TrialScore { name, comment, ..TrialScore::default() })
}

impl<'a> Judged<'a> {
    fn of_answer(
        trial: &'a TrialCall,
        answer: &'a TargetAnswer,
        trajectory: Option<&'a Trajectory>,
    ) -> Self {
        let agents = trajectory.iter().flat_map(|found| &found.agents);
        Self {
            input: &trial.input,
            output: &answer.text,
            expected: (!trial.expected_output.is_null()).then_some(&trial.expected_output),
            calls: trajectory.map_or(&[], |found| &found.calls),
            agents: agents.map(|agent| agent.name.as_str()).collect(),
            what: &trial.id,
        }
    }
}

async fn of_code(
    code: &CodeEvaluator,
    judged: &Judged<'_>,
    opened: Option<&OpenedEvaluators>,
) -> Result<Option<CodeVerdict>, NoVerdict> {
    let calls: Vec<EvaluatedCall<'_>> = judged.calls.iter().map(CalledTool::evaluated).collect();
    let case = EvaluatedCase {
        expected_output: judged.expected,
        tool_calls: &calls,
        sub_agents: &judged.agents,
        ..EvaluatedCase::new(judged.input, judged.output)
    };
    let name = match code.evaluate(&case) {
        CodeEvaluation::Verdict(verdict) => return Ok(Some(verdict)),
        CodeEvaluation::NotApplicable(_) => return Ok(None),
        CodeEvaluation::NeedsCommand(name) => name,
    };
    let opened = opened.ok_or_else(|| NoVerdict::unpaid("there is no such command"))?;
    let input = case.to_command_input().to_string();
    run_command(opened, &name, input.as_bytes()).await.map(Some)
}

/// What a command of the operator says.
async fn run_command(
    opened: &OpenedEvaluators,
    name: &str,
    input: &[u8],
) -> Result<CodeVerdict, NoVerdict> {
    let words = opened.commands.get(name);
    let words = words.ok_or_else(|| NoVerdict::unpaid("there is no such command"))?;
    let command = BoundedCommand {
        command: words.clone(),
        arguments: Vec::new(),
        timeout: COMMAND_TIMEOUT,
        max_memory: COMMAND_MEMORY,
        max_output: COMMAND_OUTPUT,
        supervision: opened.supervision.clone(),
    };
    let said = match command.run(input).await {
        Ok(printed) => CodeVerdict::from_command_output(&printed).map_err(|why| why.to_string()),
        Err(error) => Err(error.to_string()),
    };
    said.map_err(|why| {
        warn!(evaluator = name, why, "the command has no verdict");
        NoVerdict::unpaid(why)
    })
}
