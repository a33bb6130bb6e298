use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::time::Timestamp;

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

/// A version of an item without its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemVersion {
    /// Id of the dataset.
    pub dataset: String,
    pub status: DatasetStatus,
    pub valid_from: Timestamp,
    /// `None` while it is current.
    pub valid_to: Option<Timestamp>,
    /// `None` for versions older than author tracking.
    pub author: Option<Actor>,
    /// Whether input, expected output and metadata differ from the version before it; `None` for
    /// the first one.
    pub changed: Option<[bool; 3]>,
}

/// Whether a column of version `i` differs from that of the version `p` before it.
fn differs(column: &str) -> String {
    format!(
        "CASE WHEN i.{column} = p.{column} OR (i.{column} IS NULL AND p.{column} IS NULL) \
         THEN 0 ELSE 1 END"
    )
}

impl Catalog {
    /// Returns the versions of an item without their texts, newest first, including deleted ones.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_item_history(
        &self,
        project: ProjectId,
        id: String,
        at_most: u64,
    ) -> StoreResult<Vec<ItemVersion>> {
        let [input, expected, metadata] = ["input", "expected_output", "metadata"].map(differs);
        let sql = format!(
            "SELECT i.dataset, i.status, i.valid_from, i.valid_to, i.author_kind, i.author, \
             i.author_name, p.valid_from, {input}, {expected}, {metadata} FROM dataset_item i \
             LEFT JOIN dataset_item p ON p.project = i.project AND p.id = i.id \
             AND p.valid_from = (SELECT MAX(b.valid_from) FROM dataset_item b \
             WHERE b.project = i.project AND b.id = i.id AND b.valid_from < i.valid_from) \
             WHERE i.project = $1 AND i.id = $2 ORDER BY i.valid_from DESC LIMIT $3"
        );
        self.transact(move |tx| {
            tx.rows(&sql, &[(&project).into(), (&id).into(), at_most.into()], |row| {
                let kind: Option<String> = row.get(4)?;
                let [author, name] = [row.get::<Option<String>>(5)?, row.get(6)?];
                let [author, name] = [author, name].map(Option::unwrap_or_default);
                let before: Option<Timestamp> = row.get(7)?;
                let [input, expected, metadata]: [i64; 3] =
                    [row.get(8)?, row.get(9)?, row.get(10)?];
                Ok(ItemVersion {
                    dataset: row.get(0)?,
                    status: row.get(1)?,
                    valid_from: row.get(2)?,
                    valid_to: row.get(3)?,
                    author: kind.map(|kind| Actor::read(&kind, author, name)),
                    changed: before
                        .map(|_| [input, expected, metadata].map(|differs| differs != 0)),
                })
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
