use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::record::score::ScoreTarget;

use super::run::{RecordDetail, Subject, TraceRun};
use super::{TracePath, content, run, trace_id};
use crate::form::PageForm;
use crate::page_error::PageResult;
use crate::pages::annotation::{self, Annotated};
use crate::pages::{comments, marks};
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

/// Comment form of a trace or observation.
pub(super) fn comment_form(ctx: &RequestContext, subject: &Subject) -> Markup {
    comments::form(ctx, &action(ctx, subject, "comments"), &hidden(ctx, subject))
}

/// Annotation form of a trace or observation.
pub(super) async fn annotation_form(
    web: &Web,
    ctx: &RequestContext,
    subject: &Subject,
) -> PageResult<Markup> {
    let (action, hidden) = (action(ctx, subject, "scores"), hidden(ctx, subject));
    let form = annotation::form(web, ctx, (&action, &hidden), &subject.scores).await?;
    Ok(html! {
        @if let Some(form) = form { h3 #(annotation::ANNOTATE) { "Annotate" } (form) }
    })
}

pub(super) fn action(ctx: &RequestContext, subject: &Subject, what: &str) -> Link {
    ctx.to(&["traces", &subject.trace.to_string(), what])
}

pub(super) fn hidden(ctx: &RequestContext, subject: &Subject) -> Markup {
    html! {
        (ctx.viewer.form_token.field())
        @if let Some(step) = subject.step_id() { input type="hidden" name="observation" value=(step); }
    }
}

/// Target of a form; an error if it does not exist.
pub(super) async fn subject(
    web: &Web,
    ctx: &RequestContext,
    trace: &str,
    form: &Params,
) -> PageResult<Subject> {
    let trace = trace_id(trace)?;
    match form.get("observation") {
        Some(step) => Subject::step(web, ctx, &trace, &run::step_id(step)?).await,
        None => Subject::trace(web, ctx, &TraceRun::load(web, ctx, trace).await?).await,
    }
}

/// `POST …/traces/{trace}/comments`: adds a comment.
pub(super) async fn comment(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let content = comments::content(&form)?;
    let subject = subject(&web, &ctx, &trace, &form).await?;
    comments::add(&web, &ctx, subject.commented(), content).await?;
    Ok(back(&ctx, &subject, "commented"))
}

/// `POST …/traces/{trace}/scores`: saves a human score for each score config that has a value.
pub(super) async fn score(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let subject = subject(&web, &ctx, &trace, &form).await?;
    let (target, environment) = match &subject.about {
        RecordDetail::Trace(trace, _) => {
            (ScoreTarget::Trace(trace.id.clone()), trace.environment.clone())
        }
        RecordDetail::Step(step) => {
            let target = ScoreTarget::Observation(step.trace.clone(), step.id.clone());
            (target, step.environment.clone())
        }
    };
    let on = Annotated { target, environment, scores: &subject.scores };
    annotation::save(&web, &ctx, &form, &on).await?;
    Ok(back(&ctx, &subject, "judged"))
}

/// Toast message after a form.
pub(super) fn done(ctx: &RequestContext) -> Option<&'static str> {
    match ctx.params.get("done")? {
        "commented" => Some("Comment added"),
        "judged" => Some("Saved"),
        "queued" => Some("Added to queue"),
        "corrected" => Some("Correction saved"),
        "uncorrected" => Some("Correction removed"),
        "collected" => Some("Added to dataset"),
        other => marks::done(other).or_else(|| annotation::done(other)),
    }
}

/// Redirect to the target of the form.
pub(super) fn back(ctx: &RequestContext, subject: &Subject, done: &str) -> Redirect {
    Redirect::to(&content::here(ctx, subject).with("done", done).to_string())
}
