use ratchet_core::money::Money;
use serde_json::Value;

use crate::budget::{Budget, CallCost};
use crate::error::ModelError;
use crate::model::Model;
use crate::provider::Provider;
use crate::provider::anthropic::Anthropic;
use crate::request::LlmRequest;
use crate::response::LlmResponse;
use crate::retry::RetryState;

/// Batches cost half: the divisor of the price.
const BATCH_DIVISOR: i64 = 2;
/// The maximum length of a request's custom id.
const MAX_NAME: usize = 64;

/// A request of a batch, with a custom id to match its response.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchRequest {
    /// Letters, digits, `-` and `_`, at most 64, unique within the batch.
    pub name: String,
    pub ask: LlmRequest,
}

/// The provider's batch id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchId(pub String);

/// The status of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchProgress {
    Working {
        /// The number of finished requests, failed ones included.
        done: u64,
        of: u64,
    },
    /// All responses can be read.
    Done,
}

/// The result of searching for the batch that contains a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchFound {
    Done(BatchId),
    /// Possibly one of these: a provider does not list the content of a batch in progress.
    Perhaps(Vec<BatchId>),
    Nowhere,
}

impl Model {
    /// Submits requests as a batch. The budget must cover their maximum cost; it is charged when
    /// the responses are read.
    ///
    /// # Errors
    /// Fails if a custom id is invalid, if the budget is exceeded, or if the provider has no
    /// batches.
    pub async fn submit_batch(
        &self,
        asks: &[BatchRequest],
        budget: &Budget,
    ) -> Result<BatchId, ModelError> {
        let provider = self.batches()?;
        if let Some(unfit) = asks.iter().find(|ask| !is_name(&ask.name)) {
            return Err(ModelError::NotSetUp(format!(
                "a batch cannot have the custom id {:?}",
                unfit.name
            )));
        }
        let all = asks.iter().map(|ask| self.max_cost(&ask.ask));
        let max_cost = all.fold(CallCost::NOTHING, |sum, toll| CallCost {
            tokens: sum.tokens.saturating_add(toll.tokens),
            money: sum.money.zip(toll.money).map(|(sum, more)| sum + share(more)),
        });
        budget.allows(max_cost, self.name())?;
        let mut patience = RetryState::default();
        let batch = loop {
            let inquiries =
                asks.iter().map(|ask| (ask.name.as_str(), self.provider_request(&ask.ask)));
            match provider.submit(inquiries).await {
                Ok(batch) => break batch,
                Err(failure) if failure.is_not_accepted() => {
                    patience.pause(self.backoff(), failure).await?;
                }
                Err(failure) => return Err(failure),
            }
        };
        batch["id"].as_str().map(|id| BatchId(id.to_owned())).ok_or_else(no_batch)
    }

    /// Returns the maximum cost of a request in a batch; `None` when the price is unknown.
    pub fn most_in_batch(&self, ask: &LlmRequest) -> Option<Money> {
        self.most(ask).map(share)
    }

    /// Returns the status of a batch.
    ///
    /// # Errors
    /// Fails if the batch does not exist or the provider does not respond.
    pub async fn batch_progress(&self, id: &BatchId) -> Result<BatchProgress, ModelError> {
        let provider = self.batches()?;
        let mut patience = RetryState::default();
        loop {
            match provider.batch(&id.0).await {
                Ok(batch) => return progress(&batch),
                Err(failure) => patience.pause(self.backoff(), failure).await?,
            }
        }
    }

    /// Reads the responses of a finished batch by custom id, in any order, and charges the budget.
    ///
    /// # Errors
    /// Fails if the batch is not finished or the provider does not respond. Errors of single
    /// requests are returned under their custom ids.
    pub async fn batch_answers(
        &self,
        id: &BatchId,
        asks: &[BatchRequest],
        budget: &Budget,
    ) -> Result<Vec<(String, Result<LlmResponse, ModelError>)>, ModelError> {
        let mut answers = Vec::new();
        let provider = self.batches()?;
        provider
            .results(&id.0, |name, response| {
                let Some(asked) = asks.iter().find(|asked| asked.name == name) else { return };
                let answer = match response {
                    Ok(response) => self.charge(&asked.ask, response, budget, share),
                    Err(failure) => {
                        self.update_capabilities(&asked.ask, &failure);
                        Err(failure)
                    }
                };
                answers.push((name.to_owned(), answer));
            })
            .await?;
        Ok(answers)
    }

    /// Searches the provider's batches, newest first, for the one that contains a request.
    ///
    /// # Errors
    /// Fails if the provider does not respond.
    pub async fn find_batch(&self, name: &str) -> Result<BatchFound, ModelError> {
        let provider = self.batches()?;
        let (mut perhaps, mut after) = (Vec::new(), None);
        loop {
            let page = provider.batches(after.as_deref()).await?;
            for batch in page["data"].as_array().into_iter().flatten() {
                let id = batch["id"].as_str().ok_or_else(no_batch)?;
                if progress(batch)? != BatchProgress::Done {
                    perhaps.push(BatchId(id.to_owned()));
                    continue;
                }
                let mut is_here = false;
                provider.results(id, |known, _| is_here |= known == name).await?;
                if is_here {
                    return Ok(BatchFound::Done(BatchId(id.to_owned())));
                }
            }
            after = page["last_id"].as_str().map(str::to_owned);
            if page["has_more"] != true || after.is_none() {
                break;
            }
        }
        Ok(if perhaps.is_empty() { BatchFound::Nowhere } else { BatchFound::Perhaps(perhaps) })
    }

    fn batches(&self) -> Result<&Anthropic, ModelError> {
        match self.provider() {
            Provider::Anthropic(provider) => Ok(provider),
            other => Err(ModelError::Unsupported {
                provider: other.name().as_str(),
                what: "answer in batches; anthropic can",
            }),
        }
    }
}

fn share(price: Money) -> Money {
    Money::from_pico(price.pico() / BATCH_DIVISOR)
}

fn no_batch() -> ModelError {
    ModelError::MalformedResponse("the batch has no id".to_owned())
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits)
}

fn progress(batch: &Value) -> Result<BatchProgress, ModelError> {
    if batch["processing_status"] == "ended" {
        return Ok(BatchProgress::Done);
    }
    let counts = batch["request_counts"].as_object().ok_or_else(no_batch)?;
    let of = counts.values().filter_map(Value::as_u64).fold(0, u64::saturating_add);
    let working = counts.get("processing").and_then(Value::as_u64).unwrap_or(0);
    Ok(BatchProgress::Working { done: of.saturating_sub(working), of })
}
