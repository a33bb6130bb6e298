use axum::extract::State;
use maud::{Markup, html};
use ratchet_core::catalog::dashboard::Dashboard;
use ratchet_stages::dashboards::definitions;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{DocumentKind, Documents};
use ratchet_store::query::{Page as Found, PageNumber, Paging};

use super::done;
use super::tabs;
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Rows of a page of the list.
const ROWS: u64 = 50;
pub(super) const MAX_NAME: usize = 500;

pub(super) async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let work = move |documents: &Documents<'_>| -> StoreResult<Found<Dashboard>> {
        let Found { rows, total, cursor } =
            documents.page(DocumentKind::Dashboard, Paging::Numbered(at))?;
        let rows = rows.iter().map(definitions::read).collect::<StoreResult<_>>()?;
        Ok(Found { rows, total, cursor })
    };
    let found = web.store.catalog.with_documents(ctx.project_id(), work).await?;
    let total = found.total.unwrap_or_default();
    let mut page = Page::new(Section::Dashboards, "Your dashboards");
    page.crumbs = vec![("Dashboards".to_owned(), Section::Dashboards.link(&ctx))];
    page.summary = html! {
        @match total { 0 => "No dashboards yet.", 1 => "1 dashboard.", total => { (figure::grouped(total)) "." } }
    };
    page.action = tabs(&ctx, false);
    page.body = html! {
        (done::done_toast(&ctx))
        @if found.rows.is_empty() { (nothing(&ctx)) } @else {
            (list(&ctx, &found.rows))
            (table::numbers(&ctx.here(), at, total))
        }
        @if ctx.viewer.can_change() { (new_form(&ctx)) }
    };
    Ok(page.show(&ctx))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p {
            "A dashboard is a page of charts: any measure, grouped by any dimension, "
            "with any filter. Give it a name and add the first chart."
        }
        @if ctx.viewer.can_change() {
            p { a.button href="#new-dashboard" { "New dashboard" } }
        } @else {
            p.muted { "You need the role member or owner to create one." }
        }
        p.muted { "Or create one with the API:" }
        (copy::snippet(
            "curl -u \"$LANGFUSE_PUBLIC_KEY:$LANGFUSE_SECRET_KEY\" \\\n  \
             -H 'content-type: application/json' -d '{\"name\":\"Support\"}' \\\n  \
             \"$LANGFUSE_BASE_URL/api/public/unstable/dashboards\""
        ))
    };
    empty::empty("No custom dashboards yet.", &how)
}

fn list(ctx: &RequestContext, dashboards: &[Dashboard]) -> Markup {
    let row = |one: &Dashboard| Row {
        id: one.id.clone(),
        link: Some(ctx.to(&["dashboards", &one.id])),
        cells: vec![
            html! { bdi { (ratchet_core::record::limit::elide(&one.name, 200)) } },
            html! { bdi { (ratchet_core::record::limit::elide(&one.description, 300)) } },
            html! { (one.layout.tiles.len()) },
            figure::ago(one.updated_at, &ctx.time),
        ],
        failed: false,
    };
    let columns = vec![
        Column::text("Dashboard"),
        Column::wide("Description"),
        Column::number("Charts"),
        Column::text("Updated"),
    ];
    let (caption, rows) = ("Dashboards".to_owned(), dashboards.iter().map(row).collect());
    table::table(&Table { caption, columns, rows, select_for: None })
}

fn new_form(ctx: &RequestContext) -> Markup {
    html! {
        form.new-dashboard #new-dashboard method="post" data-inline-errors action=(Link::to_project(&ctx.project.id, &["dashboards"])) {
            h2 { "New dashboard" }
            (ctx.viewer.form_token.field())
            label { "Name" input type="text" name="name" required maxlength=(MAX_NAME); }
            label {
                "Description"
                input type="text" name="description" maxlength="5000" placeholder="optional";
            }
            button.button.primary type="submit" { "Create" }
        }
    }
}
