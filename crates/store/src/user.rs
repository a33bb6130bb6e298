//! Queries for end users of agents.

use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;

use crate::project::ProjectId;
use crate::query::TimeRange;

/// The traces to sum: of a project in a time range. Sums are stored by UTC day: the range is
/// widened to whole days.
#[derive(Clone, Debug, PartialEq)]
pub struct UserScope {
    pub project: ProjectId,
    pub range: TimeRange,
    /// Any when empty.
    pub environments: Vec<String>,
}

/// A query for users.
#[derive(Clone, Debug, PartialEq)]
pub struct UserQuery {
    pub scope: UserScope,
    /// Substring of the user id, case-insensitive; all when empty.
    pub containing: String,
    pub order: UserOrder,
    pub limit: u64,
}

/// Sort order of users, greatest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserOrder {
    #[default]
    LastSeen,
    Traces,
    /// Observations with errors.
    Errors,
    Tokens,
    Cost,
}

/// Matching users, and their total number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// In the requested order.
    pub rows: Vec<ServedUser>,
    pub total: u64,
}

/// An end user of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedUser {
    /// As sent by the client.
    pub id: String,
    pub sums: UserSums,
}

/// Sums over the traces of one user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserSums {
    pub traces: u64,
    /// Observations with errors.
    pub errors: u64,
    pub total_tokens: u64,
    /// Sum of the known costs; `None` when no trace has one.
    pub cost: Option<Money>,
    /// The part of `cost` that is approximate, because its tokens were counted here.
    pub approximate_cost: Money,
    /// Start of the last trace.
    pub last_at: Timestamp,
}

/// One user's day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserDay {
    /// Start of the day in UTC.
    pub day: Timestamp,
    /// Sums over the traces that started then.
    pub sums: UserSums,
}
