use axum::Router;
use axum::extract::{Path, State};
use axum::response::Redirect;
use axum::routing::post;
use maud::{Markup, html};
use ratchet_core::catalog::annotation::CommentedKind;
use ratchet_core::id::{ObservationId, ScoreId};
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_store::catalog::{AuditObject, Comment};

use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/delete-score/{score}", post(delete_score))
        .route("/project/{project}/delete-comment/{comment}", post(delete_comment))
}

/// Whether the viewer may delete a score or comment: authors their own, owners all.
fn may_delete(ctx: &RequestContext, author: Option<&str>) -> bool {
    let is_own = author.is_some() && author == ctx.viewer.person();
    ctx.viewer.can_own() || (ctx.viewer.can_change() && is_own)
}

/// The author of a score, if a person gave it.
fn author(score: &Score) -> Option<&str> {
    score.author.as_deref().filter(|_| score.source == ScoreSource::Annotation)
}

/// Button that deletes a score, for those who may.
pub(in crate::pages) fn score_button(ctx: &RequestContext, score: &Score) -> Markup {
    let action = ctx.to(&["delete-score", &score.id.to_string()]);
    button(ctx, &action, may_delete(ctx, author(score)), &format!("score {}", score.name))
}

/// Button that deletes a comment, for those who may.
pub(in crate::pages) fn comment_button(ctx: &RequestContext, comment: &Comment) -> Markup {
    let action = ctx.to(&["delete-comment", &comment.id]);
    button(ctx, &action, may_delete(ctx, comment.author.as_deref()), "comment")
}

/// Asks once more before anything is sent, also without scripts.
fn button(ctx: &RequestContext, action: &Link, is_allowed: bool, what: &str) -> Markup {
    html! {
        @if is_allowed {
            details.sure {
                summary.quiet aria-label={ "Delete " (what) } { "Delete" }
                form.inline method="post" data-inline-errors action=(action) {
                    (ctx.viewer.form_token.field())
                    button.button.danger type="submit" { "Delete " (what) }
                }
            }
        }
    }
}

fn refused(what: &str) -> PageError {
    PageError::Forbidden(format!("only its author and owners of the project delete a {what}"))
}

/// `POST …/delete-score/{score}`: deletes a score and returns to what it was about.
async fn delete_score(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let id = ScoreId::parse(&id).map_err(|_| PageError::not_there("score"))?;
    let score = web.store.telemetry.score(ctx.project_id(), id.clone()).await?;
    let score = score.ok_or_else(|| PageError::not_there("score"))?;
    if !may_delete(&ctx, author(&score)) {
        return Err(refused("score"));
    }
    let ids = vec![id.to_string()];
    let catalog = ctx.viewer.catalog(&web);
    catalog.note_deletion(ctx.project_id(), AuditObject::Score, ids, ctx.now).await?;
    web.store.telemetry.delete_score(ctx.project_id(), id).await?;
    let to = match &score.target {
        ScoreTarget::Trace(trace) => ctx.to(&["traces", &trace.to_string()]),
        ScoreTarget::Observation(trace, step) => {
            ctx.to(&["traces", &trace.to_string()]).with("observation", step.to_string())
        }
        ScoreTarget::Session(session) => ctx.to(&["sessions", &session.to_string()]),
        ScoreTarget::DatasetRun(_) => ctx.to(&["scores"]),
    };
    Ok(Redirect::to(&to.with("done", "score-deleted").to_string()))
}

/// `POST …/delete-comment/{comment}`: deletes a comment and returns to what it was about.
async fn delete_comment(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let comment = web.store.catalog.comment(ctx.project_id(), id.clone()).await?;
    if !may_delete(&ctx, comment.author.as_deref()) {
        return Err(refused("comment"));
    }
    ctx.viewer.catalog(&web).delete_comment(ctx.project_id(), id, ctx.now).await?;
    let to = about(&web, &ctx, &comment).await?.with("done", "comment-deleted");
    Ok(Redirect::to(&to.to_string()))
}

/// The page of what a comment is about.
async fn about(web: &Web, ctx: &RequestContext, comment: &Comment) -> PageResult<Link> {
    Ok(match comment.kind {
        CommentedKind::Trace => ctx.to(&["traces", &comment.object]),
        CommentedKind::Session => ctx.to(&["sessions", &comment.object]),
        CommentedKind::Prompt => {
            let id = comment.object.clone();
            match web.store.catalog.prompt_version_of(ctx.project_id(), id).await? {
                Some((name, version)) => {
                    ctx.to(&["prompts", &name]).with("version", version.to_string())
                }
                None => ctx.to(&["prompts"]),
            }
        }
        CommentedKind::Observation => {
            let id = ObservationId::parse(&comment.object)
                .map_err(|_| PageError::not_there("observation"))?;
            match web.store.telemetry.observation(ctx.project_id(), id).await? {
                Some(step) => {
                    let trace = ctx.to(&["traces", &step.trace.to_string()]);
                    trace.with("observation", step.id.to_string())
                }
                None => ctx.to(&["observations"]),
            }
        }
    })
}

/// Toast message after a deletion.
pub(in crate::pages) fn done(word: &str) -> Option<&'static str> {
    match word {
        "score-deleted" => Some("Score deleted"),
        "comment-deleted" => Some("Comment deleted"),
        _ => None,
    }
}
