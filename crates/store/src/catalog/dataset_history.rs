use ratchet_core::time::Timestamp;

use super::dataset_item::{COLUMNS, FROM, ItemVersion, read};
use super::{Actor, Catalog};
use crate::StoreResult;
use crate::project::ProjectId;

/// A point in time at which a dataset changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatasetMoment {
    pub at: Timestamp,
    /// Items created or changed then.
    pub written: u64,
    /// Items deleted then.
    pub ended: u64,
}

impl Catalog {
    /// Returns the versions of an item, newest first, including deleted ones.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_item_versions(
        &self,
        project: ProjectId,
        id: String,
        at_most: u64,
    ) -> StoreResult<Vec<ItemVersion>> {
        let sql = format!(
            "SELECT {COLUMNS}, i.valid_to, i.author_kind, i.author, i.author_name {FROM} WHERE i.project = $1 AND i.id = $2 \
             ORDER BY i.valid_from DESC LIMIT $3"
        );
        self.transact(move |tx| {
            tx.rows(&sql, &[(&project).into(), (&id).into(), at_most.into()], |row| {
                let kind: Option<String> = row.get(12)?;
                let [id, name] = [row.get::<Option<String>>(13)?, row.get(14)?];
                let [id, name] = [id, name].map(Option::unwrap_or_default);
                let author = kind.map(|kind| Actor::read(&kind, id, name));
                Ok(ItemVersion { item: read(row)?, valid_to: row.get(11)?, author })
            })
        })
        .await
    }

    /// Returns the starts of an item's versions, newest first, including deleted ones.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_item_starts(
        &self,
        project: ProjectId,
        id: String,
        at_most: u64,
    ) -> StoreResult<Vec<Timestamp>> {
        let sql = "SELECT valid_from FROM dataset_item WHERE project = $1 AND id = $2 \
                   ORDER BY valid_from DESC LIMIT $3";
        let values = [(&project).into(), (&id).into(), at_most.into()];
        self.transact(move |tx| tx.rows(sql, &values, |row| row.get(0))).await
    }

    /// Returns the moments at which items of a dataset were created, changed or deleted, newest
    /// first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_moments(
        &self,
        project: ProjectId,
        dataset: String,
        at_most: u64,
    ) -> StoreResult<Vec<DatasetMoment>> {
        // A version that ends when another begins was changed; one that just ends was deleted.
        let sql = "SELECT at, SUM(written), SUM(ended) FROM (\
                   SELECT valid_from AS at, 1 AS written, 0 AS ended FROM dataset_item \
                   WHERE project = $1 AND dataset = $2 \
                   UNION ALL \
                   SELECT i.valid_to AS at, 0 AS written, 1 AS ended FROM dataset_item i \
                   WHERE i.project = $1 AND i.dataset = $2 AND i.valid_to IS NOT NULL \
                   AND NOT EXISTS (SELECT 1 FROM dataset_item n WHERE n.project = i.project \
                   AND n.id = i.id AND n.valid_from = i.valid_to)) AS moments \
                   GROUP BY at ORDER BY at DESC LIMIT $3";
        self.transact(move |tx| {
            tx.rows(sql, &[(&project).into(), (&dataset).into(), at_most.into()], |row| {
                Ok(DatasetMoment { at: row.get(0)?, written: row.get(1)?, ended: row.get(2)? })
            })
        })
        .await
    }
}
