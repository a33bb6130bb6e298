//! The runs over a dataset, with the mean of each score.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::Dataset;
use ratchet_store::experiment::{Experiment, RunQuery};
use ratchet_store::query::Paging;

use super::results::{self, RunDetail, RunResult};
use super::{form, one, score_values};
use crate::components::{copy, empty, figure, table};
use crate::page_error::PageResult;
use crate::request_context::{RequestContext, shell_word};
use crate::web::Web;

/// Runs on a page: the scores of each are read.
const ROWS: u64 = 20;
/// Scores that get a column: those with the most values.
const MEANS: usize = 4;
/// Bytes of a description.
const DESCRIPTION: usize = 500;

/// A run and its results.
struct Run {
    run: Experiment,
    results: BTreeMap<String, RunResult>,
}

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let dataset = one::find(&web, &ctx, name).await?;
    let cursor = ctx.params.get("cursor").map(str::to_owned);
    let query = RunQuery {
        project: ctx.project_id(),
        dataset: dataset.id.clone(),
        name: None,
        paging: Paging::After { cursor: cursor.clone(), limit: ROWS },
    };
    let found = web.store.telemetry.runs(query).await?;
    let mut runs = Vec::new();
    for run in found.rows {
        let results = results::results(&web, &ctx, &run.id, (RunDetail::Scores, &[])).await?;
        runs.push(Run { run, results });
    }
    let mut page = one::begin(&dataset, &ctx);
    page.body = html! {
        (form::done_toast(&ctx))
        (one::tabs(&dataset, &ctx, "Runs"))
        @if runs.is_empty() { (no_runs(&dataset, &ctx)) } @else {
            (chooser(&runs, &dataset, &ctx))
            (table::pager(&ctx.here().without("done"), cursor.is_some(), found.cursor.as_deref()))
        }
    };
    Ok(page.show(&ctx))
}

/// The names of the scores with the most values.
fn names(runs: &[Run]) -> Vec<String> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for result in runs.iter().flat_map(|run| run.results.values()) {
        for name in result.scores.keys() {
            *counts.entry(name).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().take(MEANS).map(|(name, _)| name.clone()).collect()
}

fn mean(run: &Run, name: &str) -> Markup {
    let scores = score_values::by_score(&run.results);
    let found = scores.into_iter().find(|score| score.name == name);
    score_values::mean(&found.unwrap_or_default())
}

/// The runs, of which a baseline and candidates can be chosen to be compared.
fn chooser(runs: &[Run], dataset: &Dataset, ctx: &RequestContext) -> Markup {
    let action = ctx.to(&["datasets", &dataset.name, "compare"]);
    let names = names(runs);
    html! {
        form method="get" action=(action.path()) {
            div.table-wrap tabindex="0" role="region" aria-label="Runs" {
                table data-rows {
                    thead { tr {
                        th scope="col" { "Baseline" } th scope="col" { "Candidate" }
                        th scope="col" { "Run" } th.num scope="col" { "Items" }
                        @for name in &names { th scope="col" { "Mean " bdi { (elide(name, 30)) } } }
                        th.wide scope="col" { "Description" } th scope="col" { "Created" }
                    } }
                    tbody {
                        @for (index, run) in runs.iter().enumerate() {
                            (row(run, index, &names, (dataset, ctx)))
                        }
                    }
                }
            }
            button.button.primary type="submit" { "Compare" }
        }
    }
}

fn row(
    one: &Run,
    index: usize,
    names: &[String],
    (dataset, ctx): (&Dataset, &RequestContext),
) -> Markup {
    let run = &one.run;
    // Several candidates can be compared with one baseline.
    let choice = |side: &str, kind: &str, chosen: bool| {
        html! {
            input type=(kind) name=(side) value=(run.id) checked[chosen]
                  aria-label={ (run.name) " as " (side) };
        }
    };
    html! {
        tr {
            td data-label="Baseline" { (choice("before", "radio", index == 1)) }
            td data-label="Candidate" { (choice("after", "checkbox", index == 0)) }
            td { a.row-link href=(ctx.to(&["datasets", &dataset.name, "runs", &run.id])) { bdi { (run.name) } } }
            td.num data-label="Items" { (figure::grouped(one.results.len() as u64)) }
            @for name in names { td data-label={ "Mean " (name) } { (mean(one, name)) } }
            td.wide { (elide(run.description.as_deref().unwrap_or_default(), DESCRIPTION)) }
            td { (figure::ago(run.created_at, &ctx.time)) }
        }
    }
}

fn no_runs(dataset: &Dataset, ctx: &RequestContext) -> Markup {
    let quoted = serde_json::to_string(&dataset.name).unwrap_or_default();
    let named = shell_word(&dataset.name);
    let run = format!("experiment run --dataset {named} --target target.toml --evaluator exact");
    let sdk = format!(
        "dataset = langfuse.get_dataset({quoted})\ndataset.run_experiment(name=\"baseline\", task=lambda item, **_: agent(item.input))"
    );
    let how = html! {
        p { "A run executes an agent on every item. With Ratchet's own runner, or with a Langfuse SDK:" }
        @if ctx.viewer.can_change() {
            @let start = ctx.to(&["experiments", "start"]).with("dataset", dataset.name.clone());
            p { a.button href=(start) { "Start run" } }
        }
        (copy::snippet(&ctx.command(&run)))
        (copy::snippet(&sdk))
    };
    empty::empty("No runs yet.", &how)
}
