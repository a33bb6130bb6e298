//! Pages of the observations of one long trace.
//!
//! The rows of a trace are ordered by id, so that a page by time needs a scan of all of them. One
//! scan finds the keys of many pages. They are cached, and the following pages are read by key.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ratchet_core::record::observation::Observation;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use self::buckets::Buckets;
use super::trace_stream::{key_of, row_of};
use super::{List, observations};
use crate::embedded::column::to_u64;
use crate::embedded::content::ContentBudget;
use crate::embedded::cursor;
use crate::embedded::filter::id_value;
use crate::embedded::payload::Blocks;
use crate::query::{Detail, Direction, ObservationQuery, Page, Paging, TimeRange};
use crate::trace_stream::{Next, NextKeys, ObservationKey, StoredId};
use crate::{StoreError, StoreResult};

mod buckets;

/// Maximum number of cached windows; least recently used ones are evicted.
const MAX_WINDOWS: usize = 4;
/// How long a client that pages through a changing trace gets the earlier keys. Without it, each
/// page of a trace that is being recorded would scan all of it.
const CHANGED_TTL: Duration = Duration::from_secs(10);
/// How long keys of an unchanged trace are used: conditions may depend on its scores.
const UNCHANGED_TTL: Duration = Duration::from_secs(60);

/// Cached keys of pages that are likely to be requested next.
#[derive(Debug)]
pub(in crate::embedded) struct TracePageCache {
    windows: Mutex<VecDeque<Arc<KeyWindow>>>,
    /// Minimum number of observations of a long trace. Shorter ones are scanned for each page,
    /// which takes a few milliseconds.
    long: u64,
    /// Keys per window: a few megabytes.
    keys: usize,
}

impl Default for TracePageCache {
    fn default() -> Self {
        Self { windows: Mutex::default(), long: 5_000, keys: 50_000 }
    }
}

/// Keys of consecutive observations of a result.
#[derive(Debug)]
struct KeyWindow {
    asked: ObservationQuery,
    state: TraceState,
    found_at: Instant,
    /// The key before the window; `None` at the start of the result.
    after: Option<ObservationKey>,
    /// Number of observations before the first key; unknown after a cursor.
    first: Option<u64>,
    keys: Vec<ObservationKey>,
    has_more: bool,
    /// Total number of matching observations.
    matching: u64,
}

/// Values that change whenever the trace does.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TraceState {
    no: i64,
    observations: u64,
    other: [Option<i64>; 6],
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PageStart {
    Rank(u64),
    After(ObservationKey),
}

/// A requested page of a long trace.
struct PageRequest<'a> {
    list: &'a List<'a>,
    /// The query without page and detail level.
    asked: ObservationQuery,
    state: TraceState,
    start: PageStart,
    take: usize,
}

/// A page of the observations of a trace; `None` if the trace is short, or if conditions need
/// payloads.
pub(super) fn page(
    db: &Connection,
    (project, query): (i64, &ObservationQuery),
    list: &List<'_>,
    cache: &TracePageCache,
) -> StoreResult<Option<Page<Observation>>> {
    let Some(trace) = query.trace.as_ref().filter(|_| list.filter.content.is_empty()) else {
        return Ok(None);
    };
    let id = id_value(&trace.to_string());
    let state = TraceState::read(db, project, &id).map_err(StoreError::database)?;
    let Some(state) = state.filter(|state| state.observations >= cache.long) else {
        return Ok(None);
    };
    let (skip, take) = list.window()?;
    let start = match list.cursor::<3>()? {
        None => PageStart::Rank(skip),
        Some([Value::Integer(start), _, id]) => match StoredId::from_value(id) {
            Some(id) => PageStart::After(ObservationKey { start, id }),
            None => return Ok(None),
        },
        Some(_) => return Ok(None),
    };
    let paging = Paging::After { cursor: None, limit: 0 };
    let asked = ObservationQuery { paging, detail: Detail::Row, ..query.clone() };
    let take = usize::try_from(take).unwrap_or(usize::MAX);
    let wanted = PageRequest { list, asked, state, start, take };
    let Some(window) = wanted.window(db, cache)? else {
        let total = wanted.list.total(db)?;
        let total = matches!(query.paging, Paging::Numbered(_)).then_some(total);
        return Ok(Some(Page { rows: Vec::new(), total, cursor: None }));
    };
    wanted.read(db, &window, query).map(Some).map_err(StoreError::database)
}

