use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::promotion::criteria::CriterionState;
use ratchet_core::promotion::evidence::PromotionEvidence;
use ratchet_core::promotion::state::Promotion;
use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{
    AuditEntry, AuditObject, AuditQuery, Serving, StoredAgentVersion, StoredPromotion,
};

use super::actions::{self, RefusedAction};
use super::{NAME, pipeline, state, watch};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, figure, toast};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
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
    shown(&web, &ctx, (&id, None)).await
}

/// The page, after a refused action with what was entered and why it was refused.
pub(super) async fn shown(
    web: &Web,
    ctx: &RequestContext,
    (id, refused): (&str, Option<&RefusedAction>),
) -> PageResult<Markup> {
    let (catalog, project) = (&web.store.catalog, ctx.project_id());
    let stored = catalog.promotion(project.clone(), id.to_owned()).await?;
    let promotion = &stored.promotion;
    let version = catalog.agent_version(project.clone(), promotion.version.clone()).await?;
    let responsible = catalog.responsible(project.clone(), promotion.agent.clone()).await?;
    let history = catalog.serving_history(project.clone(), promotion.agent.clone()).await?;
    let about = AuditQuery::about(project, AuditObject::Promotion, stored.id.clone(), CHANGES);
    let changes = catalog.audit(about).await?.rows;
    let states = promotion.criteria(&responsible);
    let mut page =
        Page::new(Section::Promotions, format!("Promotion of {}", elide(&promotion.agent, NAME)));
    page.crumbs.push(("Promotions".to_owned(), ctx.to(&["promotions"])));
    page.summary = html! {
        (state(promotion.state)) " to " bdi { (elide(&promotion.environment, NAME)) } ", created by "
        bdi { (elide(&promotion.author.name, NAME)) } " " (figure::ago(stored.created_at, &ctx.time)) "."
    };
    page.body = html! {
        @if let Some(done) = ctx.params.get("done") { (toast::toast(actions::said(done))) }
        @if let Some(outcome) = &promotion.outcome { p.notice { bdi { (elide(&outcome.text, TEXT)) } } }
        (pipeline::pipeline(ctx, promotion, (&states, &history)))
        (criteria(&states))
        (actions::actions(ctx, &stored, (refused, is_serving(&stored, &history))))
        (evidence(ctx, promotion))
        @if let Some(found) = &promotion.watch { (watch::watch(found)) }
        (parts(ctx, promotion, &version))
        (changes_of(ctx, &changes))
    };
    Ok(page.show(ctx))
}

/// Whether the promotion's version is what users get.
fn is_serving(stored: &StoredPromotion, history: &[Serving]) -> bool {
    let of_environment = history.iter().find(|one| one.environment == stored.promotion.environment);
    of_environment.is_some_and(|one| one.promotion.as_ref() == Some(&stored.id))
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
            @for (environment, settings) in &version.version.settings {
                div { dt { "Settings in " bdi { (elide(environment, NAME)) } } dd {
                    @for (name, value) in settings {
                        code { bdi { (elide(name, NAME)) } "=" bdi { (elide(value, NAME)) } } " "
                    }
                } }
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

fn changes_of(ctx: &RequestContext, changes: &[AuditEntry]) -> Markup {
    html! {
        h2 { "Change history" }
        ol.changes { @for entry in changes {
            li {
                strong { bdi { (elide(entry.actor.name(), NAME)) } } ": "
                bdi { (elide(entry.became.as_deref().unwrap_or("created"), TEXT)) } " "
                span.muted { (figure::ago(entry.at, &ctx.time)) }
            }
        } }
    }
}
