//! Sessions as rows of other pages.

use maud::{Markup, html};
use ratchet_core::record::field_table::SESSION;

use super::lists::column::ListColumn;
use super::lists::{ListedRow as _, SessionRow};
use crate::components::table::{self, Column, Row, Table};
use crate::request_context::RequestContext;

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
