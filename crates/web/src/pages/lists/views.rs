use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_store::StoreResult;
use ratchet_store::catalog::{NewView, SavedView, ViewedPage};

use super::bar::quick_filters;
use super::change::{Done, list_link};
use super::row::ListedRow;
use super::state::here;
use crate::filter::{Filter, ListKind};
use crate::form::PageForm;
use crate::frame::menu;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

const MAX_NAME: usize = 80;
/// Maximum bytes of a saved query.
const MAX_QUERY: usize = 8_000;
/// Parameters that are not saved: paging and one-time ones.
const PASSING: [&str; 4] = ["cursor", "done", "after", "id"];

const fn page_of(on: ListKind) -> ViewedPage {
    match on {
        ListKind::Traces => ViewedPage::Traces,
        ListKind::Observations => ViewedPage::Observations,
        ListKind::Sessions => ViewedPage::Sessions,
    }
}

/// The saved views of a list.
pub(super) async fn of(
    web: &Web,
    ctx: &RequestContext,
    on: ListKind,
) -> StoreResult<Vec<SavedView>> {
    web.store.catalog.saved_views(ctx.project_id(), page_of(on)).await
}

/// The menu of views: those that come with the program, those that people saved, and a form to
/// save what is shown now.
pub(super) fn views_menu(ctx: &RequestContext, on: ListKind, saved: &[SavedView]) -> Markup {
    let shipped = quick_filters(on).map(|(name, term)| {
        let filter = Filter { terms: vec![term] };
        (name, list_link(ctx, on).in_scope(&ctx.scope).with("q", filter.to_string()))
    });
    menu(
        "Views",
        "Views",
        &html! {
            a href=(list_link(ctx, on).in_scope(&ctx.scope)) { "All" }
            @for (name, link) in shipped { a href=(link) { (name) } }
            @for view in saved {
                div.saved-view {
                    a href=(link(ctx, on, view)) { bdi { (view.name) } }
                    @if ctx.viewer.can_change() {
                        form method="post" action=(action(ctx, on, "forget-view")) {
                            (ctx.viewer.form_token.field())
                            (back(ctx, on))
                            input type="hidden" name="id" value=(view.id);
                            button.quiet type="submit" aria-label={ "Delete the view " (view.name) } { "Delete" }
                        }
                    }
                }
            }
            @if ctx.viewer.can_change() { (save_form(ctx, on)) }
        },
    )
}

fn save_form(ctx: &RequestContext, on: ListKind) -> Markup {
    html! {
        form.save-view method="post" data-inline-errors action=(action(ctx, on, "save-view")) {
            (ctx.viewer.form_token.field())
            (back(ctx, on))
            label for="view-name" { "Save current view as" }
            input #view-name type="text" name="name" required maxlength=(MAX_NAME);
            button.button type="submit" { "Save view" }
        }
    }
}

/// URL of a saved view.
fn link(ctx: &RequestContext, on: ListKind, view: &SavedView) -> Link {
    let pairs = Params::read(&view.query);
    pairs.pairs().fold(list_link(ctx, on), |link, (name, value)| link.and(name, value))
}

/// Where a change of this list is sent.
pub(super) fn action(ctx: &RequestContext, on: ListKind, what: &str) -> Link {
    Link::to_project(&ctx.project.id, &["list", page_of(on).as_str(), what])
}

/// The field that leads back to where a form was sent from.
pub(super) fn back(ctx: &RequestContext, on: ListKind) -> Markup {
    let here = here(ctx, on).to_string();
    let query = here.split_once('?').map_or("", |(_, query)| query);
    html! { input type="hidden" name="back" value=(query); }
}

/// Keeps what is shown under a name.
pub(super) async fn save<R: ListedRow>(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let name = form.get("name").unwrap_or_default().trim();
    if name.is_empty() || name.chars().count() > MAX_NAME {
        let why = format!("the name of a view has 1 to {MAX_NAME} characters");
        return Err(PageError::Bad(why));
    }
    let shown = Params::read(form.get("back").unwrap_or_default());
    let kept = shown.pairs().filter(|(name, _)| !PASSING.contains(name));
    let kept = kept.fold(Link::new(""), |link, (name, value)| link.and(name, value)).to_string();
    let query = kept.trim_start_matches('?').to_owned();
    if query.len() > MAX_QUERY {
        return Err(PageError::Bad(format!("a view has at most {MAX_QUERY} bytes")));
    }
    let author = ctx.viewer.person().map(str::to_owned);
    let new = NewView { page: page_of(R::ON), name: name.to_owned(), query, author };
    ctx.viewer.catalog(&web).save_view(ctx.project_id(), new, ctx.now).await?;
    Ok(Done::SavedView.back(&ctx, R::ON, &form))
}

pub(super) async fn forget<R: ListedRow>(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let id = form.get("id").unwrap_or_default().to_owned();
    ctx.viewer.catalog(&web).delete_view(ctx.project_id(), id, ctx.now).await?;
    Ok(Done::DeletedView.back(&ctx, R::ON, &form))
}
