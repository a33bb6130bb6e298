//! Name, retention, the end of the project.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::validation;
use ratchet_core::time::Timestamp;
use ratchet_stages::record::clock;
use ratchet_stages::record::sweep;
use ratchet_store::StoreError;
use ratchet_store::aggregate::{AggregateQuery, Step};
use ratchet_store::catalog::ProjectChange;
use ratchet_store::query::TimeRange;

use super::{Ask, Done, Tab, jobs, page, question, wrong};
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

async fn show(State(web): State<Web>, place: RequestContext) -> PageResult<Markup> {
    let hold = clock::held(&web.store, place.now).await?;
    let failed_jobs = jobs::given_up(&web, &place).await?;
    let problems = html! {
        @if let Some(hold) = hold { p.notice role="status" { (hold) } }
        (failed_jobs)
    };
    Ok(drawn(&web, &place, &preset(&place), &problems))
}

/// The forms before anyone touches them.
fn preset(place: &RequestContext) -> Entered {
    let days = place.project.retention_days.map(|days| days.to_string()).unwrap_or_default();
    Entered::preset(&[("name", &place.project.name), ("days", &days)])
}

fn drawn(web: &Web, place: &RequestContext, entered: &Entered, problems: &Markup) -> Markup {
    let body = html! {
        (problems)
        (facts(place))
        @if place.visitor.can_own() { (name_form(place, entered)) (retention_form(place, entered)) }
        @if may_be_deleted(web, place) { (delete_form(place, entered)) }
    };
    let summary = html! { "Settings of " bdi { (place.project.name) } "." };
    page(place, Tab::General, summary, &body)
}

fn facts(place: &RequestContext) -> Markup {
    let project = &place.project;
    html! {
        section.settings {
            h2 { "Project" }
            dl.facts {
                dt { "ID" } dd { (copy::id(project.id.as_str())) }
                dt { "Created" } dd { (figure::when(project.created_at, place.now)) }
                dt { "Retention" }
                dd { @match project.retention_days {
                    Some(1) => { "1 day" },
                    Some(days) => { (days) " days" },
                    None => { "forever" },
                } }
                dt { "Your role" } dd { (place.visitor.role.as_str()) }
            }
        }
    }
}

fn name_form(place: &RequestContext, entered: &Entered) -> Markup {
    html! {
        section.settings {
            h2 { "Rename" }
            form method="post" action=(Tab::General.action(place, &["name"])) {
                (place.visitor.form_token.field())
                (field::line(NAME, entered))
                button.button.primary type="submit" { "Rename" }
            }
        }
    }
}

fn retention_form(place: &RequestContext, entered: &Entered) -> Markup {
    html! {
        section.settings {
            h2 { "Retention" }
            form method="post" action=(Tab::General.action(place, &["retention"])) {
                (place.visitor.form_token.field())
                (field::number(DAYS, entered))
                button.button.primary type="submit" { "Save" }
            }
        }
    }
}

fn delete_form(place: &RequestContext, entered: &Entered) -> Markup {
    html! {
        section.settings.grave {
            h2 { "Delete project" }
            p { "Deletes all traces, scores, prompts, datasets, queues, dashboards, keys and members. Agents that still use its keys are rejected. This cannot be undone." }
            form method="post" action=(Tab::General.action(place, &["delete"])) {
                (place.visitor.form_token.field())
                (field::line(TYPED, entered))
                button.button.danger type="submit" { "Delete project" }
            }
        }
    }
}

/// Whether to offer it: a server needs a project, and one that asks nobody shows a certain one.
fn may_be_deleted(web: &Web, place: &RequestContext) -> bool {
    let is_shown = matches!(&web.access, Access::Open(project) if *project == place.project.id);
    place.visitor.owns_server() && place.projects.len() > 1 && !is_shown
}

