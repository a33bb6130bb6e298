use maud::{Markup, html};
use ratchet_core::promotion::criteria::{Criterion, CriterionState};
use ratchet_core::promotion::state::{Promotion, PromotionState};
use ratchet_core::promotion::watch::WatchResult;
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::Serving;

use super::NAME;
use crate::components::figure;
use crate::request_context::RequestContext;

/// A step of the way from a commit to production.
struct PipelineStep {
    title: &'static str,
    is_done: bool,
    status: Markup,
}

/// Where a promotion stands: tool tests, beta, gate, approval, production, watch.
pub(super) fn pipeline(
    ctx: &RequestContext,
    promotion: &Promotion,
    (states, history): (&[CriterionState], &[Serving]),
) -> Markup {
    let steps = [
        tool_tests(promotion, states),
        beta(ctx, promotion, history),
        gate(promotion, states),
        approval(ctx, promotion),
        production(ctx, promotion),
        watch(promotion),
    ];
    let current = steps.iter().position(|step| !step.is_done);
    html! {
        h2 { "Where it stands" }
        dl.run-means data-section="pipeline" {
            @for (nth, step) in steps.iter().enumerate() {
                div aria-current=[(current == Some(nth)).then_some("step")] {
                    dt { (step.title) @if nth + 1 < steps.len() { " ›" } }
                    dd { @if current == Some(nth) { strong { (step.status) } } @else { (step.status) } }
                }
            }
        }
    }
}

fn is_met(states: &[CriterionState], criterion: Criterion) -> bool {
    states.iter().any(|state| state.criterion == criterion && state.is_met)
}

fn at(ctx: &RequestContext, nanos: i64) -> Markup {
    figure::ago(Timestamp::from_nanos(nanos), &ctx.time)
}

fn tool_tests(promotion: &Promotion, states: &[CriterionState]) -> PipelineStep {
    let is_done = is_met(states, Criterion::ToolTests);
    let status = match &promotion.evidence.tool_tests {
        _ if is_done => "passed",
        Some(_) => "failed",
        None => "no results yet",
    };
    PipelineStep { title: "Tool tests", is_done, status: html! { (status) } }
}

/// Any environment other than the one that is promoted to.
fn beta(ctx: &RequestContext, promotion: &Promotion, history: &[Serving]) -> PipelineStep {
    let served = history.iter().find(|one| {
        one.environment != promotion.environment && one.version.as_ref() == Some(&promotion.version)
    });
    let status = match served {
        Some(one) => html! {
            "in " bdi { (elide(&one.environment, NAME)) } " " (figure::ago(one.since, &ctx.time))
        },
        None => html! { "not deployed there" },
    };
    PipelineStep { title: "Beta", is_done: served.is_some(), status }
}

fn gate(promotion: &Promotion, states: &[CriterionState]) -> PipelineStep {
    let is_done = is_met(states, Criterion::Gate) && is_met(states, Criterion::NoRegression);
    let status = match &promotion.evidence.gate {
        Some(_) if is_done && promotion.evidence.waiver.is_some() => "inconclusive, waived",
        Some(gate) => gate.verdict.as_str(),
        None => "no gate yet",
    };
    PipelineStep { title: "Gate", is_done, status: html! { (status) } }
}

fn approval(ctx: &RequestContext, promotion: &Promotion) -> PipelineStep {
    let status = match &promotion.evidence.approval {
        Some(given) => html! {
            "by " bdi { (elide(&given.by.name, NAME)) } " " (figure::ago(given.at, &ctx.time))
        },
        None => html! { "not given yet" },
    };
    PipelineStep { title: "Approval", is_done: promotion.evidence.approval.is_some(), status }
}

fn production(ctx: &RequestContext, promotion: &Promotion) -> PipelineStep {
    let status = match (promotion.state, promotion.live_at) {
        (PromotionState::RolledBack, _) => html! { "rolled back" },
        (PromotionState::Failed, _) => html! { "deployment failed" },
        (PromotionState::Deploying, _) => html! { "deploying" },
        (_, Some(nanos)) => html! { "live " (at(ctx, nanos)) },
        (_, None) => html! { "not started" },
    };
    let is_done = promotion.live_at.is_some() && promotion.state != PromotionState::RolledBack;
    PipelineStep { title: "Production", is_done, status }
}

fn watch(promotion: &Promotion) -> PipelineStep {
    let is_worse = promotion.watch.as_ref().is_some_and(WatchResult::is_worse);
    let status = match promotion.state {
        PromotionState::Confirmed => "confirmed",
        PromotionState::RolledBack => "rolled back",
        PromotionState::Superseded => "superseded before its end",
        PromotionState::Live if is_worse => "significantly worse",
        PromotionState::Live => "watched",
        _ => "not yet",
    };
    let is_done = promotion.state == PromotionState::Confirmed;
    PipelineStep { title: "Watch", is_done, status: html! { (status) } }
}
