//! Datasets: cases to try an agent on, and how runs over them compare.

/// One dataset: its items and the runs over it.
mod one;
/// Two runs, item by item.
mod compare;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::limit::elide;
use ratchet_core::payload::Json;
use ratchet_store::catalog::Dataset;
use ratchet_store::query::PageNumber;

use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section};
use crate::place::Place;
use crate::refusal::PageResult;
use crate::web::Web;

const ROWS: u64 = 50;
/// Bytes of a text in a cell.
const PREVIEW: usize = 300;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/datasets", get(list))
        .route("/project/{project}/datasets/{name}", get(one::items))
        .route("/project/{project}/datasets/{name}/runs", get(one::runs))
        .route("/project/{project}/datasets/{name}/compare", get(compare::show))
}

async fn list(State(web): State<Web>, place: Place) -> PageResult<Markup> {
    let at = PageNumber { page: place.params.page(), limit: ROWS };
    let datasets = web.store.catalog.datasets(place.project_id(), at).await?;
    let total = datasets.total.unwrap_or_default();
    let row = |dataset: &Dataset| Row {
        id: dataset.id.clone(),
        link: Some(place.to(&["datasets", &dataset.name])),
        cells: vec![
            html! { bdi { (dataset.name) } },
            html! { (dataset.description.as_deref().unwrap_or_default()) },
            figure::ago(dataset.created_at, place.now),
            figure::ago(dataset.updated_at, place.now),
        ],
        failed: false,
    };
    let columns = vec![
        Column::text("Dataset"),
        Column::wide("What for"),
        Column::text("Made"),
        Column::text("Changed"),
    ];
    let rows = datasets.rows.iter().map(row).collect();
    let table = Table { caption: "Datasets".to_owned(), columns, rows, select_for: None };
    let mut page = Page::new(Section::Datasets, "Datasets");
    page.summary = html! { (figure::grouped(total)) " to try agents on." };
    page.body = if total == 0 {
        nothing()
    } else {
        html! { (table::table(&table)) (table::numbers(&place.here(), at, total)) }
    };
    Ok(page.show(&place))
}

/// The beginning of a recorded text, for a cell.
fn preview(text: Option<&Json>) -> Markup {
    html! { @if let Some(text) = text { bdi { (elide(text.as_str(), PREVIEW)) } } }
}

fn nothing() -> Markup {
    let how = html! {
        p { "A dataset holds inputs and what should come out. Select traces in a list and add them, "
            "or make one with an SDK." }
        (copy::snippet("from langfuse import get_client\n\nlangfuse = get_client()\nlangfuse.create_dataset(name=\"refunds\")\nlangfuse.create_dataset_item(dataset_name=\"refunds\", input={\"question\": \"…\"}, expected_output=\"…\")"))
    };
    empty::empty("Datasets will appear here.", &how)
}
