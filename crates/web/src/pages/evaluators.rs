//! Online evaluators: what judges traces as they arrive, how it does, and its buttons.

/// The evaluator that comes with Ratchet.
mod add;
/// New evaluators and new versions.
mod edit;
/// Fields of an evaluator.
mod form;
/// From fields to a definition.
mod reading;
/// What fills the variables of a prompt.
mod variables;
/// Which records evaluators judge.
mod rules;
/// Definitions, version by version.
mod versions;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::evaluator::document::EvaluatorState;
use ratchet_core::counted::counted;
use ratchet_core::record::score::rule::SentValue;
use ratchet_stages::score::evaluators::EvaluationWorker;
use ratchet_stages::score::evaluators::backfill::{BackfillEstimate, BackfillPlan, TestVerdict};
use ratchet_stages::score::evaluators::manage::{self, EvaluatorOverview, ManageError};

use crate::components::badge;
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// Traces of a test.
const TESTED: usize = 3;
/// How far a backfill may go back, in days, and how forms call it. What is imported may be old.
const SPANS: [(&str, &str); 4] =
    [("7", "last 7 days"), ("30", "last 30 days"), ("90", "last 90 days"), ("all", "all time")];
/// Records of a backfill at most.
const BACKFILL_LIMIT: usize = 10_000;
const DAY_NANOS: i64 = 86_400_000_000_000;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/evaluators", get(list).post(add::add))
        .route("/project/{project}/evaluators/new", get(edit::new).post(edit::create))
        .route("/project/{project}/evaluators/{evaluator}", get(show))
        .route("/project/{project}/evaluators/{evaluator}/edit", get(edit::show).post(edit::save))
        .route("/project/{project}/evaluators/{evaluator}/versions", get(versions::show))
        .route(
            "/project/{project}/evaluators/{evaluator}/delete",
            get(edit::ask).post(edit::delete),
        )
        .route("/project/{project}/evaluation-rules/new", get(rules::new).post(rules::create))
        .route(
            "/project/{project}/evaluation-rules/{evaluation_rule}/edit",
            get(rules::show).post(rules::save),
        )
        .route(
            "/project/{project}/evaluation-rules/{evaluation_rule}/delete",
            get(rules::ask).post(rules::delete),
        )
        .route("/project/{project}/evaluators/{evaluator}/do", post(act))
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let agent = ctx.scope.agent.as_deref();
    let all = manage::list_of(&web.store, &ctx.project_id(), agent, ctx.now).await?;
    let active = all.iter().filter(|one| one.state == EvaluatorState::Active).count();
    let mut page = Page::new(Section::Evaluators, "Evaluators");
    page.summary = html! {
        (active) " of " (all.len()) " active: they judge traces as they arrive."
        @if let Some(agent) = agent { " Verdicts and agreement are those about " bdi { (agent) } "." }
    };
    page.action = edit::head(&ctx);
    let rules = rules::list(&web, &ctx).await?;
    page.body = html! {
        @match ctx.params.get("done") {
            Some("deleted") => { (toast::toast("Evaluator deleted")) },
            Some("rule") => { (toast::toast("Rule saved")) },
            Some("rule-deleted") => { (toast::toast("Rule deleted")) },
            _ => {},
        }
        @if all.is_empty() { (nothing(&ctx)) } @else { (overview(&all, &ctx)) }
        (rules)
        (add::section(&ctx, &all))
    };
    Ok(page.show(&ctx))
}

/// Creates an evaluator and a rule that starts it.
fn create_commands(ctx: &RequestContext) -> String {
    let call = |path: &str, body: &str| {
        format!(
            "curl -u \"$LANGFUSE_PUBLIC_KEY:$LANGFUSE_SECRET_KEY\" \\\n  \
             -H 'content-type: application/json' -d @{body} \\\n  {}/api/public/v2/{path}",
            ctx.server
        )
    };
    [call("evaluators", "evaluator.json"), call("evaluation-rules", "rule.json")].join("\n")
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "An evaluator has a judge score every trace, observation or session soon after its last "
            "change. A rule selects the records, and the share of them." }
        p.muted { "Add the one below, create your own, or create it with the Langfuse SDK or API:" }
        (copy::snippet(&create_commands(ctx)))
        @if ctx.viewer.can_change() { p { a.button href="#add" { "Add evaluator" } } }
    };
    empty::empty("No evaluators yet", &how)
}

