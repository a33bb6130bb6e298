use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::catalog::annotation::CommentedKind;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Comment, CommentFilter};
use ratchet_store::query::PageNumber;

use super::run::Subject;
use crate::components::figure;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Maximum number of comments shown, newest first.
const MAX_COMMENTS: u64 = 50;

/// Comments of a trace or observation, newest first, with author names.
pub(super) async fn comments(
    web: &Web,
    ctx: &RequestContext,
    subject: &Subject,
) -> PageResult<Vec<Comment>> {
    let (kind, object) = match subject.step_id() {
        Some(step) => (CommentedKind::Observation, step),
        None => (CommentedKind::Trace, subject.trace.to_string()),
    };
    let filter = CommentFilter { kind: Some(kind), object: Some(object), author: None };
    let page = PageNumber { page: 1, limit: MAX_COMMENTS };
    let mut comments = web.store.catalog.comments(ctx.project_id(), filter, page).await?.rows;
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for comment in &mut comments {
        let Some(id) = comment.author.clone() else { continue };
        if !names.contains_key(&id) {
            // A deleted user is shown by id.
            let user = web.store.catalog.user(id.clone()).await.ok();
            let name = user.map(|user| user.name.unwrap_or(user.email));
            names.insert(id.clone(), name.unwrap_or_else(|| id.clone()));
        }
        comment.author = names.get(&id).cloned();
    }
    Ok(comments)
}

pub(super) fn remarks(comments: &[Comment], now: Timestamp) -> Markup {
    html! {
        h3 #comments { "Comments" }
        @if comments.is_empty() { p.muted { "None yet." } }
        ul.remarks {
            @for comment in comments {
                li {
                    p.remark-head.muted {
                        bdi { (comment.author.as_deref().unwrap_or("someone")) } ", "
                        (figure::ago(comment.created_at, now))
                    }
                    p { bdi { (comment.content) } }
                }
            }
        }
    }
}
