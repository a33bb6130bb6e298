//! Questions about the users that agents served.

use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;

use crate::project::ProjectId;
use crate::query::TimeRange;

/// What is summed: the traces of a project in a time. Sums are kept by day in UTC: the time is
/// widened to whole days.
#[derive(Clone, Debug, PartialEq)]
pub struct UserScope {
    pub project: ProjectId,
    pub range: TimeRange,
    /// In one of these environments; in any when empty.
    pub environments: Vec<String>,
}

/// A question for users.
#[derive(Clone, Debug, PartialEq)]
pub struct UserQuery {
    pub scope: UserScope,
    /// Whose name has this somewhere inside, in any case; all when empty.
    pub containing: String,
    pub order: UserOrder,
    /// Users at most.
    pub limit: u64,
}

/// What to order users by, the greatest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserOrder {
    /// By when they were last seen.
    #[default]
    LastSeen,
    Traces,
    /// By the steps that failed for them.
    Errors,
    /// By the tokens spent on them.
    Tokens,
    /// By the money spent on them.
    Cost,
}

/// The users found, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// The first of them, in the order asked for.
    pub rows: Vec<ServedUser>,
    /// How many there are in all.
    pub total: u64,
}

/// Someone an agent served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedUser {
    /// What the client calls them.
    pub id: String,
    pub sums: UserSums,
}

/// Sums over traces of one user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserSums {
    pub traces: u64,
    /// How many of their steps failed.
    pub errors: u64,
    /// All tokens.
    pub total_tokens: u64,
    /// The known costs together; `None` when no trace has one.
    pub cost: Option<Money>,
    /// How much of that is approximate, because its tokens were counted here.
    pub approximate_cost: Money,
    /// When the last of them began.
    pub last_at: Timestamp,
}

/// One user's day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserDay {
    /// When the day begins, in UTC.
    pub day: Timestamp,
    /// Sums over the traces that began then.
    pub sums: UserSums,
}
