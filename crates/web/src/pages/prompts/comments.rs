use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::catalog::annotation::CommentedKind;
use ratchet_core::catalog::prompt::Pick;
use ratchet_store::catalog::{Prompt, PromptReferences};

use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::comments;
use crate::request_context::RequestContext;
use crate::web::Web;

/// The field that names the version.
const VERSION: &str = "version";

/// Comments on a version, and the form of one more.
pub(super) async fn section(web: &Web, ctx: &RequestContext, of: &Prompt) -> PageResult<Markup> {
    let read = comments::read(web, ctx, (CommentedKind::Prompt, of.id.clone())).await?;
    let hidden = html! {
        (ctx.viewer.form_token.field())
        input type="hidden" name=(VERSION) value=(of.version);
    };
    Ok(html! {
        section.prompt-comments aria-label="Comments" {
            (comments::list(&read, ctx))
            (comments::form(ctx, &ctx.to(&["prompts", &of.name, "comments"]), &hidden))
        }
    })
}

/// `POST …/prompts/{name}/comments`: comments on a version.
pub(super) async fn comment(
    State(web): State<Web>,
    Path((_, name)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let content = comments::content(&form)?;
    let version = form.get(VERSION).and_then(|number| number.parse().ok());
    let version = version.ok_or_else(|| PageError::not_there("prompt version"))?;
    let (project, raw) = (ctx.project_id(), PromptReferences::Raw);
    let found = web.store.catalog.prompt(project, name, Pick::Version(version), raw).await?;
    let (prompt, _) = found.ok_or_else(|| PageError::not_there("prompt version"))?;
    comments::add(&web, &ctx, (CommentedKind::Prompt, prompt.id), content).await?;
    let to = ctx.to(&["prompts", &prompt.name]).with("version", version.to_string());
    Ok(Redirect::to(&format!("{}#comments", to.with("done", "commented"))))
}
