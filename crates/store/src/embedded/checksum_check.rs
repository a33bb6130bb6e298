//! Reads everything in a data folder and reports damage: `ratchet doctor --deep`.

use std::path::Path;

use ratchet_core::id::TraceId;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use super::backup::unknown_projects;
use super::block::{Block, has_checksum};
use super::chat_row::unpacked;
use super::column::Column;
use super::connection::{self, Purpose};
use super::integrity_check::{Finding, Health};
use super::{CATALOG_FILE, MEDIA_FOLDER, TELEMETRY_FILE, payload};
use crate::disk_reserve::DiskReserve;
use crate::media::{MediaFiles, hash_named, hash_of};
use crate::{StoreError, StoreResult};

/// Maximum number of damaged records listed by name.
const MAX_LISTED: usize = 10;
/// Folder with the agents' transcripts.
const CHATS_FOLDER: &str = "chats";

/// Reads all payloads, events, media and transcripts of a data folder, which may be in use, and
/// verifies checksums.
///
/// # Errors
/// Fails if there is no such folder, or its databases cannot be opened.
pub fn check_checksums(folder: &Path) -> StoreResult<Vec<Finding>> {
    let open = |name: &str| connection::open(&folder.join(name), Purpose::Read);
    let (telemetry, catalog) = (open(TELEMETRY_FILE)?, open(CATALOG_FILE)?);
    let read = |db: &Connection| -> rusqlite::Result<Vec<Finding>> {
        Ok(vec![pages(db, TELEMETRY_FILE)?, payloads(db)?, events(db)?])
    };
    let mut findings = read(&telemetry).map_err(StoreError::database)?;
    findings.push(media(folder)?);
    let read = |db: &Connection| -> rusqlite::Result<Vec<Finding>> {
        let unknown_projects = unknown_projects(&telemetry, db)?;
        Ok(vec![
            pages(db, CATALOG_FILE)?,
            project_rows(&unknown_projects),
            transcripts(db, folder)?,
        ])
    };
    findings.extend(read(&catalog).map_err(StoreError::database)?);
    Ok(findings)
}

/// Number of records checked and damaged.
#[derive(Default)]
struct Tally {
    seen: u64,
    unchecked: u64,
    damaged: u64,
    names: Vec<String>,
}

impl Tally {
    fn damage(&mut self, name: impl FnOnce() -> String) {
        self.damaged += 1;
        if self.names.len() < MAX_LISTED {
            self.names.push(name());
        }
    }

    fn finding(self, about: &str, what: &str, (state, advice): (&str, &str)) -> Finding {
        let Self { seen, unchecked, damaged, names } = self;
        if damaged > 0 {
            let more = if damaged > names.len() as u64 { ", …" } else { "" };
            let names = names.join(", ");
            let detail = format!("{damaged} of {seen} {what} are {state}: {names}{more}; {advice}");
            return Finding::new(about, Health::Ill, detail);
        }
        let unchecked = match unchecked {
            0 => String::new(),
            some => format!("; {some} of them are older than checksums"),
        };
        Finding::new(about, Health::Well, format!("{seen} {what} can be read{unchecked}"))
    }
}

const RESTORE: &str = "restore a backup with `ratchet restore`";

fn pages(db: &Connection, name: &str) -> rusqlite::Result<Finding> {
    let about = format!("{name} pages");
    let result: String = db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    Ok(match result.as_str() {
        "ok" => Finding::new(about, Health::Well, "every page and index is in order"),
        damage => Finding::new(about, Health::Ill, format!("{damage}; {RESTORE}")),
    })
}

