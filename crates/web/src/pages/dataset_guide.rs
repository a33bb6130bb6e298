//! The way to a dataset that a gate can decide on: how to begin, how far it is, what is missing.

use maud::{Markup, html};
use ratchet_core::experiment::plan::ServerTarget;
use ratchet_core::record::limit::elide;
use ratchet_stages::experiment::coverage::{
    self, CoverageQuery, DatasetCoverage, ENOUGH_ITEMS, WANTED_ITEMS,
};

use crate::components::figure;
use crate::page_error::PageResult;
use crate::pages::targets;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Characters of a name.
const NAME: usize = 60;

/// The guide for an agent and its datasets; nothing once they have enough items and cover what
/// traffic does.
pub(super) async fn guide(
    web: &Web,
    ctx: &RequestContext,
    agent: Option<&str>,
    datasets: &[String],
) -> PageResult<Markup> {
    let query = CoverageQuery { agent, datasets, now: ctx.now };
    let coverage = coverage::read(&web.store, &ctx.project_id(), query).await?;
    let is_done = coverage.items >= ENOUGH_ITEMS
        && coverage.tools.is_empty()
        && coverage.categories.is_empty();
    if is_done {
        return Ok(html! {});
    }
    Ok(html! {
        section.guide aria-label="Way to a gate" {
            (progress(&coverage, agent))
            @if ctx.viewer.can_change() && coverage.items < ENOUGH_ITEMS { (ways(ctx, (agent, datasets), &targets::targets(web, ctx).await?)) }
            (missing(&coverage, agent, ctx))
        }
    })
}

fn progress(coverage: &DatasetCoverage, agent: Option<&str>) -> Markup {
    let items = coverage.items;
    html! {
        p {
            b { (figure::grouped(items)) " of " (WANTED_ITEMS) "–" (ENOUGH_ITEMS) " items" } " "
            progress value=(items.min(ENOUGH_ITEMS)) max=(ENOUGH_ITEMS) aria-label="Items" {} " "
            span.muted {
                @match items {
                    0 => {
                        @if agent.is_some() { "This agent has no items to be tried on. " }
                        "From " (WANTED_ITEMS) " items on a gate can tell whether a change is better."
                    },
                    items if items < WANTED_ITEMS => { "A gate would mostly say that it cannot tell yet." },
                    items if items < ENOUGH_ITEMS => { "Enough for large changes; " (ENOUGH_ITEMS) " tell smaller ones apart." },
                    _ => { "Enough items. Some of what the agent does is not among them yet." },
                }
            }
        }
    }
}

fn ways(
    ctx: &RequestContext,
    (agent, datasets): (Option<&str>, &[String]),
    targets: &[ServerTarget],
) -> Markup {
    let first = datasets.first();
    let names: Vec<&str> = targets.iter().map(|one| one.name.as_str()).collect();
    // The agent's own target, or the only one.
    let own = names.iter().find(|name| Some(**name) == agent).copied();
    let target = own.or(match names.as_slice() {
        [only] => Some(*only),
        _ => None,
    });
    let upload = match first {
        Some(name) => ctx.to(&["datasets", name, "upload"]),
        None => ctx.to(&["datasets"]),
    };
    html! {
        p.guide-ways {
            @match target {
                Some(name) => { a.button href=(ctx.to(&["chats", "with", name])) { "Chat and add turns" } },
                None => { a.button href=(ctx.to(&["chats"])) { "Chat and add turns" } },
            }
            a.button href=(upload) { @if first.is_some() { "Upload CSV" } @else { "Create a dataset" } }
            a.button href=(ctx.to(&["traces"])) { "Add traces" }
        }
    }
}

/// What traffic does and no item does.
fn missing(coverage: &DatasetCoverage, agent: Option<&str>, ctx: &RequestContext) -> Markup {
    let traces = || match agent {
        Some(agent) => ctx.to(&["traces"]).without("agent").with("agent", agent),
        None => ctx.to(&["traces"]),
    };
    let sorts = [
        ("Tools that no item's trace calls", &coverage.tools),
        ("Traffic without an item", &coverage.categories),
    ];
    html! {
        @for (title, found) in sorts.into_iter().filter(|(_, found)| !found.is_empty()) {
            p { (title) ": "
                @for (at, (name, count)) in found.iter().enumerate() {
                    @if at > 0 { ", " }
                    a href=(ctx.to(&["find"]).with("q", name)) { bdi { (elide(name, NAME)) } }
                    " " small.muted { (figure::grouped(*count)) }
                }
                "." }
        }
        @if !(coverage.tools.is_empty() && coverage.categories.is_empty()) {
            p.muted { "By the newest " a href=(traces()) { (figure::counted(coverage.traces, "trace")) }
                " of 30 days; numbers are traces." }
        }
    }
}
