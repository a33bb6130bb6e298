use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::time::Timestamp;

use super::{
    ITEM_COLUMNS, NewQueueItem, QueueId, QueueItem, add, find_queue, read_item, set_status,
};
use crate::StoreResult;
use crate::catalog::Catalog;
use crate::catalog::sql::Tx;
use crate::project::ProjectId;

impl Catalog {
    /// Returns the queues that an object is in, by id.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn queues_of_object(
        &self,
        project: ProjectId,
        (kind, object): (ItemKind, String),
    ) -> StoreResult<Vec<String>> {
        let sql = "SELECT DISTINCT queue FROM annotation_item WHERE project = $1 \
                   AND object_kind = $2 AND object = $3 ORDER BY queue";
        self.transact(move |tx| {
            let key = [(&project).into(), kind.as_str().into(), (&object).into()];
            tx.rows(sql, &key, |row| row.get(0))
        })
        .await
    }

    /// Returns the queues that a trace or an observation with a media file is in, by id.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn queues_of_media(
        &self,
        project: ProjectId,
        media: String,
    ) -> StoreResult<Vec<String>> {
        let queued = |kind: &str, object: &str| {
            format!(
                "SELECT i.queue FROM media_use u JOIN annotation_item i ON i.project = u.project \
                 AND i.object_kind = {kind} AND i.object = u.{object} \
                 WHERE u.project = $1 AND u.media = $2 AND u.owner = 'trace'"
            )
        };
        let sql = format!("{} UNION {} ORDER BY 1", queued("$3", "whole"), queued("$4", "part"));
        let [trace, observation] = [ItemKind::Trace, ItemKind::Observation].map(ItemKind::as_str);
        self.transact(move |tx| {
            let key = [(&project).into(), (&media).into(), trace.into(), observation.into()];
            tx.rows(&sql, &key, |row| row.get(0))
        })
        .await
    }

    /// Returns the items of a queue about an object, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn queue_items_of(
        &self,
        of: QueueId,
        (kind, object): (ItemKind, String),
    ) -> StoreResult<Vec<QueueItem>> {
        self.transact(move |tx| about(tx, &of, (kind, &object))).await
    }

    /// Adds items to a queue, except for objects that it has or had an item of. All or none.
    ///
    /// # Errors
    /// Fails if the project has no such queue.
    pub async fn ensure_queue_items(
        &self,
        to: QueueId,
        new: Vec<NewQueueItem>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            find_queue(tx, &to)?;
            for new in new {
                if about(tx, &to, (new.kind, &new.object))?.is_empty() {
                    add(tx, &to, new, now)?;
                }
            }
            Ok(())
        })
        .await
    }

    /// Completes the pending items of a queue about some objects.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn complete_queue_items(
        &self,
        of: QueueId,
        (kind, objects): (ItemKind, Vec<String>),
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            for object in &objects {
                let items = about(tx, &of, (kind, object))?;
                for item in items.iter().filter(|item| item.status == ItemStatus::Pending) {
                    set_status(tx, &of, item, ItemStatus::Completed, now)?;
                }
            }
            Ok(())
        })
        .await
    }
}

fn about(
    tx: &Tx<'_>,
    of: &QueueId,
    (kind, object): (ItemKind, &str),
) -> StoreResult<Vec<QueueItem>> {
    let sql = format!(
        "SELECT {ITEM_COLUMNS} FROM annotation_item WHERE project = $1 AND queue = $2 \
         AND object_kind = $3 AND object = $4 ORDER BY created_at, id"
    );
    let key = [(&of.project).into(), (&of.queue).into(), kind.as_str().into(), object.into()];
    tx.rows(&sql, &key, read_item)
}
