//! Reads chat events.

use std::ops::RangeInclusive;

use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::id::SessionId;
use rusqlite::{Connection, params};

use super::TelemetryDb;
use super::chat_row::{find, last_seq, number, numbers, read, seq_of};
use crate::chat::ChatWindow;
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Size after which a page of events is full; lines can be very long.
const PAGE_BYTES: usize = 1024 * 1024;

impl TelemetryDb {
    /// See `Telemetry::chat_events`.
    pub(crate) async fn chat_events(
        &self,
        project: ProjectId,
        chat: SessionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<ChatEvent>> {
        let query = move |db: &Connection| -> rusqlite::Result<Vec<ChatEvent>> {
            let Some(chat) = find(db, &project, &chat)? else { return Ok(Vec::new()) };
            let sql = "SELECT no, at, kind, body FROM chat_event WHERE no > ? AND no <= ? \
                       ORDER BY no LIMIT ?";
            let (after, last) = (number(chat, after), *numbers(chat).end());
            let mut statement = db.prepare_cached(sql)?;
            page(statement.query_map(params![after, last, limit], read)?)
        };
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    /// See `Telemetry::chat_events_of`.
    pub(crate) async fn chat_events_of(
        &self,
        project: ProjectId,
        chat: SessionId,
        range: RangeInclusive<u64>,
        kinds: Vec<EventKind>,
    ) -> StoreResult<Vec<ChatEvent>> {
        let query = move |db: &Connection| -> rusqlite::Result<Vec<ChatEvent>> {
            let Some(chat) = find(db, &project, &chat)? else { return Ok(Vec::new()) };
            let sql = "SELECT no, at, kind, body FROM chat_event WHERE no BETWEEN ? AND ? \
                       AND instr(?, ',' || kind || ',') > 0 ORDER BY no";
            let (first, last) = (number(chat, *range.start()), number(chat, *range.end()));
            let mut statement = db.prepare_cached(sql)?;
            page(statement.query_map(params![first, last, listed(&kinds)], read)?)
        };
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    /// See `Telemetry::chat_window`.
    pub(crate) async fn chat_window(
        &self,
        project: ProjectId,
        chat: SessionId,
        window: ChatWindow,
    ) -> StoreResult<u64> {
        let query = move |db: &Connection| -> rusqlite::Result<u64> {
            let Some(chat) = find(db, &project, &chat)? else { return Ok(1) };
            // Bodies are not read here: they would be most of the work.
            let sql = "SELECT no, kind = 'message', instr(?, ',' || kind || ',') > 0 \
                       FROM chat_event WHERE no BETWEEN ? AND ? ORDER BY no DESC";
            let (first, last) = (number(chat, 1), number(chat, window.to));
            let mut statement = db.prepare_cached(sql)?;
            let mut rows = statement.query(params![listed(&window.kinds), first, last])?;
            let (mut start, mut turns, mut shown) = (1, 0, 0_u32);
            while let Some(row) = rows.next()? {
                shown = shown.saturating_add(row.get::<_, u32>(2)?);
                if turns > 0 && shown > window.events {
                    return Ok(start);
                }
                if row.get(1)? {
                    (start, turns) = (seq_of(row.get(0)?), turns + 1);
                    if turns >= window.turns {
                        return Ok(start);
                    }
                }
            }
            Ok(1)
        };
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    /// See `Telemetry::newest_events`.
    pub(crate) async fn newest_events(
        &self,
        project: ProjectId,
        chat: SessionId,
        kind: EventKind,
        limit: u32,
    ) -> StoreResult<Vec<ChatEvent>> {
        let query = move |db: &Connection| -> rusqlite::Result<Vec<ChatEvent>> {
            let Some(chat) = find(db, &project, &chat)? else { return Ok(Vec::new()) };
            let sql = "SELECT no, at, kind, body FROM chat_event WHERE no BETWEEN ? AND ? \
                       AND kind = ? ORDER BY no DESC LIMIT ?";
            let (first, last) = numbers(chat).into_inner();
            let mut statement = db.prepare_cached(sql)?;
            let rows = statement.query_map(params![first, last, kind.as_str(), limit], read)?;
            rows.collect()
        };
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    /// See `Telemetry::last_event`.
    pub(crate) async fn last_event(&self, project: ProjectId, chat: SessionId) -> StoreResult<u64> {
        let query = move |db: &Connection| -> rusqlite::Result<u64> {
            find(db, &project, &chat)?.map_or(Ok(0), |chat| last_seq(db, chat))
        };
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }
}

/// Types of events as a text in which each can be found between commas.
fn listed(kinds: &[EventKind]) -> String {
    kinds.iter().fold(String::from(","), |list, kind| list + kind.as_str() + ",")
}

/// Reads events until they fill a page.
fn page(
    rows: impl Iterator<Item = rusqlite::Result<ChatEvent>>,
) -> rusqlite::Result<Vec<ChatEvent>> {
    let (mut events, mut bytes, mut rows) = (Vec::new(), 0, rows);
    while bytes < PAGE_BYTES
        && let Some(event) = rows.next().transpose()?
    {
        bytes += event.body.len();
        events.push(event);
    }
    Ok(events)
}
