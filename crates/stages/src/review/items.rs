use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::payload::Json;
use ratchet_remote::langfuse::client::Position;
use ratchet_remote::langfuse::wire::dataset::DatasetItemView;
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_store::StoreError;
use ratchet_store::catalog::{DatasetItem, DatasetItemQuery};
use ratchet_store::query::PageNumber;
use serde_json::Value;

use crate::sink::{LocalSink, Sink, SinkResult};

/// Items in a slice of the local store.
const SLICE: u64 = 100;

/// A dataset item as it was kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KeptItem {
    pub(super) input: Value,
    pub(super) expected_output: Value,
    pub(super) metadata: Value,
}

/// Returns the items of a dataset, newest first; none where there is no such dataset.
pub(super) async fn read(sink: &Sink, dataset: &str) -> SinkResult<Vec<KeptItem>> {
    match sink {
        Sink::Local(local) => local_items(local, dataset).await,
        Sink::Remote(client) => {
            let mut items = Vec::new();
            let mut next = Some(Position::Start);
            while let Some(at) = next {
                let slice = match client.dataset_items(dataset, &at).await {
                    Err(why) if why.status() == Some(404) => return Ok(Vec::new()),
                    slice => slice?,
                };
                items.extend(slice.rows.iter().map(of_view));
                next = slice.next;
            }
            Ok(items)
        }
    }
}

async fn local_items(local: &LocalSink, dataset: &str) -> SinkResult<Vec<KeptItem>> {
    let mut items = Vec::new();
    for page in 1.. {
        let query = DatasetItemQuery {
            project: local.project.clone(),
            dataset_name: Some(dataset.to_owned()),
            source_trace: None,
            source_observation: None,
            status: DatasetStatus::Active,
            as_of: None,
            page: PageNumber { page, limit: SLICE },
        };
        let rows = match local.catalog.dataset_items(query).await {
            Err(StoreError::NotFound(_)) => return Ok(Vec::new()),
            page => page?.rows,
        };
        let is_last = (rows.len() as u64) < SLICE;
        items.extend(rows.iter().map(of_item));
        if is_last {
            break;
        }
    }
    Ok(items)
}

fn of_item(item: &DatasetItem) -> KeptItem {
    let value = |json: &Option<Json>| parsed(json.as_ref().map(Json::as_str));
    KeptItem {
        input: value(&item.input),
        expected_output: value(&item.expected_output),
        metadata: value(&item.metadata),
    }
}

fn of_view(item: &DatasetItemView) -> KeptItem {
    let value = |raw: &Option<Raw>| parsed(raw.as_ref().map(|raw| raw.get()));
    KeptItem {
        input: value(&item.input),
        expected_output: value(&item.expected_output),
        metadata: value(&item.metadata),
    }
}

/// What cannot be read is nobody's label.
fn parsed(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
