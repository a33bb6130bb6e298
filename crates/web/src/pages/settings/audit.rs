//! Audit log, newest first.

use axum::Router;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_store::catalog::{Actor, AuditAction, AuditEntry, AuditObject, AuditQuery};

use super::{Tab, page};
use crate::components::badge::{self, Decider};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;
use ratchet_core::csv;

const ROWS: u64 = 50;
/// Entries of an export at most.
const EXPORTED: u64 = 50_000;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/settings/audit", get(show))
        .route("/project/{project}/settings/audit.csv", get(export))
}

/// Which entries are looked at: those of the project, or of the whole server.
fn is_whole_server(ctx: &RequestContext) -> bool {
    ctx.params.get("of") == Some("server")
}

fn query(ctx: &RequestContext, limit: u64) -> PageResult<AuditQuery> {
    ctx.viewer.may_own()?;
    let project = if is_whole_server(ctx) {
        ctx.viewer.may_own_server()?;
        None
    } else {
        Some(ctx.project_id())
    };
    let range = ctx.range();
    let actor = ctx.params.get("who").and_then(|who| who.split_once(':'));
    let query = AuditQuery {
        actor: actor.map(|(kind, id)| (kind.to_owned(), id.to_owned())),
        noun: ctx.params.get("what").and_then(AuditObject::parse),
        object: ctx.params.get("object").map(str::to_owned),
        from: range.from,
        to: range.to,
        ..AuditQuery::newest(project, limit)
    };
    match ctx.params.get("cursor") {
        Some(cursor) => Ok(query.behind(cursor)?),
        None => Ok(query),
    }
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let query = query(&ctx, ROWS)?;
    let actors = web.store.catalog.audit_actors(query.project.clone()).await?;
    let found = web.store.catalog.audit(query).await?;
    let columns = vec![
        Column::text("Time"),
        Column::text("Actor"),
        Column::text("Action"),
        Column::text("Before"),
        Column::text("After"),
    ];
    let rows = found.rows.iter().map(|entry| row(entry, &ctx)).collect();
    let caption = "Audit log".to_owned();
    let body = html! {
        (filters(&ctx, &actors))
        @if found.rows.is_empty() {
            (empty::empty("No matching changes in this time range", &html! {
                p { "All changes to settings, keys, members, prompts, datasets, queues and dashboards, with actor, time and previous value." }
                p { a href=(ctx.here().with("range", "all").without("cursor").without("who").without("what")) {
                    "Show all time" } }
            }))
        } @else {
            div.audit {
                (table::table(&Table { caption, columns, rows, select_for: None }))
            }
            (table::pager(&ctx.here(), ctx.params.get("cursor").is_some(), found.cursor.as_deref()))
        }
    };
    let summary = html! {
        "Changes "
        @if is_whole_server(&ctx) { "on the whole server" } @else { "in " bdi { (ctx.project.name) } }
        ", " (ctx.scope.span.label()) "."
    };
    Ok(page(&ctx, Tab::Audit, summary, &body))
}

fn filters(ctx: &RequestContext, actors: &[Actor]) -> Markup {
    let chosen = |name: &str| ctx.params.get(name).unwrap_or_default().to_owned();
    let (who, what) = (chosen("who"), chosen("what"));
    let file = Tab::Audit.file(ctx);
    html! {
        form.filters method="get" action=(Tab::Audit.action(ctx, &[])) {
            @for (name, value) in ctx.scope.pairs() {
                input type="hidden" name=(name) value=(value);
            }
            @if ctx.viewer.owns_server() {
                label { "Scope "
                    select name="of" {
                        option value="" { "This project" }
                        option value="server" selected[is_whole_server(ctx)] { "Whole server" }
                    }
                }
            }
            label { "Actor "
                select name="who" {
                    option value="" { "All actors" }
                    @for actor in actors {
                        @let value = format!("{}:{}", actor.kind(), actor.id());
                        option value=(value) selected[value == who] { (actor.name()) }
                    }
                }
            }
            label { "Object "
                select name="what" {
                    option value="" { "All objects" }
                    @for noun in AuditObject::ALL {
                        option value=(noun.as_str()) selected[noun.as_str() == what] { (noun.as_str()) }
                    }
                }
            }
            button.button type="submit" { "Apply" }
            a.button href=(file) download { "Export CSV" }
        }
    }
}

fn row(entry: &AuditEntry, ctx: &RequestContext) -> Row {
    Row {
        id: entry.number.to_string(),
        link: None,
        cells: vec![
            figure::ago(entry.at, &ctx.time),
            who(&entry.actor),
            html! { (verb(entry.verb)) " " (thing(entry)) },
            side(entry.was.as_deref()),
            side(entry.became.as_deref()),
        ],
        failed: false,
    }
}

/// Who it was, in the colour of their kind.
pub(in crate::pages) fn who(actor: &Actor) -> Markup {
    let decider = match actor {
        Actor::Person { .. } | Actor::Anyone => Decider::Human,
        Actor::Key { .. } | Actor::CommandLine | Actor::Server => Decider::Code,
    };
    html! { span title=(actor.name()) { (badge::decided(decider, actor.name())) } }
}

/// The displayed name of a verb; the stored one is `made` since the first release.
pub(in crate::pages) const fn verb(verb: AuditAction) -> &'static str {
    match verb {
        AuditAction::Made => "created",
        _ => verb.as_str(),
    }
}

/// What it was done to.
fn thing(entry: &AuditEntry) -> Markup {
    let has_name = !entry.name.is_empty() && entry.verb != AuditAction::SignedIn;
    html! {
        @if entry.verb != AuditAction::SignedIn { (entry.noun.as_str()) " " }
        @if has_name {
            strong title=(entry.object) { bdi { (ratchet_core::record::limit::elide(&entry.name, 120)) } }
        }
    }
}

fn side(text: Option<&str>) -> Markup {
    html! { @if let Some(text) = text { span.side title=(text) { bdi { (text) } } } }
}

async fn export(State(web): State<Web>, ctx: RequestContext) -> PageResult<Response> {
    let mut query = AuditQuery { behind: None, ..query(&ctx, 1_000)? };
    let mut file =
        csv::head(&["at", "who", "kind", "verb", "noun", "id", "name", "before", "after"]);
    let mut written = 0;
    loop {
        let found = web.store.catalog.audit(query.clone()).await?;
        written += found.rows.len() as u64;
        for entry in &found.rows {
            file.push_str(&line(entry));
        }
        match found.cursor {
            Some(cursor) if written < EXPORTED => query = query.behind(&cursor)?,
            Some(_) => {
                let why =
                    format!("an export has at most {EXPORTED} entries; choose a shorter time");
                return Err(PageError::Bad(why));
            }
            None => break,
        }
    }
    let day = ratchet_core::calendar::day(ctx.now);
    let name = format!("attachment; filename=\"audit-{day}.csv\"");
    let headers =
        [(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, name)];
    Ok((headers, file).into_response())
}

fn line(entry: &AuditEntry) -> String {
    let at = entry.at.to_string();
    csv::line(&[
        &at,
        entry.actor.name(),
        entry.actor.kind(),
        entry.verb.as_str(),
        entry.noun.as_str(),
        &entry.object,
        &entry.name,
        entry.was.as_deref().unwrap_or_default(),
        entry.became.as_deref().unwrap_or_default(),
    ])
}