impl TraceState {
    fn read(db: &Connection, project: i64, id: &Value) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT no, debugs + defaults + warnings + errors, blocks, updated_at, start, \
                   end, total_tokens, cost FROM trace WHERE project = ? AND id = ?";
        let read = |row: &Row<'_>| {
            let mut other = [None; 6];
            for (at, value) in other.iter_mut().enumerate() {
                *value = row.get(at + 2)?;
            }
            Ok(Self { no: row.get(0)?, observations: to_u64(row.get(1)?), other })
        };
        db.prepare_cached(sql)?.query_row(params![project, id], read).optional()
    }
}

impl KeyWindow {
    /// The range of a page within the window; `None` if it is not inside.
    fn page_range(&self, start: &PageStart, take: usize) -> Option<Range<usize>> {
        let from = match start {
            PageStart::Rank(rank) => usize::try_from(rank.checked_sub(self.first?)?).ok()?,
            PageStart::After(key) => {
                let passed = |passed: &ObservationKey| match self.asked.direction {
                    Direction::Ascending => passed <= key,
                    Direction::Descending => passed >= key,
                };
                let from = self.keys.partition_point(passed);
                // What lies between is unknown.
                (from > 0 || self.after.as_ref() == Some(key)).then_some(from)?
            }
        };
        let to = from.saturating_add(take);
        let last = self.keys.len();
        (to <= last || !self.has_more).then_some(from.min(last)..to.min(last))
    }

    fn key_before(&self, rank: u64) -> Option<&ObservationKey> {
        let index = rank.checked_sub(self.first?)?.checked_sub(1)?;
        self.keys.get(usize::try_from(index).ok()?)
    }
}

