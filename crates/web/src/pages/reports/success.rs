use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::counted::counted;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::quality::report::{WeekReport, met_word, reading_words, target_words};
use ratchet_core::quality::success_metrics::{SuccessMeasure, SuccessMetric};
use ratchet_stages::review;
use ratchet_stages::weekly_report::success_now;

use super::{Tab, read, tabs};
use crate::components::table::{self, Column, Row, Table};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::calibration::{ends, refused};
use crate::request_context::RequestContext;
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/reports/success", get(show))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let catalog = &web.store.catalog;
    let kept = catalog.reports(ctx.project_id()).await?;
    let last = kept.iter().find_map(read);
    let tracked = catalog.suggestions(ctx.project_id()).await?;
    let rubric = &judged_by(&web, last.as_ref())?;
    let (source, sink) = ends(&web, &ctx);
    let correlation = review::correlation(&source, &sink, rubric).await.map_err(refused)?;
    let metrics = success_now(last.as_ref(), &tracked, correlation, ctx.now);
    let met = metrics.iter().filter(|metric| metric.is_met() == Some(true)).count();
    let mut page = Page::new(Section::Quality, "Success metrics");
    page.crumbs = vec![("Quality".to_owned(), Section::Quality.link(&ctx))];
    page.summary = html! { (met) " of " (counted(metrics.len(), "target")) " met." };
    page.action = tabs(&ctx, Tab::Success);
    page.body = html! {
        (table(&metrics, last.as_ref()))
        dl.meanings {
            @for metric in &metrics {
                dt { (metric.measure.title()) }
                dd { (meaning(metric.measure)) }
            }
        }
    };
    Ok(page.show(&ctx))
}

/// The rubric of the last report, or the usual one.
pub(super) fn judged_by(web: &Web, last: Option<&WeekReport>) -> PageResult<Rubric> {
    let name = last.map_or(rubric::DEFAULT, |report| report.rubric.as_str());
    let all = web.rubrics().rubrics;
    let found = all.iter().find(|rubric| rubric.name == name);
    let usual = || all.iter().find(|rubric| rubric.name == rubric::DEFAULT);
    found.or_else(usual).cloned().ok_or_else(|| PageError::not_there("rubric"))
}

const fn meaning(measure: SuccessMeasure) -> &'static str {
    match measure {
        SuccessMeasure::SessionsScored => {
            "With fewer than 20 sessions a week, intervals are wide and one outlier moves the mean."
        }
        SuccessMeasure::HumanCorrelation => {
            "Correlation of overall scores by humans and the judge on labelled sessions, weighted by sampling probability. Met when the whole interval is above the target."
        }
        SuccessMeasure::SuggestionsDone => "Suggestions marked as done in the last four weeks.",
        SuccessMeasure::QualityTrend => {
            "Theil–Sen slope of the weekly means, per month. Needs eight weeks of data."
        }
    }
}

/// The four numbers with their targets, beside the last report.
pub(super) fn table(metrics: &[SuccessMetric], last: Option<&WeekReport>) -> Markup {
    // A target of a week is not missed before a second week.
    let is_early = last.is_none_or(WeekReport::is_first);
    let columns = vec![
        Column::wide("Metric"),
        Column::text("Current"),
        Column::text("Target"),
        Column::text("Status"),
    ];
    let row = |metric: &SuccessMetric| Row {
        id: metric.measure.as_str().to_owned(),
        link: None,
        cells: vec![
            html! { (metric.measure.title()) },
            html! { (reading_words(metric)) },
            html! { (target_words(metric)) },
            match metric.is_met() {
                Some(true) => html! { span.badge.good { (met_word(metric)) } },
                Some(false) if is_early => html! { span.badge.warn { "first week" } },
                Some(false) => html! { span.badge.bad { (met_word(metric)) } },
                None => html! { span.badge.warn { (met_word(metric)) } },
            },
        ],
        failed: false,
    };
    let rows = metrics.iter().map(row).collect();
    let caption = "Success metrics".to_owned();
    table::table(&Table { caption, columns, rows, select_for: None })
}
