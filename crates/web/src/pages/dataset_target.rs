//! Adds items to the dataset that a submitted form names.

use ratchet_core::catalog::dataset::check_name;
use ratchet_store::catalog::{Collected, Dataset, FieldUpdate, NewDataset, NewDatasetItem};
use ratchet_store::query::PageNumber;

use crate::page_error::PageResult;
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// Datasets that are offered, newest first.
const OFFERED: PageNumber = PageNumber { page: 1, limit: 200 };

/// Why nothing was added.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The field of the form.
    pub(super) field: &'static str,
    pub(super) reason: String,
}

pub(super) async fn offered(web: &Web, ctx: &RequestContext) -> PageResult<Vec<Dataset>> {
    Ok(web.store.catalog.datasets(ctx.project_id(), OFFERED).await?.rows)
}

/// Adds items to the dataset of the field `dataset`, or to a new one of the name in `new_dataset`;
/// all of them or none. Returns how many.
pub(super) async fn add(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    items: Vec<NewDatasetItem>,
) -> PageResult<Result<usize, Refusal>> {
    let name = match find_or_create(web, ctx, form).await? {
        Ok(name) => name,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let named = items.into_iter().map(|item| NewDatasetItem { dataset_name: name.clone(), ..item });
    let items: Vec<NewDatasetItem> = named.collect();
    let count = items.len();
    let catalog = ctx.viewer.catalog(web);
    Ok(match catalog.save_dataset_items(ctx.project_id(), items, ctx.now).await? {
        Collected::Kept(_) => Ok(count),
        Collected::Unfit(unfit) => {
            let first = unfit.into_iter().next().map(|(_, problem)| problem.to_string());
            Err(Refusal { field: "expected_output", reason: first.unwrap_or_default() })
        }
    })
}

async fn find_or_create(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
) -> PageResult<Result<String, Refusal>> {
    let text = |field: &str| form.get(field).unwrap_or_default().trim().to_owned();
    let (chosen, new) = (text("dataset"), text("new_dataset"));
    let is_new = !new.is_empty();
    let name = if is_new { new } else { chosen };
    let refused = |field, reason: &str| Ok(Err(Refusal { field, reason: reason.to_owned() }));
    if let Err(why) = check_name(&name) {
        return refused("dataset", &why.to_string());
    }
    let known = web.store.catalog.dataset(ctx.project_id(), name.clone()).await?;
    match (known, is_new) {
        (None, false) => return refused("dataset", "choose a dataset"),
        (Some(_), true) => {
            let why = "a dataset with this name already exists; choose it above";
            return refused("new_dataset", why);
        }
        (Some(_), false) => {}
        (None, true) => {
            let dataset = NewDataset {
                name: name.clone(),
                description: None,
                metadata: None,
                input_schema: FieldUpdate::Keep,
                expected_output_schema: FieldUpdate::Keep,
            };
            ctx.viewer.catalog(web).save_dataset(ctx.project_id(), dataset, ctx.now).await?;
        }
    }
    Ok(Ok(name))
}
