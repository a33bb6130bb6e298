use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ratchet_core::id::TraceId;
use tempfile::TempDir;

use super::*;
use crate::embedded::connection::{self, Purpose};
use crate::embedded::migrations::TELEMETRY_MIGRATIONS;
use crate::project::ProjectId;
use crate::query::{Condition, ObservationColumn, PageNumber};

const SPANS: u64 = 1_000;
const PAGE: u64 = 10;

/// A trace whose observations begin in another order than that of their ids, a few at once.
struct Long {
    db: Connection,
    cache: TracePageCache,
    _folder: TempDir,
}

impl Long {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("telemetry.db");
        let mut db = connection::open(&file, Purpose::Write).unwrap();
        connection::migrate(&mut db, &file, TELEMETRY_MIGRATIONS).unwrap();
        db.execute_batch(&format!(
            "INSERT INTO project (no, id) VALUES (1, 'shop');
             INSERT INTO trace (no, project, id, timestamp, debugs, defaults, warnings, errors,
                 start, end, input_tokens, output_tokens, total_tokens, cost, costs_known, stamps,
                 blocks, created_at, updated_at)
             VALUES (7, 1, 't', 0, 0, {SPANS}, 0, 0, 0, 1000000, 0, 0, 0, 0, 0, x'', 0, 0, 0);
             WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < {SPANS})
             INSERT INTO observation (trace, id, project, start, kind, level, name, input_tokens,
                 output_tokens, total_tokens, stamps, entry, created_at)
             SELECT 7, printf('o%06d', n), 1, n * 7919 % {SPANS} / 3 * 1000, 0, 1,
                 CASE n % 2 WHEN 0 THEN 'even' ELSE 'odd' END, 0, 0, 0, x'', 0, 0 FROM n;"
        ))
        .unwrap();
        let cache = TracePageCache { windows: Mutex::default(), long: 100, keys: 95 };
        Self { db, cache, _folder: folder }
    }

    fn query(&self, direction: Direction, paging: Paging) -> ObservationQuery {
        ObservationQuery {
            project: ProjectId::parse("shop").unwrap(),
            range: TimeRange::default(),
            trace: TraceId::parse("t").ok(),
            conditions: Vec::new(),
            direction,
            paging,
            detail: Detail::Row,
        }
    }

    fn page(&self, query: &ObservationQuery) -> Page<Observation> {
        observations::list(&self.db, query, &self.cache).unwrap()
    }

    fn numbered(&self, page: u64) -> Page<Observation> {
        let page = Paging::Numbered(PageNumber { page, limit: PAGE });
        self.page(&self.query(Direction::Descending, page))
    }

    /// What the plain way answers.
    fn all(&self, direction: Direction) -> Vec<String> {
        let paging = Paging::Numbered(PageNumber { page: 1, limit: SPANS });
        let plain = TracePageCache { long: u64::MAX, ..TracePageCache::default() };
        let query = self.query(direction, paging);
        ids(&observations::list(&self.db, &query, &plain).unwrap())
    }
}

fn ids(page: &Page<Observation>) -> Vec<String> {
    page.rows.iter().map(|row| row.id.to_string()).collect()
}

#[test]
fn numbered_pages_are_the_answer_in_pieces() {
    let long = Long::new();
    let mut seen = Vec::new();
    for page in 1..=SPANS / PAGE + 1 {
        let page = long.numbered(page);
        assert_eq!((page.total, &page.cursor), (Some(SPANS), &None));
        seen.extend(ids(&page));
    }
    assert_eq!(seen, long.all(Direction::Descending));
}

#[test]
fn pages_behind_cursors_are_the_answer_in_pieces() {
    let long = Long::new();
    for direction in [Direction::Ascending, Direction::Descending] {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = long.page(&long.query(direction, Paging::After { cursor, limit: 30 }));
            seen.extend(ids(&page));
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, long.all(direction));
    }
}

#[test]
fn any_page_can_be_the_first_one() {
    let all = Long::new().all(Direction::Descending);
    for page in [100, 37, 2, 99, 60] {
        let long = Long::new();
        let from = usize::try_from((page - 1) * PAGE).unwrap();
        assert_eq!(ids(&long.numbered(page)), all[from..from + 10], "page {page}");
    }
    let beyond = Long::new().numbered(102);
    assert_eq!((beyond.rows.len(), beyond.total), (0, Some(SPANS)));
}

#[test]
fn conditions_are_kept_and_counted() {
    let long = Long::new();
    let mut seen = BTreeSet::new();
    for page in 1..=50 {
        let page = Paging::Numbered(PageNumber { page, limit: PAGE });
        let mut query = long.query(Direction::Descending, page);
        query.conditions = vec![Condition::equals(ObservationColumn::Name, "even")];
        let page = long.page(&query);
        assert_eq!(page.total, Some(SPANS / 2));
        assert!(page.rows.iter().all(|row| row.name.as_deref() == Some("even")));
        seen.extend(ids(&page));
    }
    assert_eq!(seen.len() as u64, SPANS / 2);
}

#[test]
fn whoever_begins_sees_what_is_new() {
    let long = Long::new();
    let first = ids(&long.numbered(1));
    long.db
        .execute_batch(
            "UPDATE observation SET start = 2000000 WHERE id = 'o000000';
             UPDATE trace SET updated_at = 1, end = 2000000;",
        )
        .unwrap();
    let second = long.numbered(2);
    assert_eq!(ids(&long.numbered(1))[0], "o000000");
    assert_eq!(ids(&second), long.all(Direction::Descending)[11..21], "it goes on where it was");
    assert_ne!(first[0], "o000000");
}

#[test]
fn most_pages_do_not_look_at_the_whole_trace() {
    let mut long = Long::new();
    let steps = Arc::new(AtomicU64::new(0));
    let counted = steps.clone();
    let count = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        false
    };
    long.db.progress_handler(1, Some(count)).unwrap();
    let mut taken: Vec<u64> = (1..=SPANS / PAGE)
        .map(|page| {
            long.numbered(page);
            steps.swap(0, Ordering::Relaxed)
        })
        .collect();
    taken.sort_unstable();
    let looks = taken.iter().filter(|steps| **steps > 2 * SPANS).count();
    assert_eq!(looks, 12, "one look for each 95 keys, and one at the start: {taken:?}");
}
