//! Changing and deleting a queue.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_store::StoreError;
use ratchet_store::catalog::{Queue, QueueId};

use super::fields;
use crate::components::field::Entered;
use crate::components::figure;
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::pages::deletion::{self, DeletionQuestion};
use crate::request_context::RequestContext;
use crate::web::Web;

type QueuePath = Path<(String, String)>;

/// What every page below a queue begins with.
fn begin(queue: &Queue, title: &str, ctx: &RequestContext) -> Page {
    let mut page = Page::new(Section::Queues, title);
    page.crumbs = vec![
        ("Queues".to_owned(), Section::Queues.link(ctx)),
        (queue.name.clone(), ctx.to(&["queues", &queue.id])),
    ];
    page
}

/// The queue of a page that changes it.
async fn changeable(web: &Web, ctx: &RequestContext, queue: String) -> PageResult<Queue> {
    ctx.viewer.may_change()?;
    Ok(web.store.catalog.queue(QueueId { project: ctx.project_id(), queue }).await?)
}

/// `GET …/queues/{queue}/edit`: the form.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, queue)): QueuePath,
) -> PageResult<Markup> {
    let queue = changeable(&web, &ctx, queue).await?;
    let description = queue.description.as_deref().unwrap_or_default();
    let entered = Entered::preset(&[("name", &queue.name), ("description", description)]);
    page(&web, &ctx, &queue, (&entered, &queue.score_configs)).await
}

async fn page(
    web: &Web,
    ctx: &RequestContext,
    queue: &Queue,
    values: (&Entered, &[String]),
) -> PageResult<Markup> {
    let mut page = begin(queue, "Edit queue", ctx);
    page.body = html! {
        form.maker method="post" action=(ctx.to(&["queues", &queue.id, "edit"])) {
            (ctx.viewer.form_token.field())
            (fields::fields(web, ctx, values).await?)
            p.actions {
                button.button.primary type="submit" { "Save" } " "
                a.button href=(ctx.to(&["queues", &queue.id])) { "Cancel" }
            }
        }
        p.muted {
            "Instructions, reviews per item and who reviews: "
            a href=(ctx.to(&["queues", &queue.id, "settings"])) { "review settings" } "."
        }
    };
    Ok(page.show(ctx))
}

/// `POST …/queues/{queue}/edit`: saves the form. A refused one is shown again as it was filled in.
pub(super) async fn save(
    State(web): State<Web>,
    Path((_, queue)): QueuePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let of = QueueId { project: ctx.project_id(), queue };
    let queue = web.store.catalog.queue(of.clone()).await?;
    let (new, mut entered) = fields::read(form);
    let configs = new.score_configs.clone();
    if entered.is_fine() {
        match ctx.viewer.catalog(&web).change_queue(of, new, ctx.now).await {
            Ok(saved) => {
                let to = ctx.to(&["queues", &saved.id]).with("done", "edited");
                return Ok(Redirect::to(&to.to_string()).into_response());
            }
            Err(refusal @ (StoreError::Exists(_) | StoreError::BadQuery(_))) => {
                entered.wrong("", refusal.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
    let shown = page(&web, &ctx, &queue, (&entered, &configs)).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}

/// `GET …/queues/{queue}/delete`: asks first.
pub(super) async fn ask(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, queue)): QueuePath,
) -> PageResult<Markup> {
    let queue = changeable(&web, &ctx, queue).await?;
    let progress = web.store.catalog.queue_progress(ctx.project_id()).await?;
    let progress = progress.get(&queue.id).copied().unwrap_or_default();
    let question = DeletionQuestion {
        title: format!("Delete queue {}?", queue.name),
        lost: html! {
            p {
                "Its " (figure::grouped(progress.waiting)) " waiting and " (figure::grouped(progress.done))
                " done items go with it, and who reviewed them. The traces, observations and sessions stay, with "
                "the scores that reviewers gave. This cannot be undone."
            }
        },
        action: ctx.to(&["queues", &queue.id, "delete"]),
        back: ctx.to(&["queues", &queue.id]),
    };
    Ok(deletion::ask(&ctx, begin(&queue, "Delete queue", &ctx), &question))
}

/// `POST …/queues/{queue}/delete`: deletes a queue.
pub(super) async fn delete(
    State(web): State<Web>,
    Path((_, queue)): QueuePath,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let of = QueueId { project: ctx.project_id(), queue };
    ctx.viewer.catalog(&web).delete_queue(of, ctx.now).await?;
    Ok(Redirect::to(&ctx.to(&["queues"]).with("done", "deleted").to_string()))
}
