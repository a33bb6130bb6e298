use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

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
use crate::error::{InvalidResponse, ModelError};
use crate::pool::ModelPool;
use crate::provider::{Inquiry, Listener, Provider};
use crate::request::LlmRequest;
use crate::response::{HAND_IN, LlmResponse, Said, StopReason};
use crate::retry::{Retries, chance};

/// No answer takes longer, unless something hangs.
const LONGEST_CALL: Duration = Duration::from_secs(600);

/// What models cost, at a moment.
#[derive(Clone, Debug)]
pub struct PriceList {
    /// By model and kind of unit.
    pub table: Arc<PriceTable>,
    /// When the questions are asked; prices of a project's own models change with time.
    pub at: Timestamp,
}

/// A model that can be asked, whoever provides it.
///
/// Dropping the future of a question gives the question up; what was reserved for it stays spent.
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
/// let ask = LlmRequest { system: vec![CacheablePart::cached("Be brief.")], ..LlmRequest::new("Why is the sky blue?") };
/// let answer = model.ask(&ask, &budget).await?;
/// println!("{} ({:?})", answer.text, answer.cost);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Model {
    provider: Provider,
    name: String,
    prices: PriceList,
    retries: Retries,
    pool: Option<ModelPool>,
    manner: Mutex<Capabilities>,
}

impl Model {
    /// A model by the name that its provider has for it.
    pub fn new(provider: Provider, name: impl Into<String>, prices: PriceList) -> Self {
        let (name, manner) = (name.into(), Mutex::default());
        Self { provider, name, prices, retries: Retries::default(), pool: None, manner }
    }

    /// The same, more or less patient.
    #[must_use]
    pub fn with_retries(self, retries: Retries) -> Self {
        Self { retries, ..self }
    }

    /// The same, asked by so many at once; a pool may be shared by several models.
    #[must_use]
    pub fn with_pool(self, pool: ModelPool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    /// The provider's name for it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn retries(&self) -> &Retries {
        &self.retries
    }

    /// Who provides it.
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Asks, and waits for the whole answer.
    ///
    /// # Errors
    /// Says why there is none and what to do; nothing is sent that could exceed the budget.
    pub async fn ask(&self, ask: &LlmRequest, budget: &Budget) -> Result<LlmResponse, ModelError> {
        self.converse(ask, budget, None).await
    }

    /// Asks, and tells each piece of the answer's text as it comes.
    ///
    /// # Errors
    /// The same as of [`Model::ask`]. Once a piece was told, the question is not asked again.
    pub async fn stream(
        &self,
        ask: &LlmRequest,
        budget: &Budget,
        listener: &mut (dyn FnMut(&str) + Send),
    ) -> Result<LlmResponse, ModelError> {
        self.converse(ask, budget, Some(listener)).await
    }

    /// Counts the tokens of a question: measured where the provider counts, else approximate.
    ///
    /// # Errors
    /// Fails where the provider counts and does not answer.
    pub async fn count(&self, ask: &LlmRequest) -> Result<Tokens, ModelError> {
        match &self.provider {
            Provider::Anthropic(provider) => provider.count(self.inquiry(ask)).await,
            Provider::OpenAi(_) | Provider::Bedrock(_) | Provider::Claude(_) => Ok(ask.tokens()),
        }
    }

    /// What a question could cost at most, if the price is known.
    pub fn most(&self, ask: &LlmRequest) -> Option<Money> {
        self.toll(ask).money
    }

