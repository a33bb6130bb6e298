//! All projects of the server, and how to make another one.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::catalog::validation;
use ratchet_core::counted::counted;
use ratchet_store::StoreError;
use ratchet_store::catalog::{NewProject, Project};
use ratchet_store::project::ProjectId;

use super::{Tab, page, wrong};
use crate::components::field::{self, Entered, FormField};
use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};
use crate::form::PageForm;
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

const NAME: FormField<'_> =
    FormField { name: "name", label: "Name", hint: "For example the agent it is for." };
const ID: FormField<'_> = FormField {
    name: "id",
    label: "ID",
    hint: "Used in links and keys: a-z A-Z 0-9 - _. Random when empty; cannot be changed later.",
};
const DAYS: FormField<'_> = FormField {
    name: "days",
    label: "Retention (days)",
    hint: "Leave empty to keep telemetry forever.",
};

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/settings/projects", get(show).post(make))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_own_server()?;
    drawn(&web, &ctx, &Entered::default()).await
}

async fn drawn(web: &Web, ctx: &RequestContext, entered: &Entered) -> PageResult<Markup> {
    let projects = web.store.catalog.projects().await?;
    let row = |project: &Project| Row {
        id: project.id.to_string(),
        link: Some(Link::to_project(&project.id, &[])),
        cells: vec![
            html! { bdi { (project.name) } },
            html! { code { (project.id) } },
            html! { @match project.retention_days {
                Some(days) => { (counted(days, "day")) },
                None => { "forever" },
            } },
            figure::ago(project.created_at, &ctx.time),
        ],
        failed: false,
    };
    let columns = vec![
        Column::text("Project"),
        Column::text("ID"),
        Column::text("Retention"),
        Column::text("Created"),
    ];
    let (caption, rows) = ("Projects".to_owned(), projects.iter().map(row).collect());
    let body = html! {
        section.settings {
            h2 { "Projects" }
            (table::table(&Table { caption, columns, rows, select_for: None }))
        }
        section.settings {
            h2 { "Create project" }
            p { "Projects are isolated: each has its own keys, members, traces and prompts." }
            form method="post" action=(Tab::Projects.action(ctx, &[])) {
                (ctx.viewer.form_token.field())
                (field::line(NAME, entered))
                (field::line(ID, entered))
                (field::number(DAYS, entered))
                button.button.primary type="submit" { "Create project" }
            }
        }
    };
    let count = projects.len();
    let summary =
        html! { (count) " " (if count == 1 { "project" } else { "projects" }) " on this server." };
    Ok(page(ctx, Tab::Projects, summary, &body))
}

async fn make(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_own_server()?;
    let mut entered = Entered::new(form);
    let Some(new) = read(&mut entered) else {
        return Ok(wrong(drawn(&web, &ctx, &entered).await?));
    };
    match ctx.viewer.catalog(&web).create_project(new, ctx.now).await {
        Ok(made) => {
            let there = Link::to_project(&made.id, &["settings", "keys"]);
            Ok(Redirect::to(&there.to_string()).into_response())
        }
        Err(StoreError::Exists(_)) => {
            let entered =
                entered.and_wrong("name", "a project with this name or ID already exists");
            Ok(wrong(drawn(&web, &ctx, &entered).await?))
        }
        Err(error) => Err(error.into()),
    }
}

/// Parses the form; adds validation errors.
fn read(entered: &mut Entered) -> Option<NewProject> {
    let name = validation::project_name(entered.text("name"));
    if let Err(why) = &name {
        entered.wrong("name", why.problem.clone());
    }
    let id = entered.filled("id").map_or_else(|| Ok(ProjectId::random()), ProjectId::parse);
    if let Err(why) = &id {
        entered.wrong("id", why.to_string());
    }
    let days = entered.filled("days").map(str::parse::<u32>).transpose();
    let days = days.map_err(|_| "a whole number of days, or empty".to_owned());
    let days = days.and_then(|days| validation::retention(days).map_err(|why| why.problem));
    if let Err(why) = &days {
        entered.wrong("days", why.clone());
    }
    Some(NewProject { id: id.ok()?, name: name.ok()?, retention_days: days.ok()? })
}
