//! Bookmarks and public links of traces and sessions.

use maud::{Markup, html};
use ratchet_core::id::TraceId;
use ratchet_stages::record::{self, TraceMark};
use ratchet_store::catalog::{Publication, PublishedKind};

use super::public_link;
use crate::components::icon::{Icon, icon};
use crate::frame;
use crate::page_error::PageResult;
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

/// Bytes of the longest text in a mark: it has none.
const NO_TEXT: usize = 1;

/// Whether a form sets a mark or removes it.
pub(super) fn is_set(form: &Params) -> bool {
    form.get("set") == Some("yes")
}

/// Toast message after a form.
pub(super) fn done(word: &str) -> Option<&'static str> {
    match word {
        "bookmarked" => Some("Bookmarked"),
        "unbookmarked" => Some("Bookmark removed"),
        "published" => Some("Public link created"),
        "unpublished" => Some("Public link revoked"),
        _ => None,
    }
}

/// Button that sets or removes a bookmark; for those who may only look, a sign that there is one.
pub(super) fn star(ctx: &RequestContext, action: &Link, is_bookmarked: bool) -> Markup {
    if !ctx.viewer.can_change() {
        return html! { @if is_bookmarked { (bookmarked()) } };
    }
    let (set, word) = if is_bookmarked { ("no", "Remove bookmark") } else { ("yes", "Bookmark") };
    html! {
        form.star method="post" action=(action) {
            (ctx.viewer.form_token.field())
            input type="hidden" name="set" value=(set);
            button.button.starred[is_bookmarked] aria-pressed=(is_bookmarked) title=(word) {
                (icon(Icon::Star)) span { @if is_bookmarked { "Bookmarked" } @else { "Bookmark" } }
            }
        }
    }
}

/// Sign of a bookmark.
pub(super) fn bookmarked() -> Markup {
    html! { span.starred title="Bookmarked" { (icon(Icon::Star)) span.sr { "Bookmarked" } } }
}

/// Menu that publishes a trace or session and revokes its public link.
///
/// `is_marked` says that the client which recorded a trace called it public: that alone opens
/// nothing.
pub(super) fn publishing(
    ctx: &RequestContext,
    action: &Link,
    published: (PublishedKind, Option<&Publication>),
    is_marked: bool,
) -> Markup {
    let (kind, publication) = published;
    if !ctx.viewer.can_change() {
        return html! { @if publication.is_some() { span.badge { "Public" } } };
    }
    let (set, word, class) = match publication {
        Some(_) => ("no", "Revoke public link", "button danger"),
        None => ("yes", "Create public link", "button"),
    };
    let choices = html! {
        div.publishing {
            @match publication {
                Some(publication) => { (link_to_copy(ctx, publication)) },
                None => {
                    p { "Anybody with the link can read this " (kind.as_str()) " without signing in: "
                        "inputs, outputs, models and costs" (also(kind)) ". "
                        "Scores, comments, users and other records stay private." }
                    @if is_marked {
                        p.muted { "The client that recorded it marked it as public. "
                            "That alone opens no link." }
                    }
                },
            }
            form method="post" action=(action) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="set" value=(set);
                button class=(class) { (word) }
            }
        }
    };
    let shown = if publication.is_some() { "Public" } else { "Private" };
    frame::menu("Sharing", shown, &choices)
}

const fn also(kind: PublishedKind) -> &'static str {
    match kind {
        PublishedKind::Trace => "",
        PublishedKind::Session => ", also of turns that are recorded later",
    }
}

fn link_to_copy(ctx: &RequestContext, publication: &Publication) -> Markup {
    let path = public_link::path(&publication.token);
    let address = format!("{}{path}", ctx.server);
    html! {
        p { "Anybody with this link can read this " (publication.kind.as_str())
            (also(publication.kind)) "." }
        p.public-address {
            a href=(path) target="_blank" rel="noopener" { "Open public page" }
            button.quiet type="button" data-copy=(address) { (icon(Icon::Copy)) span { "Copy link" } }
        }
    }
}

/// Sets or removes a mark of traces that exist; returns how many there are.
pub(super) async fn mark_traces(
    web: &Web,
    ctx: &RequestContext,
    ids: Vec<TraceId>,
    mark: (TraceMark, bool),
) -> PageResult<usize> {
    let (telemetry, project) = (&web.store.telemetry, ctx.project_id());
    // Only traces that are there: a mark must not make one.
    let known = telemetry.find_traces(project.clone(), ids).await?;
    let traces: Vec<TraceId> = known.into_iter().map(|trace| trace.id).collect();
    let count = traces.len();
    let batch = record::marks(project, traces, mark, ctx.now);
    record::write(telemetry, &web.store.catalog, batch, NO_TEXT).await?;
    Ok(count)
}

/// Creates or revokes the public link of a trace or session.
pub(super) async fn publish(
    web: &Web,
    ctx: &RequestContext,
    object: (PublishedKind, String),
    is_public: bool,
) -> PageResult<()> {
    let (catalog, project) = (ctx.viewer.catalog(web), ctx.project_id());
    if is_public {
        let author = ctx.viewer.person().map(str::to_owned);
        catalog.publish(project, object, author, ctx.now).await?;
    } else {
        catalog.unpublish(project, object, ctx.now).await?;
    }
    Ok(())
}
