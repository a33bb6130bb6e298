//! Figures over time: the dashboard that comes with the program, and those that people make.

/// The dashboard that comes with the program.
mod overview;
/// What figures can be split by.
mod split;
/// Sums into lines and bars.
mod panel;
/// Latencies of whole traces.
mod trace_latency;
/// Sums of each key, as a table.
mod keys;
mod all;
/// One dashboard.
mod one;
/// Queries and renders one chart.
mod tile;
/// Who judged the scores of a chart.
mod judges;
mod drawing;
/// Links from charts to lists.
mod drill;
/// Keys that are not shown one by one.
mod others;
mod pivot;
/// Figures as people read them.
mod reading;
/// A chart as the fields of a form.
mod form;
/// A chart is made or changed.
mod widget;
/// Dashboards are made, changed and removed.
mod change;
/// What was done just now.
mod done;

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};

use crate::request_context::RequestContext;
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/dashboards", get(overview::show).post(change::create))
        .route("/project/{project}/dashboards/all", get(all::show))
        .route("/project/{project}/dashboards/{dashboard}", get(one::show).post(change::change))
        .route("/project/{project}/dashboards/{dashboard}/tiles", post(change::add))
        .route("/project/{project}/dashboards/{dashboard}/tiles/{tile}", post(change::shift))
        .route(
            "/project/{project}/dashboards/{dashboard}/widgets",
            get(widget::new).post(widget::create),
        )
        .route(
            "/project/{project}/dashboards/{dashboard}/widgets/{widget}",
            get(widget::edit).post(widget::save),
        )
}

/// The dashboard that comes with the program, and the way to all others.
fn tabs(ctx: &RequestContext, is_overview: bool) -> Markup {
    html! {
        nav.segments aria-label="Dashboards" {
            a href=(ctx.to(&["dashboards"])) aria-current=[is_overview.then_some("page")] {
                "Overview"
            }
            a href=(ctx.to(&["dashboards", "all"]))
              aria-current=[(!is_overview).then_some("page")] { "Your dashboards" }
        }
    }
}
