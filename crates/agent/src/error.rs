use std::time::Duration;

use crate::budget::BudgetExceeded;
use crate::response::Bill;

/// Error of a model call. Each text suggests a remedy.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The request could exceed the budget; nothing was sent.
    #[error("the budget does not allow it: {0}")]
    OverBudget(#[from] BudgetExceeded),
    /// Timed out.
    #[error("no response within {} s; raise the time limit of the budget, or send less", .0.as_secs())]
    TooSlow(Duration),
    /// Rate limited, also after retries.
    #[error("rate limited by the provider{}; lower the concurrency, or try again later", wait(*.retry_after))]
    RateLimited {
        /// The provider's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// Overloaded, also after retries.
    #[error("the provider is overloaded (status {status}: {why}); try again later")]
    Overloaded { status: u16, why: String },
    /// The key is missing, invalid or lacks permission.
    #[error("the provider does not accept the key ({why}); check the key and its permissions")]
    Unauthorised { why: String },
    /// The account with the provider has no credit.
    #[error("the account with the provider has no credit ({why}); see its billing page")]
    OutOfCredit { why: String },
    /// Unknown model, or not at this URL.
    #[error("the provider does not know the model ({why}); check its name and the base URL")]
    NotThere { why: String },
    /// The request exceeds the context window.
    #[error("the request is too long for the model ({why}); send smaller chunks")]
    TooLong { why: String },
    /// The provider rejected the request permanently.
    #[error("the provider rejects the request (status {status}: {why})")]
    Rejected { status: u16, why: String },
    /// The model refused to answer.
    #[error("the model refuses to answer{}; rephrase the request, or use another model", because(&.0.said))]
    Refused(Box<Refusal>),
    /// The response violates the requested format.
    #[error("the response does not have the requested format: {}", .0.why)]
    InvalidResponse(Box<InvalidResponse>),
    /// The response does not follow the provider's API.
    #[error("the provider's response is invalid ({0}); check the base URL and the provider")]
    MalformedResponse(String),
    #[error("{place} cannot be reached ({why}); check the address and the network")]
    Unreachable { place: String, why: String },
    #[error("the response was cut off ({0}); try again")]
    CutStream(String),
    /// Missing configuration.
    #[error("{0}")]
    NotSetUp(String),
    /// The provider does not support the feature.
    #[error("{provider} cannot {what}")]
    Unsupported { provider: &'static str, what: &'static str },
}

/// A response that violates the requested format. It was billed all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidResponse {
    /// The violation, as feedback for the model.
    pub why: String,
    pub said: String,
    pub bill: Bill,
}

/// A refusal. It was billed all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub said: String,
    pub bill: Bill,
}

impl ModelError {
    /// Returns whether a retry may succeed (a transient error).
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
            | Self::MalformedResponse(_)
            | Self::NotSetUp(_)
            | Self::Unsupported { .. } => false,
        }
    }

    /// Returns what a provider bills for the failed call, where it answered.
    pub fn bill(&self) -> Option<&Bill> {
        match self {
            Self::Refused(refusal) => Some(&refusal.bill),
            Self::InvalidResponse(invalid) => Some(&invalid.bill),
            _ => None,
        }
    }

    /// Returns an error text for users who do not run the server, without the provider's response:
    /// the base URL may have been entered by another user, and the response may contain data not
    /// meant for them.
    pub fn without_reply(&self) -> String {
        let text = match self {
            Self::Overloaded { status, .. } => {
                return format!("the provider is overloaded (status {status}); try again later");
            }
            Self::Rejected { status, .. } => {
                return format!("the provider rejects the request (status {status})");
            }
            Self::Unauthorised { .. } => {
                "the provider does not accept the key; check the key and its permissions"
            }
            Self::OutOfCredit { .. } => {
                "the account with the provider has no credit; see its billing page"
            }
            Self::NotThere { .. } => {
                "the provider does not know the model; check its name and the base URL"
            }
            Self::TooLong { .. } => "the request is too long for the model; send smaller chunks",
            Self::Refused(_) => {
                "the model refuses to answer; rephrase the request, or use another model"
            }
            Self::InvalidResponse(_) => "the response does not have the requested format",
            Self::MalformedResponse(_) => {
                "the provider's response is invalid; check the base URL and the provider"
            }
            Self::CutStream(_) => "the response was cut off; try again",
            Self::OverBudget(_)
            | Self::TooSlow(_)
            | Self::RateLimited { .. }
            | Self::Unreachable { .. }
            | Self::NotSetUp(_)
            | Self::Unsupported { .. } => return self.to_string(),
        };
        text.to_owned()
    }

    /// Returns whether the provider may bill the call although its usage is unknown.
    pub(crate) fn may_be_billed(&self) -> bool {
        matches!(self, Self::CutStream(_) | Self::TooSlow(_) | Self::MalformedResponse(_))
    }

    /// Returns whether lower concurrency would help.
    pub(crate) fn is_overload(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded { .. })
    }

    /// Returns whether the provider certainly did not accept the request. After any other error it
    /// may have.
    pub(crate) fn is_not_accepted(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded { status: 503 | 529, .. })
    }

    /// Returns the provider's `Retry-After`.
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
