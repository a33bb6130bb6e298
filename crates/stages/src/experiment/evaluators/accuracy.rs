use std::sync::Arc;
use std::time::Duration;

use ratchet_agent::budget::{Allowance, Budget};
use ratchet_agent::environment::Variables;
use ratchet_agent::error::ModelError;
use ratchet_agent::model::Model;
use ratchet_agent::response::{Bill, LlmResponse};
use ratchet_core::backoff::{Backoff, FailedAttempt};
use ratchet_core::catalog::evaluator::document::{OutputDefinition, OutputType, PromptMessage};
use ratchet_core::catalog::evaluator::variables;
use ratchet_core::experiment::evaluator::ACCURACY;
use ratchet_core::experiment::runner::{JudgeCall, TrialScore};
use ratchet_core::judge::evaluator::{EvaluatedRecord, EvaluatorPrompt, read, values};
use ratchet_core::judge::judge_prompt::Seed;
use ratchet_core::money::Money;
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::BackoffClock;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tracing::warn;

use super::{EvaluatorMachine, GivenVerdict, Judged, NoVerdict, VerdictResult};
use crate::experiment::target::open_model;
use crate::score::evaluators::judge_request;
use crate::score::judge_calls::messages;

/// Attempts to get a verdict.
const RETRY: Backoff = Backoff {
    max_attempts: 5,
    first: Duration::from_millis(500),
    cap: Duration::from_secs(20),
    max_retry_after: Duration::from_secs(60),
    max_elapsed: Duration::from_secs(180),
};

/// Bytes of a message to the judge that are recorded.
const MESSAGE: usize = 100_000;
/// Length of the hash that names its version.
const VERSION_BYTES: usize = 6;

/// A judge that compares answers with expected ones.
#[derive(Debug)]
pub(super) struct AccuracyJudge {
    model: Model,
    instructions: String,
    messages: Vec<PromptMessage>,
    names: Vec<String>,
    seed: Seed,
    clock: Arc<dyn BackoffClock>,
}

impl AccuracyJudge {
    pub(super) async fn open(
        judge: &str,
        machine: &EvaluatorMachine,
        lookup: Variables<'_>,
    ) -> Result<Self, String> {
        let access = (Some(&machine.host), &machine.outbound, &machine.supervision);
        let model = open_model(judge, access, (lookup, machine.clock.now())).await?;
        let model = model.ok_or("the offline judge compares no facts; name a model")?;
        let prompt = &machine.prompts;
        let content = prompt.accuracy.clone();
        let names = variables([content.as_str()]);
        Ok(Self {
            model,
            instructions: prompt.instructions.clone(),
            messages: vec![PromptMessage { role: "user".to_owned(), content }],
            names,
            seed: Seed::of(&machine.seed),
            clock: machine.clock.clone(),
        })
    }

