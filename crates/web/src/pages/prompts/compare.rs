use maud::{Markup, html};
use ratchet_core::catalog::prompt::PRODUCTION;
use ratchet_store::catalog::Prompt;

use super::one::written;
use crate::components::diff;
use crate::request_context::{Link, RequestContext};

/// What changed between two versions: since production unless others are chosen.
pub(super) async fn changed(
    versions: &[Prompt],
    (old, new): (Option<&Prompt>, &Prompt),
    ctx: &RequestContext,
) -> Markup {
    let changes = match old {
        Some(old) => diff::beside(written(&old.body), written(&new.body)).await,
        None => Markup::default(),
    };
    html! {
        @if let Some(old) = old {
            h2 #changes {
                "Changes since version " (old.version)
                @if old.labels.iter().any(|label| label == PRODUCTION) { ", which is production" }
            }
        }
        @if versions.len() > 1 { (chooser(versions, (old, new), ctx)) }
        (changes)
    }
}

/// Any two versions.
fn chooser(
    versions: &[Prompt],
    (old, new): (Option<&Prompt>, &Prompt),
    ctx: &RequestContext,
) -> Markup {
    let here = ["version", "against", "done", "confirm", "label"]
        .into_iter()
        .fold(ctx.here(), Link::without);
    html! {
        form.compare method="get" action={ (here.path()) "#changes" } {
            @for (name, value) in here.pairs() { input type="hidden" name=(name) value=(value); }
            label for="against" { "Compare" }
            (select("against", versions, old))
            label for="version" { "with" }
            (select("version", versions, Some(new)))
            button.button type="submit" { "Compare" }
            @if let Some(old) = old.filter(|_| ctx.viewer.can_change()) {
                " " a.button href=(both(old, new, ctx)) { "Try both in playground" }
            }
        }
    }
}

/// Both versions in the playground.
fn both(old: &Prompt, new: &Prompt, ctx: &RequestContext) -> Link {
    let playground = ctx.to(&["playground"]).with("prompt", &new.name);
    playground.with("version", new.version.to_string()).with("against", old.version.to_string())
}

fn select(name: &str, versions: &[Prompt], chosen: Option<&Prompt>) -> Markup {
    let is_chosen = |prompt: &Prompt| chosen.is_some_and(|chosen| chosen.version == prompt.version);
    // An old version may be beyond the list.
    let is_listed = versions.iter().any(is_chosen);
    html! {
        select id=(name) name=(name) {
            @if let Some(chosen) = chosen.filter(|_| !is_listed) { (option(chosen, true)) }
            @for prompt in versions { (option(prompt, is_chosen(prompt))) }
        }
    }
}

fn option(prompt: &Prompt, is_chosen: bool) -> Markup {
    html! {
        option value=(prompt.version) selected[is_chosen] {
            "v" (prompt.version)
            @if !prompt.labels.is_empty() { " (" (prompt.labels.join(", ")) ")" }
        }
    }
}