fn overview(all: &[EvaluatorOverview], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::wide("Evaluator"),
        Column::text("State"),
        Column::text("Judge"),
        Column::number("Judged, 24 h"),
        Column::number("Per hour"),
        Column::number("Waiting"),
        Column::number("Mean lag"),
        Column::number("Failed, 24 h"),
        Column::number("Cost today"),
        Column::text("Agreement with people"),
    ];
    let row = |one: &EvaluatorOverview| Row {
        id: one.evaluator.id.clone(),
        link: Some(ctx.to(&["evaluators", &one.evaluator.id])),
        cells: vec![
            html! { bdi { (one.evaluator.name) } },
            state(&one.state),
            html! { (one.judge().unwrap_or_else(|| "none".to_owned())) },
            html! { (figure::grouped(one.judged_of_agent.unwrap_or(one.last_day.judged))) },
            html! { (figure::number(tenths(one.judged_per_hour()))) },
            html! { (figure::grouped(one.queue.waiting)) },
            lag(one),
            html! { (figure::grouped(one.last_day.failed)) },
            cost(one),
            agreement(one),
        ],
        failed: one.queue.dead > 0,
    };
    let rows = all.iter().map(row).collect();
    table::table(&Table { caption: "Evaluators".to_owned(), columns, rows, select_for: None })
}

fn state(state: &EvaluatorState) -> Markup {
    match state {
        EvaluatorState::Paused(_, why) => html! { span title=(why) { (badge::tag("paused")) } },
        other => badge::tag(other.as_str()),
    }
}

/// A number to one decimal.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn lag(one: &EvaluatorOverview) -> Markup {
    html! { @match one.mean_lag_seconds() {
        Some(seconds) => { (figure::number(tenths(seconds))) " s" },
        None => { "–" },
    } }
}

fn cost(one: &EvaluatorOverview) -> Markup {
    let today = one.today.cost + one.today.reserved;
    html! {
        (figure::money(today))
        @if one.today.unpriced > 0 { " + " (counted(one.today.unpriced, "call")) " of unknown cost" }
    }
}

fn agreement(one: &EvaluatorOverview) -> Markup {
    let Some(estimate) = one.agreement else { return html! { "–" } };
    html! {
        (figure::percent(estimate.value))
        @if let Some(interval) = estimate.interval {
            " (95% CI " (figure::percent(interval.lower)) " to " (figure::percent(interval.upper)) ")"
        }
        ", n = " (estimate.n)
    }
}

async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let done = match ctx.params.get("done") {
        Some("paused") => Some("Evaluator paused"),
        Some("resumed") => Some("Evaluator resumed"),
        Some("queued") => Some("Backfill queued"),
        Some("made") => Some("Evaluator created. A rule starts it"),
        Some("version") => Some("Saved as a new version, which runs from now on"),
        Some("saved") => Some("Saved. The definition is unchanged"),
        Some("rule") => Some("Rule saved"),
        Some("added") => Some("Evaluator added: it judges new traces as they arrive"),
        _ => None,
    };
    let extra = html! { @if let Some(done) = done { (toast::toast(done)) } };
    one_page(&web, &ctx, &id, &extra).await
}

async fn find(web: &Web, ctx: &RequestContext, id: &str) -> PageResult<EvaluatorOverview> {
    let agent = ctx.scope.agent.as_deref();
    let all = manage::list_of(&web.store, &ctx.project_id(), agent, ctx.now).await?;
    let one = all.into_iter().find(|one| one.evaluator.id == id);
    one.ok_or_else(|| PageError::NotFound("evaluator not found".to_owned()))
}

async fn one_page(web: &Web, ctx: &RequestContext, id: &str, extra: &Markup) -> PageResult<Markup> {
    let one = find(web, ctx, id).await?;
    let mut page = Page::new(Section::Evaluators, &one.evaluator.name);
    page.crumbs = vec![("Evaluators".to_owned(), Section::Evaluators.link(ctx))];
    page.summary = html! { (one.evaluator.description.as_deref().unwrap_or_default()) };
    page.action = edit::actions(&one, ctx);
    page.body = html! {
        (extra)
        @if let EvaluatorState::Paused(_, why) = &one.state { p.muted { "Paused: " bdi { (why) } } }
        (facts(&one))
        @if one.skipped_last_30_days > 0 { (skipped(&one)) }
        @if ctx.viewer.can_change() { (buttons(&one, ctx)) }
        @for rule in &one.rules { (rules::line(rule, ctx)) }
        @if one.queue.dead > 0 {
            p { (one.queue.dead) " evaluations were given up. "
                a href=(ctx.to(&["settings"])) { "Failed jobs" } " has the reasons." }
        }
        @if let Some(latest) = one.evaluator.latest() { (versions::definition(latest)) }
    };
    Ok(page.show(ctx))
}

