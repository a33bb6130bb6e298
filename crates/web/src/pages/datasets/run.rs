//! One run over a dataset, item by item.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::{Dataset, DatasetItem};
use ratchet_store::experiment::{Experiment, ExperimentQuery, RunQuery};
use ratchet_store::query::{Detail, Paging, TimeRange};

use super::results::{self, ITEMS, RunResult};
use super::{PREVIEW, one};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// `GET …/datasets/{name}/runs/{run}`: a run by its id, as SDKs print it, or by its name.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name, run)): Path<(String, String, String)>,
) -> PageResult<Markup> {
    let dataset = one::find(&web, &ctx, name).await?;
    let run = find(&web, &ctx, &dataset, run).await?;
    let tries = results::results(&web, &ctx, run.id.clone(), Detail::Content).await?;
    let items = results::items(&web, &ctx, &dataset).await?;
    let mut page = one::begin(&dataset, &ctx);
    page.crumbs.push((dataset.name.clone(), ctx.to(&["datasets", &dataset.name, "runs"])));
    page.title.clone_from(&run.name);
    page.summary = html! {
        (figure::grouped(tries.len() as u64)) @if tries.len() == 1 { " item" } @else { " items" }
        @if tries.len() as u64 >= ITEMS { ", newest first" }
        ", " (figure::ago(run.created_at, &ctx.time))
        @if let Some(text) = &run.description { ". " bdi { (elide(text, PREVIEW)) } }
    };
    let row =
        |(item, made): (&String, &RunResult)| row(item, made, items.get(item), (&dataset, &ctx));
    let rows = tries.iter().map(row).collect();
    let columns = vec![
        Column::text("Item"),
        Column::wide("Input"),
        Column::wide("Expected"),
        Column::wide("Output"),
        Column::text("Scores"),
        Column::text("Trace"),
    ];
    let table =
        Table { caption: format!("Items of {}", run.name), columns, rows, select_for: None };
    page.body = html! {
        @if tries.is_empty() {
            (empty::empty("No items in this run yet", &html! { p { "Items appear as they are executed." } }))
        } @else {
            (means(&tries))
            div.run-items { (table::table(&table)) }
        }
    };
    Ok(page.show(&ctx))
}

async fn find(
    web: &Web,
    ctx: &RequestContext,
    dataset: &Dataset,
    run: String,
) -> PageResult<Experiment> {
    let of_dataset = |found: &Experiment| found.dataset.as_ref() == Some(&dataset.id);
    if let Some(found) = by_id(web, ctx, run.clone()).await?.filter(of_dataset) {
        return Ok(found);
    }
    let query = RunQuery {
        project: ctx.project_id(),
        dataset: dataset.id.clone(),
        name: Some(run),
        paging: Paging::After { cursor: None, limit: 1 },
    };
    let found = web.store.telemetry.runs(query).await?.rows.into_iter().next();
    found.ok_or_else(|| PageError::not_there("dataset run"))
}

async fn by_id(web: &Web, ctx: &RequestContext, id: String) -> PageResult<Option<Experiment>> {
    let query = ExperimentQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        ids: vec![id],
        names: Vec::new(),
        datasets: Vec::new(),
        paging: Paging::After { cursor: None, limit: 1 },
    };
    let found = web.store.telemetry.experiments(query).await?.rows.into_iter().next();
    Ok(found.map(|found| found.experiment))
}

/// The mean of each score, with n, interval and who judged.
fn means(results: &BTreeMap<String, RunResult>) -> Markup {
    let scores = results::by_score(results);
    html! {
        @if scores.is_empty() {
            p.muted { "No scores on this run yet." }
        } @else {
            dl.run-means {
                @for score in &scores {
                    div { dt { bdi { (elide(&score.name, 60)) } } dd { (results::mean(score)) } }
                }
            }
        }
    }
}

fn row(
    id: &str,
    result: &RunResult,
    item: Option<&DatasetItem>,
    (dataset, ctx): (&Dataset, &RequestContext),
) -> Row {
    let text = |text: Option<String>| {
        let text = text.unwrap_or_default();
        html! { bdi title=(text) { (elide(&text, PREVIEW)) } }
    };
    let trace = ctx.to(&["traces", &result.trace.to_string()]);
    Row {
        id: id.to_owned(),
        link: Some(ctx.to(&["datasets", &dataset.name, "items", id])),
        cells: vec![
            super::short_id(id),
            text(results::input_of(item)),
            text(results::expected_of(Some(result), item)),
            text(Some(result.output.clone())),
            results::badges(result),
            html! { a href=(trace) { "trace" } },
        ],
        failed: false,
    }
}

/// `GET …/experiments/results?baseline={id}`: leads to the run that an SDK printed.
pub(super) async fn of_experiment(
    State(web): State<Web>,
    ctx: RequestContext,
) -> PageResult<Redirect> {
    let id = ctx.params.get("baseline").unwrap_or_default().to_owned();
    let found = by_id(&web, &ctx, id).await?;
    let run = found.ok_or_else(|| PageError::not_there("experiment"))?;
    // A run without a dataset has no page: its items are traces.
    let link = match &run.dataset {
        Some(dataset) => ctx.to(&["datasets", dataset, "runs", &run.id]),
        None => ctx.to(&["traces"]),
    };
    Ok(Redirect::to(&link.to_string()))
}
