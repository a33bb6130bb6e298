use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::experiment::item_filter::ItemFilter;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use serde_json::Value as JsonValue;

use super::Catalog;
use super::sql::Row;
use crate::StoreResult;
use crate::project::ProjectId;

/// An item of a dataset without its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetItemHead {
    pub id: String,
    /// Start of its current version.
    pub valid_from: Timestamp,
}

/// The beginning of an item's texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetItemPreview {
    pub id: String,
    /// JSON, which may end anywhere.
    pub input: Option<String>,
    /// JSON, which may end anywhere.
    pub expected_output: Option<String>,
}

impl Catalog {
    /// Returns current items of a dataset without their texts, oldest first: those that pass the
    /// filter, and no more than the limit.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_item_heads(
        &self,
        project: ProjectId,
        dataset: String,
        (filter, limit): (Option<ItemFilter>, u64),
    ) -> StoreResult<Vec<DatasetItemHead>> {
        // Metadata is as long as clients make it: it is looked at row by row, and not kept.
        let metadata = if filter.is_some() { "metadata" } else { "NULL" };
        let sql_limit = if filter.is_some() { i64::MAX.unsigned_abs() } else { limit };
        let sql = format!(
            "SELECT id, valid_from, {metadata} FROM dataset_item WHERE project = $1 \
             AND dataset = $2 AND status = $3 AND valid_to IS NULL ORDER BY created_at, id LIMIT $4"
        );
        self.transact(move |tx| {
            let status = DatasetStatus::Active.into();
            let values = [(&project).into(), (&dataset).into(), status, sql_limit.into()];
            let found = tx.rows(&sql, &values, |row| head(row, filter.as_ref()))?;
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            Ok(found.into_iter().flatten().take(limit).collect())
        })
        .await
    }

    /// Returns the newest current items of a dataset, with at most so many characters of each text.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_item_previews(
        &self,
        project: ProjectId,
        dataset: String,
        (limit, characters): (u64, u64),
    ) -> StoreResult<Vec<DatasetItemPreview>> {
        let sql = "SELECT id, SUBSTR(input, 1, $5), SUBSTR(expected_output, 1, $5) \
                   FROM dataset_item WHERE project = $1 AND dataset = $2 AND status = $3 \
                   AND valid_to IS NULL ORDER BY created_at DESC, id LIMIT $4";
        self.transact(move |tx| {
            let status = DatasetStatus::Active.into();
            let (limit, characters) = (limit.into(), characters.into());
            let values = [(&project).into(), (&dataset).into(), status, limit, characters];
            tx.rows(sql, &values, |row| {
                let (input, expected_output) = (row.get(1)?, row.get(2)?);
                Ok(DatasetItemPreview { id: row.get(0)?, input, expected_output })
            })
        })
        .await
    }
}

fn head(row: &Row<'_>, filter: Option<&ItemFilter>) -> StoreResult<Option<DatasetItemHead>> {
    let (id, valid_from): (String, Timestamp) = (row.get(0)?, row.get(1)?);
    let metadata: Option<Json> = row.get(2)?;
    let metadata: Option<JsonValue> =
        metadata.and_then(|json| serde_json::from_str(json.as_str()).ok());
    let metadata = metadata.unwrap_or_default();
    let is_in = filter.is_none_or(|filter| filter.includes(&id, Some(&metadata)));
    Ok(is_in.then_some(DatasetItemHead { id, valid_from }))
}
