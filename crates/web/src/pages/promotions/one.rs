use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::promotion::criteria::CriterionState;
use ratchet_core::promotion::evidence::PromotionEvidence;
use ratchet_core::promotion::state::{Action, Promotion, PromotionState};
use ratchet_core::promotion::watch::{Mark, MarkResult, WatchResult};
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;
use ratchet_stages::promote;
use ratchet_store::catalog::{
    AuditEntry, AuditObject, AuditQuery, StoredAgentVersion, StoredPromotion,
};

use super::{NAME, context, refused, state};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Entries of the audit log that are shown.
const CHANGES: u64 = 100;
/// Characters of a text that are shown.
const TEXT: usize = 1_000;

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let (catalog, project) = (&web.store.catalog, ctx.project_id());
    let stored = catalog.promotion(project.clone(), id).await?;
    let promotion = &stored.promotion;
    let version = catalog.agent_version(project.clone(), promotion.version.clone()).await?;
    let responsible = catalog.responsible(project.clone(), promotion.agent.clone()).await?;
    let about = AuditQuery::about(project, AuditObject::Promotion, stored.id.clone(), CHANGES);
    let changes = catalog.audit(about).await?.rows;
    let mut page =
        Page::new(Section::Promotions, format!("Promotion of {}", elide(&promotion.agent, NAME)));
    page.crumbs.push(("Promotions".to_owned(), ctx.to(&["promotions"])));
    page.summary = html! {
        (state(promotion.state)) " to " bdi { (elide(&promotion.environment, NAME)) } ", created by "
        bdi { (elide(&promotion.author.name, NAME)) } " " (figure::ago(stored.created_at, &ctx.time)) "."
    };
    page.body = html! {
        @if let Some(done) = ctx.params.get("done") { (toast::toast(said(done))) }
        @if let Some(outcome) = &promotion.outcome { p.notice { bdi { (elide(&outcome.text, TEXT)) } } }
        (criteria(&promotion.criteria(&responsible)))
        (actions(&ctx, &stored))
        (evidence(&ctx, promotion))
        @if let Some(found) = &promotion.watch { (watch(found)) }
        (parts(&ctx, promotion, &version))
        (history(&ctx, &changes))
    };
    Ok(page.show(&ctx))
}

fn said(done: &str) -> &'static str {
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

fn criteria(states: &[CriterionState]) -> Markup {
    let columns = vec![
        Column::text("Met"),
        Column::text("Criterion"),
        Column::wide("Evidence"),
        Column::wide("Who can give it"),
    ];
    let row = |one: &CriterionState| Row {
        id: one.title.clone(),
        link: None,
        cells: vec![
            badge::tag(if one.is_met { "Yes" } else { "No" }),
            html! { (one.title) },
            html! { bdi { (elide(&one.text, TEXT)) } },
            html! { bdi { (elide(&one.who, TEXT)) } },
        ],
        failed: false,
    };
    let rows = states.iter().map(row).collect();
    let caption = "Criteria".to_owned();
    html! { h2 { "Criteria" } (table::table(&Table { caption, columns, rows, select_for: None })) }
}

/// What can be done now. Who may do it is decided when it is done, with a reason.
fn actions(ctx: &RequestContext, stored: &StoredPromotion) -> Markup {
    let now = stored.promotion.state;
    let evidence = &stored.promotion.evidence;
    let is_unclear = evidence
        .gate
        .as_ref()
        .is_some_and(|gate| gate.verdict == ratchet_core::gate::decision::Verdict::Inconclusive);
    let can_roll_back =
        matches!(now, PromotionState::Live | PromotionState::Confirmed | PromotionState::Deploying);
    html! {
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
                    (reasoned(ctx, stored, ("waive", "Accept the inconclusive gate")))
                }
            }
            @if can_roll_back { (reasoned(ctx, stored, ("rollback", "Roll back"))) }
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
) -> Markup {
    let input = format!("reason-{action}");
    html! {
        form.settings method="post" action=(ctx.to(&["promotions", &stored.id, action])) {
            (ctx.viewer.form_token.field())
            div.form-row {
                label for=(input) { "Reason" }
                textarea id=(input) name="reason" rows="2" required {}
            }
            button.button type="submit" { (words) }
        }
    }
}

fn evidence(ctx: &RequestContext, promotion: &Promotion) -> Markup {
    let PromotionEvidence { tool_tests, gate, verdicts, review, waiver, approval } =
        &promotion.evidence;
    let at = |at: Timestamp| figure::ago(at, &ctx.time);
    html! {
        h2 { "Evidence" }
        dl.run-means {
            @if let Some(tests) = tool_tests {
                div { dt { "Tool tests" } dd {
                    (tests.tests) " tests, " (tests.failed) " failed, by " bdi { (elide(&tests.by.name, NAME)) }
                    @if let Some(source) = &tests.source { ", from " bdi { (elide(source, NAME)) } }
                    " " (at(tests.at))
                } }
            }
            @if let Some(gate) = gate {
                div { dt { "Gate" } dd {
                    a href=(ctx.to(&["gates", &gate.gate])) { bdi { (elide(&gate.run_name, NAME)) } }
                    ": " (gate.verdict.as_str()) " " (at(gate.at))
                    p { bdi { (elide(&gate.sentence, TEXT)) } }
                } }
            }
            @for (title, signature) in [("Review", review), ("Approval", approval)] {
                @if let Some(signature) = signature {
                    div { dt { (title) } dd {
                        bdi { (elide(&signature.by.name, NAME)) } " " (at(signature.at))
                        @if let Some(note) = &signature.note { p { bdi { (elide(note, TEXT)) } } }
                    } }
                }
            }
            @if let Some(waiver) = waiver {
                div { dt { "Waiver" } dd {
                    bdi { (elide(&waiver.by.name, NAME)) } " " (at(waiver.at))
                    p { bdi { (elide(&waiver.reason, TEXT)) } }
                } }
            }
        }
        @if let Some(verdicts) = verdicts.as_ref().filter(|verdicts| !verdicts.open.is_empty()) {
            h3 { "Items without a person's verdict" }
            ul { @for one in &verdicts.open {
                li {
                    a href=(ctx.to(&["datasets", &promotion.dataset, "items", &one.item])) {
                        bdi { (elide(&one.item, NAME)) }
                    }
                    @if let Some(trace) = &one.trace { " " a href=(ctx.to(&["traces", trace])) { "trace" } }
                }
            } }
            @if verdicts.open_count as usize > verdicts.open.len() {
                p.muted { "The first " (verdicts.open.len()) " of " (verdicts.open_count) "." }
            }
        }
    }
}

