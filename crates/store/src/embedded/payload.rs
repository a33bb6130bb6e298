//! The table of payload blocks. A block's number starts with its trace's, so that all blocks of a
//! trace are adjacent and deleted together.

use ratchet_core::id::TraceId;
use ratchet_core::payload::{Json, Payload};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use super::block::Block;
use super::column::Column;
use super::entry::{Entry, EntryMetadata};

/// Low bits of a block's number, for its index in the trace.
const BLOCK_BITS: u32 = 24;

/// The number of a trace's nth block.
pub(super) fn number(trace: i64, block: i64) -> i64 {
    (trace << BLOCK_BITS) | block
}

/// The trace number of a block.
pub(super) fn trace_of(block: i64) -> i64 {
    block >> BLOCK_BITS
}

/// Stores a trace's nth block.
pub(super) fn insert(
    db: &Connection,
    trace: i64,
    block: i64,
    bytes: &[u8],
) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT INTO payload (no, bytes) VALUES (?, ?)")?
        .execute(params![number(trace, block), bytes])?;
    Ok(())
}

pub(super) fn delete(db: &Connection, block: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM payload WHERE no = ?")?.execute([block])?;
    Ok(())
}

/// Deletes all blocks of a trace.
pub(super) fn delete_all(db: &Connection, trace: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM payload WHERE no >= ? AND no < ?")?
        .execute([number(trace, 0), number(trace + 1, 0)])?;
    Ok(())
}

/// Reads one entry of a block.
pub(super) fn load_entry(
    db: &Connection,
    block: Option<i64>,
    entry: u32,
) -> rusqlite::Result<Option<Entry>> {
    Blocks::new(db).entry(block, entry)
}

/// Reads entries, decompressing each block once.
pub(super) struct Blocks<'a> {
    db: &'a Connection,
    read: FxHashMap<i64, Option<Block>>,
    bytes: usize,
}

/// Metadata key that reports a damaged record.
const DAMAGED_KEY: &str = "ratchet.damaged";

/// Maximum number of cached blocks; neighbours in a list mostly share one.
const MAX_CACHED_BLOCKS: usize = 64;
/// Maximum bytes of cached blocks. Most have a few thousand, one may have millions.
const MAX_CACHED_BYTES: usize = 8_000_000;

impl<'a> Blocks<'a> {
    pub(super) fn new(db: &'a Connection) -> Self {
        Self { db, read: FxHashMap::default(), bytes: 0 }
    }

    /// The entry at an index; `None` where there is none. A damaged entry is replaced by one that
    /// reports the damage, so that lists work and it is not taken for an empty record.
    pub(super) fn entry(
        &mut self,
        block: Option<i64>,
        entry: u32,
    ) -> rusqlite::Result<Option<Entry>> {
        let Some(number) = block else { return Ok(None) };
        if !self.read.contains_key(&number) {
            if self.read.len() >= MAX_CACHED_BLOCKS || self.bytes >= MAX_CACHED_BYTES {
                self.read.clear();
                self.bytes = 0;
            }
            let block = self.load(number)?;
            self.bytes += block.as_ref().map_or(0, Block::bytes);
            self.read.insert(number, block);
        }
        let block = self.read.get(&number).and_then(Option::as_ref);
        match block.and_then(|block| block.entry(entry as usize)) {
            Some(entry) => Ok(Some(entry)),
            None => self.damage_placeholder(number).map(Some),
        }
    }

    fn load(&self, number: i64) -> rusqlite::Result<Option<Block>> {
        self.db
            .prepare_cached("SELECT bytes FROM payload WHERE no = ?")?
            .query_row([number], |row| Ok(Block::read(row.get_ref(0)?.as_blob()?)))
            .optional()
            .map(Option::flatten)
    }

    fn damage_placeholder(&self, number: i64) -> rusqlite::Result<Entry> {
        let sql = "SELECT id FROM trace WHERE no = ?";
        let mut trace = self.db.prepare_cached(sql)?;
        let trace = trace.query_row([trace_of(number)], |row| row.get::<_, Column<TraceId>>(0));
        let trace = trace.optional()?.map_or_else(|| "?".to_owned(), |id| id.0.to_string());
        tracing::error!(trace.id = trace, payload.no = number, "a payload block is damaged");
        let notice = format!(
            "[damaged: what was recorded here cannot be read, because payload block {number} of \
             trace {trace} does not match its checksum; restore a backup with `ratchet restore` \
             or delete the trace; `ratchet doctor --deep` lists all damage]"
        );
        let words = Payload::Text(notice.as_str().into());
        let key = (DAMAGED_KEY.to_owned(), Json::from_value(&notice.into()));
        Ok(Entry {
            input: Some(words.clone()),
            output: Some(words),
            metadata: EntryMetadata::Plain(vec![key]),
        })
    }
}
