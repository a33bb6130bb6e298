use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::improve::backlog::{
    ProposalAction, ProposalRefused, ProposalRejection, RejectionKind,
};
use ratchet_stages::improve::backlog::{self, BacklogError};
use ratchet_store::catalog::StoredProposal;

use super::one;
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// An action that was refused, with what was entered.
pub(super) struct RefusedDecision {
    pub(super) action: String,
    pub(super) reason: String,
    pub(super) why: String,
}

pub(super) fn said(done: &str) -> Option<&'static str> {
    match done {
        "accept" => Some("Proposal accepted"),
        "reject" => Some("Proposal rejected"),
        "reopen" => Some("Proposal reopened"),
        "experiment" => Some("Experiment opened"),
        "done" => Some("Marked as promoted"),
        _ => None,
    }
}

/// The buttons of a card: one click for what needs no words.
pub(super) fn quick(ctx: &RequestContext, stored: &StoredProposal) -> Markup {
    html! {
        div.decide {
            @for choice in stored.status.choices() {
                @match *choice {
                    "accept" => (button(ctx, stored, ("accept", "Accept", true))),
                    "experiment" => (button(ctx, stored, ("experiment", "Open experiment", true))),
                    "reject" => (rejection(ctx, stored, None)),
                    _ => {},
                }
            }
        }
    }
}

/// All that can be done with a proposal now.
pub(super) fn all(
    ctx: &RequestContext,
    stored: &StoredProposal,
    refused: Option<&RefusedDecision>,
) -> Markup {
    html! {
        @if let Some(refused) = refused { p.problem role="alert" { bdi { (refused.why) } } }
        @if ctx.viewer.can_change() {
            div.decide {
                @for choice in stored.status.choices() {
                    @match *choice {
                        "accept" => (button(ctx, stored, ("accept", "Accept", true))),
                        "experiment" => (experiment(ctx, stored)),
                        "done" => (button(ctx, stored, ("done", "Change made elsewhere", false))),
                        "reopen" => (button(ctx, stored, ("reopen", "Reopen", false))),
                        _ => (rejection(ctx, stored, refused)),
                    }
                }
            }
        } @else { p.muted { "A member of the project can decide." } }
    }
}

fn button(
    ctx: &RequestContext,
    stored: &StoredProposal,
    (action, words, is_first): (&str, &str, bool),
) -> Markup {
    html! {
        form method="post" action=(ctx.to(&["proposals", &stored.id, action])) {
            (ctx.viewer.form_token.field())
            button.button.primary[is_first] type="submit" { (words) span.sr { " " (stored.content.title) } }
        }
    }
}

/// Opens the experiment; the prompt can be named where the evidence names none.
fn experiment(ctx: &RequestContext, stored: &StoredProposal) -> Markup {
    let needs_name = backlog::line(&stored.content).is_some() && stored.content.prompt.is_none();
    html! {
        form method="post" action=(ctx.to(&["proposals", &stored.id, "experiment"])) {
            (ctx.viewer.form_token.field())
            @if needs_name {
                label { "Prompt to change "
                    input name="prompt" placeholder="none: the change is made elsewhere"; }
            }
            button.button.primary type="submit" { "Open experiment" }
        }
    }
}

/// A rejection needs its kind and a reason.
fn rejection(
    ctx: &RequestContext,
    stored: &StoredProposal,
    refused: Option<&RefusedDecision>,
) -> Markup {
    let refused = refused.filter(|refused| refused.action == "reject");
    let reason = format!("reason-{}", stored.id);
    html! {
        details.reject open=[refused.map(|_| "")] {
            summary.button { "Reject" span.sr { " " (stored.content.title) } }
            form method="post" action=(ctx.to(&["proposals", &stored.id, "reject"])) {
                (ctx.viewer.form_token.field())
                label { "Because "
                    select name="kind" {
                        @for kind in RejectionKind::ALL {
                            option value=(kind.as_str()) { (kind.title()) }
                        }
                    }
                }
                label for=(reason) { "Reason" }
                textarea id=(reason) name="reason" rows="2" maxlength="1000" required {
                    "\n" (refused.map_or("", |refused| refused.reason.as_str()))
                }
                button.button type="submit" { "Reject proposal" }
            }
        }
    }
}

pub(super) async fn act(
    State(web): State<Web>,
    Path((_, id, action)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_change()?;
    let reason = form.get("reason").unwrap_or_default().to_owned();
    let wanted = match action.as_str() {
        "accept" => Some(ProposalAction::Accept),
        "reopen" => Some(ProposalAction::Reopen),
        "done" => Some(ProposalAction::Done { note: None }),
        "reject" => {
            let kind = form.get("kind").and_then(RejectionKind::parse);
            let kind = kind.unwrap_or(RejectionKind::Declined);
            Some(ProposalAction::Reject(ProposalRejection { kind, reason: reason.clone() }))
        }
        "experiment" => None,
        _ => return Err(PageError::not_there("action")),
    };
    let (catalog, project) = (ctx.viewer.catalog(&web), ctx.project_id());
    let of = (&catalog, &project);
    let done = match wanted {
        Some(wanted) => backlog::act(of, &id, wanted, ctx.now).await,
        None => {
            let prompt = form.get("prompt").map(str::trim).filter(|name| !name.is_empty());
            let with = (prompt.map(str::to_owned), ctx.viewer.name().to_owned());
            backlog::open_experiment(of, &id, with, ctx.now).await
        }
    };
    match done {
        Ok(stored) => {
            let to = ctx.to(&["proposals", &stored.id]).with("done", action);
            Ok(Redirect::to(&to.to_string()).into_response())
        }
        Err(BacklogError::Store(error)) => Err(error.into()),
        Err(error) => {
            let status = match &error {
                BacklogError::Refused(ProposalRefused::State { .. }) => StatusCode::CONFLICT,
                _ => StatusCode::UNPROCESSABLE_ENTITY,
            };
            let refused = RefusedDecision { action, reason, why: error.to_string() };
            let page = one::shown(&web, &ctx, (&id, Some(&refused))).await?;
            Ok((status, page).into_response())
        }
    }
}