    /// Returns a hash of what its verdicts depend on besides the answer: the model and the prompts.
    pub(super) fn version(&self) -> String {
        let provider = self.model.provider().name().as_str();
        let words = json!([provider, self.model.name(), self.instructions, self.messages]);
        let digest = Sha256::digest(words.to_string());
        digest.iter().take(VERSION_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The verdict on an answer; it does not apply without an expected one.
    pub(super) async fn verdict(&self, judged: &Judged<'_>) -> VerdictResult {
        let output = OutputDefinition {
            data_type: OutputType::Numeric,
            min_value: Some(0.0),
            max_value: Some(1.0),
            categories: None,
            should_allow_multiple_matches: None,
            score_reasoning_instructions: None,
            score_value_instructions: None,
        };
        let Some(record) = record(judged) else { return Ok(None) };
        let values = values(&self.names, &[], &record);
        let about = (judged.what, &self.seed);
        let prompt = EvaluatorPrompt::new(&self.instructions, &self.messages, &values, about);
        let request = judge_request(&prompt, &output);
        let (mut spent, mut failed) = (Spent::default(), FailedAttempt::default());
        loop {
            failed.attempt += 1;
            let budget = Budget::new(Allowance::default());
            let sent_at = self.clock.now();
            let why = match self.model.complete(&request, &budget).await {
                Ok(answer) => {
                    spent.add(answer.cost);
                    spent.calls.push(call(&prompt, &answer, [sent_at, self.clock.now()]));
                    match read(&output, answer.json.as_ref().unwrap_or(&Value::Null)) {
                        Ok(verdict) => match number(&verdict.value) {
                            Some(value) => {
                                let score = TrialScore {
                                    name: ACCURACY.to_owned(),
                                    value,
                                    comment: Some(verdict.rationale),
                                    cost: spent.dollars(),
                                    observation: None,
                                };
                                return Ok(Some(GivenVerdict { score, calls: spent.calls }));
                            }
                            None => "the verdict is not a number".to_owned(),
                        },
                        Err(why) => why,
                    }
                }
                Err(error) => {
                    spent.add_bill(error.bill());
                    // Its text may have the provider's reply, which is for the operator alone.
                    warn!(%error, "the judge did not answer");
                    if !is_worth_another(&error) {
                        return Err(spent.without_verdict(error.without_reply()));
                    }
                    error.without_reply()
                }
            };
            failed.jitter = self.clock.jitter();
            let Some(pause) = RETRY.delay(failed) else {
                return Err(spent.without_verdict(why));
            };
            failed.elapsed += pause;
            self.clock.pause(pause).await;
        }
    }
}

/// Another answer may be valid, and an outage may be over.
fn is_worth_another(error: &ModelError) -> bool {
    error.is_passing() || matches!(error, ModelError::InvalidResponse(_))
}

/// What was paid so far; unknown if one price is.
#[derive(Default)]
struct Spent {
    known: Money,
    is_unknown: bool,
    /// Calls that were answered.
    calls: Vec<JudgeCall>,
}

impl Spent {
    fn add(&mut self, cost: Option<Money>) {
        self.is_unknown |= cost.is_none();
        self.known = self.known + cost.unwrap_or(Money::ZERO);
    }

    fn add_bill(&mut self, bill: Option<&Bill>) {
        if let Some(bill) = bill {
            self.add(bill.cost);
        }
    }

    fn without_verdict(self, reason: String) -> NoVerdict {
        warn!(reason, "the judge has no verdict");
        NoVerdict { reason, cost: self.dollars(), calls: self.calls }
    }

    fn dollars(&self) -> Option<f64> {
        (!self.is_unknown).then(|| self.known.dollars())
    }
}

/// A call as it is reported; the prompt may be long, and is cut in the middle.
fn call(
    prompt: &EvaluatorPrompt,
    answer: &LlmResponse,
    [sent_at, now]: [Timestamp; 2],
) -> JudgeCall {
    let said = messages(prompt).into_iter();
    let cut = |(role, text): (&str, &str)| json!({ "role": role, "content": elide(text, MESSAGE) });
    JudgeCall {
        score: String::new(),
        model: answer.model.clone(),
        messages: said.map(cut).collect(),
        output: answer.text.clone(),
        usage: answer.usage.kinds().clone(),
        cost: answer.cost.map(Money::dollars),
        started_at: sent_at.to_string(),
        ended_at: now.to_string(),
    }
}

fn record(judged: &Judged<'_>) -> Option<EvaluatedRecord> {
    let calls = judged.calls.iter();
    let calls = calls.map(|call| json!({ "name": call.name, "input": call.arguments }));
    Some(EvaluatedRecord {
        input: Some(judged.input.clone()),
        output: Some(judged.output.into()),
        metadata: Value::Null,
        tool_calls: calls.collect(),
        expected_output: Some(judged.expected?.clone()),
        item_metadata: None,
    })
}

fn number(value: &SentValue) -> Option<f64> {
    match value {
        SentValue::Number(number) => Some(*number),
        SentValue::Bool(_) | SentValue::Text(_) => None,
    }
}
