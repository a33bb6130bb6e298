//! Estimates of tokens and cost before judging.

use std::ops::Add;

use serde::Deserialize;

use super::{Instructions, JudgeCase};
use crate::judge::rubric::Rubric;
use crate::money::Money;
use crate::record::price::{ModelCall, PriceTable};
use crate::record::tokens::Tokens;
use crate::record::usage::Usage;
use crate::time::Timestamp;

const SHIPPED: &str = include_str!("../../../../../prices/judges.toml");

/// The usual output per dimension: a score, a sentence or two, and citations.
pub const DIMENSION_TOKENS: u32 = 130;

/// Estimated tokens for judging some sessions. All counts are approximate, without headroom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgingEstimate {
    pub sessions: u64,
    pub chunks: u64,
    /// Model calls: one for each chunk and critic.
    pub calls: u64,
    /// All input tokens.
    pub input: u64,
    pub output: u64,
    /// Input that is the same for all calls.
    pub instructions: u64,
    /// Input that several calls of a session share, counted once.
    pub shared: u64,
    /// The same, counted for each call but the first.
    pub shared_again: u64,
}

impl JudgingEstimate {
    /// Estimates the judging of one session by critics with these instructions.
    pub fn of(case: &JudgeCase, critics: &[Instructions], rubric: &Rubric) -> Self {
        let chunks = count(case.chunks().len());
        let count_of = |text: &str| Tokens::approximate(text).count;
        let calls = chunks * count(critics.len());
        let again = count(critics.len()).saturating_sub(1);
        let per_call = critics.first().map_or(0, |critic| count_of(&critic.system));
        let endings: u64 = critics.iter().map(|critic| count_of(&critic.ending)).sum();
        let shared = count_of(&case.shared);
        let frame = case.chunks().first().map_or(0, |chunk| {
            let empty = crate::judge::chunk::Chunk { traces: 0..0, ..chunk.clone() };
            count_of(&case.chunk_text(&empty, &[]))
        });
        let shown: u64 = case.chunks().iter().map(|chunk| chunk.tokens.count).sum();
        let written = u64::from(DIMENSION_TOKENS) * count(rubric.dimensions.len()) / (again + 1);
        let (shares, critics_share) = (u64::from(calls > 1), u64::from(again > 0));
        Self {
            sessions: 1,
            chunks,
            calls,
            input: (per_call + shared + frame) * calls + shown * (again + 1) + endings * chunks,
            output: written.min(u64::from(rubric.judge.max_output_tokens)) * calls,
            instructions: per_call * calls,
            shared: shared * shares + shown * critics_share,
            shared_again: shared * calls.saturating_sub(1) + shown * again,
        }
    }

    /// Splits the input into uncached, cache write and cache read, assuming perfect caching.
    fn cached(&self) -> Cached {
        // The first request writes the instructions to the cache, all others read them.
        let per_call = self.instructions.checked_div(self.calls).unwrap_or(0);
        let written = per_call + self.shared;
        let read = self.instructions - per_call + self.shared_again;
        Cached { fresh: self.input.saturating_sub(written + read), written, read }
    }

    /// Returns the input tokens billed at full price with perfect caching.
    pub fn input_with_cache(&self) -> u64 {
        let cached = self.cached();
        cached.fresh + cached.written
    }

    /// Returns the cost with a judge at a time; `None` if the price of its model is unknown.
    pub fn price(&self, offer: &PricedJudge, prices: &PriceTable, at: Timestamp) -> Option<Quote> {
        let Some(model) = &offer.model else {
            return Some(Quote { plain: Money::ZERO, cached: None, batch: None });
        };
        // Prices may depend on the length of a request, so the average request is priced.
        let cost = |kinds: &[(&str, u64)]| {
            let usual = |tokens: u64| tokens.div_ceil(self.calls.max(1));
            let units = kinds.iter().map(|(kind, tokens)| ((*kind).to_owned(), usual(*tokens)));
            let usage = Usage::new(units.collect());
            let call = ModelCall { model, usage: &usage, parameters: None, metadata: None, at };
            prices.cost(call).map(|cost| cost.total().times(self.calls))
        };
        let plain = cost(&[("input", self.input), ("output", self.output)])?;
        let Cached { fresh, written, read } = self.cached();
        let cached = [
            ("input", fresh),
            ("input_cache_creation", written),
            ("input_cached_tokens", read),
            ("output", self.output),
        ];
        let cached = if offer.cache { cost(&cached) } else { None };
        let batch = offer.batch.and_then(|share| Money::from_dollars(plain.dollars() * share));
        Some(Quote { plain, cached, batch })
    }
}

impl Add for JudgingEstimate {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sessions: self.sessions + other.sessions,
            chunks: self.chunks + other.chunks,
            calls: self.calls + other.calls,
            input: self.input + other.input,
            output: self.output + other.output,
            instructions: self.instructions + other.instructions,
            shared: self.shared + other.shared,
            shared_again: self.shared_again + other.shared_again,
        }
    }
}

/// Input tokens by billing category.
struct Cached {
    fresh: u64,
    written: u64,
    read: u64,
}

/// The cost of judging with one judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Without caching.
    pub plain: Money,
    /// With prompt caching; `None` where the provider has none.
    pub cached: Option<Money>,
    /// As a batch, without caching; `None` where the provider has no batches.
    pub batch: Option<Money>,
}

