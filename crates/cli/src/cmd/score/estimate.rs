use ratchet_core::counted::counted;
use ratchet_core::judge::judge_prompt::{JudgingEstimate, PricedJudge};
use ratchet_core::money::Money;
use ratchet_core::record::price::PriceTable;
use ratchet_core::time::Timestamp;
use serde::Serialize;

use crate::print;

/// What judging would take and cost.
#[derive(Debug, Serialize)]
pub(super) struct EstimateView {
    sessions: u64,
    chunks: u64,
    calls: u64,
    input_tokens: u64,
    /// What is left of them at full price when all that can be is read from a cache.
    input_tokens_with_cache: u64,
    output_tokens: u64,
    /// How the counts are known.
    provenance: &'static str,
    judges: Vec<QuoteView>,
}

/// What it would cost with one judge, in dollars.
#[derive(Debug, Serialize)]
struct QuoteView {
    judge: String,
    plain: Option<f64>,
    cached: Option<f64>,
    batch: Option<f64>,
}

impl EstimateView {
    /// Prices an estimate for the requested judge and for all known ones.
    pub(super) fn new(
        estimate: &JudgingEstimate,
        judge: &str,
        prices: &PriceTable,
        at: Timestamp,
    ) -> Self {
        let mut offers = PricedJudge::shipped();
        let asked = PricedJudge::find(&offers, judge);
        offers.retain(|offer| asked.as_ref().is_none_or(|asked| asked.judge != offer.judge));
        let judges = asked.into_iter().chain(offers).map(|offer| {
            let quote = estimate.price(&offer, prices, at);
            QuoteView {
                judge: offer.judge,
                plain: quote.map(|quote| quote.plain.dollars()),
                cached: quote.and_then(|quote| quote.cached).map(Money::dollars),
                batch: quote.and_then(|quote| quote.batch).map(Money::dollars),
            }
        });
        Self {
            sessions: estimate.sessions,
            chunks: estimate.chunks,
            calls: estimate.calls,
            input_tokens: estimate.input,
            input_tokens_with_cache: estimate.input_with_cache(),
            output_tokens: estimate.output,
            provenance: "approximate",
            judges: judges.collect(),
        }
    }

    pub(super) fn text(&self) -> String {
        let Self { sessions, chunks, calls, input_tokens, output_tokens, .. } = self;
        let with_cache = self.input_tokens_with_cache;
        let dollars = |amount: Option<f64>| {
            amount.map_or_else(|| "–".to_owned(), |amount| format!("${amount:.4}"))
        };
        let rows: Vec<[String; 4]> = self
            .judges
            .iter()
            .map(|quote| {
                let QuoteView { judge, plain, cached, batch } = quote;
                [judge.clone(), dollars(*plain), dollars(*cached), dollars(*batch)]
            })
            .collect();
        format!(
            "{} in {}, {}: about {input_tokens} tokens in ({with_cache} \
             at full price with a cache), {output_tokens} out\n\n{}\nnext: the same command with \
             --judge and without --estimate; --max-cost bounds it\n",
            counted(*sessions, "session"),
            counted(*chunks, "chunk"),
            counted(*calls, "call"),
            print::table(["JUDGE", "PRICE", "WITH CACHE", "BATCH"], &rows)
        )
    }
}
