use std::collections::BTreeMap;

use crate::money::Money;
use crate::record::price::{Side, side_of};

/// Usage as Anthropic counts it.
mod anthropic;
/// Client formats of usage and cost.
mod details;

pub use anthropic::AnthropicCounts;

/// The key of the total in usage and cost.
pub const TOTAL: &str = "total";

/// Units of one model call by usage type: `input`, `output`, `input_cached_tokens`, `total`, …
///
/// Types are disjoint except `total`: `input` excludes the cached tokens beside it, so that no
/// token is priced or counted twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usage(BTreeMap<String, u64>);

impl Usage {
    /// Creates usage from units by type and adds the total if it is missing.
    pub fn new(mut kinds: BTreeMap<String, u64>) -> Self {
        if !kinds.is_empty() && !kinds.contains_key(TOTAL) {
            let total = kinds.values().fold(0u64, |sum, units| sum.saturating_add(*units));
            kinds.insert(TOTAL.to_owned(), total);
        }
        Self(kinds)
    }

    /// Parses usage as sent by a client: by type, or in a provider's format, whose included parts
    /// are subtracted. Values that are not counts are ignored.
    pub fn from_details(sent: &serde_json::Map<String, serde_json::Value>) -> Self {
        Self::new(details::units(sent))
    }

    /// Renames types; those with the same new name are summed. The total keeps its name.
    #[must_use]
    pub fn rename_kinds(self, rename: impl Fn(&str) -> String) -> Self {
        let mut kinds = BTreeMap::new();
        for (kind, units) in self.0 {
            let name = if kind == TOTAL { kind } else { rename(&kind) };
            let sum: &mut u64 = kinds.entry(name).or_default();
            *sum = sum.saturating_add(units);
        }
        Self(kinds)
    }

    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns units by type, the total included.
    pub fn kinds(&self) -> &BTreeMap<String, u64> {
        &self.0
    }

    /// Returns all input: uncached, cached and written to the cache.
    pub fn input(&self) -> u64 {
        self.side(Side::Input)
    }

    /// Returns all output, reasoning included.
    pub fn output(&self) -> u64 {
        self.side(Side::Output)
    }

    /// Returns the total, as sent or summed.
    pub fn total(&self) -> u64 {
        self.0.get(TOTAL).copied().unwrap_or(0)
    }

    fn side(&self, side: Side) -> u64 {
        let on_side = self.0.iter().filter(|(kind, _)| side_of(kind) == Some(side));
        on_side.fold(0u64, |sum, (_, units)| sum.saturating_add(*units))
    }
}

/// The cost of one model call by usage type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    kinds: BTreeMap<String, Money>,
    total: Money,
}

impl Cost {
    /// Creates a cost from amounts by type; a `total` among them wins over their sum.
    pub fn new(mut kinds: BTreeMap<String, Money>) -> Self {
        let summed = kinds.values().copied().sum();
        let total = kinds.remove(TOTAL).unwrap_or(summed);
        Self { kinds, total }
    }

    /// Parses dollars by type as sent by a client; `None` when none is an amount.
    pub fn from_details(sent: &serde_json::Map<String, serde_json::Value>) -> Option<Self> {
        let amounts = details::amounts(sent);
        (!amounts.is_empty()).then(|| Self::new(amounts))
    }

    /// Renames types; those with the same new name are summed.
    #[must_use]
    pub fn rename_kinds(self, rename: impl Fn(&str) -> String) -> Self {
        let mut kinds: BTreeMap<String, Money> = BTreeMap::new();
        for (kind, money) in self.kinds {
            let sum = kinds.entry(rename(&kind)).or_default();
            *sum = *sum + money;
        }
        Self { kinds, total: self.total }
    }

    /// Returns amounts by type, without the total.
    pub fn kinds(&self) -> &BTreeMap<String, Money> {
        &self.kinds
    }

    /// Returns the total cost.
    pub fn total(&self) -> Money {
        self.total
    }

    /// Returns the input cost; `None`, not zero, when only the total is known.
    pub fn input(&self) -> Option<Money> {
        self.side(Side::Input)
    }

    /// Returns the output cost; `None`, not zero, when only the total is known.
    pub fn output(&self) -> Option<Money> {
        self.side(Side::Output)
    }

    fn side(&self, side: Side) -> Option<Money> {
        let on_side = self.kinds.iter().filter(|(kind, _)| side_of(kind) == Some(side));
        on_side.map(|(_, money)| *money).reduce(|sum, money| sum + money)
    }
}

/// Converts a float that is a whole number.
pub(crate) fn whole(number: f64) -> Option<u64> {
    /// Above this, floats cannot represent all integers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_count = number.fract() == 0.0 && (0.0..=EXACT).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to fit on the line above"
    )]
    is_count.then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(kinds: &[(&str, u64)]) -> Usage {
        Usage::new(kinds.iter().map(|(kind, units)| ((*kind).to_owned(), *units)).collect())
    }

    #[test]
    fn the_total_is_added_when_missing() {
        assert_eq!(usage(&[("input", 3), ("output", 4)]).total(), 7);
        assert_eq!(usage(&[("input", 3), ("total", 10)]).total(), 10);
        assert_eq!(usage(&[]).kinds().len(), 0);
    }

    #[test]
    fn sides_count_each_kind_once() {
        let usage = usage(&[("input", 3), ("input_cached_tokens", 90), ("output", 4)]);
        assert_eq!((usage.input(), usage.output(), usage.total()), (93, 4, 97));
    }

    #[test]
    fn kinds_are_known_by_whatever_name_clients_give_them() {
        let usage = usage(&[("cache_write_tokens", 3), ("reasoning_tokens", 4), ("x_input", 5)]);
        assert_eq!((usage.input(), usage.output()), (8, 4));
    }
}
