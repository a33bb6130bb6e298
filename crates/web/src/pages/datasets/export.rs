//! The items of a dataset as a file that can be uploaded again.

use axum::extract::{Path, State};
use axum::response::Response;
use ratchet_core::payload::Json;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{Catalog, DatasetItem, DatasetItemQuery};
use ratchet_store::query::PageNumber;

use super::one::{self, ItemFilter};
use crate::page_error::PageResult;
use crate::pages::lists::CellValue;
use crate::pages::table_export::{self, TableRows};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Items that are read at a time: their contents are held together.
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
    table_export::file(&ctx, "dataset-items", ItemRows { catalog, query: Some(query) })
}

struct ItemRows {
    catalog: Catalog,
    /// The next slice.
    query: Option<DatasetItemQuery>,
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
        let Some(query) = self.query.take() else { return Ok(None) };
        let next = PageNumber { page: query.page.page + 1, ..query.page };
        let rows = self.catalog.dataset_items(query.clone()).await?.rows;
        let is_last = (rows.len() as u64) < SLICE;
        self.query = (!is_last).then_some(DatasetItemQuery { page: next, ..query });
        Ok(Some(rows.iter().map(cells).collect()))
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
