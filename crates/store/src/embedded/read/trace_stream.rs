//! Streams the observations and scores of one trace. The rows of a trace are ordered by id; one
//! scan finds the next keys in time order for a few thousand slices.

use std::cmp::Reverse;

use ratchet_core::id::TraceId;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::Score;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, Statement, params};

use super::observations;
use crate::embedded::column::Column;
use crate::embedded::content;
use crate::embedded::load::project_number;
use crate::embedded::payload::Blocks;
use crate::embedded::score_row::{self, ScoreRow};
use crate::query::Detail;
use crate::trace_stream::{
    Next, NextKeys, ObservationCursor, ObservationKey, ScoreCursor, ScoreKey, StoredId,
    StreamedRows,
};

/// Keys found per scan: a few megabytes.
const KEYS: usize = 50_000;
const ROWS: usize = 1_000;
/// Approximate payload bytes per slice; the row that exceeds it is the last.
const BYTES: usize = 2_000_000;
/// Approximate bytes of a row without payload.
const ROW_BYTES: usize = 500;

/// The next observations of a trace.
pub(in crate::embedded) fn observations(
    db: &Connection,
    mut walk: ObservationCursor,
) -> rusqlite::Result<StreamedRows<Observation, ObservationCursor>> {
    let Some(trace) = trace_number(db, &walk)? else {
        return Ok(StreamedRows { rows: Vec::new(), rest: None });
    };
    if walk.ahead.is_used_up() {
        walk.ahead = observation_keys(db, trace, &walk.ahead)?;
    }
    let sql = format!("{} WHERE o.trace = ? AND o.id = ?", observations::select());
    let mut statement = db.prepare_cached(&sql)?;
    let mut blocks = Blocks::new(db);
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while rows.len() < ROWS
        && bytes < BYTES
        && let Some(key) = walk.ahead.keys.pop_front()
    {
        let row = row_of(&mut statement, &mut blocks, (trace, &key), walk.detail)?;
        // Rows deleted meanwhile are skipped.
        let Some(row) = row else { continue };
        bytes += ROW_BYTES + row.content.as_ref().map_or(0, content::bytes);
        rows.push(row);
    }
    drop(statement);
    let rest = (!walk.ahead.is_over()).then_some(walk);
    Ok(StreamedRows { rows, rest })
}

/// The observation with a key, if it still exists.
pub(super) fn row_of(
    statement: &mut Statement<'_>,
    blocks: &mut Blocks<'_>,
    (trace, key): (i64, &ObservationKey),
    detail: Detail,
) -> rusqlite::Result<Option<Observation>> {
    let params = params![trace, key.id.to_value()];
    let row = statement.query_row(params, observations::read).optional()?;
    row.map(|row| match detail {
        Detail::Content | Detail::BoundedContent => observations::with_content(blocks, row),
        Detail::Row => Ok(row.observation),
    })
    .transpose()
}

/// Reads a key from a row that starts with start and id; `None` for a malformed id.
pub(super) fn key_of(row: &Row<'_>) -> rusqlite::Result<Option<ObservationKey>> {
    let start = row.get(0)?;
    Ok(StoredId::from_value(row.get(1)?).map(|id| ObservationKey { start, id }))
}

impl StoredId {
    /// Reads an id from the database; `None` for a malformed one.
    pub(crate) fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(Self::Text(text)),
            Value::Blob(bytes) => Some(Self::Bytes(bytes)),
            Value::Null | Value::Integer(_) | Value::Real(_) => None,
        }
    }

    /// The id as a database value.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => Value::Text(text.clone()),
            Self::Bytes(bytes) => Value::Blob(bytes.clone()),
        }
    }
}

fn trace_number(db: &Connection, walk: &ObservationCursor) -> rusqlite::Result<Option<i64>> {
    let Some(project) = project_number(db, &walk.project)? else { return Ok(None) };
    let sql = "SELECT no FROM trace WHERE project = ? AND id = ?";
    let found = db
        .prepare_cached(sql)?
        .query_row(params![project, Column(&walk.trace)], |row| row.get(0))
        .optional()?;
    Ok(found)
}

fn observation_keys(
    db: &Connection,
    trace: i64,
    ahead: &NextKeys<ObservationKey>,
) -> rusqlite::Result<NextKeys<ObservationKey>> {
    let mut next = Next::after(ahead, KEYS);
    let mut statement =
        db.prepare_cached("SELECT o.start, o.id FROM observation o WHERE o.trace = ?")?;
    let mut rows = statement.query([trace])?;
    while let Some(row) = rows.next()? {
        if let Some(key) = key_of(row)? {
            next.offer(key);
        }
    }
    Ok(next.finish())
}

/// The next scores on a trace and its observations.
pub(in crate::embedded) fn scores(
    db: &Connection,
    mut walk: ScoreCursor,
) -> rusqlite::Result<StreamedRows<Score, ScoreCursor>> {
    let Some(project) = project_number(db, &walk.project)? else {
        return Ok(StreamedRows { rows: Vec::new(), rest: None });
    };
    if walk.ahead.is_used_up() {
        walk.ahead = score_keys(db, (project, &walk.trace), &walk.ahead)?;
    }
    let sql = format!("SELECT {} FROM score s WHERE s.no = ?", score_row::COLUMNS);
    let mut statement = db.prepare_cached(&sql)?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while rows.len() < ROWS
        && bytes < BYTES
        && let Some(Reverse((_, no))) = walk.ahead.keys.pop_front()
    {
        let row = statement.query_row([no], score_row::read).optional()?;
        let Some(row) = row.and_then(ScoreRow::into_score) else { continue };
        let metadata = row.metadata.iter().map(|(key, json)| key.len() + json.as_str().len());
        bytes += ROW_BYTES + row.comment.as_ref().map_or(0, String::len) + metadata.sum::<usize>();
        rows.push(row);
    }
    drop(statement);
    let rest = (!walk.ahead.is_over()).then_some(walk);
    Ok(StreamedRows { rows, rest })
}

fn score_keys(
    db: &Connection,
    (project, trace): (i64, &TraceId),
    ahead: &NextKeys<ScoreKey>,
) -> rusqlite::Result<NextKeys<ScoreKey>> {
    let mut next = Next::after(ahead, KEYS);
    let sql = "SELECT s.timestamp, s.no FROM score s INDEXED BY score_by_trace \
               WHERE s.project = ? AND s.trace = ?";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params![project, Column(trace)])?;
    while let Some(row) = rows.next()? {
        next.offer(Reverse((row.get(0)?, row.get(1)?)));
    }
    Ok(next.finish())
}
