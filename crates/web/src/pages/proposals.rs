//! Proposals: the backlog as a board by state, one of them, and what they were worth.

/// What people do with a proposal.
mod actions;
/// A proposal on the board.
mod card;
/// One proposal: change, evidence, links and history.
mod one;
/// What proposals were worth.
mod value;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::improve::backlog::ProposalState;
use ratchet_stages::improve::backlog;
use ratchet_store::catalog::{ProposalQuery, StoredProposal};
use ratchet_store::query::PageNumber;

use crate::components::{badge, copy, empty, figure, table, toast};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Proposals in a column of the board.
const CARDS: u64 = 20;
/// Proposals on the page of one state.
const ROWS: u64 = 50;
/// Characters of a name that are shown.
const NAME: usize = 80;
/// Characters of a text that are shown.
const TEXT: usize = 4_000;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/proposals", get(board))
        .route("/project/{project}/proposals/{proposal}", get(one::show))
        .route("/project/{project}/proposals/{proposal}/{action}", post(actions::act))
}

/// Proposals of one state.
struct Lane {
    state: ProposalState,
    shown: Vec<StoredProposal>,
    total: u64,
}

async fn board(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let only = ctx.params.get("state").and_then(ProposalState::parse);
    let at = match only {
        Some(_) => PageNumber { page: ctx.params.page(), limit: ROWS },
        None => PageNumber { page: 1, limit: CARDS },
    };
    let mut lanes = Vec::new();
    for state in ProposalState::ALL.into_iter().filter(|state| only.is_none_or(|one| one == *state))
    {
        let query = ProposalQuery {
            agent: ctx.scope.agent.clone(),
            state: Some(state),
            ..ProposalQuery::all(ctx.project_id(), at)
        };
        let found = web.store.catalog.proposals(query).await?;
        lanes.push(Lane { state, shown: found.rows, total: found.total.unwrap_or(0) });
    }
    let total: u64 = lanes.iter().map(|lane| lane.total).sum();
    let worth = backlog::value(&web.store.catalog, &ctx.project_id()).await?;
    let mut page = Page::new(Section::Proposals, "Proposals");
    page.summary = summary(&lanes, total);
    page.body = html! {
        @if let Some(done) = ctx.params.get("done").and_then(actions::said) { (toast::toast(done)) }
        @if only.is_some() { p { a href=(ctx.here().without("state").without("page")) { "All states" } } }
        @if total == 0 && only.is_none() { (nothing(&ctx)) } @else { (columns(&ctx, &lanes)) }
        @if only.is_some() { (table::numbers(&ctx.here().without("done"), at, total)) }
        @if worth.made > 0 { (value::section(&ctx, &worth)) }
    };
    Ok(page.show(&ctx))
}

fn summary(lanes: &[Lane], total: u64) -> Markup {
    let open: u64 = lanes.iter().filter(|lane| lane.state.is_open()).map(|lane| lane.total).sum();
    html! {
        (figure::grouped(total)) @if total == 1 { " proposal, " } @else { " proposals, " }
        (figure::grouped(open)) " open. A person decides; gates and promotions move them along."
    }
}

fn columns(ctx: &RequestContext, lanes: &[Lane]) -> Markup {
    html! {
        div.board {
            @for lane in lanes {
                section.lane.empty-lane[lane.shown.is_empty()] aria-labelledby={ "lane-" (lane.state.as_str()) } {
                    h2 id={ "lane-" (lane.state.as_str()) } {
                        (lane.state.title()) " " span.muted { (figure::grouped(lane.total)) }
                    }
                    @for stored in &lane.shown { (card::card(ctx, stored)) }
                    @if lane.total > lane.shown.len() as u64 && ctx.params.get("state").is_none() {
                        p { a href=(ctx.here().with("state", lane.state.as_str()).without("done")) {
                            "All " (figure::grouped(lane.total))
                        } }
                    }
                }
            }
        }
    }
}

/// The state, as a badge.
fn state(state: ProposalState) -> Markup {
    badge::tag(state.title())
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "A proposal says what to change in an agent, why, on what evidence, and what that is worth. "
            "It needs three failed traces of two sessions with the same cause. This finds those of the "
            "last week and stores them here:" }
        (copy::snippet(&ctx.command("feedback --save")))
        p { "Weekly quality reports and calibration add theirs." }
        p { a.button href=(Section::Quality.link(ctx)) { "Weekly reports" } }
    };
    empty::empty("No proposals yet", &how)
}
