use crate::environment::Environment;
use crate::id::SessionId;
use crate::money::Money;
use crate::time::Timestamp;

/// Traces that belong together, with the sums over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    /// When its first trace began.
    pub created_at: Timestamp,
    /// When its last trace began.
    pub last_at: Timestamp,
    pub environment: Environment,
    /// How many traces it has.
    pub traces: u64,
    /// How many of its steps failed.
    pub errors: u64,
    /// All tokens.
    pub total_tokens: u64,
    /// The known costs together; `None` when no trace has one.
    pub cost: Option<Money>,
    /// How much of that is approximate, because its tokens were counted here.
    pub approximate_cost: Money,
}
