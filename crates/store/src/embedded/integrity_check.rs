//! Checks a data folder without taking its lock, for `ratchet doctor`.

use std::path::Path;

use ratchet_core::time::Timestamp;
use rusqlite::Connection;

use super::column::{Column, to_u64};
use super::compact::bytes_on_disk;
use super::connection::{self, Purpose};
use super::{CATALOG_FILE, CATALOG_MIGRATIONS, TELEMETRY_FILE, TELEMETRY_MIGRATIONS};
use crate::{StoreError, StoreResult};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    Well,
    Doubtful,
    Ill,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub about: String,
    pub health: Health,
    /// Text for people, with what to do.
    pub detail: String,
}

impl Finding {
    pub(super) fn new(about: impl Into<String>, health: Health, detail: impl Into<String>) -> Self {
        Self { about: about.into(), health, detail: detail.into() }
    }
}

/// Checks a data folder, which may be in use.
///
/// # Errors
/// Fails only if there is no such folder.
pub fn check_integrity(folder: &Path) -> StoreResult<Vec<Finding>> {
    if !folder.is_dir() {
        return Err(StoreError::NotFound(folder.display().to_string()));
    }
    let databases =
        [(TELEMETRY_FILE, TELEMETRY_MIGRATIONS.len()), (CATALOG_FILE, CATALOG_MIGRATIONS.len())];
    let mut findings = Vec::new();
    for (name, known) in databases {
        let file = folder.join(name);
        if !file.is_file() {
            let detail = "not there yet; `ratchet serve` makes it";
            findings.push(Finding::new(name, Health::Doubtful, detail));
            continue;
        }
        match connection::open(&file, Purpose::Read) {
            Ok(db) => {
                findings.extend(examine_database(&db, &file, name, known));
                findings.extend(paused(&db));
            }
            Err(error) => findings.push(Finding::new(name, Health::Ill, error.to_string())),
        }
    }
    Ok(findings)
}

fn examine_database(db: &Connection, file: &Path, name: &str, known: usize) -> [Finding; 3] {
    let size = bytes_on_disk(file);
    let pages = |pragma: &str| {
        let sql = format!("PRAGMA {pragma}");
        db.query_row(&sql, [], |row| row.get::<_, i64>(0)).map_or(0, to_u64)
    };
    let free = pages("freelist_count") * pages("page_size");
    let room = format!("{size} bytes, of which {free} are free; `ratchet compact` gives them back");
    [
        integrity(db, name),
        version(db, name, known),
        Finding::new(format!("{name} size"), Health::Well, room),
    ]
}

/// Reports that retention is paused because the clock may be wrong.
fn paused(db: &Connection) -> Option<Finding> {
    // Only the catalog has this table, since a later version.
    let sql = "SELECT seen_at, held_since FROM clock_mark WHERE held_since IS NOT NULL";
    let mark = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (known, since): (Column<Timestamp>, Column<Timestamp>) = mark.ok()?;
    let detail = format!(
        "paused since {}: the clock was far beyond {}, when the server last ran or recorded; set \
         the clock, or run `ratchet projects confirm-clock` if it is right",
        since.0, known.0
    );
    Some(Finding::new("retention", Health::Doubtful, detail))
}

fn integrity(db: &Connection, name: &str) -> Finding {
    let about = format!("{name} integrity");
    let checked: rusqlite::Result<String> =
        db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    match checked {
        Ok(answer) if answer == "ok" => Finding::new(about, Health::Well, "no damage found"),
        Ok(damage) => Finding::new(about, Health::Ill, restore_advice(&damage)),
        Err(error) => Finding::new(about, Health::Ill, restore_advice(&error.to_string())),
    }
}

fn restore_advice(damage: &str) -> String {
    format!("{damage}; restore a backup with `ratchet restore`")
}

fn version(db: &Connection, name: &str, known: usize) -> Finding {
    let about = format!("{name} version");
    match connection::version(db) {
        Ok(found) if found as usize == known => {
            Finding::new(about, Health::Well, format!("schema {found}, up to date"))
        }
        Ok(found) if found as usize > known => {
            let detail = format!("schema {found} is newer than the {known} known; upgrade ratchet");
            Finding::new(about, Health::Ill, detail)
        }
        Ok(found) => {
            let detail = format!("schema {found}; the next `ratchet serve` brings it to {known}");
            Finding::new(about, Health::Doubtful, detail)
        }
        Err(error) => Finding::new(about, Health::Ill, error.to_string()),
    }
}
