use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::catalog::prompt::{LATEST, PRODUCTION, Pick};
use ratchet_store::catalog::Prompt;
use ratchet_store::query::PageNumber;

use crate::form::PageForm;
use crate::frame::{self, Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::deletion::{self, DeletionQuestion};
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

/// Versions whose labels are named.
const VERSIONS: PageNumber = PageNumber { page: 1, limit: 1_000 };

/// Link to the question whether a version, or all of a prompt, shall go.
pub(super) fn link(ctx: &RequestContext, name: &str, version: Option<u32>) -> Link {
    let to = ctx.to(&["prompts", name, "delete"]);
    version.into_iter().fold(to, |to, version| to.with("version", version.to_string()))
}

/// Menu of what can be deleted.
pub(super) fn menu(ctx: &RequestContext, chosen: &Prompt) -> Markup {
    let items = html! {
        a.danger href=(link(ctx, &chosen.name, Some(chosen.version))) {
            "Delete version " (chosen.version) "…"
        }
        a.danger href=(link(ctx, &chosen.name, None)) { "Delete prompt…" }
    };
    frame::menu("More actions", "More", &items)
}

fn version(params: &Params) -> PageResult<Option<u32>> {
    let read = |text: &str| text.parse::<u32>();
    let version = params.get("version").map(read).transpose();
    version.map_err(|_| PageError::Bad("version: must be a number".to_owned()))
}

/// `GET …/prompts/{name}/delete`: asks before a version, or the whole prompt, is deleted.
pub(super) async fn ask(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let version = version(&ctx.params)?;
    let catalog = &web.store.catalog;
    let found = catalog.prompt_versions(ctx.project_id(), name.clone(), VERSIONS).await?;
    let total = found.total.unwrap_or_default();
    let going: Vec<&Prompt> = found
        .rows
        .iter()
        .filter(|prompt| version.is_none_or(|version| version == prompt.version))
        .collect();
    if going.is_empty() {
        return Err(PageError::not_there("prompt version"));
    }
    let mut page = Page::new(Section::Prompts, name.clone());
    page.crumbs = vec![
        ("Prompts".to_owned(), Section::Prompts.link(&ctx)),
        (name.clone(), ctx.to(&["prompts", &name])),
    ];
    let is_last = version.is_none() || total == 1;
    let question = DeletionQuestion {
        title: match version {
            Some(version) => format!("Delete version {version} of {name}?"),
            None => format!("Delete prompt {name}?"),
        },
        lost: lost(&going, (total, is_last)),
        action: link(&ctx, &name, version),
        back: match version {
            Some(version) => ctx.to(&["prompts", &name]).with("version", version.to_string()),
            None => ctx.to(&["prompts", &name]),
        },
    };
    Ok(deletion::ask(&ctx, page, &question))
}

fn lost(going: &[&Prompt], (total, is_last): (u64, bool)) -> Markup {
    let labels: Vec<&str> = going
        .iter()
        .flat_map(|prompt| &prompt.labels)
        .map(String::as_str)
        .filter(|label| *label != LATEST)
        .collect();
    html! {
        @if labels.contains(&PRODUCTION) {
            p.notice { "It is production: agents that fetch the label production get an error until another "
                "version has it." }
        }
        @if !labels.is_empty() {
            p { "These labels go with it: " @for (nth, label) in labels.iter().enumerate() {
                @if nth > 0 { ", " } code { (label) }
            } "." }
        }
        p {
            @if is_last {
                "The prompt has " (total) @if total == 1 { " version" } @else { " versions" }
                "; nothing of it remains. "
            } @else { "The other versions stay. " }
            "Traces that used it stay. This cannot be undone."
        }
    }
}

/// `POST …/prompts/{name}/delete`: deletes a version, or all of them.
pub(super) async fn delete(
    State(web): State<Web>,
    Path((_, name)): Path<(String, String)>,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let version = version(&ctx.params)?;
    let catalog = ctx.viewer.catalog(&web);
    let pick = version.map(Pick::Version);
    catalog.delete_prompts(ctx.project_id(), name.clone(), pick, ctx.now).await?;
    let page = PageNumber { page: 1, limit: 1 };
    let left = web.store.catalog.prompt_versions(ctx.project_id(), name.clone(), page).await?;
    let to = if left.rows.is_empty() { ctx.to(&["prompts"]) } else { ctx.to(&["prompts", &name]) };
    Ok(Redirect::to(&to.with("done", "deleted").to_string()))
}
