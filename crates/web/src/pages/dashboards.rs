//! Cost, tokens, latency, errors and volume over time, by any dimension that hourly sums keep.

/// Sums into lines and bars.
mod panel;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_store::aggregate::{Dimension, Sums};

use crate::components::figure;
use crate::components::stat::{self, Stat, Value};
use crate::frame::{Page, Section};
use crate::place::Place;
use crate::refusal::PageResult;
use crate::sums::{self, float, natural, step_of};
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/dashboards", get(show))
}

/// What the figures can be split by without reading single observations.
const DIMENSIONS: [(&str, &str, Option<Dimension>); 5] = [
    ("none", "all together", None),
    ("model", "by model", Some(Dimension::Model)),
    ("name", "by name", Some(Dimension::Name)),
    ("kind", "by kind", Some(Dimension::Kind)),
    ("env", "by environment", Some(Dimension::Environment)),
];

async fn show(State(web): State<Web>, place: Place) -> PageResult<Markup> {
    let asked = place.params.get("by").unwrap_or("none");
    let by = DIMENSIONS.iter().find(|(word, _, _)| *word == asked).unwrap_or(&DIMENSIONS[0]);
    let step = step_of(place.scope.span);
    let now = sums::whole(&web, &place, place.range()).await?;
    let before = match place.scope.span.before(place.now) {
        Some(range) => Some(sums::whole(&web, &place, range).await?),
        None => None,
    };
    let dimensions = by.2.as_slice();
    let course = sums::groups(&web, &place, place.range(), step, dimensions).await?;
    let mut page = Page::new(Section::Dashboards, "Dashboards");
    page.summary = html! {
        (figure::count(natural(now.count))) " steps in the " (place.scope.span.label())
        ", " (by.1) "."
    };
    page.action = choices(&place, by.0);
    page.body = html! {
        (stat::row(&figures(&now, before.as_ref(), &place.scope.span.label())))
        div.charts { (panel::draw(&course, step)) }
    };
    Ok(page.show(&place))
}

fn choices(place: &Place, chosen: &str) -> Markup {
    html! {
        nav.segments aria-label="Split the figures" {
            @for (word, label, _) in DIMENSIONS {
                a href=(place.here().with("by", word))
                  aria-current=[(word == chosen).then_some("true")] { (label) }
            }
        }
    }
}

fn figures(now: &Sums, before: Option<&Sums>, time: &str) -> Vec<Stat> {
    let before = before.filter(|before| before.count > 0);
    let provenance = format!("hourly sums, n = {} steps", figure::grouped(natural(now.count)));
    let one = |label: &str, text: String, change: Option<f64>| Stat {
        label: label.to_owned(),
        value: Value::of(text, &provenance),
        change: change.map(|ratio| changed(ratio, time)),
        ..Stat::default()
    };
    let ratio = |of: fn(&Sums) -> f64| before.map(|before| of(now) / of(before));
    let latency = |percent: u8| now.latency.percentile(percent).map(figure::duration);
    vec![
        one("Steps", figure::count(natural(now.count)), ratio(|sums| float(sums.count))),
        one(
            "Failed",
            figure::percent(float(now.errors) / float(now.count).max(1.0)),
            ratio(|sums| float(sums.errors) / float(sums.count)),
        ),
        one("Known cost", figure::money(now.cost), ratio(|sums| sums.cost.dollars())),
        one(
            "Tokens",
            figure::count(natural(now.total_tokens)),
            ratio(|sums| float(sums.total_tokens)),
        ),
        one("Median latency", latency(50).unwrap_or_else(|| "–".to_owned()), None),
        one("p95 latency", latency(95).unwrap_or_else(|| "–".to_owned()), None),
    ]
}

fn changed(ratio: f64, time: &str) -> String {
    if ratio.is_finite() {
        format!("{}, to the {time} before", figure::growth(ratio))
    } else {
        format!("none in the {time} before")
    }
}
