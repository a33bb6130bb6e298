//! The items of a dataset as a file that can be uploaded again.

use std::collections::VecDeque;

use axum::extract::{Path, State};
use axum::response::Response;
use ratchet_core::payload::Json;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{Catalog, DatasetItem, DatasetItemQuery, ListedDatasetItem};
use ratchet_store::query::PageNumber;

use super::one::{self, ItemFilter, PAGE_BYTES};
use crate::page_error::PageResult;
use crate::pages::lists::CellValue;
use crate::pages::table_export::{self, TableRows};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Items that are read at a time.
const SLICE: u64 = 50;

/// `GET …/datasets/{name}/export`: the items that the page lists, all of them.
pub(super) async fn export(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Response> {
    let dataset = one::find(&web, &ctx, name).await?;
    let asked = ItemFilter::read(&ctx.params)?;
    let query = DatasetItemQuery {
        project: ctx.project_id(),
        dataset_name: Some(dataset.name),
        source_trace: None,
        source_observation: None,
        status: asked.status,
        as_of: asked.as_of,
        page: PageNumber { page: 1, limit: SLICE },
    };
    let catalog = web.store.catalog.clone();
    let rows = ItemRows { catalog, query: Some(query), left: VecDeque::new() };
    table_export::file(&ctx, "dataset-items", rows)
}

struct ItemRows {
    catalog: Catalog,
    /// The next slice.
    query: Option<DatasetItemQuery>,
    /// Items of the last slice that are too long to be read together, and their time.
    left: VecDeque<(ListedDatasetItem, DatasetItemQuery)>,
}

impl TableRows for ItemRows {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "input",
        "expected_output",
        "metadata",
        "source_trace",
        "source_observation",
        "created",
        "changed",
    ];

    async fn next(&mut self) -> StoreResult<Option<Vec<Vec<CellValue>>>> {
        if let Some((listed, query)) = self.left.pop_front() {
            let item = one::whole(&self.catalog, query.project, (listed, query.as_of)).await?;
            return Ok(Some(item.iter().map(cells).collect()));
        }
        let Some(query) = self.query.take() else { return Ok(None) };
        let next = PageNumber { page: query.page.page + 1, ..query.page };
        let found = self.catalog.bounded_dataset_items(query.clone(), PAGE_BYTES).await?;
        let is_last = (found.rows.len() as u64) < SLICE;
        let (cut, whole): (Vec<_>, Vec<_>) = found.rows.into_iter().partition(|one| one.is_cut);
        self.left = cut.into_iter().map(|listed| (listed, query.clone())).collect();
        self.query = (!is_last).then_some(DatasetItemQuery { page: next, ..query });
        Ok(Some(whole.iter().map(|listed| cells(&listed.item)).collect()))
    }
}

fn cells(item: &DatasetItem) -> Vec<CellValue> {
    let json =
        |json: &Option<Json>| CellValue::Json(json.as_ref().map(|json| json.as_str().to_owned()));
    vec![
        CellValue::Text(Some(item.id.clone())),
        json(&item.input),
        json(&item.expected_output),
        json(&item.metadata),
        CellValue::Text(item.source_trace.clone()),
        CellValue::Text(item.source_observation.clone()),
        CellValue::Time(item.created_at),
        CellValue::Time(item.valid_from),
    ]
}
