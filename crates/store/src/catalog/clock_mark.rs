use ratchet_core::time::Timestamp;

use super::Catalog;
use crate::StoreResult;

/// What a server remembers of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockMark {
    /// When it last found the clock in order.
    pub seen_at: Timestamp,
    /// Since when nothing is deleted by it, because it may be wrong.
    pub held_since: Option<Timestamp>,
}

impl Catalog {
    /// Returns what is remembered of the clock; `None` on a server that never looked.
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

    /// Remembers how the clock was found.
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
