use axum::Router;
use axum::extract::{Path, State};
use axum::response::Redirect;
use axum::routing::post;
use maud::{Markup, html};
use ratchet_core::catalog::annotation::{CommentedKind, ItemKind};
use ratchet_core::id::SessionId;
use ratchet_core::quality::label::DATASET;
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_stages::review::session_queue;
use ratchet_stages::sink::LocalSink;
use ratchet_store::catalog::PublishedKind;

use crate::filter::ListKind;
use crate::form::PageForm;
use crate::frame;
use crate::page_error::{PageError, PageResult};
use crate::pages::annotation::{self, Annotated};
use crate::pages::calibration::rubric;
use crate::pages::dataset_target;
use crate::pages::lists::bulk::sources::{self, ExpectedOutput};
use crate::pages::{comments, marks, queue_menu};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/sessions/{session}/comments", post(comment))
        .route("/project/{project}/sessions/{session}/scores", post(score))
        .route("/project/{project}/sessions/{session}/queue", post(queue))
        .route("/project/{project}/sessions/{session}/dataset", post(dataset))
        .route("/project/{project}/sessions/{session}/label", post(label))
        .route("/project/{project}/sessions/{session}/bookmark", post(bookmark))
        .route("/project/{project}/sessions/{session}/publish", post(publish))
}

/// Path parameters of a session.
type SessionPath = Path<(String, String)>;

fn link(ctx: &RequestContext, id: &SessionId, what: &str) -> Link {
    ctx.to(&["sessions", &id.to_string(), what])
}

/// Actions on the whole session.
pub(super) async fn menu(web: &Web, ctx: &RequestContext, id: &SessionId) -> PageResult<Markup> {
    let marks = marks(web, ctx, id).await?;
    if !ctx.viewer.can_change() {
        return Ok(marks);
    }
    let token = ctx.viewer.form_token.field();
    let queue = queue_menu::menu(web, ctx, &link(ctx, id, "queue"), &token).await?;
    let dataset = dataset_menu(web, ctx, id).await?;
    Ok(html! {
        (marks)
        (dataset)
        (queue)
        form method="post" action=(link(ctx, id, "label")) { (token) button.button { "Label" } }
        a.button href={ "#" (annotation::ANNOTATE) } { "Annotate" }
    })
}

/// Adds the session to a dataset, or to a new one.
async fn dataset_menu(web: &Web, ctx: &RequestContext, id: &SessionId) -> PageResult<Markup> {
    let datasets = dataset_target::offered(web, ctx).await?;
    let form = html! {
        form.menu-form method="post" data-inline-errors action=(link(ctx, id, "dataset")) {
            (ctx.viewer.form_token.field())
            p.hint { "Its first input becomes an item." }
            @if !datasets.is_empty() {
                label for="to-dataset" { "Dataset" }
                select #to-dataset name="dataset" {
                    @for dataset in &datasets { option value=(dataset.name) { (dataset.name) } }
                }
            }
            label for="to-new-dataset" { @if datasets.is_empty() { "New dataset" } @else { "Or a new dataset" } }
            input #to-new-dataset type="text" name="new_dataset" maxlength="1000" autocomplete="off" placeholder="name";
            label.check-label {
                input type="checkbox" name="expected" value="recorded";
                "last output as expected output"
            }
            button.button type="submit" { "Add to dataset" }
        }
    };
    Ok(frame::menu("Add to dataset", "Add to dataset", &form))
}

/// Bookmark and public link.
async fn marks(web: &Web, ctx: &RequestContext, id: &SessionId) -> PageResult<Markup> {
    let (catalog, session) = (&web.store.catalog, id.to_string());
    let bookmarked = catalog.bookmarked_sessions(ctx.project_id()).await?;
    let object = (PublishedKind::Session, session.clone());
    let publication = catalog.publication(ctx.project_id(), object).await?;
    let published = (PublishedKind::Session, publication.as_ref());
    Ok(html! {
        (marks::star(ctx, &link(ctx, id, "bookmark"), bookmarked.contains(&session)))
        (marks::publishing(ctx, &link(ctx, id, "publish"), published, false))
    })
}

/// `POST …/sessions/{session}/bookmark`: sets or removes the bookmark.
async fn bookmark(
    State(web): State<Web>,
    Path((_, id)): SessionPath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let id = session(&web, &ctx, &id).await?;
    let (is_set, ids) = (marks::is_set(&form), vec![id.to_string()]);
    web.store.catalog.bookmark_sessions(ctx.project_id(), ids, is_set, ctx.now).await?;
    Ok(back(&ctx, &id, if is_set { "bookmarked" } else { "unbookmarked" }))
}

/// `POST …/sessions/{session}/publish`: creates or revokes the public link.
async fn publish(
    State(web): State<Web>,
    Path((_, id)): SessionPath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let id = session(&web, &ctx, &id).await?;
    let is_set = marks::is_set(&form);
    marks::publish(&web, &ctx, (PublishedKind::Session, id.to_string()), is_set).await?;
    Ok(back(&ctx, &id, if is_set { "published" } else { "unpublished" }))
}

