//! Sessions as rows of other pages.

use maud::{Markup, html};
use ratchet_core::record::field_table::SESSION;
use ratchet_store::query::{Condition, Paging, SessionColumn, SessionQuery, Test};

use super::lists::column::ListColumn;
use super::lists::{ListedRow as _, SessionRow};
use crate::components::table::{self, Column, Row, Table};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

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

/// The newest sessions of the page's scope.
pub(super) async fn newest(
    web: &Web,
    ctx: &RequestContext,
    limit: u64,
) -> PageResult<Vec<SessionRow>> {
    let question = in_scope(ctx, Paging::After { cursor: None, limit });
    let sessions = web.store.telemetry.sessions(question).await?.rows;
    let ids = sessions.iter().map(|session| session.id.clone()).collect();
    let ends = web.store.telemetry.session_ends(ctx.project_id(), ids).await?;
    let rows = sessions.into_iter().zip(ends);
    Ok(rows.map(|(session, ends)| SessionRow { session, ends, bookmarked: false }).collect())
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
pub(super) fn row(session: &SessionRow, ctx: &RequestContext) -> Row {
    let columns = SESSION.default_columns.iter();
    let facts = session.facts();
    Row {
        link: Some(ctx.to(&["sessions", &facts.id])),
        cells: columns.map(|field| session.cell(ListColumn(*field), ctx)).collect(),
        failed: facts.failed,
        id: facts.id,
    }
}

pub(super) fn user_link(user: Option<&str>, ctx: &RequestContext) -> Markup {
    html! {
        @if let Some(user) = user {
            a href=(ctx.to(&["users", user])) title=(user) { bdi { (ratchet_core::record::limit::elide(user, 60)) } }
        }
    }
}