    async fn converse(
        &self,
        ask: &LlmRequest,
        budget: &Budget,
        mut listener: Listener<'_>,
    ) -> Result<LlmResponse, ModelError> {
        let schema = compiled(ask)?;
        let counted = OnceLock::new();
        let most = || *counted.get_or_init(|| self.toll(ask));
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
            let mut tell = |piece: &str| {
                has_heard = true;
                if let Some(listener) = &mut listener {
                    listener(piece);
                }
            };
            let pieces: Listener<'_> = if wants_pieces { Some(&mut tell) } else { None };
            let failure = match self.once(ask, budget, pieces).await {
                Ok(said) => {
                    let bill = self.bill(ask, &said);
                    hold.settle(bill.toll());
                    self.pool.iter().for_each(ModelPool::speed_up);
                    return self.check(ask, said, schema.as_ref(), Answered { bill, attempts });
                }
                Err(failure) => failure,
            };
            if !failure.may_be_billed() {
                hold.release();
            }
            let pause = self.retries.pause(attempts, failure.retry_after(), paused, chance());
            let Some(pause) = pause.filter(|_| failure.is_passing() && !has_heard) else {
                return Err(failure);
            };
            drop(seat);
            if let (Some(pool), true) = (&self.pool, failure.is_crowding()) {
                pool.slow_down(pause);
            }
            warn!(model = self.name, attempts, %failure, "the model does not answer: asking again");
            tokio::time::sleep(pause).await;
            paused += pause;
        }
    }

    /// Asks once, in the manner that the model takes.
    async fn once(
        &self,
        ask: &LlmRequest,
        budget: &Budget,
        mut listener: Listener<'_>,
    ) -> Result<Said, ModelError> {
        loop {
            let inquiry = self.inquiry(ask);
            let limit = budget.left().time.unwrap_or(LONGEST_CALL).min(LONGEST_CALL);
            let pieces: Listener<'_> = match &mut listener {
                Some(listener) => Some(&mut **listener),
                None => None,
            };
            let asked = tokio::time::timeout(limit, self.provider.ask(inquiry, pieces)).await;
            let failure = match asked.map_err(|_| ModelError::TooSlow(limit))? {
                Ok(said) => return Ok(said),
                Err(failure) => failure,
            };
            if !self.learn(ask, &failure) {
                return Err(failure);
            }
        }
    }

    /// Learns from a rejection how the model wants to be asked; false when there is nothing to
    /// learn.
    pub(crate) fn learn(&self, ask: &LlmRequest, failure: &ModelError) -> bool {
        let mut manner = self.manner.lock().unwrap_or_else(PoisonError::into_inner);
        let better = manner.after(ask, failure);
        *manner = better.unwrap_or(*manner);
        better.is_some()
    }

    /// Charges a budget with an answer to a question that was asked earlier, at a share of the
    /// price, and checks it.
    pub(crate) fn charge(
        &self,
        ask: &LlmRequest,
        said: Said,
        budget: &Budget,
        share: fn(Money) -> Money,
    ) -> Result<LlmResponse, ModelError> {
        let schema = compiled(ask)?;
        let full = self.bill(ask, &said);
        let bill = Bill { cost: full.cost.map(share), ..full };
        budget.charge(bill.toll());
        self.check(ask, said, schema.as_ref(), Answered { bill, attempts: 1 })
    }

    fn bill(&self, ask: &LlmRequest, said: &Said) -> Bill {
        let (usage, provenance) = match &said.usage {
            Some(usage) => (usage.clone(), Provenance::Verified),
            None => {
                let kinds = [
                    ("input".to_owned(), ask.tokens().count),
                    ("output".to_owned(), Tokens::approximate(&said.text).count),
                ];
                (Usage::new(kinds.into()), Provenance::Approximate)
            }
        };
        let cost = said.cost.or_else(|| self.cost(&usage));
        Bill { usage, provenance, cost }
    }

    /// Checks that the answer is what was asked for.
    fn check(
        &self,
        ask: &LlmRequest,
        mut said: Said,
        schema: Option<&Schema>,
        answered: Answered,
    ) -> Result<LlmResponse, ModelError> {
        let Answered { bill: Bill { usage, provenance, cost }, attempts } = answered;
        if said.stop == StopReason::Refused {
            return Err(ModelError::Refused(said.text));
        }
        let calls_tools = said.calls.iter().any(|call| call.name != HAND_IN);
        let schema = schema.filter(|_| ask.tools.is_empty() || !calls_tools);
        let document = schema.map(|schema| said.document(schema)).transpose();
        let json = document.map_err(|why| {
            let bad = InvalidResponse { why, said: said.text.clone(), usage: usage.clone(), cost };
            ModelError::InvalidResponse(Box::new(bad))
        })?;
        Ok(LlmResponse {
            text: said.text,
            json,
            calls: said.calls,
            stop: said.stop,
            usage,
            provenance,
            cost,
            model: said.model.unwrap_or_else(|| self.name.clone()),
            request: said.request,
            attempts,
        })
    }

    pub(crate) fn inquiry<'a>(&'a self, ask: &'a LlmRequest) -> Inquiry<'a> {
        let manner = *self.manner.lock().unwrap_or_else(PoisonError::into_inner);
        Inquiry { model: &self.name, ask, manner }
    }

    /// The most that a question can take.
    pub(crate) fn toll(&self, ask: &LlmRequest) -> CallCost {
        let input = if ask.marks_cache() { "input_cache_creation" } else { "input" };
        let kinds = [
            (input.to_owned(), ask.tokens().count),
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

/// The schema of the answer, ready to check it.
fn compiled(ask: &LlmRequest) -> Result<Option<Schema>, ModelError> {
    let schema = ask.schema().map(|schema| Schema::read(&Json::from_value(schema)));
    schema.transpose().map_err(|why| ModelError::NotSetUp(why.to_string()))
}

impl Bill {
    fn toll(&self) -> CallCost {
        CallCost { tokens: self.usage.total(), money: self.cost }
    }
}

struct Bill {
    usage: Usage,
    provenance: Provenance,
    cost: Option<Money>,
}

/// What is known of an answer beside what it says.
struct Answered {
    bill: Bill,
    attempts: u32,
}