fn watch(found: &WatchResult) -> Markup {
    let columns = vec![
        Column::wide("Per session"),
        Column::number("Before"),
        Column::number("After"),
        Column::number("Sessions before"),
        Column::number("Sessions after"),
        Column::text("Test"),
    ];
    let number = |mark: Mark, value: Option<f64>| match (mark, value) {
        (_, None) => "–".to_owned(),
        (Mark::Latency, Some(value)) => format!("{value:.2} s"),
        (Mark::Cost, Some(value)) => format!("${value:.4}"),
        (_, Some(value)) => format!("{:.1}%", value * 100.0),
    };
    let row = |one: &MarkResult| Row {
        id: one.mark.title().to_owned(),
        link: None,
        cells: vec![
            html! { (one.mark.title()) },
            html! { (number(one.mark, one.before)) },
            html! { (number(one.mark, one.after)) },
            html! { (figure::grouped(u64::from(one.before_sessions))) },
            html! { (figure::grouped(u64::from(one.after_sessions))) },
            html! {
                @match one.needed {
                    None => { "too few sessions before" },
                    Some(_) if one.is_worse => { b { "significantly worse" } },
                    Some(needed) => { "not significant " small.muted {
                        "evidence " (format!("{:.1}", one.evidence)) " of " (format!("{needed:.0}"))
                    } },
                }
            },
        ],
        failed: one.is_worse,
    };
    let rows = found.marks.iter().map(row).collect();
    let caption = "Production before and after".to_owned();
    html! {
        h2 { "Production before and after" }
        p { (found.sentence()) ". " span.muted {
            "The test may be looked at any time; all rows share an error rate of 5%. Users were not "
            "randomised: other things may have changed as well."
        } }
        (table::table(&Table { caption, columns, rows, select_for: None }))
    }
}

fn parts(ctx: &RequestContext, promotion: &Promotion, version: &StoredAgentVersion) -> Markup {
    html! {
        h2 { "Version" }
        dl.run-means {
            div { dt { "Version" } dd {
                a href=(ctx.to(&["promotions", "agents", &promotion.agent])) { code { (version.id) } }
            } }
            @for (prompt, number) in &version.version.prompts {
                div { dt { "Prompt" } dd {
                    a href=(ctx.to(&["prompts", prompt]).with("version", number.to_string())) {
                        bdi { (elide(prompt, NAME)) } " v" (number)
                    }
                } }
            }
            @if let Some(model) = &version.version.model {
                div { dt { "Model" } dd { bdi { (elide(model, NAME)) } } }
            }
            @if let Some(tools) = &version.version.tools {
                div { dt { "Tools" } dd { code { bdi { (elide(tools, NAME)) } } } }
            }
            div { dt { "Dataset" } dd {
                a href=(ctx.to(&["datasets", &promotion.dataset])) { bdi { (elide(&promotion.dataset, NAME)) } }
            } }
            @if let Some(before) = &promotion.before {
                div { dt { "Before" } dd {
                    @match &before.version { Some(id) => code { (id) }, None => "not recorded" }
                } }
            }
        }
    }
}

fn history(ctx: &RequestContext, changes: &[AuditEntry]) -> Markup {
    html! {
        h2 { "Change history" }
        ol.deeds { @for entry in changes {
            li {
                strong { bdi { (elide(entry.actor.name(), NAME)) } } ": "
                bdi { (elide(entry.became.as_deref().unwrap_or("created"), TEXT)) } " "
                span.muted { (figure::ago(entry.at, &ctx.time)) }
            }
        } }
    }
}

pub(super) async fn act(
    State(web): State<Web>,
    Path((_, id, action)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let (catalog, project) = (ctx.viewer.catalog(&web), ctx.project_id());
    let context = context(&web, (&catalog, &project), &ctx);
    let by = catalog.signer();
    let reason = form.get("reason").unwrap_or_default().to_owned();
    let wanted = match action.as_str() {
        "refresh" => None,
        "review" => Some(Action::Review { by, note: None }),
        "approve" => Some(Action::Approve { by, note: None }),
        "waive" => Some(Action::Waive { by, reason }),
        "start" => Some(Action::Start),
        "rollback" => Some(Action::Rollback { by, reason }),
        "abandon" => Some(Action::Abandon),
        _ => return Err(PageError::not_there("action")),
    };
    let done = match wanted {
        Some(wanted) => promote::act(context, &id, wanted).await,
        None => promote::refresh(context, &id).await,
    };
    let stored = done.map_err(refused)?;
    Ok(Redirect::to(&ctx.to(&["promotions", &stored.id]).with("done", action).to_string()))
}
