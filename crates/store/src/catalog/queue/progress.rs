use std::collections::BTreeMap;

use ratchet_core::catalog::annotation::ItemStatus;

use crate::StoreResult;
use crate::catalog::Catalog;
use crate::project::ProjectId;

/// Progress of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueProgress {
    /// Pending items.
    pub waiting: u64,
    /// Completed items.
    pub done: u64,
}

impl Catalog {
    /// Returns the progress of each queue of a project, by id. Queues without items are absent.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn queue_progress(
        &self,
        project: ProjectId,
    ) -> StoreResult<BTreeMap<String, QueueProgress>> {
        let sql = "SELECT queue, status, count(*) FROM annotation_item WHERE project = $1 \
                   GROUP BY queue, status";
        self.transact(move |tx| {
            let read = |row: &super::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let rows: Vec<(String, ItemStatus, u64)> = tx.rows(sql, &[(&project).into()], read)?;
            let mut queues: BTreeMap<String, QueueProgress> = BTreeMap::new();
            for (queue, status, count) in rows {
                let progress = queues.entry(queue).or_default();
                match status {
                    ItemStatus::Pending => progress.waiting += count,
                    ItemStatus::Completed => progress.done += count,
                }
            }
            Ok(queues)
        })
        .await
    }
}