async fn rename(
    State(web): State<Web>,
    PageForm { place, form }: PageForm,
) -> PageResult<Response> {
    place.visitor.may_own()?;
    let entered = Entered::new(form);
    let name = match validation::project_name(entered.text("name")) {
        Ok(name) => name,
        Err(why) => return Ok(again(&web, &place, &entered, "name", why.problem)),
    };
    let change = ProjectChange { name: Some(name), ..ProjectChange::default() };
    let catalog = place.visitor.catalog(&web);
    match catalog.change_project(place.project_id(), change, place.now).await {
        Ok(_) => Ok(Done::Saved.back(&place, Tab::General)),
        Err(StoreError::Exists(_)) => {
            let why = "another project on this server has this name".to_owned();
            Ok(again(&web, &place, &entered, "name", why))
        }
        Err(error) => Err(error.into()),
    }
}

/// The page with what is wrong; the other forms stand as they were.
fn again(
    web: &Web,
    place: &RequestContext,
    entered: &Entered,
    field: &str,
    why: String,
) -> Response {
    let value = entered.raw(field).to_owned();
    let mut shown = preset(place);
    shown.set(field, &value);
    shown.wrong(field, why);
    wrong(drawn(web, place, &shown, &Markup::default()))
}

async fn retain(
    State(web): State<Web>,
    PageForm { place, form }: PageForm,
) -> PageResult<Response> {
    place.visitor.may_own()?;
    let entered = Entered::new(form);
    let days = match entered.filled("days").map(str::parse::<u32>).transpose() {
        Ok(days) => validation::retention(days).map_err(|why| why.problem),
        Err(_) => Err("a whole number of days, or empty to keep telemetry forever".to_owned()),
    };
    let days = match days {
        Ok(days) => days,
        Err(why) => return Ok(again(&web, &place, &entered, "days", why)),
    };
    if let Some(days) = days.filter(|_| !entered.is_ticked("sure")) {
        let oldest = place.now.plus_nanos(-i64::from(days).saturating_mul(DAY));
        let going = recorded_before(&web, &place, oldest).await?;
        if going > 0 {
            return Ok(ask_first(&place, days, oldest, going).into_response());
        }
    }
    let catalog = place.visitor.catalog(&web);
    catalog.set_retention(place.project_id(), days, place.now).await?;
    Ok(Done::Saved.back(&place, Tab::General))
}

/// How many observations would be too old.
async fn recorded_before(web: &Web, place: &RequestContext, oldest: Timestamp) -> PageResult<u64> {
    let question = AggregateQuery {
        project: place.project_id(),
        range: TimeRange { from: None, to: Some(oldest) },
        by: Vec::new(),
        step: Step::Whole,
        conditions: Vec::new(),
    };
    let groups = web.store.telemetry.aggregate(question).await?.groups;
    Ok(groups.iter().map(|group| natural(group.sums.count)).sum())
}

fn ask_first(place: &RequestContext, days: u32, oldest: Timestamp, going: u64) -> Markup {
    let days = days.to_string();
    let ask = Ask {
        title: format!("Set retention to {days} days?"),
        lost: html! {
            "Within the hour, all traces started before " (figure::when(oldest, place.now))
            " are deleted: about " strong { (figure::grouped(going)) } " observations with their traces, scores and media. This cannot be undone."
        },
        action: Tab::General.action(place, &["retention"]),
        verb: "Set retention",
        fields: &[("days", &days)],
    };
    question(place, Tab::General, &ask)
}

async fn delete(
    State(web): State<Web>,
    PageForm { place, form }: PageForm,
) -> PageResult<Response> {
    place.visitor.may_own_server()?;
    if !may_be_deleted(&web, &place) {
        let why = "the server's initial project and its only project cannot be deleted";
        return Err(PageError::Bad(why.to_owned()));
    }
    let entered = Entered::new(form);
    if entered.text("typed") != place.project.name {
        let why = format!("does not match the project name {}", place.project.name);
        return Ok(again(&web, &place, &entered, "typed", why));
    }
    let catalog = place.visitor.catalog(&web);
    sweep::delete_project(&web.store, &catalog, place.project_id(), place.now).await?;
    Ok(Redirect::to("/").into_response())
}
