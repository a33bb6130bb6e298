use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::catalog::Catalog;
use crate::catalog::sql::{Row, Tx};
use crate::project::ProjectId;

/// A batch of requests that the provider answers later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoringBatch {
    pub id: String,
    pub judge: String,
    /// The provider's batch id; unknown if the process died before the response.
    pub remote: Option<String>,
    pub submitted_at: Timestamp,
    /// Hashes of its prompts.
    pub prompts: Vec<String>,
}

impl Catalog {
    /// Upserts a batch: before submission, and again with the provider's id.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn save_scoring_batch(
        &self,
        project: ProjectId,
        batch: ScoringBatch,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            tx.execute(
                "INSERT INTO scoring_batch \
                 (project, id, judge, remote, submitted_at, is_collected) \
                 VALUES ($1, $2, $3, $4, $5, 0) \
                 ON CONFLICT (project, id) DO UPDATE SET remote = excluded.remote, \
                 submitted_at = excluded.submitted_at, is_collected = 0",
                &[
                    (&project).into(),
                    (&batch.id).into(),
                    (&batch.judge).into(),
                    batch.remote.as_deref().into(),
                    batch.submitted_at.into(),
                ],
            )?;
            for prompt in &batch.prompts {
                tx.execute(
                    "INSERT INTO scoring_batch_item (project, batch, prompt) VALUES ($1, $2, $3) \
                     ON CONFLICT (project, batch, prompt) DO NOTHING",
                    &[(&project).into(), (&batch.id).into(), prompt.into()],
                )?;
            }
            Ok(())
        })
        .await
    }

    /// Returns a judge's batches with uncollected answers, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn open_scoring_batches(
        &self,
        project: ProjectId,
        judge: String,
    ) -> StoreResult<Vec<ScoringBatch>> {
        self.transact(move |tx| {
            let sql = "SELECT id, judge, remote, submitted_at FROM scoring_batch \
                       WHERE project = $1 AND judge = $2 AND is_collected = 0 \
                       ORDER BY submitted_at, id";
            let mut batches = tx.rows(sql, &[(&project).into(), (&judge).into()], read)?;
            for batch in &mut batches {
                batch.prompts = prompts(tx, &project, &batch.id)?;
            }
            Ok(batches)
        })
        .await
    }

    /// Records that the answers to some prompts of a batch were collected. When no prompt is left,
    /// the batch is closed.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn collect_scoring_batch(
        &self,
        project: ProjectId,
        id: String,
        answered: Vec<String>,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            for prompt in &answered {
                tx.execute(
                    "DELETE FROM scoring_batch_item \
                     WHERE project = $1 AND batch = $2 AND prompt = $3",
                    &[(&project).into(), (&id).into(), prompt.into()],
                )?;
            }
            let sql = "UPDATE scoring_batch SET is_collected = 1 WHERE project = $1 AND id = $2 \
                       AND NOT EXISTS (SELECT 1 FROM scoring_batch_item \
                       WHERE project = $1 AND batch = $2)";
            tx.execute(sql, &[(&project).into(), (&id).into()]).map(drop)
        })
        .await
    }

    /// Records that a batch will have no more answers.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn close_scoring_batch(&self, project: ProjectId, id: String) -> StoreResult<()> {
        let sql = "UPDATE scoring_batch SET is_collected = 1 WHERE project = $1 AND id = $2";
        self.transact(move |tx| tx.execute(sql, &[(&project).into(), (&id).into()]).map(drop)).await
    }
}

fn prompts(tx: &Tx<'_>, project: &ProjectId, batch: &str) -> StoreResult<Vec<String>> {
    let sql =
        "SELECT prompt FROM scoring_batch_item WHERE project = $1 AND batch = $2 ORDER BY prompt";
    tx.rows(sql, &[project.into(), batch.into()], |row| row.get(0))
}

fn read(row: &Row<'_>) -> StoreResult<ScoringBatch> {
    Ok(ScoringBatch {
        id: row.get(0)?,
        judge: row.get(1)?,
        remote: row.get(2)?,
        submitted_at: row.get(3)?,
        prompts: Vec::new(),
    })
}
