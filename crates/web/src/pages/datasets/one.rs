use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{
    Catalog, Dataset, DatasetItem, DatasetItemQuery, DatasetMoment, ListedDatasetItem,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;

use super::{ROWS, deletion, form, preview};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section, menu};
use crate::page_error::{PageError, PageResult};
use crate::pages::{dataset_guide, folders, table_export};
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

/// Approximate bytes of items that are read at once.
pub(super) const PAGE_BYTES: usize = 2_000_000;

/// Moments at which a dataset changed that are offered.
const MOMENTS: u64 = 30;

/// A dataset by its name, or by its id as links that SDKs print have it.
pub(super) async fn find(web: &Web, ctx: &RequestContext, name: String) -> PageResult<Dataset> {
    let catalog = &web.store.catalog;
    if let Some(found) = catalog.dataset(ctx.project_id(), name.clone()).await? {
        return Ok(found);
    }
    let found = catalog.dataset_by_id(ctx.project_id(), name).await?;
    found.ok_or_else(|| PageError::not_there("dataset"))
}

/// What every page of a dataset begins with.
pub(super) fn begin(dataset: &Dataset, ctx: &RequestContext) -> Page {
    let mut page = Page::new(Section::Datasets, dataset.name.clone());
    page.crumbs = folders::crumbs((Section::Datasets, "Datasets"), &dataset.name, ctx);
    page.summary = html! { (dataset.description.as_deref().unwrap_or_default()) };
    page
}

/// The pages of a dataset.
pub(super) fn tabs(dataset: &Dataset, ctx: &RequestContext, chosen: &str) -> Markup {
    let tab = |name: &'static str, link: Link| (name, link);
    let tabs = [
        tab("Items", ctx.to(&["datasets", &dataset.name])),
        tab("Runs", ctx.to(&["datasets", &dataset.name, "runs"])),
    ];
    html! {
        nav.tabs aria-label="Dataset sections" {
            @for (name, link) in tabs {
                a href=(link) aria-current=[(name == chosen).then_some("page")] { (name) }
            }
        }
    }
}

/// Filter of items from the URL.
pub(super) struct ItemFilter {
    pub(super) status: DatasetStatus,
    pub(super) as_of: Option<Timestamp>,
}

impl ItemFilter {
    pub(super) fn read(params: &Params) -> PageResult<Self> {
        let as_of = params.get("as_of").map(Timestamp::parse).transpose();
        let as_of = as_of.map_err(|why| PageError::Bad(format!("as_of: {why}")))?;
        let status = match params.get("archived") {
            Some(_) => DatasetStatus::Archived,
            None => DatasetStatus::Active,
        };
        Ok(Self { status, as_of })
    }
}

pub(super) async fn items(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let dataset = find(&web, &ctx, name).await?;
    let asked = ItemFilter::read(&ctx.params)?;
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let query = DatasetItemQuery {
        project: ctx.project_id(),
        dataset_name: Some(dataset.name.clone()),
        source_trace: None,
        source_observation: None,
        status: asked.status,
        as_of: asked.as_of,
        page: at,
    };
    let items = web.store.catalog.bounded_dataset_items(query, PAGE_BYTES).await?;
    let mut rows = Vec::with_capacity(items.rows.len());
    for listed in items.rows {
        // Each is drawn before the next is read: what is drawn is short, the item may be not.
        let item = whole(&web.store.catalog, ctx.project_id(), (listed, asked.as_of)).await?;
        rows.extend(item.map(|item| row(&item, &dataset, &asked, &ctx)));
    }
    let total = items.total.unwrap_or_default();
    let project = ctx.project_id();
    let moments = web.store.catalog.dataset_moments(project, dataset.id.clone(), MOMENTS).await?;
    let guide = guide(&web, &ctx, (&dataset, &asked)).await?;
    let mut page = begin(&dataset, &ctx);
    if ctx.viewer.can_change() {
        page.action = actions(&dataset, &ctx);
    }
    page.body = html! {
        (form::done_toast(&ctx))
        (tabs(&dataset, &ctx, "Items"))
        (guide)
        (as_of(&asked, &moments, total, (&dataset, &ctx)))
        @if total == 0 { (no_items(&asked, &dataset, &ctx)) } @else {
            (table::table(&drawn(rows, &dataset)))
            (table::numbers(&ctx.here().without("done"), at, total))
        }
    };
    Ok(page.show(&ctx))
}

/// What the current dataset still needs, by the traffic of the agent that it belongs to.
async fn guide(
    web: &Web,
    ctx: &RequestContext,
    (dataset, asked): (&Dataset, &ItemFilter),
) -> PageResult<Markup> {
    if asked.as_of.is_some() || asked.status == DatasetStatus::Archived {
        return Ok(html! {});
    }
    let agents = web.store.catalog.agents(ctx.project_id()).await?;
    let owner = agents.iter().find(|agent| agent.settings.datasets.contains(&dataset.name));
    let agent = owner.map(|agent| agent.name.as_str()).or(ctx.scope.agent.as_deref());
    dataset_guide::guide(web, ctx, agent, std::slice::from_ref(&dataset.name)).await
}

