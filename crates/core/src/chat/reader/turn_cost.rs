//! What a turn used and cost.
//!
//! The agent counts the calls that came whole, also those of sub-agents, and attempts that broke
//! off before it tried again. It does not count a call that a person interrupted: what the model
//! said of that one is added here, so that the chat says what the trace says.

use std::collections::BTreeMap;

use super::LineReader;
use crate::chat::event::EventBody;
use crate::money::Money;
use crate::record::claude_code::object::Object;
use crate::record::price::{ModelCall, PriceTable};
use crate::record::usage::{AnthropicCounts, Usage};
use crate::time::Timestamp;

/// The word for an end in the middle of a tool: no call of the agent itself was on its way.
const IN_TOOLS: &str = "aborted_tools";
/// The word for an end because the model could not be asked.
const UNREACHED: &str = "api_error";

/// What a model cost in a turn, as the agent reckons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCost {
    pub cost: Money,
    /// What the agent reckoned with, in its own word: `list`, or `unknown` for a guess.
    pub basis: Option<String>,
}

/// What a turn used and cost.
#[derive(Debug, Default)]
pub(super) struct TurnCost {
    pub(super) cost: Option<Money>,
    pub(super) used: BTreeMap<String, Usage>,
    pub(super) costs: BTreeMap<String, AgentCost>,
    pub(super) is_at_least: bool,
}

impl LineReader {
    /// What a turn used and cost, as its end says, with the call that was interrupted.
    pub(super) fn bill(&mut self, said: &Object<'_>, is_interrupted: bool) -> TurnCost {
        let interrupted = self.open.end().filter(|_| is_interrupted);
        let is_retried = std::mem::take(&mut self.is_retried);
        let has_sub_agents = std::mem::take(&mut self.has_sub_agents);
        let reason = said.text("terminal_reason");
        let is_between_calls = reason.as_deref() == Some(IN_TOOLS) && !has_sub_agents;
        // A status means that the call was rejected, which is not billed.
        let is_unreached = reason.as_deref() == Some(UNREACHED)
            && said.is("is_error")
            && said.count("api_error_status").is_none();
        let is_cut = is_interrupted && !is_between_calls;
        let is_at_least = is_cut || is_retried || is_unreached;
        let mut cost = self.turn_cost(said);
        let (mut used, costs) = (used(said), costs(said));
        if let Some((model, usage)) = interrupted {
            let known = price_of(&self.prices, &model, &usage);
            self.cost = self.cost + known.unwrap_or_default();
            cost = Some(cost.unwrap_or_default() + known.unwrap_or_default());
            let all = used.remove(&model).map_or(usage.clone(), |before| sum(&before, &usage));
            used.insert(model, all);
        }
        // Nothing that is known is not nothing that was billed.
        let is_nothing = cost == Some(Money::ZERO);
        TurnCost { cost: cost.filter(|_| !(is_at_least && is_nothing)), used, costs, is_at_least }
    }

    /// What a turn cost, as its end says it; if it does not, its part in the sum over the
    /// conversation. The sum alone would not do: after a kill the agent goes on from what it had
    /// last written down.
    fn turn_cost(&mut self, said: &Object<'_>) -> Option<Money> {
        if said.object("model_usage_since_last_result").is_some() {
            let cost = costs(said).values().map(|model| model.cost).sum();
            self.cost = self.cost + cost;
            return Some(cost);
        }
        let total = said.number("total_cost_usd").and_then(Money::from_dollars)?;
        let before = std::mem::replace(&mut self.cost, total);
        Some(if total < before { total } else { total - before })
    }
}

/// Adds to an event what a turn used and cost: `tokens`, `cost` and, where more may have been
/// billed, `at_least`. Unknown values are left out.
pub fn add_spending(
    body: EventBody,
    used: &BTreeMap<String, Usage>,
    cost: Option<Money>,
    is_at_least: bool,
) -> EventBody {
    let (input, output) = used
        .values()
        .fold((0, 0), |(input, output), one| (input + one.input(), output + one.output()));
    let body = match input + output {
        0 => body,
        _ => body.raw("tokens", &format!(r#"{{"input":{input},"output":{output}}}"#)),
    };
    let body = match cost {
        Some(cost) => body.value("cost", cost.dollars()),
        None => body,
    };
    if is_at_least { body.value("at_least", true) } else { body }
}

/// What so much of a model costs, if its price is known.
pub fn price_of(prices: &PriceTable, model: &str, usage: &Usage) -> Option<Money> {
    let at = Timestamp::default();
    let call = ModelCall { model, usage, parameters: None, metadata: None, at };
    prices.cost(call).map(|cost| cost.total())
}

fn sum(one: &Usage, other: &Usage) -> Usage {
    let mut kinds = one.kinds().clone();
    for (kind, count) in other.kinds() {
        *kinds.entry(kind.clone()).or_default() += count;
    }
    kinds.remove("total");
    Usage::new(kinds)
}

/// What each model cost, as the agent reckons.
fn costs(said: &Object<'_>) -> BTreeMap<String, AgentCost> {
    let Some(models) = said.object("model_usage_since_last_result") else {
        return BTreeMap::new();
    };
    let cost = |(model, figures): (&str, Object<'_>)| {
        let cost = figures.number("costUSD").and_then(Money::from_dollars)?;
        Some((model.to_owned(), AgentCost { cost, basis: figures.text("costBasis") }))
    };
    models.entries().filter_map(cost).collect()
}

/// What a turn used of each model, sub-agents included.
fn used(said: &Object<'_>) -> BTreeMap<String, Usage> {
    let Some(models) = said.object("model_usage_since_last_result") else {
        return BTreeMap::new();
    };
    let usage = |model: &Object<'_>| {
        // The program counts every model of the chat, also those that this turn did not call.
        let some = |key: &str| model.count(key).filter(|count| *count > 0);
        let counts = AnthropicCounts {
            input: some("inputTokens"),
            cache_read: some("cacheReadInputTokens"),
            cache_written: some("cacheCreationInputTokens"),
            cache_written_1h: some("cacheCreationEphemeral1hInputTokens"),
            output: some("outputTokens"),
            web_searches: some("webSearchRequests"),
        };
        counts.usage().unwrap_or_default()
    };
    models.entries().map(|(model, figures)| (model.to_owned(), usage(&figures))).collect()
}
