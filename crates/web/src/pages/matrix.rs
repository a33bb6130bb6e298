//! The signal matrix: users' feedback by the judge's verdict, and what each cell teaches.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::review::allocation::{HALF_WIDTH, ReviewPlan};
use ratchet_core::review::category::Category;
use ratchet_core::review::metrics::{EstimateView, MetricName};
use ratchet_core::review::rebalance::{Measured, Split, Tier2};
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
/// Shares of flagged traces that the page compares.
const SHARES: [f64; 5] = [0.9, 0.8, 0.6, 0.5, 0.24];

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/matrix", get(show))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let (week, found) = of_address(&web, &ctx).await?;
    let mut page = Page::new(Section::Matrix, "Matrix");
    page.summary = sample(&found);
    page.action = html! { a.button href=(metrics::link(&ctx, &week)) { "Weekly metrics" } };
    page.body = html! {
        (weeks(&week, &ctx))
        @if found.categories.is_empty() { (nothing()) } @else {
            (grid(&found))
            h2 { "Categories" }
            (cells(&found))
            (splits(&found))
        }
    };
    Ok(page.show(&ctx))
}

fn nothing() -> Markup {
    let how = html! {
        p {
            "Traces fall into nine categories, by the user's thumb and the judge's verdict "
            "(scores " code { "thumbs_feedback" } " and " code { "quality" } ")."
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
            (Some(at), Some(ends)) => {
                b { (value_text(name, at)) } " " span.muted { "(" (interval_text(name, ends)) ")" }
            },
            (Some(at), None) => b { (value_text(name, at)) },
            (None, _) => span.muted title=(value.reason.as_deref().unwrap_or_default()) { "not measured" },
        }
    }
}

fn grid(found: &WeeklyMetrics) -> Markup {
    let cell = |category: Category| {
        html! {
            b { (category.as_str()) } " "
            @match of(found, category) {
                Some(view) => {
                    (figure::grouped(view.population)) " traces" br;
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

fn cells(found: &WeeklyMetrics) -> Markup {
    let name = MetricName::AgentAccuracy;
    let row = |view: &CategoryView| Row {
        id: view.category.as_str().to_owned(),
        link: None,
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
    let rows = found.categories.iter().map(row).collect();
    let table = Table { caption: "Categories".to_owned(), columns, rows, select_for: None };
    html! {
        (table::table(&table))
        p.muted { "Yield: share of reviews that led to a dataset item or showed an error of the judge." }
        h2 { "What each category teaches" }
        dl.facts {
            @for view in &found.categories {
                dt { b { (view.category.as_str()) } " " (view.title) }
                dd { (view.teaches) " " b { (view.action) } }
            }
        }
    }
}

/// Tier 2 of this week, with what was measured in it.
fn tier_2(found: &WeeklyMetrics) -> Option<Tier2> {
    let measured = |category: Category| {
        let view = of(found, category)?;
        let (population, reviewed) = (view.population, view.reviewed);
        Some(Measured { population, reviewed, failed: view.failures })
    };
    let others = found.categories.iter();
    let others = others.filter(|view| !matches!(view.category, Category::W5 | Category::W6));
    Some(Tier2 {
        capacity: ReviewPlan::default().capacity as u64,
        flagged: measured(Category::W5)?,
        quiet: measured(Category::W6)?,
        tier_1: others.map(|view| view.population).sum(),
    })
}

/// What other splits of tier 2 would cost in precision.
fn splits(found: &WeeklyMetrics) -> Markup {
    let Some(tier_2) = tier_2(found) else { return html! {} };
    let row = |split: Split| {
        let share = figure::percent(split.flagged_share());
        Row {
            id: format!("split-{}", split.flagged),
            link: None,
            cells: vec![
                html! { (share) },
                html! { (split.flagged) },
                html! { (split.quiet) },
                html! { "±" (format!("{:.1}", split.half_width * 100.0)) " points" },
                html! { (format!("{:.1}", split.expected_failures)) },
            ],
            failed: false,
        }
    };
    let flagged = |share: f64| {
        let all = tier_2.splits();
        all.min_by(|one, other| {
            let distance = |split: &Split| (split.flagged_share() - share).abs();
            distance(one).total_cmp(&distance(other))
        })
    };
    let mut splits: Vec<Split> = SHARES.into_iter().filter_map(flagged).collect();
    splits.dedup_by_key(|split| split.flagged);
    if splits.is_empty() {
        return html! {};
    }
    let rows = splits.into_iter().map(row).collect();
    let columns = vec![
        Column::text("Share of W5"),
        Column::number("W5"),
        Column::number("W6"),
        Column::number("Planned half-width"),
        Column::number("Expected failures found"),
    ];
    let table = Table { caption: "Splits".to_owned(), columns, rows, select_for: None };
    html! {
        h2 { "What a split costs" }
        p {
            "Of " (tier_2.capacity) " reviews without feedback. Flagged traces (W5) show more failures; "
            "quiet ones (W6) make the accuracy more precise."
            @if let Some(best) = tier_2.propose(HALF_WIDTH) {
                " For ±" (format!("{:.0}", HALF_WIDTH * 100.0)) " points, "
                b { (best.flagged) " W5 and " (best.quiet) " W6" }
                " find the most failures, by this week's reviews."
            } @else { " No split reaches ±" (format!("{:.0}", HALF_WIDTH * 100.0)) " points." }
        }
        (table::table(&table))
    }
}
