use std::borrow::Cow;

use ratchet_agent::budget::BudgetExceeded;
use ratchet_agent::error::ModelError;
use ratchet_agent::request::{CacheablePart, LlmRequest, ResponseFormat, Turn};
use ratchet_agent::response::LlmResponse;
use ratchet_core::judge::judge_prompt::{self, DIMENSION_TOKENS, JudgePrompt};
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::judge::verdict::{self, Verdict};

use super::super::journal::JudgeAnswer;
use super::super::{JudgingCost, ScoreError};
use super::chunks::{ChunkedSession, Question};
use super::{ModelJudge, NoVerdict, is_hopeless};

/// How often a model may put an answer right that cannot be used.
const REPAIRS: usize = 2;

/// What came of asking once.
enum ModelAnswer {
    Judged(Verdict, String),
    /// Something that cannot be used, and what is wrong with it.
    Unusable {
        said: String,
        faults: Vec<String>,
    },
}

impl ModelJudge {
    /// Asks about a chunk until there is a verdict, and keeps it. What could not be used was paid
    /// for all the same.
    pub(super) async fn ask(
        &self,
        chunked: &ChunkedSession<'_>,
        question: &Question,
    ) -> Result<(Verdict, JudgingCost), NoVerdict> {
        let judge_ctx = chunked.judge_ctx;
        let mut ask = Self::request(&question.rubric, &question.prompt);
        let mut cost = JudgingCost::default();
        let mut faults = Vec::new();
        for _ in 0..=REPAIRS {
            if (judge_ctx.is_stopping)() {
                return Err(NoVerdict::Stopped);
            }
            let now = (judge_ctx.clock)();
            // Says that we are still at it.
            if !judge_ctx.ledger.claim(&chunked.session, now).await? {
                return Err(NoVerdict::Failed("another run took it over".to_owned()));
            }
            judge_ctx.ledger.begin_call(&question.key, now).await?;
            match self.once(chunked, question, &ask, &mut cost).await? {
                ModelAnswer::Judged(verdict, answer) => {
                    let (prompt, session) = (question.key.as_str(), &chunked.session);
                    let said = JudgeAnswer { prompt, session, answer: &answer, cost };
                    judge_ctx.ledger.keep(said, (judge_ctx.clock)()).await?;
                    return Ok((verdict, cost));
                }
                ModelAnswer::Unusable { said, faults: wrong } => {
                    let repair = judge_prompt::repair(&wrong);
                    ask.turns.push(Turn::Model { text: said, calls: Vec::new() });
                    ask.turns.push(Turn::User(vec![CacheablePart::new(repair)]));
                    faults = wrong;
                }
            }
        }
        judge_ctx.ledger.end_call(&question.key).await?;
        let faults = faults.join("; ");
        let tries = REPAIRS + 1;
        Err(NoVerdict::Failed(format!("no usable answer in {tries} attempts: {faults}")))
    }

    /// The first model request for a chunk. Critics get the format of the answer after the
    /// evidence: a schema of their own would come before it, and nothing could be read from the
    /// provider's cache.
    pub(in super::super) fn request(rubric: &Rubric, prompt: &JudgePrompt) -> LlmRequest {
        let shared = CacheablePart::cached(prompt.shared.as_str());
        let (parts, response_format) = if prompt.ending.is_empty() {
            let chunk = CacheablePart::new(prompt.chunk.as_str());
            (vec![shared, chunk], ResponseFormat::Json(verdict::schema(rubric)))
        } else {
            let chunk = CacheablePart::cached(prompt.chunk.as_str());
            let ending = CacheablePart::new(prompt.ending.as_str());
            (vec![shared, chunk, ending], ResponseFormat::Text)
        };
        LlmRequest {
            system: vec![CacheablePart::cached(prompt.system.as_str())],
            turns: vec![Turn::User(parts)],
            tools: Vec::new(),
            response_format,
            temperature: Some(rubric.judge.temperature),
            max_tokens: rubric.judge.max_output_tokens,
        }
    }

    /// Sends a request. Where the budget does not allow it, waits for what the calls under way do
    /// not use, then asks for a shorter answer, so that little of the budget is left over.
    async fn within_budget(
        &self,
        ask: &LlmRequest,
        rubric: &Rubric,
    ) -> Result<LlmResponse, ModelError> {
        let mut ask = Cow::Borrowed(ask);
        loop {
            let settled = self.budget.settled();
            let answer = self.model.complete(&ask, &self.budget).await;
            let Err(ModelError::OverBudget(exceeded)) = &answer else { return answer };
            if self.budget.more_is_left(settled).await {
                continue;
            }
            let BudgetExceeded::Money { left, .. } = exceeded else { return answer };
            let is_allowed =
                |shorter: &LlmRequest| self.model.most(shorter).is_some_and(|most| most <= *left);
            match Self::shorter(&ask, rubric).find(is_allowed) {
                Some(shorter) => ask = Cow::Owned(shorter),
                None => return answer,
            }
        }
    }

    /// The same request for shorter answers, the longest first; none below twice the usual length.
    pub(in super::super) fn shorter(
        ask: &LlmRequest,
        rubric: &Rubric,
    ) -> impl Iterator<Item = LlmRequest> + use<> {
        let dimensions = u32::try_from(rubric.dimensions.len()).unwrap_or(u32::MAX);
        let shortest = dimensions.saturating_mul(2 * DIMENSION_TOKENS);
        let lengths = [ask.max_tokens / 4 * 3, ask.max_tokens / 2, shortest];
        let ask = ask.clone();
        lengths
            .into_iter()
            .filter(move |to| (shortest..ask.max_tokens).contains(to))
            .map(move |max_tokens| LlmRequest { max_tokens, ..ask.clone() })
    }

    async fn once(
        &self,
        chunked: &ChunkedSession<'_>,
        question: &Question,
        ask: &LlmRequest,
        cost: &mut JudgingCost,
    ) -> Result<ModelAnswer, NoVerdict> {
        let ledger = chunked.judge_ctx.ledger;
        let answer = self.within_budget(ask, &question.rubric).await;
        let paid = match &answer {
            Ok(response) => Some(JudgingCost::from(response)),
            // What cannot be used, and what was refused, is billed all the same.
            Err(error) => error.bill().map(JudgingCost::from),
        };
        if let Some(paid) = paid {
            *cost += paid;
            ledger.pay(paid);
        }
        match answer {
            Ok(LlmResponse { text, .. }) => {
                let read = Verdict::read(&text, &question.rubric, &question.traces);
                Ok(match read {
                    Ok(verdict) => ModelAnswer::Judged(verdict, text),
                    Err(faults) => {
                        let faults = faults.iter().map(ToString::to_string).collect();
                        ModelAnswer::Unusable { said: text, faults }
                    }
                })
            }
            Err(ModelError::InvalidResponse(bad)) => {
                Ok(ModelAnswer::Unusable { said: bad.said, faults: vec![bad.why] })
            }
            Err(error) => {
                ledger.end_call(&question.key).await?;
                if is_hopeless(&error) {
                    return Err(NoVerdict::Broken(ScoreError::Judge(error)));
                }
                if let ModelError::OverBudget(_) = error {
                    ledger.refuse_call(&self.budget);
                    return Err(NoVerdict::Stopped);
                }
                Err(NoVerdict::Failed(error.to_string()))
            }
        }
    }
}
