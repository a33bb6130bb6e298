use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ratchet_core::backoff::Backoff;
use ratchet_core::json_schema::Schema;
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::record::price::{ModelCall, PriceTable};
use ratchet_core::record::tokens::{Provenance, Tokens};
use ratchet_core::record::usage::Usage;
use ratchet_core::time::Timestamp;
use tracing::warn;

use crate::budget::{Budget, CallCost};
use crate::capabilities::Capabilities;
use crate::error::{InvalidResponse, ModelError, Refusal};
use crate::pool::ModelPool;
use crate::provider::{Listener, Provider, ProviderRequest};
use crate::request::LlmRequest;
use crate::response::{Bill, LlmResponse, OUTPUT_TOOL, ProviderResponse, StopReason};
use crate::retry::{MODEL_BACKOFF, failed};

const CALL_TIMEOUT: Duration = Duration::from_secs(600);

/// Model prices at a point in time.
#[derive(Clone, Debug)]
pub struct PriceList {
    /// By model and usage type.
    pub table: Arc<PriceTable>,
    /// The time of the requests; prices of a project's own models change over time.
    pub at: Timestamp,
}

/// A model client, independent of the provider.
///
/// Dropping the future of a call cancels it; its reservation stays spent.
///
/// ```no_run
/// use std::sync::Arc;
/// use ratchet_agent::access::ModelAccess;
/// use ratchet_agent::request::{LlmRequest, CacheablePart};
/// use ratchet_agent::budget::{Allowance, Budget};
/// use ratchet_agent::model::{Model, PriceList};
/// use ratchet_agent::provider::Provider;
/// use ratchet_agent::provider::anthropic::{Anthropic, BASE_URL};
/// use ratchet_core::money::Money;
/// use ratchet_core::record::price::PriceTable;
/// use ratchet_core::secret::Secret;
/// use ratchet_core::time::Timestamp;
///
/// # async fn example(client: reqwest::Client, key: Secret, at: Timestamp)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let provider = Provider::Anthropic(Anthropic::new(client, ModelAccess::new(BASE_URL, key))?);
/// let prices = PriceList { table: Arc::new(PriceTable::builtin()), at };
/// let model = Model::new(provider, "claude-sonnet-5", prices);
///
/// let budget = Budget::new(Allowance { money: Money::from_dollars(0.50), ..Allowance::default() });
/// let request = LlmRequest { system: vec![CacheablePart::cached("Be brief.")], ..LlmRequest::new("Why is the sky blue?") };
/// let answer = model.complete(&request, &budget).await?;
/// println!("{} ({:?})", answer.text, answer.cost);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Model {
    provider: Provider,
    name: String,
    prices: PriceList,
    backoff: Backoff,
    pool: Option<ModelPool>,
    capabilities: Mutex<Capabilities>,
}

impl Model {
    /// Creates a client for a model, by the provider's model id.
    pub fn new(provider: Provider, name: impl Into<String>, prices: PriceList) -> Self {
        let (name, capabilities) = (name.into(), Mutex::default());
        Self { provider, name, prices, backoff: MODEL_BACKOFF, pool: None, capabilities }
    }

    /// Replaces the retry policy.
    #[must_use]
    pub fn with_backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    /// Sets the concurrency limit; several models may share one pool.
    #[must_use]
    pub fn with_pool(self, pool: ModelPool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    /// Returns the provider's model id.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn backoff(&self) -> &Backoff {
        &self.backoff
    }

    /// Returns the provider.
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Sends a request and waits for the whole response.
    ///
    /// # Errors
    /// Reports the reason and a remedy; a request that could exceed the budget is not sent.
    pub async fn complete(
        &self,
        ask: &LlmRequest,
        budget: &Budget,
    ) -> Result<LlmResponse, ModelError> {
        self.send(ask, budget, None).await
    }

    /// Sends a request and passes on each part of the response text as it arrives.
    ///
    /// # Errors
    /// As of [`Model::complete`]. Once a part was passed on, the request is not retried.
    pub async fn stream(
        &self,
        ask: &LlmRequest,
        budget: &Budget,
        listener: &mut (dyn FnMut(&str) + Send),
    ) -> Result<LlmResponse, ModelError> {
        self.send(ask, budget, Some(listener)).await
    }

