use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::promotion::state::{Action, PromotionState, Refused};
use ratchet_core::promotion::watch::WatchResult;
use ratchet_stages::promote::{self, PromoteError};
use ratchet_store::catalog::StoredPromotion;

use super::{context, one, refused};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// An action that was refused, with what was entered.
pub(super) struct RefusedAction {
    action: String,
    reason: String,
    why: String,
}

pub(super) fn said(done: &str) -> &'static str {
    match done {
        "review" => "Review saved",
        "waive" => "Waiver saved",
        "approve" => "Approved",
        "start" => "Started",
        "rollback" => "Rolled back",
        "abandon" => "Abandoned",
        _ => "Looked up",
    }
}

/// What can be done now. Who may do it is decided when it is done, with a reason.
pub(super) fn actions(
    ctx: &RequestContext,
    stored: &StoredPromotion,
    (refused, is_serving): (Option<&RefusedAction>, bool),
) -> Markup {
    let now = stored.promotion.state;
    let evidence = &stored.promotion.evidence;
    let is_unclear = evidence
        .gate
        .as_ref()
        .is_some_and(|gate| gate.verdict == ratchet_core::gate::decision::Verdict::Inconclusive);
    let can_roll_back = match now {
        PromotionState::Deploying | PromotionState::Live | PromotionState::Confirmed => true,
        PromotionState::Superseded => is_serving,
        _ => false,
    };
    let reason = |action: &str, otherwise: &str| match refused {
        Some(refused) if refused.action == action => refused.reason.clone(),
        _ => otherwise.to_owned(),
    };
    // One click goes back: the reason is there, and can be changed.
    let worse = stored.promotion.watch.as_ref().filter(|watch| watch.is_worse());
    let usual = worse.map_or_else(|| "rolled back by hand".to_owned(), WatchResult::sentence);
    html! {
        @if let Some(refused) = refused { p.problem role="alert" { bdi { (refused.why) } } }
        @if ctx.viewer.can_change() {
            @if now.is_open() {
                div.actions {
                    (button(ctx, stored, ("refresh", "Look for new verdicts")))
                    @if evidence.gate.is_some() && evidence.review.is_none() {
                        (button(ctx, stored, ("review", "Results reviewed")))
                    }
                    @if evidence.approval.is_none() { (button(ctx, stored, ("approve", "Approve"))) }
                    (button(ctx, stored, ("start", "Start")))
                    (button(ctx, stored, ("abandon", "Abandon")))
                }
                @if is_unclear && evidence.waiver.is_none() {
                    (reasoned(ctx, stored, ("waive", "Accept the inconclusive gate"), &reason("waive", "")))
                }
            }
            @if can_roll_back {
                (reasoned(ctx, stored, ("rollback", "Roll back"), &reason("rollback", &usual)))
            }
        }
    }
}

fn button(ctx: &RequestContext, stored: &StoredPromotion, (action, words): (&str, &str)) -> Markup {
    html! {
        form method="post" action=(ctx.to(&["promotions", &stored.id, action])) {
            (ctx.viewer.form_token.field())
            button.button type="submit" { (words) }
        }
    }
}

/// A button with a reason, which is shown and audited.
fn reasoned(
    ctx: &RequestContext,
    stored: &StoredPromotion,
    (action, words): (&str, &str),
    reason: &str,
) -> Markup {
    let input = format!("reason-{action}");
    html! {
        form.settings method="post" action=(ctx.to(&["promotions", &stored.id, action])) {
            (ctx.viewer.form_token.field())
            div.form-row {
                label for=(input) { "Reason" }
                textarea id=(input) name="reason" rows="2" required { "\n" (reason) }
            }
            button.button type="submit" { (words) }
        }
    }
}

pub(super) async fn act(
    State(web): State<Web>,
    Path((_, id, action)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let (catalog, project) = (ctx.viewer.catalog(&web), ctx.project_id());
    let context = context(&web, (&catalog, &project), &ctx);
    let by = catalog.signer();
    let reason = form.get("reason").unwrap_or_default().to_owned();
    let wanted = match action.as_str() {
        "refresh" => None,
        "review" => Some(Action::Review { by, note: None }),
        "approve" => Some(Action::Approve { by, note: None }),
        "waive" => Some(Action::Waive { by, reason: reason.clone() }),
        "start" => Some(Action::Start),
        "rollback" => Some(Action::Rollback { by, reason: reason.clone() }),
        "abandon" => Some(Action::Abandon),
        _ => return Err(PageError::not_there("action")),
    };
    let done = match wanted {
        Some(wanted) => promote::act(context, &id, wanted).await,
        None => promote::refresh(context, &id).await,
    };
    match done {
        Ok(stored) => {
            let to = ctx.to(&["promotions", &stored.id]).with("done", action);
            Ok(Redirect::to(&to.to_string()).into_response())
        }
        Err(PromoteError::Refused(why)) => {
            let status = status_of(&why);
            let refused = RefusedAction { action, reason, why: why.to_string() };
            let page = one::shown(&web, &ctx, (&id, Some(&refused))).await?;
            Ok((status, page).into_response())
        }
        Err(error) => Err(refused(error)),
    }
}

const fn status_of(why: &Refused) -> StatusCode {
    match why {
        Refused::NotYours { .. } => StatusCode::FORBIDDEN,
        Refused::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Refused::Missing(_) | Refused::State { .. } | Refused::Ended(_) => StatusCode::CONFLICT,
    }
}
