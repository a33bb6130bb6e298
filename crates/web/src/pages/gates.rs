//! Gates: decisions on runs, newest first, and one of them with what it rests on.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Redirect;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::counted::{counted, verb_of};
use ratchet_core::gate::bounds::Bounds;
use ratchet_core::gate::critical::{CriticalItem, CriticalState};
use ratchet_core::gate::decision::Verdict;
use ratchet_core::gate::explain::{percent, points};
use ratchet_core::gate::flip::{Flip, FlipKind};
use ratchet_core::gate::report::GateReport;
use ratchet_core::record::limit::elide;
use ratchet_core::stats::interval::{Estimate, Interval};
use ratchet_stages::gate::{self, GateContext, GateError, GateOrder};
use ratchet_store::catalog::{GateQuery, StoredGate};
use ratchet_store::query::PageNumber;

use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, copy, empty, figure, whisker};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::datasets::item_texts;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Gates on a page.
const ROWS: u64 = 50;
/// Characters of a name that are shown.
const NAME: usize = 80;
/// Characters of an item's input that are shown.
const INPUT: usize = 120;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/gates", get(list))
        .route("/project/{project}/gates/{gate}", get(show))
        .route("/project/{project}/gates/{gate}/again", post(again))
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let number = ctx.params.get("page").and_then(|page| page.parse().ok()).unwrap_or(1_u64);
    let query = GateQuery {
        project: ctx.project_id(),
        dataset: None,
        run: ctx.params.get("run").map(str::to_owned),
        page: PageNumber { page: number.max(1), limit: ROWS },
    };
    let found = web.store.catalog.gates(query).await?;
    let total = found.total.unwrap_or(0);
    let mut page = Page::new(Section::Gates, "Gates");
    page.summary = html! {
        (figure::counted(total, "decision"))
        " on whether a run may go on, newest first."
    };
    page.body = html! {
        @if found.rows.is_empty() { (nothing(&ctx)) } @else { (overview(&found.rows, &ctx)) }
        @if total > number.saturating_mul(ROWS) {
            p { a href=(ctx.here().with("page", (number + 1).to_string())) { "Older" } }
        }
    };
    Ok(page.show(&ctx))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "A gate decides on a run over a dataset: passed, blocked or inconclusive, with a stated "
            "error rate. Run it in CI, or on a run of a Langfuse SDK:" }
        (copy::snippet(&ctx.command("gate --dataset NAME --run RUN --min-accuracy 0.7 --baseline production")))
        p { a.button href=(ctx.to(&["experiments"])) { "Runs" } }
    };
    empty::empty("No gates yet", &how)
}

fn read(gate: &StoredGate) -> Option<GateReport> {
    serde_json::from_str(gate.report.as_str()).ok()
}

fn verdict(verdict: Verdict) -> Markup {
    match verdict {
        Verdict::Pass => html! { span.verdict.pass { (badge::tag("Passed")) } },
        Verdict::Block => html! { span.verdict.block { (badge::tag("Blocked")) } },
        Verdict::Inconclusive => html! { span.verdict.unclear { (badge::tag("Inconclusive")) } },
    }
}

fn overview(gates: &[StoredGate], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("Verdict"),
        Column::wide("Run"),
        Column::text("Dataset"),
        Column::text("Accuracy"),
        Column::text("Difference"),
        Column::number("Regressed"),
        Column::text("Decided"),
    ];
    let rows = gates.iter().map(|gate| row(gate, ctx)).collect();
    table::table(&Table { caption: "Gates".to_owned(), columns, rows, select_for: None })
}

fn row(gate: &StoredGate, ctx: &RequestContext) -> Row {
    let report = read(gate);
    let of = |part: fn(&GateReport) -> Markup| match &report {
        Some(report) => part(report),
        None => html! { "–" },
    };
    Row {
        id: gate.id.clone(),
        link: Some(ctx.to(&["gates", &gate.id])),
        cells: vec![
            verdict(gate.verdict),
            of(|report| html! { bdi { (elide(&report.run, NAME)) } }),
            of(|report| html! { bdi { (elide(&report.dataset, NAME)) } }),
            of(|report| range(&report.accuracy, percent)),
            of(|report| match &report.difference {
                Some(difference) => range(&difference.bounds, points),
                None => html! { "–" },
            }),
            of(|report| html! { (figure::grouped(regressed(report))) }),
            html! { (figure::ago(gate.created_at, &ctx.time)) },
        ],
        failed: gate.verdict == Verdict::Block,
    }
}

fn regressed(report: &GateReport) -> u64 {
    report.flips.iter().filter(|flip| flip.kind == FlipKind::Regressed).count() as u64
}

