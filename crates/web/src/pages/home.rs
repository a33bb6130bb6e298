//! Home: the loop with its numbers, changes, top errors and costs.

/// The six stages and their numbers.
mod stages;
/// Summary of changes vs. the previous period.
mod changes;
/// Quality, the release that fell most, and cost.
mod quality;
/// Top errors and cost by model.
mod leaders;
mod sessions;
/// Setup instructions for an empty project.
mod getting_started;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::quality::calibration::panel;
use ratchet_stages::review::{panel as panels, sampling};
use ratchet_store::aggregate::Sums;

use super::calibration::{ends, refused};
use crate::components::alarm;
use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::figure;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::sums::{self, ScanRange, float};
use crate::web::Web;

/// A day, in nanoseconds.
const DAY: i64 = 86_400 * 1_000_000_000;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}", get(show))
        .route("/project/{project}/recorded", get(recorded))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let now = sums::whole(&web, &ctx, ctx.range()).await?;
    let mut page = Page::new(Section::Home, ctx.project.name.clone());
    page.summary = html! { "The loop " (ctx.scope.span.within()) "." };
    if now.count == 0 && ctx.scope.agent.is_none() {
        page.body = getting_started::connect(&ctx);
        return Ok(page.show(&ctx));
    }
    let before = match ctx.scope.span.before(ctx.now) {
        Some(range) => Some(sums::whole(&web, &ctx, range).await?),
        None => None,
    };
    let stations = stages::gather(&web, &ctx).await?;
    let course = sums::over_time(&web, &ctx, ctx.range(), &[]).await?;
    let (names, course) = (course.course.names(), course.all());
    let reach = sums::agent_scan_start(&web, &ctx, ctx.range()).await?;
    page.body = html! {
        (quality::section(&web, &ctx, (&now, before.as_ref())).await?)
        (drifted(&web, &ctx).await?)
        (stages::draw(&stations))
        (partly(&ctx, reach))
        div.home {
            section {
                h2 { "What changed" }
                (changes::draw(&now, before.as_ref(), &ctx.scope.span.within()))
            }
            section.charts { (steps(&names, &course)) (cost(&names, &course)) }
            (leaders::failures(&web, &ctx).await?)
            (leaders::spending(&web, &ctx).await?)
            (sessions::latest(&web, &ctx).await?)
        }
    };
    Ok(page.show(&ctx))
}

/// Judge drift alerts of the last two weeks.
async fn drifted(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    let (_, sink) = ends(web, ctx);
    let verdicts = panels::read(&sink).await.map_err(|why| refused(why.into()))?;
    let (from, to) = (sampling::week(ctx.now.plus_nanos(-7 * DAY)), sampling::week(ctx.now));
    let alerts = panel::alerts(&verdicts, from.as_str()..=to.as_str());
    Ok(html! {
        (alarm::drift(&alerts))
        @if !alerts.is_empty() {
            p { a href=(Section::Calibration.link(ctx)) { "Judge calibration" } }
        }
    })
}

/// Note that only the newest records of an agent were read.
fn partly(ctx: &RequestContext, reach: ScanRange) -> Markup {
    html! {
        @if let ScanRange::Since(since) = reach {
            p.partly role="note" {
                "Only observations since " (figure::when(since, &ctx.time))
                " are shown (hourly rollups are not split by agent). "
                a href=(ctx.here().with("all", "1")) { "Query all observations" } ", which may take a minute."
            }
        }
    }
}

/// Number of observations in scope, polled by the page that waits for the first span.
async fn recorded(State(web): State<Web>, ctx: RequestContext) -> PageResult<String> {
    let now = sums::whole(&web, &ctx, ctx.range()).await?;
    Ok(now.count.to_string())
}

fn steps(names: &[String], course: &[Option<Sums>]) -> Markup {
    let of = |value: fn(&Sums) -> i64| -> Vec<Option<f64>> {
        course.iter().map(|sums| sums.as_ref().map(|sums| float(value(sums)))).collect()
    };
    let series = vec![
        Series { name: "Error".into(), hue: chart::FAILED, values: of(|sums| sums.errors) },
        Series { name: "OK".into(), hue: 0, values: of(|sums| sums.count - sums.errors) },
    ];
    let read: fn(f64) -> String = |value| figure::grouped(sums::whole_number(value));
    let (title, steps) = ("Observations".to_owned(), names.to_vec());
    let form = Form::Bars;
    chart::over_time(&OverTime { title, steps, series, form, read, ..OverTime::default() })
}

fn cost(names: &[String], course: &[Option<Sums>]) -> Markup {
    let dollars = |sums: &Option<Sums>| sums.as_ref().map(|sums| sums.cost.dollars());
    let values = course.iter().map(dollars).collect();
    let series = vec![Series { name: "cost".into(), hue: 1, values }];
    let (title, steps) = ("Cost".to_owned(), names.to_vec());
    let approximate = course.iter().flatten().map(|sums| sums.approximate_cost).sum();
    chart::over_time(&OverTime {
        title,
        note: figure::of_which(approximate).unwrap_or_default(),
        steps,
        series,
        form: Form::Bars,
        read: figure::dollars,
        exact: figure::exact_dollars,
        ..OverTime::default()
    })
}
