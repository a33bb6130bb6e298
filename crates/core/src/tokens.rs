//! How many tokens a text is, and how we know.

use bpe_openai::o200k_base;

/// How a number of tokens is known, from surest to least sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// The provider billed it.
    Verified,
    /// The provider counted it beforehand.
    Measured,
    /// The difference of numbers that are verified or measured.
    Computed,
    /// Counted here, with a tokenizer that need not be the model's.
    Approximate,
}

impl Provenance {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Measured => "measured",
            Self::Computed => "computed",
            Self::Approximate => "approximate",
        }
    }
}

/// A number of tokens that says how it is known. Sums are as sure as their least sure part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// How many.
    pub count: u64,
    /// How that is known.
    pub provenance: Provenance,
}

impl Tokens {
    /// Counts a text with the tokenizer we have, whatever the model's own is.
    pub fn approximate(text: &str) -> Self {
        let count = u64::try_from(o200k_base().count(text)).unwrap_or(u64::MAX);
        Self { count, provenance: Provenance::Approximate }
    }
}

impl std::ops::Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            provenance: self.provenance.max(other.provenance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_as_sure_as_its_least_sure_part() {
        let billed = Tokens { count: 7, provenance: Provenance::Verified };
        let sum = billed + Tokens::approximate("hello world");
        assert_eq!(sum, Tokens { count: 9, provenance: Provenance::Approximate });
    }

    #[test]
    fn a_long_run_of_one_letter_is_counted_like_any_other_text() {
        let count = Tokens::approximate(&"a".repeat(1_000_000)).count;
        assert!((50_000..=500_000).contains(&count), "{count}");
    }
}
