use ratchet_core::catalog::review::ReviewSettings;
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::catalog::queue::{QueueId, find_queue};
use crate::catalog::sql::{Row, Tx};
use crate::catalog::{AuditAction, AuditObject, Catalog, redaction};

impl Catalog {
    /// Returns how the items of a queue are reviewed.
    ///
    /// # Errors
    /// Fails if the project has no such queue.
    pub async fn review_settings(&self, of: QueueId) -> StoreResult<ReviewSettings> {
        self.transact(move |tx| {
            find_queue(tx, &of)?;
            read(tx, &of)
        })
        .await
    }

    /// Sets how the items of a queue are reviewed.
    ///
    /// # Errors
    /// Fails if the project has no such queue, or if a redaction rule matches the instructions.
    pub async fn set_review_settings(
        &self,
        of: QueueId,
        new: ReviewSettings,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let queue = find_queue(tx, &of)?;
            let text = redaction::said(&new.instructions);
            redaction::must_pass(tx, &of.project, &[("instructions", &text)])?;
            write(tx, &of, &new)?;
            let blind = if new.is_blind { "blind" } else { "not blind" };
            let became = format!(
                "{} reviews per item, {blind}; sessions by {} into {}",
                new.reviews, new.rubric, new.dataset
            );
            let audited = AuditAction::Changed.on(AuditObject::Queue, &queue.id);
            tx.audit(&of.project, now, &audited.named(&queue.name).became(became))
        })
        .await
    }
}

fn write(tx: &Tx<'_>, of: &QueueId, new: &ReviewSettings) -> StoreResult<()> {
    tx.execute(
        "INSERT INTO review_settings (project, queue, instructions, reviews, is_blind, rubric, \
         dataset) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (project, queue) DO UPDATE \
         SET instructions = $3, reviews = $4, is_blind = $5, rubric = $6, dataset = $7",
        &[
            (&of.project).into(),
            (&of.queue).into(),
            (&new.instructions).into(),
            new.reviews.into(),
            new.is_blind.into(),
            (&new.rubric).into(),
            (&new.dataset).into(),
        ],
    )
    .map(drop)
}

/// The settings of a queue, or the default ones.
pub(super) fn read(tx: &Tx<'_>, of: &QueueId) -> StoreResult<ReviewSettings> {
    let sql = "SELECT instructions, reviews, is_blind, rubric, dataset FROM review_settings \
               WHERE project = $1 AND queue = $2";
    let read = |row: &Row<'_>| {
        Ok(ReviewSettings {
            instructions: row.get(0)?,
            reviews: row.get(1)?,
            is_blind: row.get(2)?,
            rubric: row.get(3)?,
            dataset: row.get(4)?,
        })
    };
    let found = tx.one(sql, &[(&of.project).into(), (&of.queue).into()], read)?;
    Ok(found.unwrap_or_default())
}