    /// Counts the tokens of a request: exact where the provider counts, else approximate.
    ///
    /// # Errors
    /// Fails where the provider counts and does not respond.
    pub async fn count(&self, ask: &LlmRequest) -> Result<Tokens, ModelError> {
        match &self.provider {
            Provider::Anthropic(provider) => provider.count(self.provider_request(ask)).await,
            Provider::OpenAi(_) | Provider::Bedrock(_) | Provider::Claude(_) => Ok(ask.tokens()),
        }
    }

    /// Returns whether the provider counts the tokens of requests.
    pub fn counts_tokens(&self) -> bool {
        matches!(self.provider, Provider::Anthropic(_))
    }

    /// Returns the maximum cost of a request; `None` when the price is unknown.
    pub fn most(&self, ask: &LlmRequest) -> Option<Money> {
        self.max_cost(ask).money
    }

    async fn send(
        &self,
        ask: &LlmRequest,
        budget: &Budget,
        mut listener: Listener<'_>,
    ) -> Result<LlmResponse, ModelError> {
        let schema = compiled(ask)?;
        let counted = OnceLock::new();
        let most = || *counted.get_or_init(|| self.max_cost(ask));
        let (mut attempts, mut paused) = (0, Duration::ZERO);
        loop {
            attempts += 1;
            let seat = match &self.pool {
                Some(pool) => Some(pool.enter().await),
                None => None,
            };
            let hold = budget.reserve(&most, &self.name)?;
            let mut has_heard = false;
            let wants_pieces = listener.is_some();
            let mut pass_on = |piece: &str| {
                has_heard = true;
                if let Some(listener) = &mut listener {
                    listener(piece);
                }
            };
            let pieces: Listener<'_> = if wants_pieces { Some(&mut pass_on) } else { None };
            let failure = match self.once(ask, budget, pieces).await {
                Ok(response) => {
                    let bill = self.bill(ask, &response);
                    hold.settle(bill.max_cost());
                    self.pool.iter().for_each(ModelPool::speed_up);
                    return self.check(
                        ask,
                        response,
                        schema.as_ref(),
                        ResponseMetadata { bill, attempts },
                    );
                }
                Err(failure) => failure,
            };
            if !failure.may_be_billed() {
                hold.release();
            }
            let pause = self.backoff.delay(failed(attempts, &failure, paused));
            let Some(pause) = pause.filter(|_| failure.is_passing() && !has_heard) else {
                return Err(failure);
            };
            drop(seat);
            if let (Some(pool), true) = (&self.pool, failure.is_overload()) {
                pool.slow_down(pause);
            }
            warn!(model = self.name, attempts, %failure, "the model does not answer: asking again");
            tokio::time::sleep(pause).await;
            paused += pause;
        }
    }

