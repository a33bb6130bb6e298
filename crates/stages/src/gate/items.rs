use std::collections::BTreeMap;

use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::gate::outcomes::ItemOutcomes;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{Dataset, DatasetItem, DatasetItemQuery};
use ratchet_store::query::PageNumber;

use super::{GateContext, GateError};

/// Versions of an item that are read.
const MAX_VERSIONS: u64 = 200;

/// Items of a dataset and their versions, each read once.
#[derive(Debug)]
pub struct DatasetItems<'a> {
    context: GateContext<'a>,
    /// Starts of versions, newest first.
    known: BTreeMap<String, Vec<Timestamp>>,
}

impl<'a> DatasetItems<'a> {
    /// None is read yet.
    pub const fn new(context: GateContext<'a>) -> Self {
        Self { context, known: BTreeMap::new() }
    }

    /// Returns the start of the version of an item that was current at a time. Clients name the
    /// version of a dataset by any time in which it was current.
    pub(super) async fn version(
        &mut self,
        item: &str,
        at: Timestamp,
    ) -> StoreResult<Option<Timestamp>> {
        if !self.known.contains_key(item) {
            let project = self.context.project.clone();
            let catalog = &self.context.store.catalog;
            let versions =
                catalog.dataset_item_starts(project, item.to_owned(), MAX_VERSIONS).await?;
            self.known.insert(item.to_owned(), versions);
        }
        let known = self.known.get(item);
        Ok(known.and_then(|versions| versions.iter().find(|start| **start <= at).copied()))
    }

    /// Returns the start of an item's current version.
    pub(super) fn current(&self, item: &str) -> Option<Timestamp> {
        self.known.get(item)?.first().copied()
    }

    /// Returns the pinned items among those that were read.
    pub(super) async fn critical(&self) -> Result<Vec<String>, GateError> {
        let mut pinned = Vec::new();
        for item in self.known.keys() {
            let (catalog, project) = (&self.context.store.catalog, self.context.project.clone());
            let current = catalog.dataset_item(project, item.clone(), None).await?;
            if current.as_ref().is_some_and(is_critical) {
                pinned.push(item.clone());
            }
        }
        Ok(pinned)
    }

    /// Returns the number of active items of a dataset.
    pub(super) async fn count(&mut self, dataset: &Dataset) -> Result<usize, GateError> {
        let query = DatasetItemQuery {
            project: self.context.project.clone(),
            dataset_name: Some(dataset.name.clone()),
            source_trace: None,
            source_observation: None,
            status: DatasetStatus::Active,
            as_of: None,
            page: PageNumber { page: 1, limit: 1 },
        };
        let page = self.context.store.catalog.dataset_items(query).await?;
        Ok(usize::try_from(page.total.unwrap_or(0)).unwrap_or(usize::MAX))
    }

    /// Returns about how many active items a run does not have.
    pub(super) async fn not_run(
        &mut self,
        dataset: &Dataset,
        run: &[ItemOutcomes],
    ) -> Result<usize, GateError> {
        Ok(self.count(dataset).await?.saturating_sub(run.len()))
    }
}

/// Items are pinned by `"critical": true` in their metadata.
fn is_critical(item: &DatasetItem) -> bool {
    let metadata = item.metadata.as_ref();
    let value =
        metadata.and_then(|json| serde_json::from_str::<serde_json::Value>(json.as_str()).ok());
    value.is_some_and(|value| value["critical"] == true)
}
