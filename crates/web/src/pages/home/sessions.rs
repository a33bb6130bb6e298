//! The newest sessions, by their first request.

use maud::{Markup, html};

use crate::components::figure;
use crate::components::table::{Column, Row, Table, table};
use crate::frame::Section;
use crate::page_error::PageResult;
use crate::pages::lists::{SessionRow, errors};
use crate::pages::sessions::newest;
use crate::request_context::RequestContext;
use crate::web::Web;

const LINES: u64 = 5;

/// The newest sessions; empty without any, and within an agent: sessions are not split by agent.
pub(super) async fn latest(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    if ctx.scope.agent.is_some() {
        return Ok(html! {});
    }
    let found = newest(web, ctx, LINES).await?;
    let columns = vec![
        Column::wide("First request"),
        Column::number("Traces"),
        Column::number("Errors"),
        Column::number("Cost"),
        Column::number("Last activity"),
    ];
    let row = |row: &SessionRow| {
        let (session, name) = (&row.session, row.opening());
        let id = session.id.to_string();
        Row {
            link: Some(ctx.to(&["sessions", &id])),
            cells: vec![
                html! { bdi title=(name) { (name) } },
                html! { (figure::grouped(session.traces)) },
                errors(session.errors),
                figure::cost_in_part(session.cost, session.approximate_cost),
                figure::ago(session.last_at, &ctx.time),
            ],
            failed: session.errors > 0,
            id,
        }
    };
    let rows: Vec<Row> = found.iter().map(row).collect();
    Ok(html! {
        @if !rows.is_empty() {
            section {
                h2 { "Newest sessions" }
                (table(&Table { caption: "Newest sessions".to_owned(), columns, rows, select_for: None }))
                p { a href=(Section::Sessions.link(ctx)) { "All sessions" } }
            }
        }
    })
}
