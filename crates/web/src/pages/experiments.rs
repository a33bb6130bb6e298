//! Experiments: the runs of all datasets, with what becomes of them while they run.

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::experiment::plan::ExperimentProgress;
use ratchet_core::gate::bounds::Bounds;
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;
use ratchet_stages::experiment::service::{ExperimentError, ExperimentService, MAX_LISTED};
use ratchet_store::query::PageNumber;

use super::datasets::outcomes;
use super::datasets::results::{self, LISTED_TRIALS, RunDetail, RunResult, mean_of};
use crate::assets;
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Runs on a page: the scores of each are read.
const ROWS: usize = 20;
/// Characters of a name.
const NAME: usize = 80;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/experiments", get(list))
        .route("/project/{project}/experiments/{run}/cancel", post(cancel))
}

/// Experiments of the project, on behalf of the viewer.
pub(super) fn service(web: &Web, ctx: &RequestContext) -> ExperimentService {
    ExperimentService {
        store: web.store.clone(),
        catalog: ctx.viewer.catalog(web),
        project: ctx.project_id(),
    }
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let runs = service(&web, &ctx).list(None).await.map_err(failed)?;
    let wanted = ctx.params.get("state");
    let shown: Vec<&ExperimentProgress> =
        runs.iter().filter(|run| wanted.is_none_or(|state| run.state == state)).collect();
    let at = PageNumber { page: ctx.params.page(), limit: ROWS as u64 };
    let first = usize::try_from(at.offset()).unwrap_or(usize::MAX);
    let mut rows = Vec::new();
    for run in shown.iter().skip(first).take(ROWS) {
        let results = results::results(&web, &ctx, &run.id, (RunDetail::Scores, &[])).await?;
        let measured = Measured {
            accuracy: outcomes::accuracy(&results),
            latency: mean_of(results.values().filter_map(|of| RunResult::means(of).0)),
        };
        rows.push(row(run, &measured, &ctx));
    }
    let is_running = runs.iter().any(|run| run.state == "running");
    let mut page = Page::new(Section::Experiments, "Experiments");
    page.summary = summary(&runs);
    let columns = vec![
        Column::wide("Run"),
        Column::text("Dataset"),
        Column::text("State"),
        Column::text("Accuracy"),
        Column::number("Latency per item"),
        Column::number("Cost"),
        Column::number("Faults"),
        Column::text("Created"),
        Column::text("Actions"),
    ];
    let table = Table { caption: "Runs".to_owned(), columns, rows, select_for: None };
    page.body = html! {
        script type="module" src=(assets::address("experiments.js")) {}
        @if ctx.params.get("done") == Some("cancelled") { (toast::toast("Run cancelled")) }
        @if runs.is_empty() { (nothing(&ctx)) } @else {
            (states(&runs, &ctx))
            div.run-progress data-refresh[is_running] { (table::table(&table)) }
            (table::numbers(&ctx.here().without("done"), at, shown.len() as u64))
        }
    };
    Ok(page.show(&ctx))
}

fn summary(runs: &[ExperimentProgress]) -> Markup {
    let running = runs.iter().filter(|run| run.state == "running").count();
    html! {
        (figure::grouped(runs.len() as u64)) @if runs.len() == 1 { " run" } @else { " runs" }
        @if runs.len() >= MAX_LISTED { ", the newest ones; each dataset lists all of its own" }
        " over datasets" @if running > 0 { ", " (figure::grouped(running as u64)) " running" } "."
    }
}

/// The runs of one state.
fn states(runs: &[ExperimentProgress], ctx: &RequestContext) -> Markup {
    let chosen = ctx.params.get("state");
    let here = || ctx.here().without("page").without("done");
    html! {
        nav.changes aria-label="Runs by state" {
            a href=(here().without("state")) aria-current=[chosen.is_none().then_some("true")] {
                "all " (figure::grouped(runs.len() as u64))
            }
            @for state in ["running", "done", "cancelled", "recorded"] {
                @let count = runs.iter().filter(|run| run.state == state).count() as u64;
                @if count > 0 || chosen == Some(state) {
                    a href=(here().with("state", state)) aria-current=[(chosen == Some(state)).then_some("true")] {
                        b { (figure::grouped(count)) } " " (state_name(state))
                    }
                }
            }
        }
    }
}

/// What is read of a run's results.
struct Measured {
    accuracy: Option<(String, Bounds)>,
    /// In nanoseconds.
    latency: Option<f64>,
}

