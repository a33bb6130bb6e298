//! One run over a dataset, item by item.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::catalog::annotation::ItemKind;
use ratchet_core::experiment::plan::ExperimentProgress;
use ratchet_core::experiment::run_summary::{RunScore, RunSummary};
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;
use ratchet_stages::experiment::service::recorded_view;
use ratchet_store::catalog::Dataset;
use ratchet_store::experiment::{Experiment, ExperimentQuery, RunQuery};
use ratchet_store::query::{Paging, TimeRange};

use super::results::{self, RunDetail, RunResult, TRIALS, TrialOutcome, mean_of};
use super::{PREVIEW, item_texts, one, outcomes, score_values};
use crate::assets;
use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure, toast};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::{experiments, queue_menu};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Faults that are listed.
const FAULTS: usize = 50;

/// `GET …/datasets/{name}/runs/{run}`: a run by its id, as SDKs print it, or by its name.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name, run)): Path<(String, String, String)>,
) -> PageResult<Markup> {
    let dataset = one::find(&web, &ctx, name).await?;
    let (id, run) = known(&web, &ctx, &dataset, run).await?;
    let tries = results::results(&web, &ctx, &id, (RunDetail::Outputs, &[])).await?;
    let items = item_texts::items(&web, &ctx, &dataset).await?;
    let mut page = one::begin(&dataset, &ctx);
    page.crumbs.push((dataset.name.clone(), ctx.to(&["datasets", &dataset.name, "runs"])));
    page.title.clone_from(&run.name);
    page.action = html! {
        @if ctx.viewer.can_change() {
            @let to = ctx.to(&["datasets", &dataset.name, "runs", &id, "queue"]);
            (queue_menu::menu(&web, &ctx, &to, &ctx.viewer.form_token.field()).await?)
            a.button href=(ctx.to(&["datasets", &dataset.name, "runs", &id, "delete"])) { "Delete run" }
        }
        a.button href=(ctx.to(&["gates"]).with("run", &id)) { "Gates of this run" }
        (experiments::cancel_button(&run, &ctx))
    };
    page.summary = summary(&tries, &run, &ctx);
    let whole = match run.target.is_some() {
        true => Some(experiments::service(&web, &ctx).summary(&id).await),
        false => None,
    };
    let whole = whole.transpose().map_err(experiments::failed)?;
    let of_run = experiments::service(&web, &ctx).run_scores(&id).await;
    let of_run = of_run.map_err(experiments::failed)?;
    page.body = html! {
        script type="module" src=(assets::address("experiments.js")) {}
        @match ctx.params.get("done") {
            Some("cancelled") => { (toast::toast("Run cancelled")) },
            Some("queued") => { (toast::toast("The traces of this run are in the queue")) },
            _ => {},
        }
        div.run-progress data-refresh[run.state == "running"] {
            (facts(&run, &tries, &ctx))
            @if tries.is_empty() {
                (empty::empty("No items in this run yet", &html! { p { "Items appear as they are executed." } }))
            } @else {
                (means(&tries))
                @if let Some(whole) = &whole { (verdicts(whole)) }
                @if !of_run.is_empty() { (run_scores(&of_run)) }
                (faults(&tries, (&dataset, &ctx)))
                (answers(&tries, &items, (&run, &dataset, &ctx)))
            }
        }
    };
    Ok(page.show(&ctx))
}

fn summary(
    tries: &BTreeMap<String, RunResult>,
    run: &ExperimentProgress,
    ctx: &RequestContext,
) -> Markup {
    let trials: usize = tries.values().map(|result| result.trials.len()).sum();
    html! {
        (figure::counted(tries.len() as u64, "item"))
        @if trials > tries.len() { ", " (figure::counted(trials as u64, "trial")) }
        @if trials >= TRIALS { ", newest first" }
        @if let Ok(at) = Timestamp::parse(&run.created_at) { ", " (figure::ago(at, &ctx.time)) }
    }
}

