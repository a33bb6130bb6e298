use std::collections::BTreeMap;

use ratchet_core::experiment::evaluator::TrialEvaluator;
use ratchet_core::experiment::plan::ExperimentProgress;
use ratchet_core::experiment::run_evaluator::RunRule;
use ratchet_core::experiment::runner::{TrialScore, TrialSummary};
use ratchet_core::judge::code_evaluator::CodeVerdict;
use serde_json::{Value, json};
use tracing::warn;

use super::{NoVerdict, OpenedEvaluators, TrialEvaluators, run_command};
use crate::experiment::site::{ExperimentSite, SiteError};

/// Bytes of inputs, answers and expected ones that a command is sent at most.
const MAX_BYTES: usize = 32 << 20;

impl TrialEvaluators {
    /// Returns whether one of them is for whole runs.
    pub fn judge_runs(&self) -> bool {
        self.all.iter().any(|evaluator| matches!(evaluator, TrialEvaluator::Run(_)))
    }

    /// Judges a run whose trials are finished. An evaluator without a verdict gives no score, and the
    /// log says why.
    ///
    /// # Errors
    /// Fails if the trials cannot be read.
    pub async fn judge_run(
        &self,
        host: &ExperimentSite,
        run: &ExperimentProgress,
    ) -> Result<Vec<TrialScore>, SiteError> {
        let trials = host.trials(&run.id).await?;
        let facts: Vec<_> = trials.iter().map(TrialSummary::facts).collect();
        let mut scores = Vec::new();
        for evaluator in &self.all {
            let TrialEvaluator::Run(evaluator) = evaluator else { continue };
            let name = evaluator.score_name().to_owned();
            let verdict = match evaluator.rule() {
                RunRule::Figure(figure, score) => {
                    let none = || NoVerdict::unpaid(format!("no trial has a score {score}"));
                    let comment = format!("over the items of {} trials", facts.len());
                    let value = figure.of(score, &facts).ok_or_else(none);
                    value.map(|score| CodeVerdict { score, rationale: comment })
                }
                RunRule::Command(command) => {
                    let read = input(host, run, &trials).await?;
                    match read {
                        Ok(input) => of_command(self.opened.as_deref(), command, &input).await,
                        Err(why) => Err(why),
                    }
                }
            };
            match verdict {
                Ok(CodeVerdict { score: value, rationale }) => {
                    let comment = Some(rationale);
                    scores.push(TrialScore { name, value, comment, ..TrialScore::default() });
                }
                Err(why) => warn!(evaluator = name, reason = why.reason, "no verdict on the run"),
            }
        }
        Ok(scores)
    }
}

async fn of_command(
    opened: Option<&OpenedEvaluators>,
    name: &str,
    input: &Value,
) -> Result<CodeVerdict, NoVerdict> {
    let opened = opened.ok_or_else(|| NoVerdict::unpaid("there is no such command"))?;
    run_command(opened, name, input.to_string().as_bytes()).await
}

/// What a command reads: all trials of a run with their texts and scores.
async fn input(
    host: &ExperimentSite,
    run: &ExperimentProgress,
    trials: &[TrialSummary],
) -> Result<Result<Value, NoVerdict>, SiteError> {
    let (mut texts, mut cursor, mut bytes) = (BTreeMap::new(), None, 0);
    loop {
        let page = host.answers(&run.id, cursor).await?;
        for answer in page.answers {
            bytes += answer.bytes;
            texts.insert(answer.trace.clone(), answer);
        }
        if bytes > MAX_BYTES {
            let why = format!("its inputs and answers are longer than {MAX_BYTES} bytes");
            return Ok(Err(NoVerdict::unpaid(why)));
        }
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    let item = |trial: &TrialSummary| {
        let texts = trial.trace.as_ref().and_then(|trace| texts.get(trace));
        let scores: BTreeMap<&str, f64> =
            trial.scores.iter().map(|score| (score.name.as_str(), score.value)).collect();
        json!({
            "item": trial.item,
            "repeat": trial.repeat,
            "input": texts.map(|texts| &texts.input),
            "output": texts.map(|texts| &texts.output),
            "expected_output": texts.map(|texts| &texts.expected_output),
            "scores": scores,
            "fault": trial.fault,
            "latency_ms": trial.latency_ms,
            "cost": trial.cost,
        })
    };
    let items: Vec<Value> = trials.iter().map(item).collect();
    Ok(Ok(json!({ "run": run.name, "dataset": run.dataset, "items": items })))
}
