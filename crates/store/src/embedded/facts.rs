//! Numbers derived from an observation, from which sums are computed.

use ratchet_core::money::Money;
use ratchet_core::record::field::Field;
use ratchet_core::record::observation::{Level, ObservationKind, ObservationPatch};
use ratchet_core::record::price::{ModelCall, PriceTable};
use ratchet_core::record::usage::{Cost, Usage};
use ratchet_core::time::Timestamp;

/// The numbers of one observation that are added to trace, session and hourly sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) start: Timestamp,
    pub(super) end: Option<Timestamp>,
    pub(super) kind: ObservationKind,
    pub(super) level: Level,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) total_tokens: u64,
    pub(super) cost: Option<Cost>,
    /// Whether usage was counted here because the client sent none.
    pub(super) counted: bool,
    /// The pricing tier that the cost was computed with.
    pub(super) pricing_tier: Option<String>,
}

impl Facts {
    /// Computes the numbers. A cost sent by the client takes precedence over the price table.
    pub(super) fn of(patch: &ObservationPatch, prices: &PriceTable, received: Timestamp) -> Self {
        let start = patch.start.0.or(patch.end.0).unwrap_or(received);
        let usage = patch.usage.value();
        let said = patch.cost.value().cloned();
        let priced = || {
            let call = ModelCall {
                model: patch.model.value()?,
                usage: usage.filter(|usage| !usage.is_empty())?,
                parameters: patch.model_parameters.value(),
                metadata: Some(&patch.metadata),
                at: start,
            };
            prices.priced(call)
        };
        let priced = if said.is_some() { None } else { priced() };
        let pricing_tier = priced.as_ref().map(|priced| priced.tier.to_owned());
        Self {
            start,
            end: patch.end.0.map(|end| end.max(start)),
            kind: patch.kind.value().copied().unwrap_or_default(),
            level: patch.level.value().copied().unwrap_or_default(),
            input_tokens: usage.map_or(0, Usage::input),
            output_tokens: usage.map_or(0, Usage::output),
            total_tokens: usage.map_or(0, Usage::total),
            cost: said.or(priced.map(|priced| priced.cost)),
            counted: patch.has_counted_usage(),
            pricing_tier,
        }
    }

    /// The approximate part of the cost: all that is based on usage counted here.
    pub(super) fn approximate_cost(&self) -> Money {
        let is_priced = self.counted && self.pricing_tier.is_some();
        self.cost.as_ref().filter(|_| is_priced).map(Cost::total).unwrap_or_default()
    }

    /// Nanoseconds from start to end.
    pub(super) fn latency(&self) -> Option<i64> {
        Some(self.end?.since(self.start))
    }
}

pub(super) fn text(field: &Field<String>) -> Option<&str> {
    field.value().map(String::as_str)
}
