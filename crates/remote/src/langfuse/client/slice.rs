use std::fmt;

use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::langfuse::wire::error::Issue;

/// From a moment (included) to a moment (excluded); open where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeWindow {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

impl TimeWindow {
    /// Whether a moment is inside.
    pub fn holds(&self, moment: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= moment) && self.to.is_none_or(|to| moment < to)
    }
}

/// A place in a list, to go on from.
///
/// It can be kept as text, and is only good for the same question to the same server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Position {
    #[default]
    Start,
    /// A page by its number, from 1.
    Page(u64),
    /// Where a server said to go on.
    Cursor(String),
}

/// Shown in progress and in errors.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("the beginning"),
            Self::Page(page) => write!(f, "page {page}"),
            Self::Cursor(_) => f.write_str("a cursor"),
        }
    }
}

/// A part of a list, as much as one answer holds.
#[derive(Clone, Debug)]
pub struct Slice<T> {
    pub rows: Vec<T>,
    /// What is wrong with rows that make no sense and were left out.
    pub unreadable: Vec<Issue>,
    /// Where to go on; `None` at the end.
    pub next: Option<Position>,
    /// Rows in the whole list, where the server says so.
    pub total: Option<u64>,
}

impl<T> Slice<T> {
    /// The same slice with other rows, leaving out those that make no sense.
    pub(super) fn map<U>(self, change: impl Fn(T) -> Result<U, Issue>) -> Slice<U> {
        let mut unreadable = self.unreadable;
        let mut rows = Vec::with_capacity(self.rows.len());
        for row in self.rows {
            match change(row) {
                Ok(row) => rows.push(row),
                Err(issue) => unreadable.push(issue),
            }
        }
        Slice { rows, unreadable, next: self.next, total: self.total }
    }
}
