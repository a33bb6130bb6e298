//! Rows of chat events.

use std::ops::RangeInclusive;
use std::sync::Arc;

use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::chat::notification::Notification;
use ratchet_core::id::SessionId;
use ratchet_core::record::redact::Redacted;
use ratchet_core::time::Timestamp;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::apply::Applier;
use super::block::compress_checked;
use super::column::Column;
use super::load::project_number;
use super::{Prepared, chat_notice};
use crate::project::ProjectId;

/// Low bits of an event's number, for its position in the chat.
const SEQ_BITS: u32 = 32;
/// Minimum size for compression; shorter bodies gain little.
const COMPRESSED_FROM: usize = 600;
/// Maximum body size, well above the limit of an agent's line. Guards against damaged files.
const MAX_BODY_BYTES: usize = 512 * 1024 * 1024;
/// Maximum number of events deleted per slice.
const SLICE: u32 = 2_000;

/// Encoded events of one chat.
#[derive(Debug)]
pub(super) struct PreparedEvents {
    chat: SessionId,
    events: Vec<PreparedEvent>,
}

#[derive(Debug)]
struct PreparedEvent {
    seq: u64,
    at: Timestamp,
    kind: EventKind,
    body: Body,
    /// Whether it may cause notifications.
    is_news: bool,
}

#[derive(Debug)]
enum Body {
    Text(Arc<str>),
    Compressed(Vec<u8>),
}

impl Body {
    fn new(text: Arc<str>) -> Self {
        if text.len() < COMPRESSED_FROM {
            return Self::Text(text);
        }
        match compress_checked(text.as_bytes()) {
            Some(bytes) if bytes.len() < text.len() => Self::Compressed(bytes),
            Some(_) | None => Self::Text(text),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Compressed(bytes) => bytes.len(),
        }
    }
}

impl Prepared {
    /// Adds chat events to the batch: both are committed together or not at all.
    #[must_use]
    pub fn with_events(mut self, chat: SessionId, events: Redacted<Vec<ChatEvent>>) -> Self {
        let prepare = |event: ChatEvent| PreparedEvent {
            is_news: Notification::of(&event).is_some(),
            seq: event.seq,
            at: event.at,
            kind: event.kind,
            body: Body::new(event.body),
        };
        let events: Vec<_> = events.into_inner().into_iter().map(prepare).collect();
        let bodies = events.iter().map(|event| event.body.len());
        self.weight += bodies.sum::<usize>() + events.len() * size_of::<PreparedEvent>();
        self.events.push(PreparedEvents { chat, events });
        self
    }
}

impl Applier<'_> {
    /// Inserts events; fails on a duplicate or a gap.
    pub(super) fn apply_events(
        &mut self,
        project: i64,
        prepared: &PreparedEvents,
    ) -> rusqlite::Result<()> {
        let (Some(first), Some(last)) = (prepared.events.first(), prepared.events.last()) else {
            return Ok(());
        };
        let chat = self.open_chat(project, &prepared.chat, last.at)?;
        let places = last_seq(self.db, chat)? + 1..;
        let sql = "INSERT INTO chat_event (no, at, kind, body) VALUES (?, ?, ?, ?)";
        let mut insert = self.db.prepare_cached(sql)?;
        for (expected, event) in places.zip(&prepared.events) {
            if event.seq != expected {
                return Err(out_of_order(first.seq, expected));
            }
            let (no, kind) = (number(chat, event.seq), event.kind.as_str());
            match &event.body {
                Body::Text(text) => insert.execute(params![no, Column(event.at), kind, &**text])?,
                Body::Compressed(bytes) => {
                    insert.execute(params![no, Column(event.at), kind, bytes])?
                }
            };
            if event.is_news {
                chat_notice::add(self.db, no)?;
            }
        }
        Ok(())
    }

    fn open_chat(&self, project: i64, chat: &SessionId, at: Timestamp) -> rusqlite::Result<i64> {
        let sql = "INSERT INTO chat (project, id, last_at) VALUES (?1, ?2, ?3) \
                   ON CONFLICT (project, id) DO UPDATE SET last_at = max(last_at, ?3) \
                   RETURNING no";
        let key = params![project, Column(chat), Column(at)];
        self.db.prepare_cached(sql)?.query_row(key, |row| row.get(0))
    }
}

