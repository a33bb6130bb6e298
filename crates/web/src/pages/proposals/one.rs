use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::improve::backlog::{ProposalSource, ProposalState};
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::{ProposalStep, StoredProposal};

use super::actions::{self, RefusedDecision};
use super::{NAME, TEXT, card, state};
use crate::components::{copy, figure, toast};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

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
    (id, refused): (&str, Option<&RefusedDecision>),
) -> PageResult<Markup> {
    let stored = web.store.catalog.proposal(ctx.project_id(), id.to_owned()).await?;
    let mut page = Page::new(Section::Proposals, elide(&stored.content.title, 2 * NAME));
    page.crumbs.push(("Proposals".to_owned(), ctx.to(&["proposals"])));
    page.summary = html! {
        (state(stored.status.state)) " " (stored.content.component.title())
        @if let Some(agent) = &stored.content.agent { " of " bdi { (elide(agent, NAME)) } }
        ", weeks of " (stored.first_week)
        @if stored.last_week != stored.first_week { " to " (stored.last_week) } "."
    };
    page.body = html! {
        @if let Some(done) = ctx.params.get("done").and_then(actions::said) { (toast::toast(done)) }
        (actions::all(ctx, &stored, refused))
        (card::links(ctx, &stored))
        (next(ctx, &stored))
        (content(ctx, &stored))
        (history(ctx, &stored.steps))
    };
    Ok(page.show(ctx))
}

/// How to try a prompt version that waits for a gate.
fn next(ctx: &RequestContext, stored: &StoredProposal) -> Markup {
    let prompt = stored.status.prompt.as_ref();
    html! {
        @if let (ProposalState::InExperiment, Some(prompt)) = (stored.status.state, prompt) {
            h2 { "Try it" }
            p { "The change is version " (prompt.version) " of the prompt "
                bdi { (elide(&prompt.name, NAME)) } ", without the label "
                code { "production" } ": users do not get it. Run it on a dataset and let a gate decide; a "
                "pass moves this proposal, and so does a promotion." }
            (copy::snippet(&format!(
                "kind = \"prompt\"\nprompt = {:?}\nprompt_version = {}\nmodel = \"…\"",
                prompt.name, prompt.version
            )))
            @if ctx.viewer.can_change() {
                p { a.button href=(ctx.to(&["experiments", "start"])) { "Start run" } " "
                    a href=(ctx.to(&["prompts", &prompt.name]).with("version", prompt.version.to_string())) {
                        "Version " (prompt.version)
                    } }
            }
        }
    }
}

fn content(ctx: &RequestContext, stored: &StoredProposal) -> Markup {
    let content = &stored.content;
    html! {
        h2 { "Change" }
        p { bdi { (elide(&content.reason, TEXT)) } }
        (copy::snippet(&elide(&content.change, TEXT)))
        @if let Some(diff) = &content.diff {
            details open { summary { "As a diff" } (copy::snippet(&elide(diff, TEXT))) }
        }
        h2 { "Worth" }
        dl.run-means {
            div { dt { "Impact" } dd { (card::impact(stored)) } }
            div { dt { "Effort" } dd { (content.effort.as_str()) } }
            @if content.impact.is_some() {
                div { dt { "Priority" } dd { (format!("{:.4}", content.priority)) " (impact by effort)" } }
            }
            @if let Some(affected) = &content.affected {
                div { dt { "Affected" } dd {
                    @if affected.users > 0 { (figure::grouped(affected.users as u64)) " users in " }
                    (figure::grouped(affected.sessions as u64)) " sessions"
                    @if let Some(release) = &affected.since_release {
                        ", since release " bdi { (elide(release, NAME)) }
                    }
                } }
            }
            @if content.source != ProposalSource::Calibration {
                div { dt { "Files" } dd {
                    @if content.files.is_empty() { "not found in code" }
                    @for file in &content.files { code { bdi { (elide(file, NAME)) } } " " }
                } }
            }
            div { dt { "Found by" } dd { (source(content.source)) } }
        }
        (evidence(ctx, "Traces", ("traces", &content.evidence)))
        (evidence(ctx, "Sessions", ("sessions", &content.sessions)))
    }
}

const fn source(source: ProposalSource) -> &'static str {
    match source {
        ProposalSource::Failures => "groups of failures (code)",
        ProposalSource::WeeklyReport => "the weekly quality report",
        ProposalSource::Calibration => "labels that differ from the judge",
        ProposalSource::Agent => "an agent (model)",
    }
}

fn evidence(ctx: &RequestContext, title: &str, (page, ids): (&str, &[String])) -> Markup {
    html! {
        @if !ids.is_empty() {
            h2 { (title) " " span.muted { (ids.len()) } }
            ul.named-sessions {
                @for id in ids { li { a href=(ctx.to(&[page, id])) { code { bdi { (elide(id, NAME)) } } } } }
            }
        }
    }
}

fn history(ctx: &RequestContext, steps: &[ProposalStep]) -> Markup {
    html! {
        @if !steps.is_empty() {
            h2 { "History" }
            ol.changes {
                @for step in steps {
                    li {
                        strong { bdi { (elide(&step.actor, NAME)) } } ": " (step.state.title())
                        @if let Some(note) = &step.note { ", " bdi { (elide(note, TEXT)) } }
                        " " span.muted { (figure::ago(step.at, &ctx.time)) }
                    }
                }
            }
        }
    }
}
