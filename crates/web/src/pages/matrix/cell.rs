use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::calendar::Week;
use ratchet_core::id::TraceId;
use ratchet_core::payload::Payload;
use ratchet_core::record::limit::elide;
use ratchet_core::record::trace::Trace;
use ratchet_core::review::category::Category;
use ratchet_core::review::guide;
use ratchet_stages::review::weekly_metrics;
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, Test, TimeRange, TraceColumn, TraceOrder, TraceQuery,
};

use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure};
use crate::frame::{Page, Section};
use crate::message_preview;
use crate::page_error::{PageError, PageResult};
use crate::pages::metrics;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Traces on the page, the newest.
const ROWS: usize = 100;
/// Characters of a name.
const NAME: usize = 40;

/// A link to the traces of a category.
pub(super) fn link((ctx, week): (&RequestContext, &Week), category: Category) -> Link {
    metrics::to(ctx, &["matrix", "category", category.as_str()], week)
}

/// `GET …/matrix/category/{category}`: the traces of a category in a week, as their signals are now.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, category)): Path<(String, String)>,
) -> PageResult<Markup> {
    let category = Category::parse(&category).ok_or_else(|| PageError::not_there("category"))?;
    let site = web.review_site(&ctx.project_id())?;
    let week = metrics::week_of(&site, &ctx).await?;
    let of = (&week, &metrics::filter(&ctx));
    let found = weekly_metrics::traces_of_category(&site, of, category, ROWS).await?;
    let title = guide::guide(category).map(|guide| guide.title.clone()).unwrap_or_default();
    let mut page = Page::new(Section::Matrix, format!("{category} {title}"));
    page.crumbs = vec![("Matrix".to_owned(), metrics::to(&ctx, &["matrix"], &week))];
    page.summary = html! {
        (category.signals()) ", week of " (week) ". As signals are now; figures use those of the draw."
    };
    let is_here = found.is_some();
    let ids = found.unwrap_or_default();
    let is_cut = ids.len() == ROWS;
    let rows = match ids.is_empty() {
        true => Vec::new(),
        false => web.store.telemetry.traces(query(&ctx, &ids)).await?.rows,
    };
    page.body = match (is_here, ids.is_empty()) {
        (false, _) => elsewhere(),
        (true, true) => nothing(&ctx, &week),
        (true, false) => html! {
            (list(&rows, &ctx))
            @if is_cut { p.muted { "The newest " (ROWS) " traces." } }
        },
    };
    Ok(page.show(&ctx))
}

fn nothing(ctx: &RequestContext, week: &Week) -> Markup {
    let how = html! {
        p { "Signals have changed since the sample was drawn, or its traces were deleted." }
        p { a.button href=(metrics::to(ctx, &["matrix"], week)) { "Back to the matrix" } }
    };
    empty::empty("No traces in this category", &how)
}

fn elsewhere() -> Markup {
    let how =
        html! { p { "The traces of this project are on a Langfuse server: look for them there." } };
    empty::empty("Traces are on another server", &how)
}

fn query(ctx: &RequestContext, ids: &[TraceId]) -> TraceQuery {
    let any = Test::AnyOf(ids.iter().map(ToString::to_string).collect());
    TraceQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        conditions: vec![Condition { column: TraceColumn::Id, test: any }],
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: Paging::After { cursor: None, limit: ROWS as u64 },
        detail: Detail::Content,
    }
}

fn list(traces: &[Trace], ctx: &RequestContext) -> Markup {
    let row = |trace: &Trace| {
        let input = trace.content.as_ref().and_then(|content| content.input.as_ref());
        let asked = input.map(Payload::as_str).map(message_preview::opening);
        let asked = asked.or_else(|| trace.name.clone());
        Row {
            id: trace.id.to_string(),
            link: Some(ctx.to(&["traces", &trace.id.to_string()])),
            cells: vec![
                figure::when(trace.timestamp, &ctx.time),
                html! { bdi { (elide(trace.user.as_deref().unwrap_or("unknown"), NAME)) } },
                html! { bdi { (asked.as_deref().unwrap_or("no text recorded")) } },
                html! { bdi { (elide(trace.agent.as_deref().unwrap_or("–"), NAME)) } },
                html! { (trace.environment.as_str()) },
            ],
            failed: trace.summary.levels.error > 0,
        }
    };
    let columns = vec![
        Column::text("Time"),
        Column::text("User"),
        Column::wide("Request"),
        Column::text("Agent"),
        Column::text("Environment"),
    ];
    let rows = traces.iter().map(row).collect();
    let caption = "Traces of the category".to_owned();
    table::table(&Table { caption, columns, rows, select_for: None })
}
