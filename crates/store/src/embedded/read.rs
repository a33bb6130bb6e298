//! Answers typed queries from one snapshot of the database.

pub(super) mod traces;
pub(super) mod observations;
pub(super) mod sessions;
pub(super) mod users;
pub(super) mod scores;
pub(super) mod score_stats;
pub(super) mod review_signals;
pub(super) mod attached;
pub(super) mod trace_stream;
pub(super) mod trace_pages;
pub(super) mod experiments;
pub(super) mod search;
pub(super) mod matching;
pub(super) mod facets;
pub(super) mod sums;
pub(super) mod metrics;
mod narrow;
mod deadline_query;

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::cursor;
use super::filter::Where;
use crate::query::{Direction, Page, Paging};
use crate::{StoreError, StoreResult};

/// Maximum number of rows in a result.
const MAX_LIMIT: u64 = 10_000;

/// A paginated SQL query.
struct List<'a> {
    select: String,
    /// `SELECT count(*) FROM …`, for numbered pages.
    count: String,
    filter: Where,
    /// `ORDER BY` columns, the last ones unique.
    order: &'a [&'a str],
    direction: Direction,
    paging: &'a Paging,
    /// Total number of rows, if known without counting.
    known_total: Option<u64>,
}

/// A row and its sort keys for the cursor.
struct Listed<T> {
    row: T,
    keys: Vec<Value>,
}

impl List<'_> {
    /// Reads the page. `read` returns `None` for rows that fail a condition which SQL cannot
    /// evaluate.
    fn read<T, const KEYS: usize>(
        mut self,
        db: &Connection,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<Option<Listed<T>>>,
    ) -> StoreResult<Page<T>> {
        let has_content_tests = !self.filter.content.is_empty();
        let (skip, take) = self.window()?;
        let mut total = None;
        if let Paging::Numbered(_) = self.paging
            && !has_content_tests
        {
            total = Some(self.known_total.map_or_else(|| self.total(db), Ok)?);
        }
        if let Some(keys) = self.cursor::<KEYS>()? {
            self.filter.beyond(self.order, self.direction, keys);
        }
        let limit = if has_content_tests { None } else { Some((skip, take + 1)) };
        let mut slice = Slice::new(if has_content_tests { skip } else { 0 }, take);
        let counts_all = has_content_tests && matches!(self.paging, Paging::Numbered(_));
        let is_over = |slice: &Slice<T>| slice.is_over() && !counts_all;
        self.fill(db, (&self.filter, limit), (&mut slice, is_over), &mut read)?;
        let total = total.or_else(|| counts_all.then_some(slice.seen));
        Ok(slice.into_page(self.paging, total))
    }

    /// Reads rows until the page is full or there are no more.
    fn fill<T>(
        &self,
        db: &Connection,
        (filter, limit): (&Where, Option<(u64, u64)>),
        (slice, is_over): (&mut Slice<T>, impl Fn(&Slice<T>) -> bool),
        read: &mut impl FnMut(&Row<'_>) -> rusqlite::Result<Option<Listed<T>>>,
    ) -> StoreResult<()> {
        let sql = self.sql(filter, limit);
        let mut statement = db.prepare_cached(&sql).map_err(StoreError::database)?;
        let params = params_from_iter(filter.params.iter());
        let mut rows = statement.query(params).map_err(StoreError::database)?;
        while let Some(row) = rows.next().map_err(StoreError::database)? {
            if let Some(listed) = read(row).map_err(StoreError::database)? {
                slice.take(listed);
            }
            if is_over(slice) {
                break;
            }
        }
        Ok(())
    }

    /// The keys after which the page starts.
    fn cursor<const KEYS: usize>(&self) -> StoreResult<Option<[Value; KEYS]>> {
        match self.paging {
            Paging::After { cursor: Some(cursor), .. } => cursor::decode(cursor).map(Some),
            Paging::After { cursor: None, .. } | Paging::Numbered(_) => Ok(None),
        }
    }

    fn window(&self) -> StoreResult<(u64, u64)> {
        let (skip, take) = match self.paging {
            Paging::Numbered(page) => (page.offset(), page.limit),
            Paging::After { limit, .. } => (0, *limit),
        };
        if take > MAX_LIMIT {
            return Err(StoreError::BadQuery(format!("limit is at most {MAX_LIMIT}")));
        }
        Ok((skip, take))
    }

    fn total(&self, db: &Connection) -> StoreResult<u64> {
        let sql = format!("{} {}", self.count, self.filter.sql());
        let count = |db: &Connection| {
            let params = params_from_iter(self.filter.params.iter());
            db.prepare_cached(&sql)?.query_row(params, |row| row.get(0))
        };
        let count: i64 = count(db).map_err(StoreError::database)?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    fn sql(&self, filter: &Where, limit: Option<(u64, u64)>) -> String {
        let limit = limit.map_or_else(String::new, |(skip, take)| {
            format!(" LIMIT {take} OFFSET {skip}", skip = skip.min(i64::MAX as u64))
        });
        let (select, filter) = (&self.select, filter.sql());
        format!("{select} {filter} {}{limit}", self.order_by())
    }

    fn order_by(&self) -> String {
        let word = match self.direction {
            Direction::Ascending => "ASC",
            Direction::Descending => "DESC",
        };
        let order: Vec<String> =
            self.order.iter().map(|column| format!("{column} {word}")).collect();
        format!("ORDER BY {}", order.join(", "))
    }
}

impl Where {
    /// Adds the condition that a row sorts after these keys.
    fn beyond<const KEYS: usize>(
        &mut self,
        order: &[&str],
        direction: Direction,
        keys: [Value; KEYS],
    ) {
        let comparison = match direction {
            Direction::Ascending => ">",
            Direction::Descending => "<",
        };
        let marks = ["?"; KEYS].join(", ");
        self.and(format!("({}) {comparison} ({marks})", order.join(", ")), keys);
    }
}

/// Rows of a page while it is read.
struct Slice<T> {
    skip: u64,
    take: u64,
    seen: u64,
    rows: Vec<Listed<T>>,
}

impl<T> Slice<T> {
    fn new(skip: u64, take: u64) -> Self {
        Self { skip, take, seen: 0, rows: Vec::new() }
    }

    fn take(&mut self, listed: Listed<T>) {
        let is_inside = self.seen >= self.skip && self.seen <= self.skip.saturating_add(self.take);
        if is_inside {
            self.rows.push(listed);
        }
        self.seen += 1;
    }

    /// Whether a row beyond the page was seen: there is a next page.
    fn is_over(&self) -> bool {
        self.rows.len() as u64 > self.take
    }

    fn into_page(mut self, paging: &Paging, total: Option<u64>) -> Page<T> {
        let has_more = self.is_over();
        self.rows.truncate(usize::try_from(self.take).unwrap_or(usize::MAX));
        let goes_on = has_more && matches!(paging, Paging::After { .. });
        let last = self.rows.last().filter(|_| goes_on);
        let cursor = last.map(|listed| cursor::encode(&listed.keys));
        Page { rows: self.rows.into_iter().map(|listed| listed.row).collect(), total, cursor }
    }
}

/// An empty page, for a project without telemetry.
fn nothing<T>(paging: &Paging) -> Page<T> {
    let total = matches!(paging, Paging::Numbered(_)).then_some(0);
    Page { rows: Vec::new(), total, cursor: None }
}
