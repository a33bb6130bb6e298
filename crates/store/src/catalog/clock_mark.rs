use ratchet_core::time::Timestamp;

use super::Catalog;
use crate::StoreResult;

/// The last trusted clock reading of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockMark {
    /// When the clock was last plausible.
    pub seen_at: Timestamp,
    /// Since when scheduled deletion is suspended because the clock may be wrong.
    pub held_since: Option<Timestamp>,
}

impl Catalog {
    /// Returns the stored clock reading; `None` if the server never checked its clock.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn clock_mark(&self) -> StoreResult<Option<ClockMark>> {
        self.transact(|tx| {
            tx.one("SELECT seen_at, held_since FROM clock_mark WHERE id = 1", &[], |row| {
                Ok(ClockMark { seen_at: row.get(0)?, held_since: row.get(1)? })
            })
        })
        .await
    }

    /// Stores a clock reading.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn set_clock_mark(&self, mark: ClockMark) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = "INSERT INTO clock_mark (id, seen_at, held_since) VALUES (1, $1, $2) \
                       ON CONFLICT (id) DO UPDATE SET seen_at = $1, held_since = $2";
            tx.execute(sql, &[mark.seen_at.into(), mark.held_since.into()]).map(drop)
        })
        .await
    }
}
