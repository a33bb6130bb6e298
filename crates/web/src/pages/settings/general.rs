//! Name, retention, the end of the project.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::validation;
use ratchet_core::counted::{counted, noun_of};
use ratchet_core::time::Timestamp;
use ratchet_stages::record::clock;
use ratchet_stages::record::retention_sweep;
use ratchet_store::StoreError;
use ratchet_store::aggregate::{AggregateQuery, Step};
use ratchet_store::catalog::ProjectChange;
use ratchet_store::query::TimeRange;

use super::{ConfirmDialog, Done, Tab, jobs, page, question, wrong};
use crate::components::field::{self, Entered, FormField};
use crate::components::{copy, figure};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::sums::natural;
use crate::web::{Access, Web};

const DAY: i64 = 24 * 3_600 * 1_000_000_000;

const NAME: FormField<'_> = FormField {
    name: "name",
    label: "Name",
    hint: "Shown in menus. Keys and links use the ID, which does not change.",
};
const DAYS: FormField<'_> = FormField {
    name: "days",
    label: "Retention (days)",
    hint: "Leave empty to keep telemetry forever. Older traces are deleted every hour, with scores and media.",
};
const TYPED: FormField<'_> =
    FormField { name: "typed", label: "Type the project name to confirm", hint: "" };

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/settings", get(show))
        .route("/project/{project}/settings/name", post(rename))
        .route("/project/{project}/settings/retention", post(retain))
        .route("/project/{project}/settings/delete", post(delete))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let hold = clock::held(&web.store, ctx.now).await?;
    let failed_jobs = jobs::given_up(&web, &ctx).await?;
    let problems = html! {
        @if let Some(hold) = hold { p.notice role="status" { (hold) } }
        (failed_jobs)
    };
    Ok(drawn(&web, &ctx, &preset(&ctx), &problems))
}

/// The forms before anyone touches them.
fn preset(ctx: &RequestContext) -> Entered {
    let days = ctx.project.retention_days.map(|days| days.to_string()).unwrap_or_default();
    Entered::preset(&[("name", &ctx.project.name), ("days", &days)])
}

fn drawn(web: &Web, ctx: &RequestContext, entered: &Entered, problems: &Markup) -> Markup {
    let body = html! {
        (problems)
        (facts(ctx))
        @if ctx.viewer.can_own() { (name_form(ctx, entered)) (retention_form(ctx, entered)) }
        @if may_be_deleted(web, ctx) { (delete_form(ctx, entered)) }
    };
    let summary = html! { "Settings of " bdi { (ctx.project.name) } "." };
    page(ctx, Tab::General, summary, &body)
}

fn facts(ctx: &RequestContext) -> Markup {
    let project = &ctx.project;
    html! {
        section.settings {
            h2 { "Project" }
            dl.facts {
                dt { "ID" } dd { (copy::id(project.id.as_str())) }
                dt { "Created" } dd { (figure::when(project.created_at, &ctx.time)) }
                dt { "Retention" }
                dd { @match project.retention_days {
                    Some(days) => { (counted(days, "day")) },
                    None => { "forever" },
                } }
                dt { "Your role" } dd { (ctx.viewer.role.as_str()) }
            }
        }
    }
}

fn name_form(ctx: &RequestContext, entered: &Entered) -> Markup {
    html! {
        section.settings {
            h2 { "Rename" }
            form method="post" action=(Tab::General.action(ctx, &["name"])) {
                (ctx.viewer.form_token.field())
                (field::line(NAME, entered))
                button.button.primary type="submit" { "Rename" }
            }
        }
    }
}

fn retention_form(ctx: &RequestContext, entered: &Entered) -> Markup {
    html! {
        section.settings {
            h2 { "Retention" }
            form method="post" action=(Tab::General.action(ctx, &["retention"])) {
                (ctx.viewer.form_token.field())
                (field::number(DAYS, entered))
                button.button.primary type="submit" { "Save" }
            }
        }
    }
}

fn delete_form(ctx: &RequestContext, entered: &Entered) -> Markup {
    html! {
        section.settings.grave {
            h2 { "Delete project" }
            p { "Deletes all traces, scores, prompts, datasets, queues, dashboards, keys and members. Agents that still use its keys are rejected. This cannot be undone." }
            form method="post" action=(Tab::General.action(ctx, &["delete"])) {
                (ctx.viewer.form_token.field())
                (field::line(TYPED, entered))
                button.button.danger type="submit" { "Delete project" }
            }
        }
    }
}