    /// Sends one attempt with the model's known capabilities.
    async fn once(
        &self,
        ask: &LlmRequest,
        budget: &Budget,
        mut listener: Listener<'_>,
    ) -> Result<ProviderResponse, ModelError> {
        loop {
            let provider_request = self.provider_request(ask);
            let limit = budget.left().time.unwrap_or(CALL_TIMEOUT).min(CALL_TIMEOUT);
            let pieces: Listener<'_> = match &mut listener {
                Some(listener) => Some(&mut **listener),
                None => None,
            };
            let outcome =
                tokio::time::timeout(limit, self.provider.complete(provider_request, pieces)).await;
            let failure = match outcome.map_err(|_| ModelError::TooSlow(limit))? {
                Ok(response) => return Ok(response),
                Err(failure) => failure,
            };
            if !self.update_capabilities(ask, &failure) {
                return Err(failure);
            }
        }
    }

    /// Updates the capabilities after a rejection; false when there is nothing to change.
    pub(crate) fn update_capabilities(&self, ask: &LlmRequest, failure: &ModelError) -> bool {
        let mut capabilities = self.capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        let better = capabilities.after(ask, failure);
        *capabilities = better.unwrap_or(*capabilities);
        better.is_some()
    }

    /// Charges a budget for the response of an earlier request, at a fraction of the price, and
    /// validates it.
    pub(crate) fn charge(
        &self,
        ask: &LlmRequest,
        response: ProviderResponse,
        budget: &Budget,
        share: fn(Money) -> Money,
    ) -> Result<LlmResponse, ModelError> {
        let schema = compiled(ask)?;
        let full = self.bill(ask, &response);
        let bill = Bill { cost: full.cost.map(share), ..full };
        budget.charge(bill.max_cost());
        self.check(ask, response, schema.as_ref(), ResponseMetadata { bill, attempts: 1 })
    }

    fn bill(&self, ask: &LlmRequest, response: &ProviderResponse) -> Bill {
        let (usage, provenance) = match &response.usage {
            Some(usage) => (usage.clone(), Provenance::Verified),
            None => {
                let kinds = [
                    ("input".to_owned(), ask.tokens().count),
                    ("output".to_owned(), Tokens::approximate(&response.text).count),
                ];
                (Usage::new(kinds.into()), Provenance::Approximate)
            }
        };
        let cost = response.cost.or_else(|| self.cost(&usage));
        Bill { usage, provenance, cost }
    }

    /// Validates the response against the requested format.
    fn check(
        &self,
        ask: &LlmRequest,
        mut response: ProviderResponse,
        schema: Option<&Schema>,
        answered: ResponseMetadata,
    ) -> Result<LlmResponse, ModelError> {
        let ResponseMetadata { bill, attempts } = answered;
        if response.stop == StopReason::Refused {
            return Err(ModelError::Refused(Box::new(Refusal { said: response.text, bill })));
        }
        let calls_tools = response.calls.iter().any(|call| call.name != OUTPUT_TOOL);
        let schema = schema.filter(|_| ask.tools.is_empty() || !calls_tools);
        let document = schema.map(|schema| response.document(schema)).transpose();
        let json = document.map_err(|why| {
            let bad = InvalidResponse { why, said: response.text.clone(), bill: bill.clone() };
            ModelError::InvalidResponse(Box::new(bad))
        })?;
        let Bill { usage, provenance, cost } = bill;
        Ok(LlmResponse {
            text: response.text,
            json,
            calls: response.calls,
            stop: response.stop,
            usage,
            provenance,
            cost,
            model: response.model.unwrap_or_else(|| self.name.clone()),
            request: response.request,
            attempts,
        })
    }

    pub(crate) fn provider_request<'a>(&'a self, ask: &'a LlmRequest) -> ProviderRequest<'a> {
        let capabilities = *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        ProviderRequest { model: &self.name, ask, capabilities }
    }

    /// Returns the maximum tokens and cost of a request.
    pub(crate) fn max_cost(&self, ask: &LlmRequest) -> CallCost {
        let (cached, plain) = ask.tokens_by_caching();
        let kinds = [
            ("input_cache_creation".to_owned(), cached),
            ("input".to_owned(), plain),
            ("output".to_owned(), u64::from(ask.max_tokens)),
        ];
        let usage = Usage::new(kinds.into());
        CallCost { tokens: usage.total(), money: self.cost(&usage) }
    }

    fn cost(&self, usage: &Usage) -> Option<Money> {
        let PriceList { table, at } = &self.prices;
        let (model, at) = (self.name.as_str(), *at);
        let call = ModelCall { model, usage, parameters: None, metadata: None, at };
        table.cost(call).map(|cost| cost.total())
    }
}

/// Compiles the JSON Schema of the response.
fn compiled(ask: &LlmRequest) -> Result<Option<Schema>, ModelError> {
    let schema = ask.schema().map(|schema| Schema::read(&Json::from_value(schema)));
    schema.transpose().map_err(|why| ModelError::NotSetUp(why.to_string()))
}

impl Bill {
    fn max_cost(&self) -> CallCost {
        CallCost { tokens: self.usage.total(), money: self.cost }
    }
}

struct ResponseMetadata {
    bill: Bill,
    attempts: u32,
}
