//! A/B tests of prompts: those of a project, and one with its arms.

/// One test: arms, traffic, marks, stop rules, and what can be done.
mod one;
/// The table that compares both arms.
mod marks;
/// The form that starts a test.
mod start;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::promotion::ab_test::{AbEnd, AbTest};
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::StoredAbTest;
use ratchet_store::query::PageNumber;

use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, copy, empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Tests on a page.
const ROWS: u64 = 50;
/// Tests on the page of their prompt.
const OF_PROMPT: u64 = 5;
/// Characters of a name that are shown.
const NAME: usize = 80;
/// Characters of a text that are shown.
const TEXT: usize = 1_000;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/ab-tests", get(list))
        .route("/project/{project}/ab-tests/{ab-test}", get(one::show))
        .route("/project/{project}/ab-tests/{ab-test}/{action}", post(one::act))
        .route("/project/{project}/prompts/{name}/ab-tests", get(start::show).post(start::start))
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let found = web.store.catalog.ab_tests(ctx.project_id(), at).await?;
    let total = found.total.unwrap_or(0);
    let mut page = Page::new(Section::Prompts, "A/B tests");
    page.crumbs = vec![("Prompts".to_owned(), Section::Prompts.link(&ctx))];
    page.summary = html! {
        (figure::grouped(total)) @if total == 1 { " A/B test" } @else { " A/B tests" }
        " of prompts, newest first."
    };
    page.body = html! {
        @if found.rows.is_empty() { (nothing(&ctx)) } @else {
            (overview(&ctx, &found.rows))
            (table::numbers(&ctx.here(), at, total))
        }
    };
    Ok(page.show(&ctx))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "An A/B test serves two labels of a prompt to users at random, and says which of them does "
            "better. Start one on the page of a prompt, or from the command line:" }
        (copy::snippet(&ctx.command("ab start PROMPT --candidate LABEL --agent AGENT")))
        p { a.button href=(ctx.to(&["prompts"])) { "Prompts" } }
    };
    empty::empty("No A/B tests yet", &how)
}

/// The tests of a prompt, and the way to a new one.
pub(super) async fn of_prompt(web: &Web, ctx: &RequestContext, prompt: &str) -> PageResult<Markup> {
    let catalog = &web.store.catalog;
    let found = catalog.ab_tests_of(ctx.project_id(), prompt.to_owned(), OF_PROMPT).await?;
    let is_running = found.iter().any(|stored| stored.test.is_running());
    Ok(html! {
        h2 #ab-tests { "A/B tests" }
        @if found.is_empty() {
            p.muted { "None yet. An A/B test serves two labels of this prompt to users at random, and may be "
                "looked at any time." }
        } @else { (overview(ctx, &found)) }
        @if ctx.viewer.can_change() && !is_running {
            p { a.button href=(ctx.to(&["prompts", prompt, "ab-tests"])) { "Start A/B test" } }
        }
    })
}

fn overview(ctx: &RequestContext, tests: &[StoredAbTest]) -> Markup {
    let columns = vec![
        Column::text("State"),
        Column::wide("Prompt"),
        Column::text("Versions"),
        Column::number("Users, candidate"),
        Column::number("Users, control"),
        Column::text("Started"),
    ];
    let row = |stored: &StoredAbTest| {
        let test = &stored.test;
        let traffic = test.result.as_ref().map(|result| result.traffic).unwrap_or_default();
        Row {
            id: stored.id.clone(),
            link: Some(ctx.to(&["ab-tests", &stored.id])),
            cells: vec![
                state(test),
                html! { bdi { (elide(&test.spec.prompt, NAME)) } },
                html! { "v" (test.candidate_version) " against v" (test.control_version) },
                html! { (figure::grouped(u64::from(traffic.candidate.users))) },
                html! { (figure::grouped(u64::from(traffic.control.users))) },
                html! { (figure::ago(test.started_at, &ctx.time)) },
            ],
            failed: false,
        }
    };
    let rows = tests.iter().map(row).collect();
    table::table(&Table { caption: "A/B tests".to_owned(), columns, rows, select_for: None })
}

/// The state, as a badge.
fn state(test: &AbTest) -> Markup {
    badge::tag(match test.outcome.as_ref().map(|outcome| outcome.end) {
        None => "Running",
        Some(AbEnd::Harm) => "Candidate worse",
        Some(AbEnd::Winner) => "Candidate wins",
        Some(AbEnd::NoDifference) => "No difference",
        Some(AbEnd::LabelMoved) => "Label moved",
        Some(AbEnd::Stopped) => "Stopped",
    })
}
