use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::id::TraceId;
use ratchet_core::record::observation::Observation;
use ratchet_store::query::{Detail, Direction, ObservationQuery, Paging, TimeRange};

use crate::components::badge;
use crate::components::figure;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::trace_tree::assemble;
use crate::web::Web;

/// Steps that are listed in place; the trace's page has them all.
const MAX_STEPS: u64 = 200;
/// How far steps are set in.
const MAX_DEPTH: usize = 8;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/sessions/{session}/steps/{trace}", get(show))
}

/// The steps of one turn: a part of a page, not a page.
async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, _, trace)): Path<(String, String, String)>,
) -> PageResult<Markup> {
    let trace = TraceId::parse(&trace).map_err(|_| PageError::not_there("trace"))?;
    let question = ObservationQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        trace: Some(trace.clone()),
        conditions: Vec::new(),
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: MAX_STEPS },
        detail: Detail::Row,
    };
    let steps = web.store.telemetry.observations(question).await?;
    let whole = ctx.to(&["traces", &trace.to_string()]);
    Ok(html! {
        ol.step-list {
            @for row in assemble(&steps.rows) {
                (line(&steps.rows[row.step], row.depth.min(MAX_DEPTH), &trace, &ctx))
            }
        }
        p { a href=(whole) { "Open trace" }
            @if steps.cursor.is_some() { span.muted { " to see more than " (MAX_STEPS) " observations." } } }
    })
}

fn line(step: &Observation, depth: usize, trace: &TraceId, ctx: &RequestContext) -> Markup {
    let link = ctx.to(&["traces", &trace.to_string()]).with("observation", step.id.to_string());
    let name = step.name.as_deref().unwrap_or("unnamed");
    html! {
        li class={ "depth-" (depth) } {
            (badge::glyph(step.kind))
            a href=(link) { bdi { (ratchet_core::record::limit::elide(name, 120)) } }
            (badge::level(step.level))
            span.turn-facts {
                @if let Some(model) = &step.model { code { (ratchet_core::record::limit::elide(model, 60)) } }
                @if let Some(end) = step.end { span { (figure::duration(end.since(step.start))) } }
                @if step.usage.total() > 0 { span { (figure::count_in_part(step.usage.total(), step.approximate_cost())) " tokens" } }
                @if let Some(cost) = &step.cost { span { (figure::money_in_part(cost.total(), step.approximate_cost())) } }
            }
        }
    }
}
