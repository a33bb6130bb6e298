//! Sessions: traces that belong together, newest first.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::record::field_table::SESSION;
use ratchet_core::record::session::Session;
use ratchet_core::record::title::title;
use ratchet_store::query::{Condition, Paging, SessionColumn, SessionEnds, SessionQuery, Test};

use super::lists::column::ListColumn;
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section};
use crate::message_preview;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

const ROWS: u64 = 50;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/sessions", get(show))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let cursor = ctx.params.get("cursor").map(str::to_owned);
    let is_further = cursor.is_some();
    let question = in_scope(&ctx, Paging::After { cursor, limit: ROWS });
    let sessions = web.store.telemetry.sessions(question).await?;
    let ids = sessions.rows.iter().map(|session| session.id.clone()).collect();
    let ends = web.store.telemetry.session_ends(ctx.project_id(), ids).await?;
    let mut page = Page::new(Section::Sessions, "Sessions");
    page.summary = html! {
        "Traces grouped by session, started " (ctx.scope.span.within()) ", newest first."
    };
    page.body = if sessions.rows.is_empty() && !is_further {
        nothing()
    } else {
        let rows = sessions.rows.iter().zip(&ends);
        html! {
            (list(rows.map(|(session, ends)| row(session, ends, &ctx)).collect()))
            (table::pager(&ctx.here(), is_further, sessions.cursor.as_deref()))
        }
    };
    Ok(page.show(&ctx))
}

/// The sessions of the page's scope, newest first.
fn in_scope(ctx: &RequestContext, paging: Paging) -> SessionQuery {
    let environment = ctx.scope.environment.clone().map(|environment| Condition {
        column: SessionColumn::Environment,
        test: Test::AnyOf(vec![environment]),
    });
    SessionQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        conditions: environment.into_iter().collect(),
        paging,
    }
}

/// The newest sessions with their first and last traces.
pub(super) async fn newest(
    web: &Web,
    ctx: &RequestContext,
    limit: u64,
) -> PageResult<Vec<(Session, SessionEnds)>> {
    let question = in_scope(ctx, Paging::After { cursor: None, limit });
    let sessions = web.store.telemetry.sessions(question).await?.rows;
    let ids = sessions.iter().map(|session| session.id.clone()).collect();
    let ends = web.store.telemetry.session_ends(ctx.project_id(), ids).await?;
    Ok(sessions.into_iter().zip(ends).collect())
}

/// The title of a session: its first request; `None` without words.
pub(super) fn title_of(ends: &SessionEnds) -> Option<String> {
    let input = ends.first.as_ref().and_then(|trace| trace.content.as_ref()?.input.as_ref())?;
    let opening = title(input.as_str()).unwrap_or_else(|| message_preview::opening(input.as_str()));
    Some(opening).filter(|opening| !opening.trim().is_empty())
}

/// A table of sessions, made of [`row`]s.
pub(super) fn list(rows: Vec<Row>) -> Markup {
    let columns = SESSION.default_columns.iter().map(|field| {
        let column = ListColumn(*field);
        Column { align: column.align(), ..Column::text(column.title()) }
    });
    let columns = columns.collect();
    let table = Table { caption: "Sessions".to_owned(), columns, rows, select_for: None };
    html! { div.session-list { (table::table(&table)) } }
}

/// A row of the sessions table.
pub(super) fn row(session: &Session, ends: &SessionEnds, ctx: &RequestContext) -> Row {
    let columns = SESSION.default_columns.iter().filter_map(|field| SESSION.listed(*field));
    Row {
        link: Some(ctx.to(&["sessions", session.id.to_string().as_str()])),
        cells: columns.map(|column| cell(column.column, session, ends, ctx)).collect(),
        failed: session.errors > 0,
        id: session.id.to_string(),
    }
}

fn cell(
    column: SessionColumn,
    session: &Session,
    ends: &SessionEnds,
    ctx: &RequestContext,
) -> Markup {
    let both = || ends.first.iter().chain(&ends.last);
    match column {
        SessionColumn::Id => {
            let id = session.id.to_string();
            html! { span title=(id) { bdi { (id) } } }
        }
        SessionColumn::FirstMessage => first_message(ends),
        SessionColumn::Users => {
            let mut users = both().filter_map(|trace| trace.user.as_deref());
            user_link(users.find(|user| !user.is_empty()), ctx)
        }
        SessionColumn::TraceCount => html! { (figure::grouped(session.traces)) },
        SessionColumn::Duration => {
            let ends = both().filter_map(|trace| trace.summary.end).chain([session.last_at]);
            let end = ends.max().unwrap_or(session.last_at);
            html! { (figure::duration(end.since(session.created_at))) }
        }
        SessionColumn::TotalTokens => {
            figure::tokens_in_part(session.total_tokens, session.approximate_cost)
        }
        SessionColumn::Cost => figure::cost_in_part(session.cost, session.approximate_cost),
        SessionColumn::ErrorCount => errors(session.errors),
        SessionColumn::CreatedAt => figure::ago(session.created_at, ctx.now),
        SessionColumn::LastActivity => figure::ago(session.last_at, ctx.now),
        SessionColumn::Environment => html! { (session.environment.as_str()) },
        // Not listed: the page does not load the scores of each row.
        SessionColumn::ScoreCount
        | SessionColumn::ScoreNumbers
        | SessionColumn::ScoreLabels
        | SessionColumn::ScoreBooleans => html! {},
    }
}

fn first_message(ends: &SessionEnds) -> Markup {
    let opening = title_of(ends).unwrap_or_default();
    html! { span title=(opening) { bdi { (opening) } } }
}

pub(super) fn user_link(user: Option<&str>, ctx: &RequestContext) -> Markup {
    html! {
        @if let Some(user) = user {
            a href=(ctx.to(&["users", user])) title=(user) { bdi { (ratchet_core::record::limit::elide(user, 60)) } }
        }
    }
}

/// Number of errors.
pub(super) fn errors(errors: u64) -> Markup {
    html! { @if errors > 0 { span.bad { (figure::grouped(errors)) } } @else { span.muted { "0" } } }
}

fn nothing() -> Markup {
    let how = html! {
        p { "Set a session ID on your traces to group them." }
        (copy::snippet("from langfuse import get_client, propagate_attributes\n\nlangfuse = get_client()\nwith langfuse.start_as_current_observation(name=\"answer\"):\n    with propagate_attributes(session_id=\"chat-42\", user_id=\"ann\"):\n        ..."))
        p.muted { "OpenTelemetry spans with " code { "session.id" } " or "
            code { "gen_ai.conversation.id" } " do the same." }
    };
    empty::empty("No sessions in this time range", &how)
}