/// The error for an event out of sequence: another process writes to the chat.
fn out_of_order(found: u64, expected: u64) -> rusqlite::Error {
    let why = format!("event {found} is not the next one, which is {expected}");
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CONSTRAINT);
    rusqlite::Error::SqliteFailure(code, Some(why))
}

pub(super) fn number(chat: i64, seq: u64) -> i64 {
    // No chat has four billion events, and no folder two billion chats.
    let seq = i64::from(u32::try_from(seq).unwrap_or(u32::MAX));
    (chat << SEQ_BITS) | seq
}

pub(super) fn numbers(chat: i64) -> RangeInclusive<i64> {
    number(chat, 0)..=number(chat, u64::from(u32::MAX))
}

pub(super) fn seq_of(number: i64) -> u64 {
    u64::from(u32::try_from(number & i64::from(u32::MAX)).unwrap_or(u32::MAX))
}

pub(super) fn last_seq(db: &Connection, chat: i64) -> rusqlite::Result<u64> {
    let sql = "SELECT max(no) FROM chat_event WHERE no BETWEEN ? AND ?";
    let (first, last) = numbers(chat).into_inner();
    let no: Option<i64> = db.prepare_cached(sql)?.query_row([first, last], |row| row.get(0))?;
    Ok(no.map_or(0, seq_of))
}

pub(super) fn find(
    db: &Connection,
    project: &ProjectId,
    id: &SessionId,
) -> rusqlite::Result<Option<i64>> {
    let Some(project) = project_number(db, project)? else { return Ok(None) };
    let sql = "SELECT no FROM chat WHERE project = ? AND id = ?";
    let key = params![project, Column(id)];
    db.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()
}

/// Reads an event from number, time, kind and body.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<ChatEvent> {
    let odd = |column, kind| rusqlite::Error::InvalidColumnType(column, String::new(), kind);
    let kind = EventKind::parse(row.get_ref(2)?.as_str()?).ok_or(odd(2, Type::Text))?;
    let body: Arc<str> = match row.get_ref(3)? {
        ValueRef::Blob(bytes) => unpacked(bytes).unwrap_or_else(|| damaged(row.get(0))).into(),
        text => text.as_str()?.into(),
    };
    let at = row.get::<_, Column<_>>(1)?.0;
    Ok(ChatEvent { seq: seq_of(row.get(0)?), at, kind, body })
}

/// Decompresses a body; `None` when it is damaged.
pub(super) fn unpacked(bytes: &[u8]) -> Option<String> {
    let text = zstd::bulk::decompress(bytes, capacity(bytes)).ok()?;
    String::from_utf8(text).ok()
}

/// Placeholder for a damaged body, so that the rest of the chat can be read.
fn damaged(no: rusqlite::Result<i64>) -> String {
    let seq = no.map_or(0, seq_of);
    tracing::error!(event.seq = seq, "an event of a chat is damaged");
    let notice = format!(
        "event {seq} cannot be read, because it does not match its checksum; restore a backup \
         with `ratchet restore`; `ratchet doctor --deep` lists all damage"
    );
    serde_json::json!({ "damaged": notice, "message": notice }).to_string()
}

/// Size of a body according to its frame, within limits.
fn capacity(bytes: &[u8]) -> usize {
    let said = zstd::bulk::Decompressor::upper_bound(bytes);
    said.unwrap_or(MAX_BODY_BYTES).min(MAX_BODY_BYTES)
}

/// Deletes one slice of the events of chats whose last event is older than a moment, or of all
/// chats; returns the number deleted.
pub(super) fn delete_slice(
    db: &Connection,
    project: i64,
    before: Option<Timestamp>,
) -> rusqlite::Result<u64> {
    let sql = "SELECT no FROM chat WHERE project = ? AND last_at < ? ORDER BY last_at LIMIT 1";
    let before = before.map_or(i64::MAX, Timestamp::nanos);
    loop {
        let key = params![project, before];
        let oldest = db.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
        let Some(chat) = oldest else { return Ok(0) };
        let events = "DELETE FROM chat_event WHERE no IN (SELECT no FROM chat_event \
                      WHERE no BETWEEN ? AND ? LIMIT ?)";
        let (first, last) = numbers(chat).into_inner();
        let gone = db.prepare_cached(events)?.execute(params![first, last, SLICE])?;
        if gone > 0 {
            return Ok(gone as u64);
        }
        chat_notice::forget(db, first, last)?;
        db.prepare_cached("DELETE FROM chat WHERE no = ?")?.execute([chat])?;
    }
}