fn row(run: &ExperimentProgress, measured: &Measured, ctx: &RequestContext) -> Row {
    let is_ours = run.target.is_some();
    let none = || html! { span.muted { "–" } };
    Row {
        id: run.id.clone(),
        link: Some(ctx.to(&["datasets", &run.dataset, "runs", &run.id])),
        cells: vec![
            html! { bdi { (elide(&run.name, NAME)) } },
            html! { a href=(ctx.to(&["datasets", &run.dataset])) { bdi { (elide(&run.dataset, NAME)) } } },
            state(run),
            match &measured.accuracy {
                Some((score, bounds)) => html! {
                    span title={ "by " (score) ", newest " (LISTED_TRIALS) " trials" } { (accuracy(bounds)) }
                },
                None => none(),
            },
            measured.latency.map_or_else(none, |nanos| html! { (latency(nanos)) }),
            if is_ours && run.done > run.unpriced {
                html! { (figure::dollars(run.cost)) }
            } else {
                none()
            },
            if is_ours {
                html! { (figure::grouped(run.faults)) }
            } else {
                none()
            },
            match Timestamp::parse(&run.created_at) {
                Ok(at) => figure::ago(at, &ctx.time),
                Err(_) => none(),
            },
            cancel_button(run, ctx),
        ],
        failed: false,
    }
}

/// State of a run, with its progress while it runs.
pub(super) fn state(run: &ExperimentProgress) -> Markup {
    let class = match run.state.as_str() {
        "running" => "badge code",
        "done" => "badge good",
        "cancelled" => "badge warn",
        _ => "badge",
    };
    let words =
        format!("{} of {}", figure::grouped(run.done), figure::counted(run.trials, "trial"));
    html! {
        span class=(class) { (state_name(&run.state)) }
        @if run.state == "running" {
            " " progress value=(run.done) max=(run.trials.max(1)) aria-label=(words) {} " "
            small.muted { (words) }
        } @else if run.done < run.trials { " " small.muted { (words) } }
    }
}

fn state_name(state: &str) -> &str {
    match state {
        "recorded" => "recorded by an SDK",
        state => state,
    }
}

/// A share with its interval.
pub(super) fn accuracy(bounds: &Bounds) -> Markup {
    html! {
        (figure::percent(bounds.value)) " "
        small.muted {
            (figure::percent(bounds.lower())) " to " (figure::percent(bounds.upper())) ", n = " (bounds.n)
        }
    }
}

/// A mean latency in nanoseconds.
pub(super) fn latency(nanos: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "a latency in nanoseconds")]
    let nanos = nanos as i64;
    figure::duration(nanos)
}

/// Stops a run; nothing if it does not run.
pub(super) fn cancel_button(run: &ExperimentProgress, ctx: &RequestContext) -> Markup {
    html! {
        @if run.state == "running" && ctx.viewer.can_change() {
            form.inline-form method="post" action=(ctx.to(&["experiments", &run.id, "cancel"])) {
                (ctx.viewer.form_token.field())
                button.button type="submit" { "Cancel" span.sr { " " (run.name) } }
            }
        }
    }
}

/// `POST …/experiments/{run}/cancel`
async fn cancel(
    State(web): State<Web>,
    Path((_, run)): Path<(String, String)>,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let run = service(&web, &ctx).cancel(&run, ctx.now).await.map_err(failed)?;
    let back = ctx.to(&["datasets", &run.dataset, "runs", &run.id]).with("done", "cancelled");
    Ok(Redirect::to(&back.to_string()))
}

/// What a page says of an error.
pub(super) fn failed(error: ExperimentError) -> PageError {
    match error {
        ExperimentError::Store(error) => error.into(),
        ExperimentError::NotFound(what) => PageError::NotFound(format!("{what} not found")),
        other => PageError::Bad(other.to_string()),
    }
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "An experiment runs an agent on the items of a " a href=(ctx.to(&["datasets"])) { "dataset" }
            " and scores its answers. Write a target file, which says how the agent is called:" }
        (copy::snippet("kind = \"command\"\ncommand = [\"python3\", \"agent.py\"]"))
        (copy::snippet(&ctx.command("experiment run --dataset refunds --target target.toml --evaluator exact")))
        p { "Runs of the Langfuse SDKs are listed here too." }
        @if ctx.viewer.can_change() {
            p { a.button href=(ctx.to(&["experiments", "start"])) { "Start run" } }
        }
    };
    empty::empty("No runs yet", &how)
}
