//! Datasets: cases to try an agent on, and how runs over them compare.

/// One dataset: its items and the runs over it.
mod one;
/// What forms of datasets share.
mod form;
/// One item and its versions.
mod item;
mod upload;
/// Name, description, metadata and schemas.
mod edit;
/// Deleting datasets, items and runs.
mod deletion;
/// One run.
mod run;
/// Runs, item by item.
mod compare;
/// Items as a file.
mod export;
/// Outputs and scores of runs.
pub(super) mod results;
/// What items ask and expect.
pub(super) mod item_texts;
/// Results of runs as the gate reads them.
pub(super) mod outcomes;
mod score_values;
/// The runs over a dataset.
mod runs;

pub(super) use form::{to_type, typed};

use std::borrow::Cow;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::dataset::{DatasetStatus, check_name};
use ratchet_core::payload::Json;
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{
    Dataset, DatasetItemQuery, DatasetQuery, FieldUpdate, NameFolder, NewDataset,
};
use ratchet_store::experiment::RunQuery;
use ratchet_store::query::{PageNumber, Paging};

use super::folders;
use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

const ROWS: u64 = 50;
/// Bytes of a text in a cell.
const PREVIEW: usize = 300;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/datasets", get(list).post(make))
        .route("/project/{project}/datasets/{name}", get(one::items))
        .route("/project/{project}/datasets/{name}/items", get(one::items))
        .route(
            "/project/{project}/datasets/{name}/items/{item}",
            get(item::show).post(item::change),
        )
        .route("/project/{project}/datasets/{name}/edit", get(edit::show).post(edit::save))
        .route(
            "/project/{project}/datasets/{name}/delete",
            get(deletion::ask_dataset).post(deletion::delete_dataset),
        )
        .route(
            "/project/{project}/datasets/{name}/items/{item}/delete",
            get(deletion::ask_item).post(deletion::delete_item),
        )
        .route(
            "/project/{project}/datasets/{name}/runs/{run}/delete",
            get(deletion::ask_run).post(deletion::delete_run),
        )
        .route("/project/{project}/datasets/{name}/add", get(item::adding).post(item::add))
        .route(
            "/project/{project}/datasets/{name}/upload",
            get(upload::choose).post(upload::receive),
        )
        .route(
            "/project/{project}/datasets/{name}/upload/{word}",
            get(upload::preview).post(upload::confirm),
        )
        .route("/project/{project}/datasets/{name}/runs", get(runs::show))
        .route("/project/{project}/datasets/{name}/runs/{run}", get(run::show))
        .route("/project/{project}/datasets/{name}/runs/{run}/queue", post(run::queue))
        .route(
            "/project/{project}/datasets/{name}/compare",
            get(compare::show).post(compare::correct),
        )
        .route("/project/{project}/datasets/{name}/compare/export", get(compare::export))
        .route("/project/{project}/datasets/{name}/export", get(export::export))
        .route("/project/{project}/experiments/results", get(run::of_experiment))
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    listed(&web, &ctx, None).await
}

/// What a page of the list shows.
struct ListedDatasets {
    datasets: Vec<(Dataset, DatasetCounts)>,
    /// Datasets of all pages, without those in folders.
    total: u64,
    folders: Vec<NameFolder>,
    /// The folder that is open; empty for the root, and while something is searched for.
    path: String,
}

impl ListedDatasets {
    async fn read(web: &Web, ctx: &RequestContext, page: PageNumber) -> PageResult<Self> {
        let (catalog, text) = (&web.store.catalog, search_text(ctx).map(str::to_owned));
        let is_search = text.is_some();
        let path = if is_search { "" } else { folders::open(ctx) }.to_owned();
        let query = DatasetQuery {
            project: ctx.project_id(),
            text,
            // A search goes through all folders.
            folder: Some(path.clone()).filter(|_| !is_search),
            page,
        };
        let found = catalog.matching_datasets(query).await?;
        let folders = match is_search {
            true => Vec::new(),
            false => catalog.dataset_folders(ctx.project_id(), path.clone()).await?,
        };
        let mut datasets = Vec::with_capacity(found.rows.len());
        for dataset in found.rows {
            let counts = count(web, ctx, &dataset).await?;
            datasets.push((dataset, counts));
        }
        Ok(Self { datasets, total: found.total.unwrap_or_default(), folders, path })
    }

