//! The loop with its numbers, and what changed in words.

/// The six stages and their numbers.
mod stations;
/// What changed, written from data.
mod changes;
/// What failed most, and what cost most.
mod leaders;
/// What to do before there is anything to see.
mod connect;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::money::Money;
use ratchet_store::aggregate::{Group, Step};

use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::figure;
use crate::frame::{Page, Section};
use crate::place::Place;
use crate::refusal::PageResult;
use crate::sums::{self, float, step_name, step_of};
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}", get(show))
        .route("/project/{project}/recorded", get(recorded))
}

async fn show(State(web): State<Web>, place: Place) -> PageResult<Markup> {
    let now = sums::whole(&web, &place, place.range()).await?;
    let mut page = Page::new(Section::Home, place.project.name.clone());
    page.summary = html! { "The loop in the " (place.scope.span.label()) "." };
    if now.count == 0 {
        page.body = connect::connect(&place);
        return Ok(page.show(&place));
    }
    let before = match place.scope.span.before(place.now) {
        Some(range) => Some(sums::whole(&web, &place, range).await?),
        None => None,
    };
    let stations = stations::gather(&web, &place).await?;
    let step = step_of(place.scope.span);
    let course = sums::groups(&web, &place, place.range(), step, &[]).await?;
    page.body = html! {
        (stations::draw(&stations))
        div.home {
            section {
                h2 { "What changed" }
                (changes::draw(&now, before.as_ref(), &place.scope.span.label()))
            }
            section.charts { (steps(&course, step)) (cost(&course, step)) }
            (leaders::failures(&web, &place).await?)
            (leaders::spending(&web, &place).await?)
        }
    };
    Ok(page.show(&place))
}

/// How much is recorded in this time: a page that waits for the first span asks for it.
async fn recorded(State(web): State<Web>, place: Place) -> PageResult<String> {
    let now = sums::whole(&web, &place, place.range()).await?;
    Ok(now.count.to_string())
}

fn steps(course: &[Group], step: Step) -> Markup {
    let read: fn(f64) -> String = |value| figure::grouped(sums::whole_number(value));
    let of = |value: fn(&Group) -> i64| -> Vec<Option<f64>> {
        course.iter().map(|group| Some(float(value(group)))).collect()
    };
    let well = |group: &Group| group.sums.count - group.sums.errors;
    let series = vec![
        Series { name: "failed".into(), hue: chart::FAILED, values: of(|group| group.sums.errors) },
        Series { name: "well".into(), hue: 0, values: of(well) },
    ];
    let (title, form) = ("Steps".to_owned(), Form::Bars);
    chart::over_time(&OverTime { title, steps: names(course, step), series, form, read })
}

fn cost(course: &[Group], step: Step) -> Markup {
    let values = course.iter().map(|group| Some(group.sums.cost.dollars())).collect();
    let read: fn(f64) -> String =
        |value| figure::money(Money::from_dollars(value).unwrap_or_default());
    let series = vec![Series { name: "known cost".into(), hue: 1, values }];
    let (title, form) = ("Cost".to_owned(), Form::Bars);
    chart::over_time(&OverTime { title, steps: names(course, step), series, form, read })
}

fn names(course: &[Group], step: Step) -> Vec<String> {
    course.iter().map(|group| step_name(group, step)).collect()
}
