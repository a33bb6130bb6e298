use thiserror::Error;

/// Reason why a statistic is undefined. Never shown as 0, 1 or NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Undefined {
    #[error("no data to compare")]
    Empty,
    /// Too few values.
    #[error("too few values: {have} of {needed}")]
    TooFew { have: usize, needed: usize },
    /// One side is constant, so that correlation and chance agreement are undefined.
    #[error("all values of one side are identical")]
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
