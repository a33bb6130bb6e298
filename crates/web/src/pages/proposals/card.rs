use maud::{Markup, html};
use ratchet_core::improve::backlog::ProposalState;
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::StoredProposal;

use super::{NAME, actions};
use crate::components::{badge, figure};
use crate::request_context::RequestContext;

/// Traces that a card links.
const EVIDENCE: usize = 3;

/// A proposal on the board: what, whose, worth what, on what evidence, and the next step.
pub(super) fn card(ctx: &RequestContext, stored: &StoredProposal) -> Markup {
    let content = &stored.content;
    html! {
        article.proposal {
            h3 { a href=(ctx.to(&["proposals", &stored.id])) { bdi { (elide(&content.title, 2 * NAME)) } } }
            p.tags {
                (badge::tag(content.component.title()))
                @if let Some(agent) = &content.agent { " " (badge::tag(&elide(agent, NAME))) }
            }
            p { (impact(stored)) }
            p.muted { "Effort " (content.effort.as_str()) ". " (evidence(ctx, stored)) }
            (links(ctx, stored))
            @if ctx.viewer.can_change() { (actions::quick(ctx, stored)) }
        }
    }
}

/// What it is worth, with the interval and what that rests on.
pub(super) fn impact(stored: &StoredProposal) -> Markup {
    html! {
        @match &stored.content.impact {
            Some(impact) => {
                (impact.text()) ", n = " (figure::grouped(stored.content.failures as u64)) " failures"
            },
            None => { "Impact not measured" },
        }
    }
}

/// Links to the first traces or sessions.
fn evidence(ctx: &RequestContext, stored: &StoredProposal) -> Markup {
    let content = &stored.content;
    let (ids, page, noun) = if content.evidence.is_empty() {
        (&content.sessions, "sessions", "session")
    } else {
        (&content.evidence, "traces", "trace")
    };
    html! {
        @if ids.is_empty() { "No evidence listed." } @else {
            (figure::grouped(ids.len() as u64)) " " (noun) @if ids.len() != 1 { "s" } ": "
            @for (at, id) in ids.iter().take(EVIDENCE).enumerate() {
                @if at > 0 { ", " }
                a href=(ctx.to(&[page, id])) title=(id) { (noun) " " (at + 1) }
            }
        }
    }
}

/// The prompt version, gate and promotion that it is linked with.
pub(super) fn links(ctx: &RequestContext, stored: &StoredProposal) -> Markup {
    let status = &stored.status;
    html! {
        @if status.prompt.is_some() || status.gate.is_some() || status.promotion.is_some() {
            p.tags {
                @if let Some(prompt) = &status.prompt {
                    a href=(ctx.to(&["prompts", &prompt.name]).with("version", prompt.version.to_string())) {
                        bdi { (elide(&prompt.name, NAME)) } " v" (prompt.version)
                    } " "
                }
                @if let Some(gate) = &status.gate {
                    a href=(ctx.to(&["gates", &gate.gate])) { "gate: " (gate.verdict.as_str()) } " "
                }
                @if let Some(promotion) = &status.promotion {
                    a href=(ctx.to(&["promotions", promotion])) { "promotion" }
                }
            }
        }
        @if let (ProposalState::Rejected, Some(rejection)) = (status.state, &status.rejection) {
            p.muted { (rejection.kind.title()) ": " bdi { (elide(&rejection.reason, 3 * NAME)) } }
        }
    }
}