fn range(bounds: &Bounds, number: fn(f64) -> String) -> Markup {
    html! {
        (number(bounds.value)) " "
        small.muted { (number(bounds.lower())) " to " (number(bounds.upper())) }
    }
}

async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let gate = web.store.catalog.gate(ctx.project_id(), id).await?;
    let report = read(&gate).ok_or_else(|| PageError::not_there("gate report"))?;
    let mut page = Page::new(Section::Gates, format!("Gate of {}", elide(&report.run, NAME)));
    page.crumbs.push(("Gates".to_owned(), ctx.to(&["gates"])));
    page.summary = html! {
        (verdict(gate.verdict)) " " (figure::ago(gate.created_at, &ctx.time)) ", dataset "
        a href=(ctx.to(&["datasets", &report.dataset])) { bdi { (elide(&report.dataset, NAME)) } }
        ", score " bdi { (elide(&report.score, NAME)) } "."
    };
    page.action = actions(&report, &gate, &ctx);
    let dataset = web.store.catalog.dataset(ctx.project_id(), report.dataset.clone()).await?;
    let items = match dataset {
        Some(dataset) => item_texts::items(&web, &ctx, &dataset).await?,
        None => BTreeMap::new(),
    };
    page.body = html! {
        p.gate-sentence { bdi { (report.sentence) } }
        (facts(&report, &gate, &ctx))
        (flips((&report, &gate), &items, &ctx))
        (critical(&report.critical, &report, &ctx))
        (lines("Target faults", report.faults.text().as_slice()))
        (lines("Notes", &report.notes))
        (lines("What it could not see", &report.not_seen))
        (lines("What to try next", &report.next_steps))
    };
    Ok(page.show(&ctx))
}

/// The run beside its baseline, by the score of the gate; `None` without a baseline.
fn comparison(report: &GateReport, gate: &StoredGate, ctx: &RequestContext) -> Option<Link> {
    let link = ctx.to(&["datasets", &report.dataset, "compare"]);
    let link = link.with("before", report.baseline.as_ref()?).with("after", &gate.run);
    Some(link.with("score", &report.score))
}

fn actions(report: &GateReport, gate: &StoredGate, ctx: &RequestContext) -> Markup {
    html! {
        @if let Some(link) = comparison(report, gate, ctx) { a.button href=(link) { "Compare runs" } }
        @if ctx.viewer.can_change() {
            form.inline-form method="post" action=(ctx.to(&["gates", &gate.id, "again"])) {
                (ctx.viewer.form_token.field())
                button.button type="submit" title="Decide on the same runs by the same rule, with the scores of now" { "Decide again" }
            }
        }
    }
}

/// `POST …/gates/{gate}/again`: decides on the same runs by the same rule. Scores may have been
/// corrected since.
async fn again(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let gate = web.store.catalog.gate(ctx.project_id(), id).await?;
    let report = read(&gate).ok_or_else(|| PageError::not_there("gate report"))?;
    let order = GateOrder {
        dataset: report.dataset,
        run: gate.run,
        baseline: report.baseline,
        score: Some(report.score),
        rule: report.rule,
        look: report.look,
        judged_again: Vec::new(),
    };
    let (catalog, project) = (ctx.viewer.catalog(&web), ctx.project_id());
    let context = GateContext {
        store: &web.store,
        catalog: &catalog,
        project: &project,
        server: &ctx.server,
        now: ctx.now,
    };
    let (decided, _) = gate::decide(context, order).await.map_err(|error| match error {
        GateError::Store(error) => error.into(),
        GateError::NotFound(what) => PageError::NotFound(what),
        other => PageError::Bad(other.to_string()),
    })?;
    Ok(Redirect::to(&ctx.to(&["gates", &decided.id]).to_string()))
}

fn estimate(bounds: &Bounds) -> Estimate {
    let [lower, upper] = bounds.interval;
    Estimate { value: bounds.value, interval: Some(Interval { lower, upper }), n: bounds.n as u64 }
}

