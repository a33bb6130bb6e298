use thiserror::Error;

/// Why a statistic has no value. Never shown as 0, 1 or "not a number".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Undefined {
    #[error("no data to compare")]
    Empty,
    /// Less was measured than the statistic needs.
    #[error("too few values: {have} of {needed}")]
    TooFew { have: usize, needed: usize },
    /// One side always says the same, so that nothing varies that could agree.
    #[error("all values of one side are identical")]
    ConstantInput,
}

impl Undefined {
    /// The word for it in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooFew { .. } => "too_few",
            Self::ConstantInput => "constant_input",
        }
    }

    /// Refuses fewer than `needed`.
    pub(crate) const fn check(have: usize, needed: usize) -> Result<(), Self> {
        match have {
            0 => Err(Self::Empty),
            _ if have < needed => Err(Self::TooFew { have, needed }),
            _ => Ok(()),
        }
    }
}