impl PageRequest<'_> {
    /// The window with the page, from the cache or by a scan; `None` if the trace ends before the
    /// page.
    fn window(
        &self,
        db: &Connection,
        cache: &TracePageCache,
    ) -> StoreResult<Option<Arc<KeyWindow>>> {
        let usable: Vec<_> = cache.all().into_iter().filter(|known| self.may_use(known)).collect();
        let known = usable.iter().find(|known| known.page_range(&self.start, self.take).is_some());
        if let Some(known) = known {
            cache.put(known);
            return Ok(Some(known.clone()));
        }
        let begin = self.begin(db, &usable).map_err(StoreError::database)?;
        let Some((mut after, mut first)) = begin else { return Ok(None) };
        loop {
            let found = self.find(db, after, cache.keys).map_err(StoreError::database)?;
            let window = Arc::new(KeyWindow { first, ..found });
            cache.put(&window);
            if window.page_range(&self.start, self.take).is_some() {
                return Ok(Some(window));
            }
            // More observations share a start than a window holds.
            after = window.keys.last().cloned();
            first = first.map(|first| first + window.keys.len() as u64);
        }
    }

    /// The key after which to scan for the page, and the number of observations before it; `None`
    /// if the trace ends before the page.
    fn begin(
        &self,
        db: &Connection,
        usable: &[Arc<KeyWindow>],
    ) -> rusqlite::Result<Option<(Option<ObservationKey>, Option<u64>)>> {
        let rank = match &self.start {
            PageStart::After(key) => return Ok(Some((Some(key.clone()), None))),
            PageStart::Rank(0) => return Ok(Some((None, Some(0)))),
            PageStart::Rank(rank) => *rank,
        };
        match usable.iter().find_map(|known| known.key_before(rank)) {
            Some(before) => Ok(Some((Some(before.clone()), Some(rank)))),
            None => Ok(self.edge_before(db, rank)?.map(|(key, before)| (key, Some(before)))),
        }
    }

    /// Whether a cached window is still valid. A first page always shows the current state.
    fn may_use(&self, known: &KeyWindow) -> bool {
        if known.asked != self.asked || known.state.no != self.state.no {
            return false;
        }
        let (age, is_same) = (known.found_at.elapsed(), known.state == self.state);
        match self.start {
            PageStart::Rank(0) => is_same && self.asked.conditions.is_empty(),
            PageStart::Rank(_) | PageStart::After(_) => {
                age < if is_same { UNCHANGED_TTL } else { CHANGED_TTL }
            }
        }
    }

    fn from(&self) -> &'static str {
        match self.asked.conditions.is_empty() {
            true => "FROM observation o",
            // Conditions may be about the trace.
            false => super::narrow::JoinOrder::ByObservation.from(),
        }
    }

    /// A moment shortly before the observation of a rank, as a key, and the number of observations
    /// before it. One scan of all start times, counted in buckets.
    fn edge_before(
        &self,
        db: &Connection,
        rank: u64,
    ) -> rusqlite::Result<Option<(Option<ObservationKey>, u64)>> {
        let [_, _, start, end, ..] = self.state.other;
        let mut buckets = Buckets::new(start.unwrap_or(0), end.unwrap_or(0));
        let filter = &self.list.filter;
        let sql = format!("SELECT o.start {} {}", self.from(), filter.sql());
        let mut statement = db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(filter.params.iter()))?;
        while let Some(row) = rows.next()? {
            buckets.count(row.get(0)?);
        }
        let found = buckets.of_rank(rank, self.asked.direction);
        // No id is empty: an observation that starts at that very moment sorts after the key, or
        // before it in descending order.
        let key = |start| ObservationKey { start, id: StoredId::Text(String::new()) };
        Ok(found.map(|(edge, before)| (edge.map(key), before)))
    }

    fn find(
        &self,
        db: &Connection,
        after: Option<ObservationKey>,
        limit: usize,
    ) -> rusqlite::Result<KeyWindow> {
        match self.asked.direction {
            Direction::Ascending => self.scan(db, (after, limit), |key| key, |key| key),
            Direction::Descending => self.scan(db, (after, limit), Reverse, |Reverse(key)| key),
        }
    }

    /// Scans the trace for the next keys.
    fn scan<K: Ord + Clone>(
        &self,
        db: &Connection,
        (after, limit): (Option<ObservationKey>, usize),
        ordered: fn(ObservationKey) -> K,
        plain: fn(K) -> ObservationKey,
    ) -> rusqlite::Result<KeyWindow> {
        let ahead = NextKeys { found_up_to: after.clone().map(ordered), ..NextKeys::default() };
        let mut next = Next::after(&ahead, limit);
        let filter = &self.list.filter;
        let sql = format!("SELECT o.start, o.id {} {}", self.from(), filter.sql());
        let mut statement = db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(filter.params.iter()))?;
        let mut matching = 0;
        while let Some(row) = rows.next()? {
            matching += 1;
            if let Some(key) = key_of(row)? {
                next.offer(ordered(key));
            }
        }
        let NextKeys { keys, has_more, .. } = next.finish();
        Ok(KeyWindow {
            asked: self.asked.clone(),
            state: self.state.clone(),
            found_at: Instant::now(),
            after,
            first: None,
            keys: keys.into_iter().map(plain).collect(),
            has_more,
            matching,
        })
    }

    /// Reads the rows of the page. Rows deleted meanwhile are skipped.
    fn read(
        &self,
        db: &Connection,
        window: &KeyWindow,
        query: &ObservationQuery,
    ) -> rusqlite::Result<Page<Observation>> {
        let page_range = window.page_range(&self.start, self.take).unwrap_or_default();
        let keys = window.keys.get(page_range.clone()).unwrap_or_default();
        let sql = format!("{} WHERE o.trace = ? AND o.id = ?", observations::select());
        let mut statement = db.prepare_cached(&sql)?;
        let mut blocks = Blocks::new(db);
        let mut rows = Vec::with_capacity(keys.len());
        let mut budget = ContentBudget::new(query.detail);
        for key in keys {
            let detail = if budget.has_room() { Detail::Content } else { Detail::Row };
            let row = row_of(&mut statement, &mut blocks, (self.state.no, key), detail)?;
            if let Some(content) = row.as_ref().and_then(|row| row.content.as_ref()) {
                budget.charge(content);
            }
            rows.extend(row);
        }
        let is_all = query.conditions.is_empty() && query.range == TimeRange::default();
        let total = if is_all { self.state.observations } else { window.matching };
        let has_more = window.has_more || page_range.end < window.keys.len();
        let (total, cursor) = match query.paging {
            Paging::Numbered(_) => (Some(total), None),
            Paging::After { .. } => (None, keys.last().filter(|_| has_more)),
        };
        let encode = |key: &ObservationKey| {
            let (start, id) = (Value::Integer(key.start), key.id.to_value());
            cursor::encode(&[start, Value::Integer(self.state.no), id])
        };
        Ok(Page { rows, total, cursor: cursor.map(encode) })
    }
}

impl TracePageCache {
    fn all(&self) -> Vec<Arc<KeyWindow>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn put(&self, window: &Arc<KeyWindow>) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.retain(|other| {
            !Arc::ptr_eq(other, window) && other.found_at.elapsed() < UNCHANGED_TTL
        });
        windows.push_front(window.clone());
        windows.truncate(MAX_WINDOWS);
    }
}

#[cfg(test)]
mod tests;
