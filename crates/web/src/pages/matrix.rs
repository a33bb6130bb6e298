//! The signal matrix: users' feedback by the judge's verdict, and what each cell teaches.

/// The traces of a category.
mod cell;
/// The split of the review sample: what it costs, and what the quarter proposes.
mod rebalancing;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::calendar::Week;
use ratchet_core::review::category::Category;
use ratchet_core::review::metrics::{EstimateView, MetricName};
use ratchet_core::review::weekly::{CategoryView, WeeklyMetrics, interval_text, value_text};

use super::metrics::{self, of_address, sample, weeks};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Rows of the matrix: the user's thumb, and the categories by judge.
const ROWS: [(&str, [Category; 3]); 3] = [
    ("Thumbs down", [Category::W1, Category::W2, Category::U1]),
    ("Thumbs up", [Category::W3, Category::W4, Category::U2]),
    ("No feedback", [Category::W5, Category::W6, Category::U3]),
];

const YIELD: &str =
    "Yield: share of reviews that led to a dataset item or showed an error of the judge.";

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/matrix", get(show))
        .route("/project/{project}/matrix/split", post(rebalancing::accept))
        .route("/project/{project}/matrix/category/{category}", get(cell::show))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let (week, found) = of_address(&web, &ctx).await?;
    let mut page = Page::new(Section::Matrix, "Matrix");
    page.summary = sample(&found);
    page.action = html! { a.button href=(metrics::link(&ctx, &week)) { "Weekly metrics" } };
    page.body = html! {
        (metrics::release_form(&ctx))
        (weeks(&week, &ctx))
        @if found.categories.is_empty() { (nothing(&ctx)) } @else {
            (grid(&found, (&ctx, &week)))
            h2 { "Categories" }
            (cells("Categories", &found.categories, Some((&ctx, &week))))
            p.muted { (YIELD) }
            h2 { "What each category teaches" }
            dl.facts {
                @for view in &found.categories {
                    dt { b { (view.category.as_str()) } " " (view.title) }
                    dd { (view.teaches) " " b { (view.action) } }
                }
            }
            (rebalancing::section(&web, &ctx).await?)
        }
    };
    Ok(page.show(&ctx))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p {
            "Traces fall into nine categories, by the user's thumb and the judge's verdict "
            "(scores " code { "thumbs_feedback" } " and " code { "quality" } ")."
        }
        p {
            a.button href=(ctx.to(&["evaluators"])) { "Evaluators" } " "
            a.button href=(ctx.to(&["traces"])) { "Traces" }
        }
    };
    empty::empty("No traces in this week", &how)
}

fn of(found: &WeeklyMetrics, category: Category) -> Option<&CategoryView> {
    found.categories.iter().find(|view| view.category == category)
}

fn accuracy(value: &EstimateView) -> Markup {
    let name = MetricName::AgentAccuracy;
    html! {
        @match (value.value, value.interval) {
            // Where every trace is reviewed there is no sampling error.
            (Some(at), Some([lower, upper])) if lower.total_cmp(&upper).is_eq() => {
                b { (value_text(name, at)) } " " span.muted { "(all reviewed)" }
            },
            (Some(at), Some(ends)) => {
                b { (value_text(name, at)) } " " span.muted { "(" (interval_text(name, ends)) ")" }
            },
            (Some(at), None) => b { (value_text(name, at)) },
            (None, _) => span.muted title=(value.reason.as_deref().unwrap_or_default()) { "not measured" },
        }
    }
}

fn grid(found: &WeeklyMetrics, at: (&RequestContext, &Week)) -> Markup {
    let cell = |category: Category| {
        html! {
            b { (category.as_str()) } " "
            @match of(found, category) {
                Some(view) => {
                    a href=(cell::link(at, category)) { (figure::counted(view.population, "trace")) } br;
                    span.muted { "accuracy " } (accuracy(&view.accuracy))
                },
                None => span.muted { "no traces" },
            }
        }
    };
    let row = |(thumb, categories): (&str, [Category; 3])| Row {
        id: thumb.to_lowercase().replace(' ', "-"),
        link: None,
        cells: std::iter::once(html! { (thumb) }).chain(categories.map(cell)).collect(),
        failed: false,
    };
    let columns = ["Feedback", "Judge: bad", "Judge: good", "Not judged"].map(Column::text).into();
    let rows = ROWS.into_iter().map(row).collect();
    let caption = "Signal matrix".to_owned();
    table::table(&Table { caption, columns, rows, select_for: None })
}

/// Measured accuracy and yield of each category; those of a week lead to their traces.
fn cells(
    caption: &str,
    categories: &[CategoryView],
    at: Option<(&RequestContext, &Week)>,
) -> Markup {
    let name = MetricName::AgentAccuracy;
    let row = |view: &CategoryView| Row {
        id: view.category.as_str().to_owned(),
        link: at.map(|at| cell::link(at, view.category)),
        cells: vec![
            html! { b { (view.category.as_str()) } " " (view.title) br; span.muted { (view.signals) } },
            html! { (figure::grouped(view.population)) },
            html! { (figure::grouped(view.reviewed)) },
            accuracy(&view.accuracy),
            html! { (value_text(name, view.expected)) },
            html! {
                @match view.yielded.as_ref().and_then(|yielded| yielded.value) {
                    Some(yielded) => (value_text(name, yielded)),
                    None => span.muted { "–" },
                }
            },
        ],
        failed: false,
    };
    let columns = vec![
        Column::text("Category"),
        Column::number("Traces"),
        Column::number("Reviewed"),
        Column::text("Measured accuracy (95% CI)"),
        Column::number("Expected"),
        Column::number("Yield"),
    ];
    let rows = categories.iter().map(row).collect();
    table::table(&Table { caption: caption.to_owned(), columns, rows, select_for: None })
}
