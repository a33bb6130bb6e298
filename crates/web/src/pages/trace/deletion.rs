use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::record::limit::elide;
use ratchet_core::record::trace::Trace;
use ratchet_store::catalog::AuditObject;

use super::{TracePath, name, trace_id};
use crate::components::figure;
use crate::form::PageForm;
use crate::frame::{Page, Section, menu};
use crate::page_error::{PageError, PageResult};
use crate::pages::deletion::{self, DeletionQuestion};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Characters of a name in a title.
const NAME: usize = 80;

/// What else can be done with a trace: keep it as a file, or delete it.
pub(super) fn more(ctx: &RequestContext, trace: &Trace) -> Markup {
    let to = |what| ctx.to(&["traces", &trace.id.to_string(), what]);
    let items = html! {
        a href=(to("download")) download { "Download as JSON" }
        @if ctx.viewer.can_change() { a.danger href=(to("delete")) { "Delete…" } }
    };
    menu("More actions", "More", &items)
}

/// `GET …/traces/{trace}/delete`: asks first.
pub(super) async fn ask(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace)): TracePath,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let ids = vec![trace_id(&trace)?];
    let found = web.store.telemetry.find_traces(ctx.project_id(), ids.clone()).await?;
    let trace = found.into_iter().next().ok_or_else(|| PageError::not_there("trace"))?;
    let attached = web.store.telemetry.count_attached(ctx.project_id(), ids).await?;
    let back = ctx.to(&["traces", &trace.id.to_string()]);
    let mut page = Page::new(Section::Traces, name(&trace));
    page.crumbs = vec![
        ("Traces".to_owned(), Section::Traces.link(&ctx)),
        (elide(&name(&trace), NAME).into_owned(), back.clone()),
    ];
    let question = DeletionQuestion {
        title: format!("Delete trace {}?", elide(&name(&trace), NAME)),
        lost: html! {
            p {
                "This also deletes " (figure::counted(attached.observations, "observation")) " and "
                (figure::counted(attached.scores, "score")) ". Dataset items that were made from it stay. "
                "This cannot be undone."
            }
        },
        action: ctx.to(&["traces", &trace.id.to_string(), "delete"]),
        back,
    };
    Ok(deletion::ask(&ctx, page, &question))
}

/// `POST …/traces/{trace}/delete`: deletes a trace.
pub(super) async fn delete(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let ids = vec![trace_id(&trace)?];
    let found = web.store.telemetry.find_traces(ctx.project_id(), ids.clone()).await?;
    if found.is_empty() {
        return Err(PageError::not_there("trace"));
    }
    let named = ids.iter().map(ToString::to_string).collect();
    let (catalog, project) = (ctx.viewer.catalog(&web), ctx.project_id());
    catalog.note_deletion(project.clone(), AuditObject::Traces, named, ctx.now).await?;
    web.store.telemetry.delete_traces(project, ids).await?;
    Ok(Redirect::to(&ctx.to(&["traces"]).with("done", "deleted-1").to_string()))
}