/// Comments on the session, and the form of a new one.
pub(super) async fn comments(
    web: &Web,
    ctx: &RequestContext,
    id: &SessionId,
) -> PageResult<Markup> {
    let read = comments::read(web, ctx, (CommentedKind::Session, id.to_string())).await?;
    let token = ctx.viewer.form_token.field();
    Ok(html! {
        (comments::list(&read, ctx))
        (comments::form(ctx, &link(ctx, id, "comments"), &token))
    })
}

/// Annotation form of the session.
pub(super) async fn annotation_form(
    web: &Web,
    ctx: &RequestContext,
    (id, scores): (&SessionId, &[Score]),
) -> PageResult<Markup> {
    let (action, token) = (link(ctx, id, "scores"), ctx.viewer.form_token.field());
    let form = annotation::form(web, ctx, (&action, &token), scores).await?;
    // Closed, because on phones the conversation comes below; a link to what is inside opens it.
    Ok(html! {
        @if let Some(form) = form {
            details.annotating { summary { "Annotate" } div #(annotation::ANNOTATE) { (form) } }
        }
    })
}

/// `POST …/sessions/{session}/scores`: saves a human score for each score config that has a value.
async fn score(
    State(web): State<Web>,
    Path((_, id)): SessionPath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let id = session(&web, &ctx, &id).await?;
    let found = web.store.telemetry.session(ctx.project_id(), id.clone()).await?;
    let environment = found.map(|session| session.environment).unwrap_or_default();
    let scores = super::own_scores(&web, &ctx, &id).await?;
    let on = Annotated { target: ScoreTarget::Session(id.clone()), environment, scores: &scores };
    annotation::save(&web, &ctx, &form, &on).await?;
    Ok(back(&ctx, &id, "judged"))
}

/// Toast message after a form.
pub(super) fn done(ctx: &RequestContext) -> Option<&'static str> {
    match ctx.params.get("done")? {
        "commented" => Some("Comment added"),
        "queued" => Some("Added to queue"),
        "collected" => Some("Added to dataset"),
        "judged" => Some("Saved"),
        other => marks::done(other).or_else(|| annotation::done(other)),
    }
}

async fn session(web: &Web, ctx: &RequestContext, id: &str) -> PageResult<SessionId> {
    let id = SessionId::parse(id).map_err(|_| PageError::not_there("session"))?;
    let found = web.store.telemetry.session(ctx.project_id(), id.clone()).await?;
    found.ok_or_else(|| PageError::not_there("session"))?;
    Ok(id)
}

fn back(ctx: &RequestContext, id: &SessionId, done: &str) -> Redirect {
    let to = ctx.to(&["sessions", &id.to_string()]).with("done", done);
    Redirect::to(&to.to_string())
}

/// `POST …/sessions/{session}/comments`: adds a comment.
async fn comment(
    State(web): State<Web>,
    Path((_, id)): SessionPath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let id = session(&web, &ctx, &id).await?;
    let content = comments::content(&form)?;
    comments::add(&web, &ctx, (CommentedKind::Session, id.to_string()), content).await?;
    Ok(back(&ctx, &id, "commented"))
}

/// `POST …/sessions/{session}/label`: adds the session to the queue of labels and opens its review.
async fn label(
    State(web): State<Web>,
    Path((_, id)): SessionPath,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let id = session(&web, &ctx, &id).await?;
    let rubric = rubric(&web, &ctx)?;
    let (telemetry, project) = (web.store.telemetry.clone(), ctx.project_id());
    let local = LocalSink { telemetry, catalog: ctx.viewer.catalog(&web), project };
    let queue = session_queue::ensure(&local, (DATASET, &rubric), ctx.now).await?;
    let item = session_queue::choose(&local, &queue, &id, ctx.now).await?;
    let to = ctx.to(&["queues", &queue.queue, "review"]).with("item", item.id);
    Ok(Redirect::to(&to.to_string()))
}

/// `POST …/sessions/{session}/dataset`: adds the session to a dataset.
async fn dataset(
    State(web): State<Web>,
    Path((_, id)): SessionPath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let id = session(&web, &ctx, &id).await?;
    let expected = ExpectedOutput::of(&form);
    let chosen = [id.to_string()];
    let items = sources::items(&web, &ctx, (&chosen, ListKind::Sessions), expected).await?;
    let added = dataset_target::add(&web, &ctx, &form, items).await?;
    added.map_err(|refusal| PageError::Bad(format!("nothing was added: {}", refusal.reason)))?;
    Ok(back(&ctx, &id, "collected"))
}

/// `POST …/sessions/{session}/queue`: adds the session to an annotation queue.
async fn queue(
    State(web): State<Web>,
    Path((_, id)): SessionPath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let id = session(&web, &ctx, &id).await?;
    queue_menu::add(&web, &ctx, [(ItemKind::Session, id.to_string())], &form).await?;
    Ok(back(&ctx, &id, "queued"))
}
