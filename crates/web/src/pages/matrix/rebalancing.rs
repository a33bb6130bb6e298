use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::record::limit::elide;
use ratchet_core::review::split_proposal::{SplitGain, SplitProposal, SplitView};
use ratchet_stages::review::rebalancing::{self, RebalanceQuery};
use ratchet_stages::review::review_site::ReviewSiteError;
use ratchet_store::StoreError;

use crate::components::field::Entered;
use crate::components::figure;
use crate::components::scatter::{self, ReferenceLine, Scatter};
use crate::components::table::{self, Column, Row, Table};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Splits differ by at least one review; shares that are nearer are the same split.
const SAME_SPLIT: f64 = 1e-6;
/// Characters of an agent's name.
const NAME: usize = 60;

/// What the reviews of the quarter propose, with a button to accept it.
pub(super) async fn section(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    let site = web.review_site(&ctx.project_id())?;
    let agent = ctx.scope.agent.as_deref();
    let query = RebalanceQuery { agent, half_width: None, now: ctx.now };
    let body = match rebalancing::propose(&site, query).await {
        Ok(proposal) => shown(&proposal, ctx),
        // Several agents have samples: one must be selected.
        Err(ReviewSiteError::Store(StoreError::BadQuery(_))) => {
            let agents = web.store.catalog.agents(ctx.project_id()).await?;
            html! {
                p {
                    "A split belongs to an agent:"
                    @for agent in &agents {
                        " " a href=(ctx.here().without("agent").with("agent", &agent.name)) {
                            bdi { (elide(&agent.name, NAME)) }
                        }
                    }
                }
            }
        }
        Err(error) => return Err(error.into()),
    };
    Ok(html! { h2 id="split" { "Split of the next samples" } (body) })
}

fn shown(proposal: &SplitProposal, ctx: &RequestContext) -> Markup {
    let wanted = proposal.wanted_half_width;
    html! {
        p {
            "Of " (proposal.capacity) " reviews without feedback in a usual week. Flagged traces (W5) "
            "show more failures; quiet ones (W6, U3) make the accuracy more precise."
            @if let (Some(from), Some(to)) = (&proposal.from, &proposal.to) {
                " Measured in " (proposal.weeks) " reviewed weeks, " (from) " to " (to) "."
            }
        }
        @if !proposal.missing.is_empty() {
            p { b { "No proposal yet." } }
            ul { @for missing in &proposal.missing { li { (missing) } } }
        } @else if let (Some(proposed), Some(gain)) = (proposal.proposed, proposal.gain) {
            p {
                "For ±" (format!("{:.0}", wanted * 100.0)) " points, "
                b { (proposed.flagged) " W5 and " (proposed.quiet) " quiet traces" }
                " find the most failures: " (gained(gain)) "."
            }
            (accept_form(proposal, proposed, ctx))
        } @else if proposal.current.is_some() {
            p {
                "The current split finds the most failures within ±"
                (format!("{:.0}", wanted * 100.0)) " points."
            }
        }
        @if !proposal.categories.is_empty() {
            (super::cells("Reviews of the quarter", &proposal.categories, None))
            p.muted { (super::YIELD) }
        }
        (splits(proposal))
        (drawing(proposal))
    }
}

fn gained(gain: SplitGain) -> String {
    let words = |value: f64, more: &str, less: &str| {
        format!("{:.1} {}", value.abs(), if value < 0.0 { less } else { more })
    };
    format!(
        "{} per week, and {}",
        words(gain.failures, "failures more", "failures fewer"),
        words(gain.half_width * 100.0, "points wider", "points narrower")
    )
}

fn accept_form(proposal: &SplitProposal, proposed: SplitView, ctx: &RequestContext) -> Markup {
    let Some(agent) = &proposal.agent else {
        return html! {
            p.muted { "A split is a setting of an agent; these traces have none." }
        };
    };
    if !ctx.viewer.can_change() {
        return html! { p.muted { "A member or owner can accept it." } };
    }
    html! {
        form method="post" action=(ctx.to(&["matrix", "split"])) {
            (ctx.viewer.form_token.field())
            input type="hidden" name="agent" value=(agent);
            input type="hidden" name="share" value=(proposed.flagged_share);
            button.button.primary type="submit" {
                "Accept " (proposed.flagged) "/" (proposed.quiet) " for " (agent)
            }
        }
    }
}

fn splits(proposal: &SplitProposal) -> Markup {
    let row = |(name, split): (&str, SplitView)| Row {
        id: format!("split-{}", name.to_lowercase()),
        link: None,
        cells: vec![
            html! { (name) },
            html! { (figure::percent(split.flagged_share)) },
            html! { (split.flagged) },
            html! { (split.quiet) },
            html! { "±" (format!("{:.1}", split.half_width * 100.0)) " points" },
            html! { (format!("{:.1}", split.expected_failures)) },
        ],
        failed: false,
    };
    let named = [("Current", proposal.current), ("Proposed", proposal.proposed)];
    let named = named.into_iter().filter_map(|(name, split)| Some((name, split?)));
    let rows: Vec<Row> = named.map(row).collect();
    if rows.is_empty() {
        return html! {};
    }
    let columns = vec![
        Column::text("Split"),
        Column::number("Share of W5"),
        Column::number("W5"),
        Column::number("W6, U3"),
        Column::number("Planned half-width"),
        Column::number("Expected failures found"),
    ];
    table::table(&Table { caption: "Splits".to_owned(), columns, rows, select_for: None })
}

/// Every split: how precise it is, and how many failures it finds.
fn drawing(proposal: &SplitProposal) -> Markup {
    if proposal.splits.len() < 2 {
        return html! {};
    }
    let points: Vec<(f64, f64)> = proposal
        .splits
        .iter()
        .map(|split| (split.expected_failures, split.half_width * 100.0))
        .collect();
    let level = |name: &str, half_width: f64| ReferenceLine {
        at: half_width * 100.0,
        name: format!("{name} ±{:.1}", half_width * 100.0),
    };
    let mut levels = vec![level("wanted", proposal.wanted_half_width)];
    levels.extend(proposal.proposed.map(|split| level("proposed", split.half_width)));
    scatter::scatter(&Scatter {
        title: "What each split costs and finds",
        x: "Expected failures found per week",
        y: "Planned half-width (points)",
        points: &points,
        levels: &levels,
    })
}

/// Accepts the proposal that the page showed.
pub(super) async fn accept(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_change()?;
    let entered = Entered::new(form);
    let (agent, share) = (entered.text("agent"), entered.text("share").parse::<f64>().ok());
    let site = web.review_site(&ctx.project_id())?;
    let query = RebalanceQuery { agent: Some(agent), half_width: None, now: ctx.now };
    let proposal = rebalancing::propose(&site, query).await?;
    let is_shown = |split: SplitView| {
        share.is_some_and(|share| (split.flagged_share - share).abs() <= SAME_SPLIT)
    };
    if !proposal.proposed.is_some_and(is_shown) {
        let why = "the proposal has changed since; go back and look at it again";
        return Err(PageError::Bad(why.to_owned()));
    }
    let catalog = ctx.viewer.catalog(&web);
    rebalancing::accept((&site, &catalog), &proposal, ctx.now).await?;
    let back = ctx.to(&["matrix"]).with("agent", agent).with("done", "saved");
    Ok(Redirect::to(&back.to_string()).into_response())
}
