//! Lists with a deadline.
//!
//! A selective condition makes SQLite walk all rows, and it cannot report how far it got. So the
//! list is read in slices: the end of a slice is found by index alone, and the conditions are
//! evaluated within the slice only.

use std::time::{Duration, Instant};

use ratchet_core::time::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::{List, Listed, Slice, cursor};
use crate::deadline_query::DeadlinePage;
use crate::embedded::filter::Where;
use crate::query::{Direction, Page};
use crate::{StoreError, StoreResult};

/// Rows of the first slice.
const FIRST_SLICE: u64 = 1_000;
/// Rows of the first slice when conditions read payloads.
const FIRST_SLICE_WITH_CONTENT: u64 = 100;
const MAX_SLICE: u64 = 100_000;
/// A slice that takes less is followed by one of twice the size.
const FAST_SLICE: Duration = Duration::from_millis(100);

/// All rows of a list, without its conditions.
pub(super) struct Walk {
    /// `FROM …` one table, which has an index in the list's order.
    pub(super) from: &'static str,
    /// Conditions on the index's columns: project and time.
    pub(super) filter: Where,
}

impl List<'_> {
    /// Reads the page slice by slice, until it is full or the deadline has passed. The first key
    /// must be a time.
    pub(super) fn seek<T, const KEYS: usize>(
        self,
        db: &Connection,
        (walk, time): (&Walk, Duration),
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<Option<Listed<T>>>,
    ) -> StoreResult<DeadlinePage<T>> {
        let started = Instant::now();
        let (_, take) = self.window()?;
        let mut slice = Slice::new(0, take);
        let mut after = self.cursor::<KEYS>()?;
        let mut size =
            if self.filter.content.is_empty() { FIRST_SLICE } else { FIRST_SLICE_WITH_CONTENT };
        loop {
            let piece_started = Instant::now();
            let end = self.end_of_piece(db, walk, (after.as_ref(), size))?;
            let piece = self.piece(after.take(), end.as_ref());
            let limit = (take + 1).saturating_sub(slice.seen);
            let limit = self.filter.content.is_empty().then_some((0, limit));
            self.fill(db, (&piece, limit), (&mut slice, Slice::is_over), &mut read)?;
            let Some(end) = end.filter(|_| !slice.is_over()) else {
                return Ok(DeadlinePage {
                    page: slice.into_page(self.paging, None),
                    reached: None,
                });
            };
            let is_full = slice.seen >= take;
            if is_full || started.elapsed() >= time {
                let reached = Some(moment(&end)).filter(|_| !is_full);
                return Ok(DeadlinePage { page: page_until(slice, &end), reached });
            }
            if piece_started.elapsed() < FAST_SLICE {
                size = (size * 2).min(MAX_SLICE);
            }
            after = Some(end);
        }
    }

    /// The keys of the last row of a slice; `None` if there are fewer rows left.
    fn end_of_piece<const KEYS: usize>(
        &self,
        db: &Connection,
        walk: &Walk,
        (after, size): (Option<&[Value; KEYS]>, u64),
    ) -> StoreResult<Option<[Value; KEYS]>> {
        let mut filter = walk.filter.clone();
        if let Some(after) = after {
            filter.beyond(self.order, self.direction, after.clone());
        }
        let sql = format!(
            "SELECT {} {} {} {} LIMIT 1 OFFSET {}",
            self.order.join(", "),
            walk.from,
            filter.sql(),
            self.order_by(),
            size.saturating_sub(1)
        );
        let keys = |row: &Row<'_>| {
            let mut keys = [const { Value::Null }; KEYS];
            for (at, key) in keys.iter_mut().enumerate() {
                *key = row.get(at)?;
            }
            Ok(keys)
        };
        let params = params_from_iter(filter.params.iter());
        let mut statement = db.prepare_cached(&sql).map_err(StoreError::database)?;
        statement.query_row(params, keys).optional().map_err(StoreError::database)
    }

    /// The list's conditions, limited to a slice.
    fn piece<const KEYS: usize>(
        &self,
        after: Option<[Value; KEYS]>,
        end: Option<&[Value; KEYS]>,
    ) -> Where {
        let mut piece = self.filter.clone();
        if let Some(after) = after {
            piece.beyond(self.order, self.direction, after);
        }
        if let Some(end) = end {
            let comparison = match self.direction {
                Direction::Ascending => "<=",
                Direction::Descending => ">=",
            };
            let marks = ["?"; KEYS].join(", ");
            let clause = format!("({}) {comparison} ({marks})", self.order.join(", "));
            piece.and(clause, end.clone());
        }
        piece
    }
}

/// The page so far, with a cursor at these keys.
fn page_until<T>(slice: Slice<T>, end: &[Value]) -> Page<T> {
    let rows = slice.rows.into_iter().map(|listed| listed.row).collect();
    Page { rows, total: None, cursor: Some(cursor::encode(end)) }
}

fn moment(keys: &[Value]) -> Timestamp {
    match keys.first() {
        Some(Value::Integer(nanos)) => Timestamp::from_nanos(*nanos),
        _ => Timestamp::from_nanos(0),
    }
}