fn payloads(db: &Connection) -> rusqlite::Result<Finding> {
    let mut tally = Tally::default();
    let mut statement = db.prepare("SELECT no, bytes FROM payload")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (no, bytes): (i64, _) = (row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default());
        tally.seen += 1;
        tally.unchecked += u64::from(!Block::is_checked(bytes));
        if Block::read(bytes).is_none_or(|block| !block.is_whole()) {
            tally.damage(|| trace_name(db, no));
        }
    }
    // Observations whose block is missing.
    let sql = "SELECT payload FROM observation o WHERE payload IS NOT NULL \
               AND NOT EXISTS (SELECT 1 FROM payload p WHERE p.no = o.payload)";
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let no = row.get(0)?;
        tally.damage(|| trace_name(db, no));
    }
    let advice = "restore a backup with `ratchet restore`, or delete the traces";
    Ok(tally.finding("payloads", "payload blocks", ("damaged", advice)))
}

/// The trace of a block, as text.
fn trace_name(db: &Connection, block: i64) -> String {
    let sql = "SELECT p.id, t.id FROM trace t JOIN project p ON p.no = t.project WHERE t.no = ?";
    let found = db.query_row(sql, [payload::trace_of(block)], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Column<TraceId>>(1)?.0))
    });
    match found.optional() {
        Ok(Some((project, trace))) => format!("trace {trace} of project {project}"),
        Ok(None) | Err(_) => format!("block {block} of no trace"),
    }
}

fn events(db: &Connection) -> rusqlite::Result<Finding> {
    let mut tally = Tally::default();
    let sql = "SELECT e.no, e.body, c.id FROM chat_event e JOIN chat c ON c.no = e.no >> 32";
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        tally.seen += 1;
        let is_whole = match row.get_ref(1)? {
            ValueRef::Blob(bytes) => {
                tally.unchecked += u64::from(!has_checksum(bytes));
                unpacked(bytes).is_some()
            }
            // Short ones are stored as plain text, on pages that SQLite has checked.
            text => text.as_str().is_ok(),
        };
        if !is_whole {
            let chat: Column<ratchet_core::id::SessionId> = row.get(2)?;
            tally.damage(|| format!("session {}", chat.0));
        }
    }
    Ok(tally.finding("chat events", "events", ("damaged", RESTORE)))
}

fn media(folder: &Path) -> StoreResult<Finding> {
    let mut tally = Tally::default();
    for file in MediaFiles::new(folder.join(MEDIA_FOLDER), DiskReserve::Bytes(0)).list()? {
        tally.seen += 1;
        let name = hash_named(&file);
        // A file that a sweep has just removed is not damaged.
        let is_whole = hash_of(&file).map_or(!file.exists(), |hash| name.as_ref() == Some(&hash));
        if !is_whole {
            tally.damage(|| name.unwrap_or_default());
        }
    }
    Ok(tally.finding("media", "media files", ("damaged", RESTORE)))
}

fn project_rows(unknown_projects: &[String]) -> Finding {
    let about = "projects";
    match unknown_projects {
        [] => Finding::new(about, Health::Well, "the catalog knows all that have records"),
        some => {
            let names = some.join(", ");
            let detail =
                format!("{CATALOG_FILE} does not know {names}, which have records; {RESTORE}");
            Finding::new(about, Health::Ill, detail)
        }
    }
}

/// Checks that chat agents can resume from their transcripts.
fn transcripts(db: &Connection, folder: &Path) -> rusqlite::Result<Finding> {
    let mut tally = Tally::default();
    let mut statement = db.prepare("SELECT id, family FROM chat WHERE turns > 0")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, family): (String, String) = (row.get(0)?, row.get(1)?);
        tally.seen += 1;
        let projects = folder.join(CHATS_FOLDER).join(family).join("projects");
        let name = format!("{id}.jsonl");
        let places = std::fs::read_dir(projects).into_iter().flatten().flatten();
        let is_there = places.map(|place| place.path().join(&name)).any(|file| file.is_file());
        if !is_there {
            tally.damage(|| format!("session {id}"));
        }
    }
    let advice = "their agents remember nothing; restore a backup with `ratchet restore`";
    Ok(tally.finding("transcripts", "transcripts of chats", ("gone", advice)))
}
