use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Sub};

/// US dollars in whole picodollars (10⁻¹² $), so that sums are exact and can be subtracted again.
///
/// Holds up to nine million dollars; sums stop there rather than wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(i64);

const PICO_PER_DOLLAR: f64 = 1e12;

impl Money {
    /// Zero, which is not the same as an unknown cost.
    pub const ZERO: Self = Self(0);

    /// Creates an amount from picodollars.
    pub const fn from_pico(pico: i64) -> Self {
        Self(pico)
    }

    /// Converts dollars, rounded to a picodollar; `None` when negative, NaN or too large.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let pico = (dollars * PICO_PER_DOLLAR).round();
        let fits = (0.0..9.2e18).contains(&pico);
        #[expect(clippy::cast_possible_truncation, reason = "checked to fit on the line above")]
        fits.then_some(Self(pico as i64))
    }

    /// Returns the amount in picodollars.
    pub const fn pico(self) -> i64 {
        self.0
    }

    /// Returns the amount in dollars, as precise as a float.
    #[expect(clippy::cast_precision_loss, reason = "shown to people and clients, never summed")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PICO_PER_DOLLAR
    }

    /// Multiplies a unit price by a quantity.
    #[must_use]
    pub fn times(self, units: u64) -> Self {
        let units = i64::try_from(units).unwrap_or(i64::MAX);
        Self(self.0.saturating_mul(units))
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Money {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.dollars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_prices_are_exact() {
        let cached = Money::from_dollars(1.25e-8).unwrap();
        assert_eq!(cached.times(1_000_000).dollars(), 0.0125);
    }

    #[test]
    fn nonsense_is_no_money() {
        assert_eq!(Money::from_dollars(f64::NAN), None);
        assert_eq!(Money::from_dollars(-1.0), None);
        assert_eq!(Money::from_dollars(1e9), None);
    }
}
