use std::time::Duration;

use ratchet_core::money::Money;
use ratchet_core::record::usage::Usage;

use crate::budget::BudgetExceeded;

/// Why there is no answer. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It could exceed the budget, so nothing was sent.
    #[error("the budget does not allow it: {0}")]
    OverBudget(#[from] BudgetExceeded),
    /// It took longer than it may.
    #[error("no answer within {} s; raise the time that the budget allows, or ask for less", .0.as_secs())]
    TooSlow(Duration),
    /// Too many questions at once, also after waiting.
    #[error("too many questions at once for the provider{}; ask fewer at a time, or later", wait(*.retry_after))]
    RateLimited {
        /// How long the provider wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// The provider has more to do than it can, also after waiting.
    #[error("the provider is overloaded (status {status}: {why}); ask again later")]
    Overloaded { status: u16, why: String },
    /// The key is missing, wrong, or not good for this.
    #[error("the provider does not accept the key ({why}); check the key and what it may do")]
    Unauthorised { why: String },
    /// There is no money left with the provider.
    #[error("the provider wants to be paid first ({why}); see its billing page")]
    OutOfCredit { why: String },
    /// The provider has no such model, or not at this address.
    #[error("the provider does not know it ({why}); check the name of the model and the address")]
    NotThere { why: String },
    /// The question is longer than the model can read.
    #[error("the question is too long for the model ({why}); send smaller chunks")]
    TooLong { why: String },
    /// The provider would not have the question, and never will.
    #[error("the provider rejects the question (status {status}: {why})")]
    Rejected { status: u16, why: String },
    /// The model would not answer.
    #[error("the model refuses to answer{}; ask differently, or another model", because(.0))]
    Refused(String),
    /// The answer is not what was asked for.
    #[error("the answer is not what was asked for: {}", .0.why)]
    InvalidResponse(Box<InvalidResponse>),
    /// What came back is not what the provider's documentation says.
    #[error("the provider's answer cannot be read ({0}); is it the right address and provider?")]
    Garbled(String),
    #[error("{place} cannot be reached ({why}); check the address and the network")]
    Unreachable { place: String, why: String },
    #[error("the answer broke off ({0}); ask again")]
    CutStream(String),
    /// What is needed to ask at all is missing.
    #[error("{0}")]
    NotSetUp(String),
    /// The provider cannot do this.
    #[error("{provider} cannot {what}")]
    Unsupported { provider: &'static str, what: &'static str },
}

/// An answer that is not what was asked for. It was paid for all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidResponse {
    /// What is wrong with it, to be sent back to the model.
    pub why: String,
    pub said: String,
    pub usage: Usage,
    /// What it cost, if the price is known.
    pub cost: Option<Money>,
}

impl ModelError {
    /// Whether the same question may be answered a moment later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Unreachable { .. }
            | Self::CutStream(_) => true,
            Self::OverBudget(_)
            | Self::TooSlow(_)
            | Self::Unauthorised { .. }
            | Self::OutOfCredit { .. }
            | Self::NotThere { .. }
            | Self::TooLong { .. }
            | Self::Rejected { .. }
            | Self::Refused(_)
            | Self::InvalidResponse(_)
            | Self::Garbled(_)
            | Self::NotSetUp(_)
            | Self::Unsupported { .. } => false,
        }
    }

    /// What to tell people who do not run the server: nothing of what the provider said. It is
    /// whoever answers at an address that somebody has entered, and may say more than is meant for
    /// them.
    pub fn without_reply(&self) -> String {
        let words = match self {
            Self::Overloaded { status, .. } => {
                return format!("the provider is overloaded (status {status}); ask again later");
            }
            Self::Rejected { status, .. } => {
                return format!("the provider rejects the question (status {status})");
            }
            Self::Unauthorised { .. } => {
                "the provider does not accept the key; check the key and what it may do"
            }
            Self::OutOfCredit { .. } => "the provider wants to be paid first; see its billing page",
            Self::NotThere { .. } => {
                "the provider does not know it; check the name of the model and the address"
            }
            Self::TooLong { .. } => "the question is too long for the model; send smaller chunks",
            Self::Refused(_) => "the model refuses to answer; ask differently, or another model",
            Self::InvalidResponse(_) => "the answer is not what was asked for",
            Self::Garbled(_) => {
                "the provider's answer cannot be read; is it the right address and provider?"
            }
            Self::CutStream(_) => "the answer broke off; ask again",
            Self::OverBudget(_)
            | Self::TooSlow(_)
            | Self::RateLimited { .. }
            | Self::Unreachable { .. }
            | Self::NotSetUp(_)
            | Self::Unsupported { .. } => return self.to_string(),
        };
        words.to_owned()
    }

    /// Whether the provider may bill for it though nothing tells how much.
    pub(crate) fn may_be_billed(&self) -> bool {
        matches!(self, Self::CutStream(_) | Self::TooSlow(_) | Self::Garbled(_))
    }

    /// Whether asking fewer at once would help.
    pub(crate) fn is_crowding(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded { .. })
    }

    /// Whether the provider surely did not take what was handed in. After any other failure it
    /// may have.
    pub(crate) fn is_turning_away(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded { status: 503 | 529, .. })
    }

    /// How long the provider wants to be left alone.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } => *retry_after,
            _ => None,
        }
    }
}

fn wait(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(String::new, |wait| format!(", which asks for {} s", wait.as_secs()))
}

fn because(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(" ({why})") }
}
