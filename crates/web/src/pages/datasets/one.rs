use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_store::catalog::{Dataset, DatasetItem, DatasetItemQuery};
use ratchet_store::experiment::{Experiment, RunQuery};
use ratchet_store::query::{PageNumber, Paging};

use super::{ROWS, preview};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section};
use crate::place::{Link, Place};
use crate::refusal::{PageResult, Refusal};
use crate::web::Web;

/// A dataset by its name.
pub(super) async fn find(web: &Web, place: &Place, name: String) -> PageResult<Dataset> {
    let found = web.store.catalog.dataset(place.project_id(), name).await?;
    found.ok_or_else(|| Refusal::not_there("dataset"))
}

/// What every page of a dataset begins with.
pub(super) fn begin(dataset: &Dataset, place: &Place) -> Page {
    let mut page = Page::new(Section::Datasets, dataset.name.clone());
    page.crumbs = vec![("Datasets".to_owned(), Section::Datasets.link(place))];
    page.summary = html! { (dataset.description.as_deref().unwrap_or_default()) };
    page
}

/// The pages of a dataset.
pub(super) fn tabs(dataset: &Dataset, place: &Place, chosen: &str) -> Markup {
    let tab = |name: &'static str, link: Link| (name, link);
    let tabs = [
        tab("Items", place.to(&["datasets", &dataset.name])),
        tab("Runs", place.to(&["datasets", &dataset.name, "runs"])),
    ];
    html! {
        nav.tabs aria-label="Parts of the dataset" {
            @for (name, link) in tabs {
                a href=(link) aria-current=[(name == chosen).then_some("page")] { (name) }
            }
        }
    }
}

pub(super) async fn items(
    State(web): State<Web>,
    place: Place,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let dataset = find(&web, &place, name).await?;
    let at = PageNumber { page: place.params.page(), limit: ROWS };
    let query = DatasetItemQuery {
        project: place.project_id(),
        dataset_name: Some(dataset.name.clone()),
        source_trace: None,
        source_observation: None,
        as_of: None,
        page: at,
    };
    let items = web.store.catalog.dataset_items(query).await?;
    let total = items.total.unwrap_or_default();
    let columns = vec![
        Column::text("Item"),
        Column::wide("Input"),
        Column::wide("Expected output"),
        Column::text("From"),
        Column::text("Since"),
    ];
    let rows = items.rows.iter().map(|item| row(item, &place)).collect();
    let caption = format!("Items of {}", dataset.name);
    let table = Table { caption, columns, rows, select_for: None };
    let mut page = begin(&dataset, &place);
    page.body = html! {
        (tabs(&dataset, &place, "Items"))
        @if total == 0 { (no_items()) } @else {
            (table::table(&table))
            (table::numbers(&place.here(), at, total))
        }
    };
    Ok(page.show(&place))
}

fn row(item: &DatasetItem, place: &Place) -> Row {
    let source = item.source_trace.as_ref().map(|trace| place.to(&["traces", trace]));
    Row {
        id: item.id.clone(),
        link: None,
        cells: vec![
            copy::id(&item.id),
            preview(item.input.as_ref()),
            preview(item.expected_output.as_ref()),
            html! { @if let Some(source) = source { a href=(source) { "trace" } } },
            figure::ago(item.valid_from, place.now),
        ],
        failed: false,
    }
}

fn no_items() -> Markup {
    let how = html! { p { "Select traces in a list and add them to this dataset." } };
    empty::empty("No items yet.", &how)
}

pub(super) async fn runs(
    State(web): State<Web>,
    place: Place,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let dataset = find(&web, &place, name).await?;
    let cursor = place.params.get("cursor").map(str::to_owned);
    let query = RunQuery {
        project: place.project_id(),
        dataset: dataset.id.clone(),
        name: None,
        paging: Paging::After { cursor: cursor.clone(), limit: ROWS },
    };
    let runs = web.store.telemetry.runs(query).await?;
    let mut page = begin(&dataset, &place);
    page.body = html! {
        (tabs(&dataset, &place, "Runs"))
        @if runs.rows.is_empty() { (no_runs()) } @else {
            (chooser(&runs.rows, &dataset, &place))
            (table::pager(&place.here(), cursor.is_some(), runs.cursor.as_deref()))
        }
    };
    Ok(page.show(&place))
}

/// The runs, two of which can be chosen to be compared.
fn chooser(runs: &[Experiment], dataset: &Dataset, place: &Place) -> Markup {
    let action = place.to(&["datasets", &dataset.name, "compare"]);
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
                        th scope="col" { "Before" } th scope="col" { "After" }
                        th scope="col" { "Run" } th.wide scope="col" { "What for" }
                        th scope="col" { "When" }
                    } }
                    tbody {
                        @for (index, run) in runs.iter().enumerate() {
                            tr {
                                td { (choice("before", run, index == 1)) }
                                td { (choice("after", run, index == 0)) }
                                td { strong { bdi { (run.name) } } }
                                td.wide { (run.description.as_deref().unwrap_or_default()) }
                                td { (figure::ago(run.created_at, place.now)) }
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
        p { "A run tries an agent on every item." }
        (copy::snippet("dataset = langfuse.get_dataset(\"refunds\")\ndataset.run_experiment(name=\"baseline\", task=lambda item, **_: agent(item.input))"))
    };
    empty::empty("No runs yet.", &how)
}