    /// Datasets here and in all folders below.
    fn all(&self) -> u64 {
        self.total + self.folders.iter().map(|one| one.names).sum::<u64>()
    }

    fn table(&self, page: PageNumber, ctx: &RequestContext) -> Table {
        let columns = vec![
            Column::text("Dataset"),
            Column::wide("Description"),
            Column::number("Items"),
            Column::number("Runs"),
            Column::text("Last run"),
            Column::text("Updated"),
        ];
        let first = if page.page == 1 { self.folders.as_slice() } else { &[] };
        let of_folder = |one| folders::row((Section::Datasets, "dataset"), one, columns.len(), ctx);
        let of_dataset = |one: &(Dataset, DatasetCounts)| row(one, &self.path, ctx);
        let rows = first.iter().map(of_folder).chain(self.datasets.iter().map(of_dataset));
        let rows = rows.collect();
        Table { caption: "Datasets".to_owned(), columns, rows, select_for: None }
    }
}

fn row((dataset, counts): &(Dataset, DatasetCounts), path: &str, ctx: &RequestContext) -> Row {
    Row {
        id: dataset.id.clone(),
        link: Some(ctx.to(&["datasets", &dataset.name])),
        cells: vec![
            html! { bdi title=(dataset.name) { (folders::name_in(path, &dataset.name)) } },
            html! { (dataset.description.as_deref().unwrap_or_default()) },
            html! { (figure::grouped(counts.items)) },
            html! {
                a href=(ctx.to(&["datasets", &dataset.name, "runs"])) { (figure::grouped(counts.runs)) }
            },
            html! {
                @match counts.last_run {
                    Some(at) => { (figure::ago(at, &ctx.time)) },
                    None => { span.muted { "–" } },
                }
            },
            figure::ago(dataset.updated_at, &ctx.time),
        ],
        failed: false,
    }
}

/// The list, with the form of a new dataset as it was refused.
async fn listed(web: &Web, ctx: &RequestContext, refused: Option<&Entered>) -> PageResult<Markup> {
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let list = ListedDatasets::read(web, ctx, at).await?;
    let (all, path, is_search) = (list.all(), list.path.as_str(), search_text(ctx).is_some());
    let title = if path.is_empty() { "Datasets" } else { folders::last(path) };
    let mut page = Page::new(Section::Datasets, title);
    if !path.is_empty() {
        page.crumbs = folders::crumbs((Section::Datasets, "Datasets"), path, ctx);
    }
    page.summary =
        html! { (figure::grouped(all)) @if all == 1 { " dataset." } @else { " datasets." } };
    if ctx.viewer.can_change() {
        page.action = maker(ctx, refused);
    }
    page.body = html! {
        @if ctx.params.get("done") == Some("deleted") { (toast::toast("Dataset deleted")) }
        @if all > 0 || is_search { (search(ctx)) }
        @if all > 0 {
            (table::table(&list.table(at, ctx)))
            (table::numbers(&ctx.here().without("done"), at, list.total))
        } @else if is_search {
            (empty::empty("No matches", &html! {
                p { a.button href=(Section::Datasets.link(ctx)) { "Clear search" } }
            }))
        } @else if !path.is_empty() { (folders::nothing(Section::Datasets, path, ctx)) }
        @else { (nothing(ctx)) }
    };
    Ok(page.show(ctx))
}

/// The part of a name that is searched for.
fn search_text(ctx: &RequestContext) -> Option<&str> {
    ctx.params.get("text").map(str::trim).filter(|text| !text.is_empty())
}

/// A field for a part of the name; the search goes through all folders.
fn search(ctx: &RequestContext) -> Markup {
    let here = ["text", "page", "done", "folder"].into_iter().fold(ctx.here(), Link::without);
    html! {
        form.search method="get" action=(here.path()) role="search" {
            @for (name, value) in here.pairs() { input type="hidden" name=(name) value=(value); }
            label for="dataset-search" { "Name contains" }
            input #dataset-search type="search" name="text" maxlength="200"
                value=(search_text(ctx).unwrap_or_default());
            button.button { "Search" }
        }
    }
}

/// Sizes of a dataset.
struct DatasetCounts {
    /// Active items.
    items: u64,
    runs: u64,
    last_run: Option<Timestamp>,
}