/// State and sums of a run.
fn facts(
    run: &ExperimentProgress,
    tries: &BTreeMap<String, RunResult>,
    ctx: &RequestContext,
) -> Markup {
    let trials = || tries.values().flat_map(|of| &of.trials);
    let faults = trials().filter(|trial| trial.fault.is_some()).count() as u64;
    let (latencies, costs): (Vec<_>, Vec<_>) = tries.values().map(RunResult::means).unzip();
    let latency = mean_of(latencies.into_iter().flatten());
    let cost = costs.iter().flatten().copied().reduce(|sum, cost| sum + cost);
    html! {
        dl.run-means {
            div { dt { "State" } dd { (experiments::state(run)) } }
            @if let Some((score, bounds)) = outcomes::accuracy(tries) {
                div { dt { "Accuracy by " bdi { (elide(&score, 60)) } } dd { (experiments::accuracy(&bounds)) } }
            }
            @if let Some(target) = &run.target {
                div { dt { "Target" } dd { bdi { (elide(&target.name, 60)) } " " small.muted {
                    (target.kind)
                    @if let Some(version) = &target.version { ", " bdi { (elide(version, 40)) } }
                    @if let Some(environment) = &target.environment { ", " bdi { (environment) } }
                } } }
                div { dt { "Calls" } dd { (figure::grouped(run.calls)) @if run.cached > 0 { " " small.muted { (figure::grouped(run.cached)) " from cache" } } } }
            }
            @if let Some(latency) = latency { div { dt { "Latency per item" } dd { (experiments::latency(latency)) } } }
            div { dt { "Cost" } dd {
                @match cost { Some(cost) => { (figure::dollars(cost)) }, None => { "unknown" } }
                @if run.unpriced > 0 { " " small.muted { (figure::counted(run.unpriced, "trial")) " without a known cost" } }
            } }
            div { dt { "Faults" } dd { (figure::grouped(faults.max(run.faults))) } }
            @if let Some(Ok(at)) = run.finished_at.as_deref().map(Timestamp::parse) {
                div { dt { "Finished" } dd { (figure::ago(at, &ctx.time)) } }
            }
        }
    }
}

/// How each evaluator's verdicts fell, and percentiles of latency, over all trials.
fn verdicts(whole: &RunSummary) -> Markup {
    html! {
        dl.run-means {
            @for score in &whole.scores {
                div { dt { "Trials by " bdi { (elide(&score.name, 60)) } } dd {
                    (figure::grouped(score.passed as u64)) " passed, "
                    (figure::grouped(score.failed as u64)) " failed"
                    @if score.not_judged > 0 { ", " b { (figure::grouped(score.not_judged as u64)) " not judged" } }
                } }
            }
            @if let Some(latency) = &whole.latency_ms {
                div { dt { "Latency per trial" } dd {
                    "p50 " (figure::duration(nanos(latency.p50))) ", p95 " (figure::duration(nanos(latency.p95)))
                } }
            }
        }
    }
}

/// Scores of the run as a whole.
fn run_scores(scores: &[RunScore]) -> Markup {
    html! {
        dl.run-means {
            @for score in scores {
                div { dt { bdi { (elide(&score.name, 60)) } " " small.muted { "whole run" } } dd {
                    (figure::number(score.value))
                    @if let Some(comment) = &score.comment { " " small.muted { bdi { (elide(comment, PREVIEW)) } } }
                } }
            }
        }
    }
}

fn nanos(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds).unwrap_or(i64::MAX).saturating_mul(1_000_000)
}

/// Trials in which the target failed: wrong answers that say nothing about the agent's quality.
fn faults(
    tries: &BTreeMap<String, RunResult>,
    (dataset, ctx): (&Dataset, &RequestContext),
) -> Markup {
    let failed = tries.iter().flat_map(|(item, of)| of.trials.iter().map(move |one| (item, one)));
    let failed: Vec<_> =
        failed.filter_map(|(item, one)| Some((item, one, one.fault.as_ref()?))).collect();
    let row = |(item, trial, fault): &(&String, &TrialOutcome, &String)| Row {
        id: trial.trace.to_string(),
        link: Some(ctx.to(&["datasets", &dataset.name, "items", item])),
        cells: vec![
            super::short_id(item),
            html! { bdi { (elide(fault, PREVIEW)) } },
            html! { a href=(ctx.to(&["traces", &trial.trace.to_string()])) { "trace" } },
        ],
        failed: true,
    };
    let columns = vec![Column::text("Item"), Column::wide("Fault"), Column::text("Trace")];
    let rows: Vec<Row> = failed.iter().take(FAULTS).map(row).collect();
    let table = Table { caption: "Faults".to_owned(), columns, rows, select_for: None };
    html! {
        @if !failed.is_empty() {
            h2 { "Faults" }
            p.muted { "The target failed instead of answering. These trials count as incorrect." }
            (table::table(&table))
            @if failed.len() > FAULTS { p.muted { "Only the first " (FAULTS) " are shown." } }
            h2 { "Answers" }
        }
    }
}

