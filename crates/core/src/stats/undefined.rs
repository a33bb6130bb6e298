use thiserror::Error;

/// Reason why a statistic is undefined. Never shown as 0, 1 or NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Undefined {
    #[error("there is nothing to compare")]
    Empty,
    /// Too few values.
    #[error("only {have}, at least {needed} are needed")]
    TooFew { have: usize, needed: usize },
    /// One side is constant, so that correlation and chance agreement are undefined.
    #[error("one side is constant")]
    ConstantInput,
}

impl Undefined {
    /// Returns the JSON name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooFew { .. } => "too_few",
            Self::ConstantInput => "constant_input",
        }
    }

    /// Requires at least `needed` values.
    pub(crate) const fn check(have: usize, needed: usize) -> Result<(), Self> {
        match have {
            0 => Err(Self::Empty),
            _ if have < needed => Err(Self::TooFew { have, needed }),
            _ => Ok(()),
        }
    }
}
