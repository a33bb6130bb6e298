//! Chat events that may cause notifications, until they are processed.

use rusqlite::Connection;

use super::column::Column;
use super::writer::Writer;
use super::{TelemetryDb, chat_row};
use crate::chat::PendingNotification;
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Adds an event, in the commit that writes it.
pub(super) fn add(db: &Connection, no: i64) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT INTO chat_notice (no) VALUES (?)")?.execute([no]).map(drop)
}

/// Removes deleted events.
pub(super) fn forget(db: &Connection, first: i64, last: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM chat_notice WHERE no BETWEEN ? AND ?";
    db.prepare_cached(sql)?.execute([first, last]).map(drop)
}

impl TelemetryDb {
    /// See `Telemetry::pending_notifications`.
    pub(crate) async fn pending_notifications(
        &self,
        limit: u32,
    ) -> StoreResult<Vec<PendingNotification>> {
        let query = move |db: &Connection| -> rusqlite::Result<Vec<PendingNotification>> {
            let sql = "SELECT e.no, e.at, e.kind, e.body, c.id, p.id FROM chat_notice n \
                       JOIN chat_event e ON e.no = n.no JOIN chat c ON c.no = n.no >> 32 \
                       JOIN project p ON p.no = c.project ORDER BY n.no LIMIT ?";
            let mut statement = db.prepare_cached(sql)?;
            let rows = statement.query_map([limit], |row| {
                let chat = row.get::<_, Column<_>>(4)?;
                // A deleted project has an id that does not parse, and no receivers.
                let project = ProjectId::parse(row.get_ref(5)?.as_str()?).ok();
                let (number, event) = (row.get(0)?, chat_row::read(row)?);
                Ok(PendingNotification { number, project, chat: chat.0, event })
            })?;
            rows.collect()
        };
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    /// See `Telemetry::mark_notified`.
    pub(crate) async fn mark_notified(&self, numbers: Vec<i64>) -> StoreResult<()> {
        let settle = move |writer: &mut Writer| {
            writer
                .transact(|applier| numbers.iter().try_for_each(|no| forget(applier.db, *no, *no)))
        };
        self.shared.writer.run(settle).await
    }
}