fn facts(report: &GateReport, gate: &StoredGate, ctx: &RequestContext) -> Markup {
    let run = |name: &str, id: &str| {
        let link = ctx.to(&["datasets", &report.dataset, "runs", id]);
        html! { a href=(link) { bdi { (elide(name, NAME)) } } }
    };
    html! {
        section.whiskers aria-label="Measured" {
            (whisker::level("Accuracy", &estimate(&report.accuracy), report.rule.min_accuracy))
            @if let Some(difference) = &report.difference {
                (whisker::named_interval("Accuracy against the baseline", &estimate(&difference.bounds), "bounds"))
            }
            @if let Some(best) = &report.best {
                (whisker::named_interval("Accuracy against the best promoted run", &estimate(&best.bounds), "bounds"))
            }
        }
        dl.run-means {
            div { dt { "Run" } dd { (run(&report.run, &gate.run)) } }
            @if let Some(baseline) = &report.baseline {
                div { dt { "Baseline" } dd { (run(baseline, baseline)) } }
            }
            @if let Some(difference) = &report.difference {
                div { dt { "Compared items" } dd {
                    (difference.bounds.n) " "
                    small.muted { (difference.changed) " changed, " (difference.added) " added, "
                        (difference.removed) " removed" }
                } }
            }
            @if let Some(test) = &report.mcnemar {
                div { dt { "McNemar" } dd { "b = " (test.b) ", c = " (test.c) ", p "
                    @if test.p_one_sided < 0.0001 { "< 0.0001" } @else { "= " (format!("{:.4}", test.p_one_sided)) }
                } }
            }
            div { dt { "Error rate" } dd { (percent(1.0 - report.rule.confidence)) } }
            div { dt { "Margin" } dd { (points(-report.rule.margin)) } }
            @if report.faults.trials > 0 {
                div { dt { "Target faults" } dd { (report.faults.trials) " of " (counted(report.faults.of, "trial")) } }
            }
            @if report.not_judged.trials > 0 {
                div { dt { "Not judged" } dd { (counted(report.not_judged.trials, "trial")) } }
            }
            div { dt { "Cost" } dd {
                @match report.cost { Some(cost) => { "$" (format!("{cost:.4}")) }, None => { "unknown" } }
            } }
        }
        @if let Some(found) = &report.corrections {
            p { (counted(found.items, "item")) " " (verb_of(found.items, ["was", "were"]))
                " corrected by people"
                @if found.one_sided > 0 { "; " (found.one_sided) " of them left the comparison" }
                ". Without corrections: " b { (found.verdict_without.as_str()) } ", accuracy "
                (percent(found.accuracy_without)) "." }
        }
    }
}

fn flips(
    (report, gate): (&GateReport, &StoredGate),
    items: &BTreeMap<String, item_texts::ItemTexts>,
    ctx: &RequestContext,
) -> Markup {
    if report.flips.is_empty() {
        return html! { @if report.difference.is_some() { p.muted { "No item changed by half or more." } } };
    }
    let columns = vec![
        Column::wide("Item"),
        Column::text("Change"),
        Column::number("Before"),
        Column::number("Now"),
        Column::text("Traces"),
    ];
    let row = |flip: &Flip| Row {
        id: flip.item.clone(),
        link: Some(match comparison(report, gate, ctx) {
            Some(link) => link.with("item", &flip.item),
            None => ctx.to(&["datasets", &report.dataset, "items", &flip.item]),
        }),
        cells: vec![
            match item_texts::input_of(items.get(&flip.item)) {
                Some(input) => html! { bdi { (elide(&input, INPUT)) } " "
                small.muted { bdi { (elide(&flip.item, NAME)) } } },
                None => html! { bdi { (elide(&flip.item, NAME)) } },
            },
            badge::tag(match flip.kind {
                FlipKind::Regressed => "Regressed",
                FlipKind::Fixed => "Fixed",
            }),
            html! { (percent(flip.before)) },
            html! { (percent(flip.after)) },
            html! {
                @if let Some(trace) = &flip.baseline_trace {
                    a href=(ctx.to(&["traces", trace])) { "before" } " "
                }
                @if let Some(trace) = &flip.trace { a href=(ctx.to(&["traces", trace])) { "now" } }
            },
        ],
        failed: flip.kind == FlipKind::Regressed,
    };
    let rows = report.flips.iter().map(row).collect();
    let caption = "Items that changed".to_owned();
    html! {
        h2 { "Items that changed" }
        (table::table(&Table { caption, columns, rows, select_for: None }))
    }
}

fn critical(items: &[CriticalItem], report: &GateReport, ctx: &RequestContext) -> Markup {
    let word = |state: CriticalState| match state {
        CriticalState::Right => "right",
        CriticalState::FailedOnce => "failed, not run again",
        CriticalState::RightAgain => "failed, right on re-run",
        CriticalState::FailedAgain => "failed again on re-run",
        CriticalState::Unreliable => "failed, but not reliable before",
        CriticalState::NotRun => "not run",
    };
    html! {
        @if !items.is_empty() {
            h2 { "Critical items" }
            ul { @for item in items {
                li {
                    a href=(ctx.to(&["datasets", &report.dataset, "items", &item.item])) {
                        bdi { (elide(&item.item, NAME)) }
                    }
                    ": " (word(item.state)) " "
                    small.muted { (item.history_right) " of " (item.history_trials) " earlier trials right" }
                }
            } }
        }
    }
}

fn lines(title: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            h2 { (title) }
            ul { @for line in lines { li { bdi { (line) } } } }
        }
    }
}