/// A judge with its price model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricedJudge {
    /// As in `--judge`.
    pub judge: String,
    /// As in the price table; `None` is free of charge.
    pub model: Option<String>,
    /// Whether the provider caches prompts.
    #[serde(default)]
    pub cache: bool,
    /// The fraction of the price in a batch; `None` where the provider has no batches.
    pub batch: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfferFile {
    #[serde(default)]
    offer: Vec<PricedJudge>,
}

/// Error of parsing a file of judges.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    #[error("the file of judges cannot be read: {0}")]
    Malformed(String),
    /// The fraction must be from 0 to 1.
    #[error("judge {0}: the batch price must be a fraction from 0 to 1")]
    Batch(String),
}

impl PricedJudge {
    /// Parses a file of judges such as `prices/judges.toml`.
    ///
    /// # Errors
    /// Rejects invalid TOML and fractions out of range.
    pub fn parse_all(toml: &str) -> Result<Vec<Self>, OfferError> {
        let file: OfferFile = toml::from_str(toml)
            .map_err(|error| OfferError::Malformed(error.message().to_owned()))?;
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        match file.offer.iter().find(|offer| !offer.batch.is_none_or(is_share)) {
            Some(offer) => Err(OfferError::Batch(offer.judge.clone())),
            None => Ok(file.offer),
        }
    }

    /// Returns the built-in judges.
    #[expect(clippy::expect_used, reason = "the file is part of the program, and a test reads it")]
    pub fn shipped() -> Vec<Self> {
        Self::parse_all(SHIPPED).expect("the built-in file of judges is well-formed")
    }

    /// Finds a judge by its `--judge` name. An unlisted model has the features of its provider.
    pub fn find(offers: &[Self], judge: &str) -> Option<Self> {
        if let Some(listed) = offers.iter().find(|offer| offer.judge == judge) {
            return Some(listed.clone());
        }
        let (provider, model) = judge.split_once(':')?;
        let is_of_provider =
            |offer: &&Self| offer.judge.split_once(':').is_some_and(|(of, _)| of == provider);
        let alike = offers.iter().find(is_of_provider)?;
        Some(Self { judge: judge.to_owned(), model: Some(model.to_owned()), ..alike.clone() })
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(chunks: u64) -> JudgingEstimate {
        JudgingEstimate {
            sessions: 1,
            chunks,
            calls: chunks,
            input: 60_000 * chunks,
            output: 1_000 * chunks,
            instructions: 3_000 * chunks,
            shared: 2_000,
            shared_again: 2_000 * (chunks - 1),
        }
    }

    fn quote(estimate: &JudgingEstimate, judge: &str) -> Option<Quote> {
        let offer = PricedJudge::find(&PricedJudge::shipped(), judge).unwrap();
        estimate.price(&offer, &PriceTable::builtin(), Timestamp::default())
    }

    fn dollars(money: Money) -> String {
        format!("{:.4}", money.dollars())
    }

    #[test]
    fn every_judge_that_is_listed_has_a_price() {
        for PricedJudge { judge, .. } in PricedJudge::shipped() {
            assert!(quote(&estimate(1), &judge).is_some(), "{judge}");
        }
    }

    #[test]
    fn no_model_costs_nothing() {
        assert_eq!(quote(&estimate(9), "offline").unwrap().plain, Money::ZERO);
    }

    #[test]
    fn a_quote_has_plain_cached_and_batch_prices() {
        // Ten requests of 60,000 tokens at $2 a million, ten responses of 1,000 at $10.
        let quote = quote(&estimate(10), "anthropic:claude-sonnet-5").unwrap();
        assert_eq!(dollars(quote.plain), "1.3000");
        // 5,000 tokens are written at $2.50, and 45,000 are read at $0.20 instead of $2.
        assert_eq!(quote.cached.map(dollars).as_deref(), Some("1.2215"));
        assert_eq!(quote.batch.map(dollars).as_deref(), Some("0.6500"));
    }

    #[test]
    fn a_long_run_is_not_a_long_question() {
        let (one, many) = (estimate(1), estimate(1000));
        let (one, many) = (quote(&one, "openai:gpt-5.6-luna"), quote(&many, "openai:gpt-5.6-luna"));
        assert_eq!(one.unwrap().plain.times(1000), many.unwrap().plain);
    }

    #[test]
    fn other_models_of_a_provider_are_asked_alike() {
        let offer =
            PricedJudge::find(&PricedJudge::shipped(), "anthropic:claude-opus-4-8").unwrap();
        assert_eq!((offer.model.as_deref(), offer.batch), (Some("claude-opus-4-8"), Some(0.5)));
        assert_eq!(PricedJudge::find(&PricedJudge::shipped(), "nobody:x"), None);
        assert_eq!(quote(&estimate(1), "anthropic:unheard-of"), None);
    }

    #[test]
    fn a_batch_is_part_of_a_price() {
        let file = "[[offer]]\njudge = \"x:y\"\nbatch = 1.5\n";
        assert_eq!(PricedJudge::parse_all(file), Err(OfferError::Batch("x:y".to_owned())));
        assert!(PricedJudge::parse_all("[[offer]]\nprice = 1").is_err());
    }
}