fn facts(one: &EvaluatorOverview) -> Markup {
    let day = &one.last_day;
    html! {
        dl.facts {
            dt { "State" } dd { (state(&one.state)) }
            dt { "Judge" } dd { (one.judge().unwrap_or_else(|| "none".to_owned())) }
            dt { "Score" } dd { bdi { (one.score_name()) } }
            dt { "Judged, last 24 h" } dd {
                (figure::grouped(day.judged)) ", " (figure::number(tenths(one.judged_per_hour()))) " per hour"
            }
            @if let Some(judged) = one.judged_of_agent {
                dt { "About this agent, last 24 h" } dd { (figure::grouped(judged)) }
            }
            dt { "Skipped, last 24 h" } dd {
                (figure::grouped(day.skipped)) ", last 30 days "
                (figure::grouped(one.skipped_last_30_days))
            }
            dt { "Failed attempts, last 24 h" } dd { (figure::grouped(day.failed)) }
            dt { "Model calls, last 24 h" } dd { (figure::grouped(day.calls)) }
            dt { "Waiting" } dd { (figure::grouped(one.queue.waiting)) }
            dt { "Mean lag after the last change" } dd { (lag(one)) }
            dt { "Cost today (UTC)" } dd {
                (cost(one)) @if let Some(cap) = one.evaluator.cost_cap() {
                    " of at most " (figure::money(cap))
                }
            }
            dt { "Agreement with people" } dd { (agreement(one)) }
        }
    }
}

/// What was not judged, and how to have it judged.
fn skipped(one: &EvaluatorOverview) -> Markup {
    let is_paused = one.evaluator.paused.is_some();
    html! {
        p {
            (figure::grouped(one.skipped_last_30_days))
            " records of the last 30 days were not judged when they arrived: the evaluator was paused or at "
            "its cost cap, or they had ended more than an hour before. "
            @if is_paused { "Resume it, then start a backfill." }
            @else { "A backfill judges them; it shows first how many are left, and the cost." }
        }
    }
}

fn buttons(one: &EvaluatorOverview, ctx: &RequestContext) -> Markup {
    let action = ctx.to(&["evaluators", &one.evaluator.id, "do"]);
    let is_paused = matches!(one.state, EvaluatorState::Paused(..));
    html! {
        div.evaluator-actions {
            form.inline method="post" action=(action) {
                (ctx.viewer.form_token.field())
                @if is_paused {
                    button.button.primary type="submit" name="do" value="resume" { "Resume" }
                } @else if one.state == EvaluatorState::Active {
                    button.button type="submit" name="do" value="pause" { "Pause" }
                }
                button.button type="submit" name="do" value="estimate-test" { "Test" }
            }
            @if one.evaluator.paused.is_none() {
                form.inline method="post" action=(action) {
                    (ctx.viewer.form_token.field())
                    select name="since" aria-label="How far back" {
                        @for (days, words) in SPANS { option value=(days) { (words) } }
                    }
                    button.button type="submit" name="do" value="estimate-backfill" { "Backfill" }
                }
            }
        }
    }
}

async fn act(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_change()?;
    find(&web, &ctx, &id).await?;
    let (project, catalog) = (ctx.project_id(), ctx.viewer.catalog(&web));
    let done = match form.get("do") {
        Some("pause") => {
            let reason = format!("paused by {}", ctx.viewer.name());
            manage::pause(&catalog, project, (id.clone(), reason), ctx.now)
                .await
                .map_err(refused)?;
            "paused"
        }
        Some("resume") => {
            manage::resume(&catalog, project, id.clone(), ctx.now).await.map_err(refused)?;
            "resumed"
        }
        Some("backfill") => {
            let (plan, _) = plan(&ctx, &form)?;
            worker(&web)?.backfill(&project, (&id, plan)).await.map_err(refused)?;
            "queued"
        }
        Some(other) => return try_out(&web, &ctx, (&id, other), &form).await,
        None => return Err(PageError::Bad("do: must name an action".to_owned())),
    };
    if let Some(worker) = web.evaluators() {
        worker.prepare().await?;
        worker.wake();
    }
    let to = ctx.to(&["evaluators", &id]).with("done", done);
    Ok(Redirect::to(&to.to_string()).into_response())
}