fn answers(
    tries: &BTreeMap<String, RunResult>,
    items: &BTreeMap<String, item_texts::ItemTexts>,
    (run, dataset, ctx): (&ExperimentProgress, &Dataset, &RequestContext),
) -> Markup {
    let answered = tries.iter().filter(|(_, of)| of.trials.iter().any(|one| one.fault.is_none()));
    let rows = answered.map(|(item, made)| row(item, made, items.get(item), (dataset, ctx)));
    let columns = vec![
        Column::text("Item"),
        Column::wide("Input"),
        Column::wide("Expected"),
        Column::wide("Output"),
        Column::text("Scores"),
        Column::number("Latency"),
        Column::text("Trace"),
    ];
    let caption = format!("Items of {}", run.name);
    let table = Table { caption, columns, rows: rows.collect(), select_for: None };
    html! { div.run-items { (table::table(&table)) } }
}

/// `POST …/datasets/{name}/runs/{run}/queue`: adds the traces of a run to an annotation queue, to be
/// reviewed beside what their items expect.
pub(super) async fn queue(
    State(web): State<Web>,
    Path((_, name, run)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let dataset = one::find(&web, &ctx, name).await?;
    let run = find(&web, &ctx, &dataset, run).await?;
    let results = results::results(&web, &ctx, &run.id, (RunDetail::Scores, &[])).await?;
    let trials = results.into_values().flat_map(|result| result.trials);
    let traces: BTreeSet<String> = trials.map(|trial| trial.trace.to_string()).collect();
    let items = traces.into_iter().map(|trace| (ItemKind::Trace, trace));
    queue_menu::add(&web, &ctx, items, &form).await?;
    let back = ctx.to(&["datasets", &dataset.name, "runs", &run.id]).with("done", "queued");
    Ok(Redirect::to(&back.to_string()))
}

/// A run of ours, also before its first item is recorded, or one that another client recorded.
pub(super) async fn known(
    web: &Web,
    ctx: &RequestContext,
    dataset: &Dataset,
    run: String,
) -> PageResult<(String, ExperimentProgress)> {
    let service = experiments::service(web, ctx);
    let of_dataset = |view: &ExperimentProgress| view.dataset == dataset.name;
    if let Some(view) = service.show(&run).await.ok().filter(of_dataset) {
        return Ok((view.id.clone(), view));
    }
    let found = find(web, ctx, dataset, run).await?;
    let view = recorded_view(&found, &dataset.name);
    Ok((found.id, view))
}

pub(super) async fn find(
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
    let scores = score_values::by_score(results);
    html! {
        @if scores.is_empty() {
            p.muted { "No scores on this run yet." }
        } @else {
            dl.run-means {
                @for score in &scores {
                    div { dt { bdi { (elide(&score.name, 60)) } } dd { (score_values::mean(score)) } }
                }
            }
        }
    }
}

fn row(
    id: &str,
    result: &RunResult,
    item: Option<&item_texts::ItemTexts>,
    (dataset, ctx): (&Dataset, &RequestContext),
) -> Row {
    let text = |text: Option<String>| {
        let text = text.unwrap_or_default();
        html! { bdi title=(text) { (elide(&text, PREVIEW)) } }
    };
    let answered: Vec<&TrialOutcome> =
        result.trials.iter().filter(|trial| trial.fault.is_none()).collect();
    let newest = answered.first().copied();
    let latency = newest.and_then(|trial| trial.latency_nanos);
    Row {
        id: id.to_owned(),
        link: Some(ctx.to(&["datasets", &dataset.name, "items", id])),
        cells: vec![
            super::short_id(id),
            text(item_texts::input_of(item)),
            text(item_texts::expected_of(Some(result), item)),
            text(newest.map(|trial| trial.output.clone())),
            html! { @for trial in &answered { (score_values::badges(trial)) } },
            html! { @match latency { Some(nanos) => { (figure::duration(nanos)) }, None => { "–" } } },
            html! { @for trial in &answered {
                a href=(ctx.to(&["traces", &trial.trace.to_string()])) { "trace" } " "
            } },
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
