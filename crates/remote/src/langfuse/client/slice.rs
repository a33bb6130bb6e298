use std::fmt;

use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use ratchet_core::issue::Issue;

/// A half-open time range; unbounded where `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeWindow {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

impl TimeWindow {
    /// Returns whether a timestamp is in the range.
    pub fn holds(&self, moment: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= moment) && self.to.is_none_or(|to| moment < to)
    }
}

/// A position in a list, to continue from.
///
/// Can be stored as text; valid for the same query to the same server only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Position {
    #[default]
    Start,
    /// From 1.
    Page(u64),
    /// The server's cursor.
    Cursor(String),
}

/// For progress messages and errors.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("the beginning"),
            Self::Page(page) => write!(f, "page {page}"),
            Self::Cursor(_) => f.write_str("a cursor"),
        }
    }
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Slice<T> {
    pub rows: Vec<T>,
    /// Issues of invalid rows, which were skipped.
    pub unreadable: Vec<Issue>,
    /// `None` at the end.
    pub next: Option<Position>,
    /// Rows in the whole list, where the server reports it.
    pub total: Option<u64>,
}

impl<T> Slice<T> {
    /// Maps the rows and skips invalid ones.
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