/// Estimates and tests, whose result is shown on the page itself.
async fn try_out(
    web: &Web,
    ctx: &RequestContext,
    (id, what): (&str, &str),
    form: &Params,
) -> PageResult<Response> {
    let (worker, project) = (worker(web)?, ctx.project_id());
    let extra = match what {
        "estimate-test" => {
            let plan = BackfillPlan { since: None, limit: TESTED };
            let estimate = worker.estimate(&project, (id, plan)).await.map_err(refused)?;
            confirm(ctx, id, &estimate, ("test", "Run test", "No score is written."), None)
        }
        "estimate-backfill" => {
            let (plan, (since, words)) = plan(ctx, form)?;
            let estimate = worker.estimate(&project, (id, plan)).await.map_err(refused)?;
            let note = format!("Traces: {words}. What is judged already is not judged again.");
            confirm(ctx, id, &estimate, ("backfill", "Start backfill", &note), Some(since))
        }
        "test" => {
            let (_, verdicts) = worker.test(&project, (id, TESTED)).await.map_err(refused)?;
            tested(ctx, &verdicts)
        }
        _ => return Err(PageError::Bad("do: unknown action".to_owned())),
    };
    Ok(one_page(web, ctx, id, &extra).await?.into_response())
}

/// The backfill of a form, with how far it goes back.
fn plan(
    ctx: &RequestContext,
    form: &Params,
) -> PageResult<(BackfillPlan, (&'static str, &'static str))> {
    let asked = form.get("since").unwrap_or(SPANS[0].0);
    let span = SPANS.into_iter().find(|(days, _)| *days == asked);
    let span =
        span.ok_or_else(|| PageError::Bad("since: must be one of the options".to_owned()))?;
    let since = span.0.parse().ok().map(|days: i64| ctx.now.plus_nanos(-days * DAY_NANOS));
    Ok((BackfillPlan { since, limit: BACKFILL_LIMIT }, span))
}

fn confirm(
    ctx: &RequestContext,
    id: &str,
    estimate: &BackfillEstimate,
    (action, label, note): (&str, &str, &str),
    since: Option<&str>,
) -> Markup {
    let open = estimate.records.saturating_sub(estimate.judged);
    html! {
        section.settings {
            h2 { (label) "?" }
            p {
                (figure::grouped(estimate.records as u64)) " records match, "
                (figure::grouped(open as u64)) " of them are not judged by this version. Judge: "
                (estimate.judge) ". Cost: "
                @match estimate.max_cost {
                    Some(most) => { "at most " (figure::money(most)) },
                    None => { "unknown, because the model has no price" },
                }
                ". " (note)
            }
            form.inline method="post" action=(ctx.to(&["evaluators", id, "do"])) {
                (ctx.viewer.form_token.field())
                @if let Some(since) = since { input type="hidden" name="since" value=(since); }
                button.button.primary type="submit" name="do" value=(action) { (label) }
                " " a.button href=(ctx.to(&["evaluators", id])) { "Cancel" }
            }
        }
    }
}

fn tested(ctx: &RequestContext, verdicts: &[TestVerdict]) -> Markup {
    let columns = vec![
        Column::text("Record"),
        Column::number("Score"),
        Column::number("Cost"),
        Column::wide("Rationale"),
    ];
    let row = |tested: &TestVerdict| {
        let (value, comment) = match &tested.verdict {
            Ok(verdict) => (value_text(&verdict.value), verdict.rationale.as_str()),
            Err(why) => ("–".to_owned(), why.as_str()),
        };
        let parts: Vec<&str> = tested.record.split('/').collect();
        let link = match parts.as_slice() {
            ["trace" | "observation", trace, ..] => Some(ctx.to(&["traces", trace])),
            ["session", session] => Some(ctx.to(&["sessions", session])),
            _ => None,
        };
        Row {
            id: tested.record.clone(),
            link,
            cells: vec![
                html! { code { bdi { (tested.record) } } },
                html! { (value) },
                figure::cost(tested.cost),
                html! { bdi title=(comment) { (comment) } },
            ],
            failed: tested.verdict.is_err(),
        }
    };
    let rows = verdicts.iter().map(row).collect();
    html! {
        section.settings {
            h2 { "Test" }
            p.muted { "No score was written." }
            (table::table(&Table { caption: "Test".to_owned(), columns, rows, select_for: None }))
        }
    }
}

fn value_text(value: &SentValue) -> String {
    match value {
        SentValue::Number(number) => figure::number(*number),
        SentValue::Text(text) => text.clone(),
        SentValue::Bool(truth) => truth.to_string(),
    }
}

fn worker(web: &Web) -> PageResult<&EvaluationWorker> {
    let worker = web.evaluators().map(AsRef::as_ref);
    worker.ok_or_else(|| PageError::Bad("this server runs no evaluators".to_owned()))
}

fn refused(error: ManageError) -> PageError {
    match error {
        ManageError::Store(error) => error.into(),
        ManageError::Unknown { .. } => PageError::NotFound(error.to_string()),
        ManageError::Refused(why) => PageError::Bad(why),
    }
}
