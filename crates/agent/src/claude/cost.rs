use std::collections::BTreeMap;

use ratchet_core::money::Money;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What a conversation has cost so far, as the `result` line of a turn says it.
///
/// The program counts from the beginning of the conversation, also when another process goes on
/// with it, so what a turn cost is [what came since](Self::since) the one before; but after a kill
/// it goes on from what it had last written down. [`of_turn`](Self::of_turn) knows. Usage on
/// `assistant` lines is that of a message that has only begun: it is never summed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaudeTotals {
    /// Everything.
    pub cost: Money,
    /// By model.
    pub models: BTreeMap<String, ClaudeUsage>,
}

/// What was used of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaudeUsage {
    /// Fresh tokens in.
    pub input: u64,
    /// Tokens out.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens written to a cache.
    pub cache_write: u64,
    /// Searches on the web.
    pub web_searches: u64,
    /// What it cost.
    pub cost: Money,
}

#[derive(Deserialize)]
struct ResultLine {
    r#type: String,
    #[serde(default)]
    total_cost_usd: f64,
    #[serde(default, rename = "modelUsage")]
    model_usage: BTreeMap<String, Figures>,
    #[serde(default)]
    model_usage_since_last_result: Option<BTreeMap<String, Figures>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Figures {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    web_search_requests: u64,
    #[serde(rename = "costUSD")]
    cost: f64,
}

impl ResultLine {
    fn read(line: &RawValue) -> Option<Self> {
        let line: Self = serde_json::from_str(line.get()).ok()?;
        (line.r#type == "result").then_some(line)
    }
}

fn used(models: &BTreeMap<String, Figures>) -> BTreeMap<String, ClaudeUsage> {
    let usage = |figures: &Figures| ClaudeUsage {
        input: figures.input_tokens,
        output: figures.output_tokens,
        cache_read: figures.cache_read_input_tokens,
        cache_write: figures.cache_creation_input_tokens,
        web_searches: figures.web_search_requests,
        cost: Money::from_dollars(figures.cost).unwrap_or_default(),
    };
    models.iter().map(|(model, figures)| (model.clone(), usage(figures))).collect()
}

impl ClaudeTotals {
    /// Reads a `result` line; `None` when it is none.
    pub fn read(line: &RawValue) -> Option<Self> {
        let line = ResultLine::read(line)?;
        let cost = Money::from_dollars(line.total_cost_usd).unwrap_or_default();
        Some(Self { cost, models: used(&line.model_usage) })
    }

    /// What the turn cost that a `result` line ends: as the line says it, else what came since the
    /// totals before it.
    pub fn of_turn(line: &RawValue, before: &Self) -> Option<Self> {
        let Some(turn) = ResultLine::read(line)?.model_usage_since_last_result else {
            return Some(Self::read(line)?.since(before));
        };
        let models = used(&turn);
        Some(Self { cost: models.values().map(|usage| usage.cost).sum(), models })
    }

    /// What was added since an earlier count. When the count has begun anew, that is all of it.
    ///
    /// ```
    /// use ratchet_agent::claude::cost::ClaudeTotals;
    /// use ratchet_core::money::Money;
    /// use serde_json::value::RawValue;
    ///
    /// let read = |dollars: &str| {
    ///     let line = format!("{{\"type\":\"result\",\"total_cost_usd\":{dollars}}}");
    ///     ClaudeTotals::read(&RawValue::from_string(line).unwrap()).unwrap()
    /// };
    /// let turn = read("0.75").since(&read("0.5"));
    /// assert_eq!(turn.cost, Money::from_dollars(0.25).unwrap());
    /// ```
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let nothing = ClaudeUsage::default();
        let earlier = |model: &String| before.models.get(model).unwrap_or(&nothing);
        let went_on = before.cost <= self.cost
            && before.models.keys().all(|model| self.models.contains_key(model))
            && self.models.iter().all(|(model, usage)| usage.includes(earlier(model)));
        if !went_on {
            return self.clone();
        }
        let models = self.models.iter().map(|(model, usage)| (model, usage.less(earlier(model))));
        let used = models.filter(|(_, usage)| *usage != nothing);
        Self {
            cost: self.cost - before.cost,
            models: used.map(|(model, usage)| (model.clone(), usage)).collect(),
        }
    }
}

impl ClaudeUsage {
    fn includes(&self, before: &Self) -> bool {
        before.input <= self.input
            && before.output <= self.output
            && before.cache_read <= self.cache_read
            && before.cache_write <= self.cache_write
            && before.web_searches <= self.web_searches
            && before.cost <= self.cost
    }

    fn less(&self, before: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cache_read: self.cache_read.saturating_sub(before.cache_read),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
            web_searches: self.web_searches.saturating_sub(before.web_searches),
            cost: self.cost - before.cost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn usage() -> impl Strategy<Value = ClaudeUsage> {
        (0..9_u64, 0..9_u64, 0..9_u64, 0..9_u64, 0..3_u64, 0..9_i64).prop_map(
            |(input, output, cache_read, cache_write, web_searches, pico)| {
                let cost = Money::from_pico(pico);
                ClaudeUsage { input, output, cache_read, cache_write, web_searches, cost }
            },
        )
    }

    fn plus(total: &ClaudeTotals, turn: &BTreeMap<String, ClaudeUsage>) -> ClaudeTotals {
        let mut total = total.clone();
        for (model, used) in turn {
            let sum = total.models.entry(model.clone()).or_default();
            sum.input += used.input;
            sum.output += used.output;
            sum.cache_read += used.cache_read;
            sum.cache_write += used.cache_write;
            sum.web_searches += used.web_searches;
            sum.cost = sum.cost + used.cost;
            total.cost = total.cost + used.cost;
        }
        total
    }

    proptest! {
        #[test]
        fn turns_add_up_to_the_whole(
            turns in prop::collection::vec(prop::collection::btree_map("[ab]", usage(), 0..3), 0..6),
        ) {
            let mut before = ClaudeTotals::default();
            let mut sum = ClaudeTotals::default();
            for turn in &turns {
                let after = plus(&before, turn);
                sum = plus(&sum, &after.since(&before).models);
                before = after;
            }
            prop_assert_eq!(sum.cost, before.cost);
            prop_assert_eq!(ClaudeTotals::default().since(&ClaudeTotals::default()).cost, Money::ZERO);
        }
    }

    #[test]
    fn a_count_that_began_anew_is_not_less_than_nothing() {
        let total = |pico| ClaudeTotals { cost: Money::from_pico(pico), ..ClaudeTotals::default() };
        assert_eq!(total(3).since(&total(5)), total(3));
    }
}