fn actions(dataset: &Dataset, ctx: &RequestContext) -> Markup {
    html! {
        (menu("More actions", "More", &html! {
            a href=(ctx.to(&["datasets", &dataset.name, "edit"])) { "Edit" }
            a.danger href=(deletion::of_dataset(ctx, &dataset.name)) { "Delete…" }
        }))
        (fillers(dataset, ctx))
    }
}

/// Ways to get items.
fn fillers(dataset: &Dataset, ctx: &RequestContext) -> Markup {
    html! {
        a.button href=(ctx.to(&["datasets", &dataset.name, "add"])) { "Add item" }
        a.button.primary href=(ctx.to(&["datasets", &dataset.name, "upload"])) { "Upload" }
    }
}

/// How many items, and the way to what the dataset was before.
fn as_of(
    asked: &ItemFilter,
    moments: &[DatasetMoment],
    total: u64,
    (dataset, ctx): (&Dataset, &RequestContext),
) -> Markup {
    let export = ctx.to(&["datasets", &dataset.name, "export"]);
    let kept =
        ["as_of", "archived"].into_iter().filter_map(|name| Some((name, ctx.params.get(name)?)));
    let export = kept.fold(export, |to, (name, value)| to.with(name, value));
    let here = || ctx.here().without("done").without("count").without("page");
    let moment = |moment: &DatasetMoment| {
        let words = match (moment.written, moment.ended) {
            (written, 0) => format!("{} saved", figure::grouped(written)),
            (0, ended) => format!("{} deleted", figure::grouped(ended)),
            (written, ended) => {
                format!("{} saved, {} deleted", figure::grouped(written), figure::grouped(ended))
            }
        };
        (here().with("as_of", moment.at.to_string()), moment.at, words)
    };
    let chosen = match asked.as_of {
        Some(at) => format!("As of {}", ctx.time.short(at)),
        None => "Current version".to_owned(),
    };
    html! {
        div.list-tools {
            span.muted {
                (figure::grouped(total))
                @if asked.status == DatasetStatus::Archived { " archived" }
                @if total == 1 { " item" } @else { " items" }
            }
            div.end {
                @match asked.status {
                    DatasetStatus::Active => {
                        a.quiet href=(here().with("archived", "yes")) { "Show archived" }
                    },
                    DatasetStatus::Archived => {
                        a.quiet href=(here().without("archived")) { "Show active" }
                    },
                }
                (table_export::export_menu(&export))
                (menu("Dataset versions", &chosen, &html! {
                    a href=(here().without("as_of")) aria-current=[asked.as_of.is_none().then_some("true")] {
                        "Current version"
                    }
                    @for (link, at, words) in moments.iter().map(moment) {
                        a.facet href=(link) aria-current=[(asked.as_of == Some(at)).then_some("true")] {
                            (figure::when(at, &ctx.time)) span.muted { (words) }
                        }
                    }
                }))
            }
        }
        @if asked.as_of.is_some() {
            p.notice role="status" {
                "You are viewing an old version. "
                a href=(here().without("as_of")) { "Show current version" }
            }
        }
    }
}

/// An item of a list with its texts; `None` if it was deleted meanwhile.
pub(super) async fn whole(
    catalog: &Catalog,
    project: ProjectId,
    (listed, as_of): (ListedDatasetItem, Option<Timestamp>),
) -> StoreResult<Option<DatasetItem>> {
    if !listed.is_cut {
        return Ok(Some(listed.item));
    }
    catalog.dataset_item(project, listed.item.id, as_of).await
}

fn drawn(rows: Vec<Row>, dataset: &Dataset) -> Table {
    let columns = vec![
        Column::text("Item"),
        Column::wide("Input"),
        Column::wide("Expected output"),
        Column::text("Source"),
        Column::text("Added"),
    ];
    Table { caption: format!("Items of {}", dataset.name), columns, rows, select_for: None }
}

fn row(item: &DatasetItem, dataset: &Dataset, asked: &ItemFilter, ctx: &RequestContext) -> Row {
    let source = item.source_trace.as_ref().map(|trace| ctx.to(&["traces", trace]));
    let link = ctx.to(&["datasets", &dataset.name, "items", &item.id]);
    let link = match asked.as_of {
        Some(at) => link.with("version", at.to_string()),
        None => link,
    };
    Row {
        id: item.id.clone(),
        link: Some(link),
        cells: vec![
            super::short_id(&item.id),
            preview(item.input.as_ref()),
            preview(item.expected_output.as_ref()),
            html! { @if let Some(source) = source { a href=(source) { "trace" } } },
            figure::ago(item.valid_from, &ctx.time),
        ],
        failed: false,
    }
}

fn no_items(asked: &ItemFilter, dataset: &Dataset, ctx: &RequestContext) -> Markup {
    if asked.as_of.is_some() || asked.status == DatasetStatus::Archived {
        let now = ctx.here().without("as_of").without("archived").without("page");
        let how = html! { p { a.button href=(now) { "Show active items" } } };
        return empty::empty("No archived items", &how);
    }
    let how = html! {
        p { "Upload a CSV or JSON Lines file and map its columns, or select traces in a list and add them." }
        @if ctx.viewer.can_change() { p { (fillers(dataset, ctx)) } }
        (copy::snippet("question,expected_output,tenant\nWhere is my parcel?,It arrives on Monday.,acme"))
    };
    empty::empty("No items yet.", &how)
}
