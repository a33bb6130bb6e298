use futures_util::StreamExt as _;
use ratchet_core::experiment::evaluator::TrialEvaluator;
use ratchet_core::gate::stored_answer::{AnswerVerdict, StoredAnswer, StoredAnswers};
use ratchet_server::api::gates::GateRequest;
use ratchet_stages::experiment::evaluators::TrialEvaluators;
use ratchet_stages::experiment::site::ExperimentSite;

use super::GateArgs;
use crate::administration::Administration;
use crate::cmd::experiment::run::open_evaluators;

/// Verdicts asked for at a time.
const AT_ONCE: usize = 4;

/// Judges answers of earlier runs with the evaluators of this one, while there is budget.
#[derive(Debug)]
pub(super) struct Rejudging<'a> {
    pub(super) args: &'a GateArgs,
    pub(super) target: &'a Administration,
    pub(super) project: &'a str,
    pub(super) host: &'a ExperimentSite,
}

impl Rejudging<'_> {
    /// Returns verdicts on the answers that the request's run has to be compared with, and that its
    /// evaluator has not judged. `spent` is what the run cost.
    pub(super) async fn verdicts(
        &self,
        request: GateRequest,
        spent: f64,
    ) -> anyhow::Result<Vec<AnswerVerdict>> {
        let is_pure = |text: &String| {
            let parsed: Result<TrialEvaluator, _> = text.parse();
            parsed.is_ok_and(|it| it.needs() == (None, None) && !it.reads_trace())
        };
        if self.args.evaluators.iter().all(is_pure) {
            return Ok(Vec::new());
        }
        let open = self.target.answers_to_judge(self.project, request.clone()).await?;
        let Some(evaluator) = &open.evaluator else { return Ok(Vec::new()) };
        if open.answers.is_empty() {
            return Ok(Vec::new());
        }
        let here = (&self.args.project.target, self.host);
        let evaluators = open_evaluators(&self.args.evaluators, here).await?;
        if evaluators.versions().get(evaluator) != open.evaluator_version.as_ref() {
            eprintln!("ratchet: {evaluator} is another judge here; earlier answers are not judged");
            return Ok(Vec::new());
        }
        self.judge_all(&evaluators, open, (request, spent)).await
    }

    /// Judges answers, and those that did not fit into the response, until none is left or one of
    /// them has no verdict: it would be returned again.
    async fn judge_all(
        &self,
        evaluators: &TrialEvaluators,
        mut open: StoredAnswers,
        (mut request, mut spent): (GateRequest, f64),
    ) -> anyhow::Result<Vec<AnswerVerdict>> {
        let mut verdicts = Vec::new();
        loop {
            eprintln!(
                "the evaluator changed: judging {} answers of earlier runs with {}",
                open.answers.len(),
                open.evaluator.as_deref().unwrap_or_default()
            );
            let said = self.judge(evaluators, &open, &mut spent).await;
            let has_all = said.len() >= open.answers.len();
            request.judged_again.extend(said.iter().cloned().map(Into::into));
            verdicts.extend(said);
            if !open.more {
                return Ok(verdicts);
            }
            if !has_all {
                eprintln!("ratchet: further earlier answers are not judged; run the gate again");
                return Ok(verdicts);
            }
            open = self.target.answers_to_judge(self.project, request.clone()).await?;
        }
    }

    async fn judge(
        &self,
        evaluators: &TrialEvaluators,
        open: &StoredAnswers,
        spent: &mut f64,
    ) -> Vec<AnswerVerdict> {
        let (mut verdicts, mut failed) = (Vec::new(), 0);
        let ask = async |answer: &StoredAnswer| {
            (answer.trace.clone(), evaluators.judge_stored(&open.score, answer).await)
        };
        for group in open.answers.chunks(AT_ONCE) {
            if self.args.max_cost.is_some_and(|cap| *spent >= cap) {
                eprintln!("ratchet: stopped judging earlier answers at --max-cost");
                break;
            }
            let mut said = futures_util::stream::iter(group).map(ask).buffered(AT_ONCE);
            while let Some((trace, verdict)) = said.next().await {
                match verdict {
                    Ok(Some(score)) => {
                        *spent += score.cost.unwrap_or(0.0);
                        let (value, comment, cost) = (score.value, score.comment, score.cost);
                        verdicts.push(AnswerVerdict { trace, value, comment, cost });
                    }
                    Ok(None) => {}
                    Err(missing) => {
                        *spent += missing.cost.unwrap_or(0.0);
                        failed += 1;
                    }
                }
            }
        }
        if failed > 0 {
            eprintln!("ratchet: {failed} earlier answers have no new verdict");
        }
        verdicts
    }
}
