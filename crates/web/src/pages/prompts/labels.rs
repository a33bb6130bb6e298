//! Labels of versions, and the tags of a prompt.

use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::catalog::prompt::{LATEST, PRODUCTION, check_label, check_tag};
use ratchet_store::catalog::Prompt;

use crate::components::badge::{self, Decider};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// Tags that a prompt may have.
const MAX_TAGS: usize = 50;

/// Labels; what is live was decided by people.
pub(super) fn labels(labels: &[String]) -> Markup {
    html! {
        span.badges {
            @for label in labels {
                @if label == PRODUCTION { (badge::decided(Decider::Human, label)) }
                @else { (badge::tag(label)) }
            }
        }
    }
}

/// Sets any label at a version, and takes those that it has away again.
pub(super) fn form(chosen: &Prompt, is_locked: bool, ctx: &RequestContext) -> Markup {
    let is_removable = |label: &&String| *label != LATEST && !(is_locked && *label == PRODUCTION);
    let action = ctx.to(&["prompts", &chosen.name, "label"]);
    html! {
        form.inline method="post" data-inline-errors action=(action) {
            (ctx.viewer.form_token.field())
            input type="hidden" name="version" value=(chosen.version);
            input type="text" name="label" required placeholder="label" aria-label="Label" size="12";
            button.button type="submit" { "Set label" }
        }
        @for label in chosen.labels.iter().filter(is_removable) {
            form.inline method="post" data-inline-errors action=(action) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="version" value=(chosen.version);
                input type="hidden" name="remove" value=(label);
                button.quiet type="submit" { "Remove label " (label) }
            }
        }
    }
}

/// `POST …/prompts/{name}/label`: moves a label to a version, or removes it. For `production`, both
/// ask first.
pub(super) async fn set(
    State(web): State<Web>,
    Path((_, name)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let version = form.get("version").and_then(|version| version.parse::<u32>().ok());
    let version = version.ok_or_else(|| PageError::Bad("version: must be a number".to_owned()))?;
    let back = ctx.to(&["prompts", &name]).with("version", version.to_string());
    let is_sure = form.get("confirmed").is_some();
    if let Some(label) = form.get("remove") {
        if label == PRODUCTION && !is_sure {
            return Ok(Redirect::to(&back.with("confirm", "removal").to_string()));
        }
        let (catalog, label) = (ctx.viewer.catalog(&web), label.to_owned());
        catalog.remove_prompt_label(ctx.project_id(), name, label.clone(), ctx.now).await?;
        return Ok(Redirect::to(&back.with("done", "unlabelled").with("label", label).to_string()));
    }
    let label = wanted(&form)?;
    if label == PRODUCTION && !is_sure {
        return Ok(Redirect::to(&back.with("confirm", PRODUCTION).to_string()));
    }
    let (which, labels) = ((name, version), vec![label.clone()]);
    let catalog = ctx.viewer.catalog(&web);
    catalog.move_prompt_labels(ctx.project_id(), which, labels, ctx.now).await?;
    Ok(Redirect::to(&back.with("done", "label").with("label", label).to_string()))
}

fn wanted(form: &Params) -> PageResult<String> {
    let label = form.get("label").unwrap_or_default().trim().to_owned();
    check_label(&label).map_err(|why| PageError::Bad(format!("label: {why}")))?;
    if label == LATEST {
        return Err(PageError::Bad("label: latest always points to the newest version".to_owned()));
    }
    Ok(label)
}

/// The question before production is taken away from a version.
pub(super) fn removal(chosen: &Prompt, ctx: &RequestContext) -> Markup {
    let is_live = chosen.labels.iter().any(|label| label == PRODUCTION);
    if ctx.params.get("confirm") != Some("removal") || !is_live || !ctx.viewer.can_change() {
        return Markup::default();
    }
    html! {
        section.promotion data-question="removal" {
            h2 { "Take version " (chosen.version) " out of production?" }
            p { "No version is production then: agents that fetch the label production get an error until "
                "another version has it." }
            form.inline method="post" data-inline-errors action=(ctx.to(&["prompts", &chosen.name, "label"])) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="version" value=(chosen.version);
                input type="hidden" name="remove" value=(PRODUCTION);
                input type="hidden" name="confirmed" value="yes";
                button.button.danger type="submit" { "Take out of production" } " "
                a.button href=(ctx.here().without("confirm")) data-keep { "Cancel" }
            }
        }
    }
}

/// The tags, which lead to the prompts that share them, and a form for them.
pub(super) fn tags(chosen: &Prompt, ctx: &RequestContext) -> Markup {
    html! {
        div.prompt-tags {
            span.muted { "Tags" }
            span.badges {
            @for tag in &chosen.tags { a href=(ctx.to(&["prompts"]).with("tag", tag)) { (badge::tag(tag)) } }
            @if chosen.tags.is_empty() { "none" }
            }
        @if ctx.viewer.can_change() {
            details.edit-tags open[ctx.params.get("edit") == Some("tags")] {
                summary { @if chosen.tags.is_empty() { "Add tags" } @else { "Edit tags" } }
                form.inline method="post" data-inline-errors action=(ctx.to(&["prompts", &chosen.name, "tags"])) {
                    (ctx.viewer.form_token.field())
                    input type="text" name="tags" value=(chosen.tags.join(", ")) aria-label="Tags, separated by commas"
                        placeholder="support, beta" size="24" autocomplete="off";
                    button.button type="submit" { "Save tags" }
                }
            }
        }
        }
    }
}

/// `POST …/prompts/{name}/tags`: sets the tags of all versions.
pub(super) async fn set_tags(
    State(web): State<Web>,
    Path((_, name)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let tags = form.get("tags").unwrap_or_default().split(',').map(str::trim);
    let tags: Vec<String> = tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
    if tags.len() > MAX_TAGS {
        return Err(PageError::Bad(format!("tags: at most {MAX_TAGS}")));
    }
    for tag in &tags {
        check_tag(tag).map_err(|why| PageError::Bad(format!("tags: {tag}: {why}")))?;
    }
    ctx.viewer.catalog(&web).set_prompt_tags(ctx.project_id(), name.clone(), tags, ctx.now).await?;
    Ok(Redirect::to(&ctx.to(&["prompts", &name]).with("done", "tags").to_string()))
}
