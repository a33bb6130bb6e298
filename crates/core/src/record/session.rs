use crate::environment::Environment;
use crate::id::SessionId;
use crate::money::Money;
use crate::time::Timestamp;

/// A session: traces that belong together, with their sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    /// Start of its first trace.
    pub created_at: Timestamp,
    /// Start of its last trace.
    pub last_at: Timestamp,
    pub environment: Environment,
    pub traces: u64,
    /// Failed observations.
    pub errors: u64,
    pub total_tokens: u64,
    /// Sum of known costs; `None` when none is known.
    pub cost: Option<Money>,
    /// The part of the cost computed from usage counted by Ratchet.
    pub approximate_cost: Money,
}
