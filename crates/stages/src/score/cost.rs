use std::fmt;
use std::ops::{Add, AddAssign};

use ratchet_agent::response::{Bill, LlmResponse};
use ratchet_core::money::Money;
use ratchet_core::record::tokens::Provenance;

/// What judging cost, as far as prices are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JudgingCost {
    pub total: Money,
    /// The part of it that is approximate, because the provider did not report usage.
    pub approximate: Money,
}

impl JudgingCost {
    fn new(cost: Option<Money>, provenance: Provenance) -> Self {
        let total = cost.unwrap_or(Money::ZERO);
        let is_approximate = provenance == Provenance::Approximate;
        Self { total, approximate: if is_approximate { total } else { Money::ZERO } }
    }
}

/// In dollars: `$0.0123`, or `≈$0.0123` where a part is approximate.
impl fmt::Display for JudgingCost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.approximate > Money::ZERO { "≈" } else { "" };
        write!(out, "{mark}${:.4}", self.total.dollars())
    }
}

impl From<&LlmResponse> for JudgingCost {
    fn from(response: &LlmResponse) -> Self {
        Self::new(response.cost, response.provenance)
    }
}

impl From<&Bill> for JudgingCost {
    fn from(bill: &Bill) -> Self {
        Self::new(bill.cost, bill.provenance)
    }
}

impl Add for JudgingCost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { total: self.total + other.total, approximate: self.approximate + other.approximate }
    }
}

impl AddAssign for JudgingCost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
