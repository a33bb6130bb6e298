use ratchet_agent::error::ModelError;
use ratchet_agent::request::{CacheablePart, LlmRequest, ResponseFormat, Turn};
use ratchet_agent::response::LlmResponse;
use ratchet_core::judge::judge_prompt;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::judge::verdict::{self, Verdict};
use ratchet_core::money::Money;

use super::super::ScoreError;
use super::super::journal::JudgeAnswer;
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
    ) -> Result<(Verdict, Money), NoVerdict> {
        let judge_ctx = chunked.judge_ctx;
        let mut ask = Self::first(judge_ctx.rubric, question);
        let mut cost = Money::ZERO;
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

    /// The first model request for a chunk.
    pub(in super::super) fn first(rubric: &Rubric, question: &Question) -> LlmRequest {
        let prompt = &question.prompt;
        LlmRequest {
            system: vec![CacheablePart::cached(prompt.system.as_str())],
            turns: vec![Turn::User(vec![
                CacheablePart::cached(prompt.shared.as_str()),
                CacheablePart::new(prompt.chunk.as_str()),
            ])],
            tools: Vec::new(),
            form: ResponseFormat::Json(verdict::schema(rubric)),
            temperature: Some(rubric.judge.temperature),
            max_tokens: rubric.judge.max_output_tokens,
        }
    }

    async fn once(
        &self,
        chunked: &ChunkedSession<'_>,
        question: &Question,
        ask: &LlmRequest,
        cost: &mut Money,
    ) -> Result<ModelAnswer, NoVerdict> {
        let ledger = chunked.judge_ctx.ledger;
        let mut pay = |paid: Option<Money>| {
            let paid = paid.unwrap_or(Money::ZERO);
            *cost = *cost + paid;
            ledger.pay(paid);
        };
        match self.model.complete(ask, &self.budget).await {
            Ok(LlmResponse { text, cost: paid, .. }) => {
                pay(paid);
                let read = Verdict::read(&text, chunked.judge_ctx.rubric, &question.traces);
                Ok(match read {
                    Ok(verdict) => ModelAnswer::Judged(verdict, text),
                    Err(faults) => {
                        let faults = faults.iter().map(ToString::to_string).collect();
                        ModelAnswer::Unusable { said: text, faults }
                    }
                })
            }
            Err(ModelError::InvalidResponse(bad)) => {
                pay(bad.cost);
                Ok(ModelAnswer::Unusable { said: bad.said, faults: vec![bad.why] })
            }
            Err(ModelError::OverBudget(_)) => {
                ledger.end_call(&question.key).await?;
                ledger.run_dry();
                Err(NoVerdict::Stopped)
            }
            Err(error) => {
                ledger.end_call(&question.key).await?;
                if is_hopeless(&error) {
                    return Err(NoVerdict::Broken(ScoreError::Judge(error)));
                }
                Err(NoVerdict::Failed(error.to_string()))
            }
        }
    }
}
