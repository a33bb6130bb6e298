use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Dataset, DatasetItem, DatasetItemQuery, DatasetMoment};
use ratchet_store::experiment::{Experiment, RunQuery};
use ratchet_store::query::{PageNumber, Paging};

use super::{ROWS, form, preview};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section, menu};
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

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
    page.crumbs = vec![("Datasets".to_owned(), Section::Datasets.link(ctx))];
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
struct ItemFilter {
    status: DatasetStatus,
    as_of: Option<Timestamp>,
}

impl ItemFilter {
    fn read(params: &Params) -> PageResult<Self> {
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
    let items = web.store.catalog.dataset_items(query).await?;
    let total = items.total.unwrap_or_default();
    let project = ctx.project_id();
    let moments = web.store.catalog.dataset_moments(project, dataset.id.clone(), MOMENTS).await?;
    let mut page = begin(&dataset, &ctx);
    if ctx.viewer.can_change() {
        page.action = actions(&dataset, &ctx);
    }
    page.body = html! {
        (form::done_toast(&ctx))
        (tabs(&dataset, &ctx, "Items"))
        (as_of(&asked, &moments, total, &ctx))
        @if total == 0 { (no_items(&asked, &dataset, &ctx)) } @else {
            (table::table(&drawn(&items.rows, &dataset, &asked, &ctx)))
            (table::numbers(&ctx.here().without("done"), at, total))
        }
    };
    Ok(page.show(&ctx))
}

fn actions(dataset: &Dataset, ctx: &RequestContext) -> Markup {
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
    ctx: &RequestContext,
) -> Markup {
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

fn drawn(
    items: &[DatasetItem],
    dataset: &Dataset,
    asked: &ItemFilter,
    ctx: &RequestContext,
) -> Table {
    let columns = vec![
        Column::text("Item"),
        Column::wide("Input"),
        Column::wide("Expected output"),
        Column::text("Source"),
        Column::text("Added"),
    ];
    let rows = items.iter().map(|item| row(item, dataset, asked, ctx)).collect();
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
        @if ctx.viewer.can_change() { p { (actions(dataset, ctx)) } }
        (copy::snippet("question,expected_output,tenant\nWhere is my parcel?,It arrives on Monday.,acme"))
    };
    empty::empty("No items yet.", &how)
}

pub(super) async fn runs(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let dataset = find(&web, &ctx, name).await?;
    let cursor = ctx.params.get("cursor").map(str::to_owned);
    let query = RunQuery {
        project: ctx.project_id(),
        dataset: dataset.id.clone(),
        name: None,
        paging: Paging::After { cursor: cursor.clone(), limit: ROWS },
    };
    let runs = web.store.telemetry.runs(query).await?;
    let mut page = begin(&dataset, &ctx);
    page.body = html! {
        (tabs(&dataset, &ctx, "Runs"))
        @if runs.rows.is_empty() { (no_runs()) } @else {
            (chooser(&runs.rows, &dataset, &ctx))
            (table::pager(&ctx.here(), cursor.is_some(), runs.cursor.as_deref()))
        }
    };
    Ok(page.show(&ctx))
}

/// The runs, two of which can be chosen to be compared.
fn chooser(runs: &[Experiment], dataset: &Dataset, ctx: &RequestContext) -> Markup {
    let action = ctx.to(&["datasets", &dataset.name, "compare"]);
    let choice = |side: &str, run: &Experiment, chosen: bool| {
        html! {
            input type="radio" name=(side) value=(run.id) checked[chosen]
                  aria-label={ (run.name) " as " (side) };
        }
    };
    html! {
        form method="get" action=(action.path()) {
            div.table-wrap tabindex="0" role="region" aria-label="Runs" {
                table data-rows {
                    thead { tr {
                        th scope="col" { "Baseline" } th scope="col" { "Candidate" }
                        th scope="col" { "Run" } th.wide scope="col" { "Description" }
                        th scope="col" { "Created" }
                    } }
                    tbody {
                        @for (index, run) in runs.iter().enumerate() {
                            tr {
                                td data-label="Baseline" { (choice("before", run, index == 1)) }
                                td data-label="Candidate" { (choice("after", run, index == 0)) }
                                td { a.row-link href=(ctx.to(&["datasets", &dataset.name, "runs", &run.id])) { bdi { (run.name) } } }
                                td.wide { (run.description.as_deref().unwrap_or_default()) }
                                td { (figure::ago(run.created_at, &ctx.time)) }
                            }
                        }
                    }
                }
            }
            button.button.primary type="submit" { "Compare" }
        }
    }
}

fn no_runs() -> Markup {
    let how = html! {
        p { "A run executes an agent on every item." }
        (copy::snippet("dataset = langfuse.get_dataset(\"refunds\")\ndataset.run_experiment(name=\"baseline\", task=lambda item, **_: agent(item.input))"))
    };
    empty::empty("No runs yet.", &how)
}
