use ratchet_agent::error::ModelError;
use ratchet_agent::request::{CacheablePart, LlmRequest, ResponseFormat, Turn};
use ratchet_agent::response::LlmResponse;
use ratchet_core::judge::judge_prompt;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::judge::verdict::{self, Verdict};
use ratchet_core::money::Money;

use super::super::ScoreError;
use super::super::journal::Said;
use super::chunks::{Question, Walk};
use super::{ModelJudge, Unjudged, is_hopeless};

/// How often a model may put an answer right that cannot be used.
const REPAIRS: usize = 2;

/// What came of asking once.
enum Asked {
    Said(Verdict, String),
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
        walk: &Walk<'_>,
        question: &Question,
    ) -> Result<(Verdict, Money), Unjudged> {
        let bench = walk.bench;
        let mut ask = Self::first(bench.rubric, question);
        let mut cost = Money::ZERO;
        let mut faults = Vec::new();
        for _ in 0..=REPAIRS {
            if (bench.is_stopping)() {
                return Err(Unjudged::Stopped);
            }
            let now = (bench.clock)();
            // Says that we are still at it.
            if !bench.ledger.claim(&walk.session, now).await? {
                return Err(Unjudged::Failed("another run took it over".to_owned()));
            }
            bench.ledger.begin_call(&question.key, now).await?;
            match self.once(walk, question, &ask, &mut cost).await? {
                Asked::Said(verdict, answer) => {
                    let (prompt, session) = (question.key.as_str(), &walk.session);
                    let said = Said { prompt, session, answer: &answer, cost };
                    bench.ledger.keep(said, (bench.clock)()).await?;
                    return Ok((verdict, cost));
                }
                Asked::Unusable { said, faults: wrong } => {
                    let repair = judge_prompt::repair(&wrong);
                    ask.turns.push(Turn::Model { text: said, calls: Vec::new() });
                    ask.turns.push(Turn::User(vec![CacheablePart::new(repair)]));
                    faults = wrong;
                }
            }
        }
        bench.ledger.end_call(&question.key).await?;
        let faults = faults.join("; ");
        let tries = REPAIRS + 1;
        Err(Unjudged::Failed(format!("no usable answer in {tries} attempts: {faults}")))
    }

    /// A question as a model is asked it first.
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
        walk: &Walk<'_>,
        question: &Question,
        ask: &LlmRequest,
        cost: &mut Money,
    ) -> Result<Asked, Unjudged> {
        let ledger = walk.bench.ledger;
        let mut pay = |paid: Option<Money>| {
            let paid = paid.unwrap_or(Money::ZERO);
            *cost = *cost + paid;
            ledger.pay(paid);
        };
        match self.model.ask(ask, &self.budget).await {
            Ok(LlmResponse { text, cost: paid, .. }) => {
                pay(paid);
                let read = Verdict::read(&text, walk.bench.rubric, &question.traces);
                Ok(match read {
                    Ok(verdict) => Asked::Said(verdict, text),
                    Err(faults) => {
                        let faults = faults.iter().map(ToString::to_string).collect();
                        Asked::Unusable { said: text, faults }
                    }
                })
            }
            Err(ModelError::InvalidResponse(bad)) => {
                pay(bad.cost);
                Ok(Asked::Unusable { said: bad.said, faults: vec![bad.why] })
            }
            Err(ModelError::OverBudget(_)) => {
                ledger.end_call(&question.key).await?;
                ledger.run_dry();
                Err(Unjudged::Stopped)
            }
            Err(error) => {
                ledger.end_call(&question.key).await?;
                if is_hopeless(&error) {
                    return Err(Unjudged::Broken(ScoreError::Judge(error)));
                }
                Err(Unjudged::Failed(error.to_string()))
            }
        }
    }
}