async fn count(web: &Web, ctx: &RequestContext, dataset: &Dataset) -> PageResult<DatasetCounts> {
    let first = PageNumber { page: 1, limit: 1 };
    let items = DatasetItemQuery {
        project: ctx.project_id(),
        dataset_name: Some(dataset.name.clone()),
        source_trace: None,
        source_observation: None,
        status: DatasetStatus::Active,
        as_of: None,
        page: first,
    };
    let items = web.store.catalog.dataset_items(items).await?.total;
    let runs = RunQuery {
        project: ctx.project_id(),
        dataset: dataset.id.clone(),
        name: None,
        paging: Paging::Numbered(first),
    };
    let runs = web.store.telemetry.runs(runs).await?;
    Ok(DatasetCounts {
        items: items.unwrap_or_default(),
        runs: runs.total.unwrap_or_default(),
        last_run: runs.rows.first().map(|run| run.created_at),
    })
}

const NAME: FormField<'_> = FormField { name: "name", label: "Name", hint: "" };
const DESCRIPTION: FormField<'_> =
    FormField { name: "description", label: "Description", hint: "" };

/// A form for one more dataset, open if it was refused.
fn maker(ctx: &RequestContext, refused: Option<&Entered>) -> Markup {
    let begun = Entered::preset(&[(NAME.name, &folders::beginning(folders::open(ctx)))]);
    let entered = refused.unwrap_or(&begun);
    html! {
        details.making open[refused.is_some()] {
            summary.button.primary { "New dataset" }
            form.maker method="post" action=(ctx.to(&["datasets"])) {
                (ctx.viewer.form_token.field())
                (field::line(NAME, entered))
                (field::line(DESCRIPTION, entered))
                button.button.primary type="submit" { "Create" }
            }
        }
    }
}

/// `POST …/datasets`: makes a dataset. A refused form is shown again as it was filled in.
async fn make(
    State(web): State<Web>,
    PageForm { ctx, form: said }: PageForm,
) -> PageResult<Response> {
    let mut entered = Entered::new(said);
    let name = entered.text(NAME.name).to_owned();
    if let Err(why) = check_name(&name) {
        entered.wrong(NAME.name, why.to_string());
    } else if web.store.catalog.dataset(ctx.project_id(), name.clone()).await?.is_some() {
        entered.wrong(NAME.name, "a dataset with this name already exists");
    }
    if !entered.is_fine() {
        let shown = listed(&web, &ctx, Some(&entered)).await?;
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response());
    }
    let new = NewDataset {
        name,
        description: entered.filled(DESCRIPTION.name).map(str::to_owned),
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    let catalog = ctx.viewer.catalog(&web);
    let made = catalog.save_dataset(ctx.project_id(), new, ctx.now).await?;
    let next = ctx.to(&["datasets", &made.name]).with("done", "made");
    Ok(Redirect::to(&next.to_string()).into_response())
}

/// Characters of an id in a cell: enough for a UUID.
const ID: usize = 40;

/// An item's id, for a cell; the whole of it on hover.
fn short_id(id: &str) -> Markup {
    let short: String = id.chars().take(ID).collect();
    html! { code title=(id) { bdi { (short) } @if short.len() < id.len() { "…" } } }
}

/// The beginning of a recorded part, for a cell.
fn preview(part: Option<&Json>) -> Markup {
    html! { @if let Some(part) = part { bdi { (elide(&as_read(part.as_str()), PREVIEW)) } } }
}

/// A text as people read it, anything else as JSON.
pub(super) fn as_read(json: &str) -> Cow<'_, str> {
    match serde_json::from_str::<String>(json) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(json),
    }
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "A dataset holds inputs and expected outputs. Create one above and upload a CSV or JSON "
            "Lines file, select " a href=(ctx.to(&["traces"])) { "traces" } " and add them, or create one "
            "with an SDK:" }
        (copy::snippet(&ctx.sdk_code("from langfuse import get_client\n\nlangfuse = get_client()\nlangfuse.create_dataset(name=\"refunds\")\nlangfuse.create_dataset_item(dataset_name=\"refunds\", input={\"question\": \"…\"}, expected_output=\"…\")")))
        p { a.button href=(ctx.to(&["traces"])) { "Select traces" } }
    };
    empty::empty("No datasets yet", &how)
}
