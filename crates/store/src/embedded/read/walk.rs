//! Walks through all that hangs on one trace. The rows of a trace lie by their ids; for each few
//! thousand slices, one look at all of them finds the keys that come next in time.

use std::cmp::Reverse;

use ratchet_core::id::TraceId;
use ratchet_core::observation::Observation;
use ratchet_core::payload::Payload;
use ratchet_core::score::Score;
use ratchet_core::trace::Content;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

use super::observations;
use crate::embedded::column::Column;
use crate::embedded::load::project_number;
use crate::embedded::payload::Blocks;
use crate::embedded::score_row::{self, ScoreRow};
use crate::query::Detail;
use crate::walk::{
    Ahead, Next, ObservationKey, ObservationWalk, ScoreKey, ScoreWalk, StoredId, Walked,
};

/// Keys that are found at a time: a few megabytes.
const KEYS: usize = 50_000;
/// Rows of a slice.
const ROWS: usize = 1_000;
/// Bytes of what the rows of a slice carry, about; the row that passes it is the last.
const BYTES: usize = 2_000_000;
/// Bytes of a row beside what it carries, about.
const ROW_BYTES: usize = 500;

/// The next observations of a trace.
pub(in crate::embedded) fn observations(
    db: &Connection,
    mut walk: ObservationWalk,
) -> rusqlite::Result<Walked<Observation, ObservationWalk>> {
    let Some(trace) = trace_number(db, &walk)? else {
        return Ok(Walked { rows: Vec::new(), rest: None });
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
        let id = match key.id {
            StoredId::Text(text) => Value::Text(text),
            StoredId::Bytes(bytes) => Value::Blob(bytes),
        };
        let row = statement.query_row(params![trace, id], observations::read).optional()?;
        // What was deleted meanwhile is passed by.
        let Some(row) = row else { continue };
        let row = match walk.detail {
            Detail::Content => observations::with_content(&mut blocks, row)?,
            Detail::Row => row.observation,
        };
        bytes += ROW_BYTES + row.content.as_ref().map_or(0, carried_bytes);
        rows.push(row);
    }
    drop(statement);
    let rest = (!walk.ahead.is_over()).then_some(walk);
    Ok(Walked { rows, rest })
}

fn trace_number(db: &Connection, walk: &ObservationWalk) -> rusqlite::Result<Option<i64>> {
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
    ahead: &Ahead<ObservationKey>,
) -> rusqlite::Result<Ahead<ObservationKey>> {
    let mut next = Next::after(ahead, KEYS);
    let mut statement =
        db.prepare_cached("SELECT o.start, o.id FROM observation o WHERE o.trace = ?")?;
    let mut rows = statement.query([trace])?;
    while let Some(row) = rows.next()? {
        let id = match row.get(1)? {
            Value::Text(text) => StoredId::Text(text),
            Value::Blob(bytes) => StoredId::Bytes(bytes),
            // No id is written so.
            Value::Null | Value::Integer(_) | Value::Real(_) => continue,
        };
        next.offer(ObservationKey { start: row.get(0)?, id });
    }
    Ok(next.finish())
}

fn carried_bytes(content: &Content) -> usize {
    let text = |payload: &Option<Payload>| payload.as_ref().map_or(0, |text| text.as_str().len());
    let metadata = content.metadata.iter().map(|(key, json)| key.len() + json.as_str().len());
    text(&content.input) + text(&content.output) + metadata.sum::<usize>()
}

/// The next scores on a trace and its observations.
pub(in crate::embedded) fn scores(
    db: &Connection,
    mut walk: ScoreWalk,
) -> rusqlite::Result<Walked<Score, ScoreWalk>> {
    let Some(project) = project_number(db, &walk.project)? else {
        return Ok(Walked { rows: Vec::new(), rest: None });
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
    Ok(Walked { rows, rest })
}

fn score_keys(
    db: &Connection,
    (project, trace): (i64, &TraceId),
    ahead: &Ahead<ScoreKey>,
) -> rusqlite::Result<Ahead<ScoreKey>> {
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
