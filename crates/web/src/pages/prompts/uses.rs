use maud::{Markup, html};
use ratchet_core::record::observation::Observation;
use ratchet_store::catalog::Prompt;
use ratchet_store::deadline_query::DeadlinePage;
use ratchet_store::query::{
    Compare, Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, Test,
};

use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Model calls shown that used a version.
const USES: u64 = 10;

/// The newest model calls that used a version.
pub(super) async fn uses(
    web: &Web,
    ctx: &RequestContext,
    prompt: &Prompt,
) -> PageResult<DeadlinePage<Observation>> {
    let conditions = vec![
        Condition::equals(ObservationColumn::PromptName, prompt.name.clone()),
        Condition {
            column: ObservationColumn::PromptVersion,
            test: Test::Number(Compare::Equal, f64::from(prompt.version)),
        },
    ];
    let query = ObservationQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        trace: None,
        conditions,
        direction: Direction::Descending,
        paging: Paging::After { cursor: None, limit: USES },
        detail: Detail::Row,
    };
    Ok(web.store.telemetry.seek_observations(query, ctx.query_timeout).await?)
}

pub(super) fn calls(uses: &DeadlinePage<Observation>, ctx: &RequestContext) -> Markup {
    let DeadlinePage { page, reached } = uses;
    let time = ctx.scope.span.label();
    html! {
        @match reached {
            Some(reached) => p.muted { "Searched back to " (figure::when(*reached, &ctx.time)) "; older calls of the " (time) " are not shown." },
            None if page.rows.is_empty() => p.muted { "No model calls used this version in the " (time) "." },
            None => {},
        }
        @if !page.rows.is_empty() { (called(&page.rows, ctx)) }
    }
}

fn called(uses: &[Observation], ctx: &RequestContext) -> Markup {
    let row = |call: &Observation| Row {
        id: call.id.to_string(),
        link: Some(
            ctx.to(&["traces", &call.trace.to_string()]).with("observation", call.id.to_string()),
        ),
        cells: vec![
            html! { bdi { (call.name.as_deref().unwrap_or("unnamed")) } },
            figure::when(call.start, &ctx.time),
            html! { (call.model.as_deref().unwrap_or("–")) },
            html! { (call.latency().map(figure::duration).unwrap_or_default()) },
            figure::cost_in_part(
                call.cost.as_ref().map(ratchet_core::record::usage::Cost::total),
                call.approximate_cost(),
            ),
        ],
        failed: call.level == ratchet_core::record::observation::Level::Error,
    };
    let columns = vec![
        Column::text("Call"),
        Column::text("Time"),
        Column::text("Model"),
        Column::number("Latency"),
        Column::number("Cost"),
    ];
    let rows = uses.iter().map(row).collect();
    table::table(&Table { caption: "Model calls".to_owned(), columns, rows, select_for: None })
}