/// Whether a project can be deleted: a server needs one, and without sign-in it shows the default.
fn may_be_deleted(web: &Web, ctx: &RequestContext) -> bool {
    let is_shown = matches!(&web.access, Access::Open(project) if *project == ctx.project.id);
    ctx.viewer.owns_server() && ctx.projects.len() > 1 && !is_shown
}

async fn rename(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let entered = Entered::new(form);
    let name = match validation::project_name(entered.text("name")) {
        Ok(name) => name,
        Err(why) => return Ok(again(&web, &ctx, &entered, "name", why.problem)),
    };
    let change = ProjectChange { name: Some(name), ..ProjectChange::default() };
    let catalog = ctx.viewer.catalog(&web);
    match catalog.change_project(ctx.project_id(), change, ctx.now).await {
        Ok(_) => Ok(Done::Saved.back(&ctx, Tab::General)),
        Err(StoreError::Exists(_)) => {
            let why = "another project on this server has this name".to_owned();
            Ok(again(&web, &ctx, &entered, "name", why))
        }
        Err(error) => Err(error.into()),
    }
}

/// The page with validation errors; the other forms are unchanged.
fn again(web: &Web, ctx: &RequestContext, entered: &Entered, field: &str, why: String) -> Response {
    let value = entered.raw(field).to_owned();
    let mut shown = preset(ctx);
    shown.set(field, &value);
    shown.wrong(field, why);
    wrong(drawn(web, ctx, &shown, &Markup::default()))
}

async fn retain(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let entered = Entered::new(form);
    let days = match entered.filled("days").map(str::parse::<u32>).transpose() {
        Ok(days) => validation::retention(days).map_err(|why| why.problem),
        Err(_) => Err("a whole number of days, or empty to keep telemetry forever".to_owned()),
    };
    let days = match days {
        Ok(days) => days,
        Err(why) => return Ok(again(&web, &ctx, &entered, "days", why)),
    };
    if let Some(days) = days.filter(|_| !entered.is_ticked("sure")) {
        let oldest = ctx.now.plus_nanos(-i64::from(days).saturating_mul(DAY));
        let going = recorded_before(&web, &ctx, oldest).await?;
        if going > 0 {
            return Ok(ask_first(&ctx, days, oldest, going).into_response());
        }
    }
    let catalog = ctx.viewer.catalog(&web);
    catalog.set_retention(ctx.project_id(), days, ctx.now).await?;
    Ok(Done::Saved.back(&ctx, Tab::General))
}

/// How many observations would be too old.
async fn recorded_before(web: &Web, ctx: &RequestContext, oldest: Timestamp) -> PageResult<u64> {
    let question = AggregateQuery {
        project: ctx.project_id(),
        range: TimeRange { from: None, to: Some(oldest) },
        by: Vec::new(),
        step: Step::Whole,
        conditions: Vec::new(),
    };
    let groups = web.store.telemetry.aggregate(question).await?.groups;
    Ok(groups.iter().map(|group| natural(group.sums.count)).sum())
}

fn ask_first(ctx: &RequestContext, days: u32, oldest: Timestamp, going: u64) -> Markup {
    let retention = counted(days, "day");
    let days = days.to_string();
    let ask = ConfirmDialog {
        title: format!("Set retention to {retention}?"),
        lost: html! {
            "Within the hour, all traces started before " (figure::when(oldest, &ctx.time))
            " are deleted: about " strong { (figure::grouped(going)) } " " (noun_of(going, "observation")) " with their traces, scores and media. This cannot be undone."
        },
        action: Tab::General.action(ctx, &["retention"]),
        verb: "Set retention",
        fields: &[("days", &days)],
    };
    question(ctx, Tab::General, &ask)
}

async fn delete(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_own_server()?;
    if !may_be_deleted(&web, &ctx) {
        let why = "the server's initial project and its only project cannot be deleted";
        return Err(PageError::Bad(why.to_owned()));
    }
    let entered = Entered::new(form);
    if entered.text("typed") != ctx.project.name {
        let why = format!("does not match the project name {}", ctx.project.name);
        return Ok(again(&web, &ctx, &entered, "typed", why));
    }
    let catalog = ctx.viewer.catalog(&web);
    retention_sweep::delete_project(&web.store, &catalog, ctx.project_id(), ctx.now).await?;
    Ok(Redirect::to("/").into_response())
}
