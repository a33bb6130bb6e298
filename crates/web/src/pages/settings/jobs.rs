use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use maud::{Markup, html};
use ratchet_core::job::{JobKind, JobPhase};
use ratchet_store::catalog::{JobQuery, JobRecord};

use super::{ConfirmDialog, Done, Tab, question};
use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Dead letters that are shown; `ratchet jobs list` has the rest.
const SHOWN: u64 = 20;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/settings/jobs", post(act))
}

/// The jobs that were given up, for owners; nothing if there are none.
pub(super) async fn given_up(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    if !ctx.viewer.can_own() {
        return Ok(Markup::default());
    }
    let query = JobQuery { phase: Some(JobPhase::DEAD), ..JobQuery::default() };
    let found = web.store.catalog.jobs(ctx.project_id(), query, (None, SHOWN)).await?;
    if found.rows.is_empty() {
        return Ok(Markup::default());
    }
    Ok(html! {
        section.settings #jobs {
            h2 { "Failed jobs" }
            p { "Background jobs that are not retried automatically. Fix the cause, then retry."
                @if found.cursor.is_some() {
                    " Shows the newest " (SHOWN) "; " code { "ratchet jobs list --state dead" }
                    " lists all."
                } }
            (list(&found.rows, ctx))
        }
    })
}

fn list(jobs: &[JobRecord], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("Job"),
        Column::text("ID"),
        Column::number("Attempts"),
        Column::wide("Reason"),
        Column::text("Failed"),
        Column::text("Actions"),
    ];
    let row = |job: &JobRecord| {
        let reason = job.state.error.as_deref().unwrap_or_default();
        Row {
            id: format!("{}/{}", job.kind.as_str(), job.id),
            link: None,
            cells: vec![
                html! { (kind_words(job.kind)) },
                html! { code { bdi { (job.id) } } },
                html! { (job.state.attempts) },
                html! { bdi title=(reason) { (reason) } },
                html! { @if let Some(end) = job.finished_at { (figure::ago(end, &ctx.time)) } },
                buttons(job, ctx),
            ],
            failed: true,
        }
    };
    let rows = jobs.iter().map(row).collect();
    table::table(&Table { caption: "Failed jobs".to_owned(), columns, rows, select_for: None })
}

fn buttons(job: &JobRecord, ctx: &RequestContext) -> Markup {
    html! {
        form.inline method="post" action=(action(ctx)) {
            (ctx.viewer.form_token.field())
            input type="hidden" name="kind" value=(job.kind.as_str());
            input type="hidden" name="id" value=(job.id);
            button.quiet type="submit" name="do" value="retry" { "Retry" span.sr { " " (job.id) } }
            button.quiet type="submit" name="do" value="discard" {
                "Discard" span.sr { " " (job.id) }
            }
        }
    }
}

const fn kind_words(kind: JobKind) -> &'static str {
    match kind {
        JobKind::Notice => "Notification",
        JobKind::ScheduleRun => "Scheduled run",
        JobKind::ScoreSession => "Scoring",
        JobKind::Review => "Review",
        JobKind::Evaluation => "Evaluation",
        JobKind::ExperimentTrial => "Experiment",
        JobKind::Deployment => "Deployment",
        JobKind::TraceComment => "Comment on a trace",
    }
}

fn action(ctx: &RequestContext) -> Link {
    Tab::General.action(ctx, &["jobs"])
}

async fn act(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let kind = form.get("kind").and_then(JobKind::parse);
    let (Some(kind), Some(id)) = (kind, form.get("id")) else {
        return Err(PageError::Bad("kind and id: must name a job".to_owned()));
    };
    let (project, key) = (ctx.project_id(), (kind, id.to_owned()));
    let catalog = ctx.viewer.catalog(&web);
    match form.get("do") {
        Some("retry") => {
            catalog.requeue_dead_job(project, key, ctx.now).await?;
            Ok(Done::Sent.back(&ctx, Tab::General))
        }
        Some("discard") if form.get("sure") == Some("yes") => {
            catalog.discard_job(project, key, ctx.now).await?;
            Ok(Done::Deleted.back(&ctx, Tab::General))
        }
        Some("discard") => Ok(ask_first(&ctx, kind, id).into_response()),
        _ => Err(PageError::Bad("do: must be retry or discard".to_owned())),
    }
}

fn ask_first(ctx: &RequestContext, kind: JobKind, id: &str) -> Markup {
    let ask = ConfirmDialog {
        title: "Discard this job?".to_owned(),
        lost: html! { (kind_words(kind)) " " code { bdi { (id) } } " is deleted and cannot be retried." },
        action: action(ctx),
        verb: "Discard job",
        fields: &[("kind", kind.as_str()), ("id", id), ("do", "discard")],
    };
    question(ctx, Tab::General, &ask)
}
