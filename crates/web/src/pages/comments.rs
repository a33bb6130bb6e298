//! Comments on traces, observations, sessions and prompts: the list and the form.

use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::catalog::annotation::CommentedKind;
use ratchet_store::catalog::{Comment, CommentFilter, NewComment};
use ratchet_store::query::PageNumber;

use super::annotation;
use crate::components::figure;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

/// Maximum number of comments shown, newest first.
const MAX_COMMENTS: u64 = 50;
/// Maximum comment length, as in the API.
const MAX_CHARS: usize = 5_000;

/// A comment with the name of its author.
pub(super) struct NamedComment {
    comment: Comment,
    author: Option<String>,
}

/// Comments on an object, newest first, with author names.
pub(super) async fn read(
    web: &Web,
    ctx: &RequestContext,
    (kind, object): (CommentedKind, String),
) -> PageResult<Vec<NamedComment>> {
    let filter = CommentFilter { kind: Some(kind), object: Some(object), author: None };
    let page = PageNumber { page: 1, limit: MAX_COMMENTS };
    let comments = web.store.catalog.comments(ctx.project_id(), filter, page).await?.rows;
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for comment in &comments {
        let Some(id) = comment.author.clone() else { continue };
        if !names.contains_key(&id) {
            // A deleted user is shown by id.
            let user = web.store.catalog.user(id.clone()).await.ok();
            let name = user.map(|user| user.name.unwrap_or(user.email));
            names.insert(id.clone(), name.unwrap_or_else(|| id.clone()));
        }
    }
    let named = |comment: Comment| {
        let author = comment.author.as_ref().and_then(|id| names.get(id)).cloned();
        NamedComment { comment, author }
    };
    Ok(comments.into_iter().map(named).collect())
}

/// The list of comments, each with a button for those who may delete it.
pub(super) fn list(comments: &[NamedComment], ctx: &RequestContext) -> Markup {
    draw(comments, ctx, |comment| annotation::comment_button(ctx, comment))
}

/// The list of comments inside of another form.
pub(super) fn quoted(comments: &[NamedComment], ctx: &RequestContext) -> Markup {
    draw(comments, ctx, |_| Markup::default())
}

fn draw(
    comments: &[NamedComment],
    ctx: &RequestContext,
    button: impl Fn(&Comment) -> Markup,
) -> Markup {
    html! {
        h3 #comments { "Comments" }
        @if comments.is_empty() { p.muted { "None yet." } }
        ul.remarks {
            @for NamedComment { comment, author } in comments {
                li {
                    p.remark-head.muted {
                        bdi { (author.as_deref().unwrap_or("someone")) } ", "
                        (figure::ago(comment.created_at, &ctx.time))
                    }
                    p { bdi { (comment.content) } }
                    (button(comment))
                }
            }
        }
    }
}

/// The form of a new comment; `hidden` has the form token and what else the handler needs.
pub(super) fn form(ctx: &RequestContext, action: &Link, hidden: &Markup) -> Markup {
    html! {
        @if ctx.viewer.can_change() {
            form method="post" data-inline-errors action=(action) {
                (hidden)
                label.sr for="comment" { "Comment" }
                textarea #comment name="content" maxlength=(MAX_CHARS) required placeholder="Add a comment" {}
                button.button { "Comment" }
            }
        }
    }
}

/// Text of a submitted comment.
pub(super) fn content(form: &Params) -> PageResult<String> {
    let content = form.get("content").unwrap_or_default().trim();
    if !(1..=MAX_CHARS).contains(&content.chars().count()) {
        return Err(PageError::Bad(format!("a comment has 1 to {MAX_CHARS} characters")));
    }
    Ok(content.to_owned())
}

/// Adds a comment by the viewer.
pub(super) async fn add(
    web: &Web,
    ctx: &RequestContext,
    (kind, object): (CommentedKind, String),
    content: String,
) -> PageResult<()> {
    let author = ctx.viewer.person().map(str::to_owned);
    let new = NewComment { kind, object, content, author };
    ctx.viewer.catalog(web).create_comment(ctx.project_id(), new, ctx.now).await?;
    Ok(())
}
