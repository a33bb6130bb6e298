use maud::{Markup, html};
use ratchet_core::report::{WeekReport, change_words, interval_words, trend_words};
use ratchet_core::synthesis::{Marks, Standing, WANTING};

use crate::components::chart;
use crate::components::stat::{Stat, Value};
use crate::components::table::{self, Column, Row, Table};

/// How every dimension stands, the overall quality first.
pub(super) fn table(report: &WeekReport) -> Markup {
    let columns = vec![
        Column::text("Dimension"),
        Column::number("Sessions"),
        Column::number("Mean"),
        Column::text("From 0 to 1, with 95 % confidence"),
        Column::number("Stdev"),
        Column::number("Least"),
        Column::number("Greatest"),
        Column::text("Against the week before"),
        Column::text("Over the weeks"),
    ];
    let all = std::iter::once(&report.synthesis.overall).chain(&report.synthesis.dimensions);
    let rows = all.map(row).collect();
    let caption = "How the week's sessions stand, dimension by dimension".to_owned();
    table::table(&Table { caption, columns, rows, select_for: None })
}

fn row(standing: &Standing) -> Row {
    let two = |value: f64| html! { (format!("{value:.2}")) };
    let none = || html! { span.muted { "–" } };
    let of = |read: fn(Marks) -> f64| standing.marks.map_or_else(none, |marks| two(read(marks)));
    let stdev = standing.marks.and_then(|marks| marks.stdev);
    Row {
        id: standing.name.clone(),
        link: None,
        cells: vec![
            html! { bdi { (standing.name) } },
            html! { (standing.n) },
            of(|marks| marks.mean),
            standing.marks.map_or_else(none, |marks| reach(&standing.name, marks)),
            stdev.map_or_else(none, two),
            of(|marks| marks.min),
            of(|marks| marks.max),
            html! { (change_words(&standing.change)) },
            html! { (trend_words(&standing.trend)) (spark(standing)) },
        ],
        failed: false,
    }
}

/// The mean as a dot, its interval as a line, and the line below which suggestions are made.
fn reach(name: &str, marks: Marks) -> Markup {
    let x = |value: f64| format!("{:.1}", value * 100.0);
    let words = interval_words(marks.interval);
    html! {
        span.reach {
            svg viewBox="0 0 100 12" role="img"
                aria-label={ (name) " " (format!("{:.2}", marks.mean)) ", " (words) } {
                line.reach-ground x1="0" x2="100" y1="6" y2="6" {}
                line.reach-line x1=(x(WANTING)) x2=(x(WANTING)) y1="0" y2="12" {}
                @if let Some([lower, upper]) = marks.interval {
                    line.reach-range x1=(x(lower)) x2=(x(upper)) y1="6" y2="6" {}
                }
                circle.reach-mean cx=(x(marks.mean)) cy="6" r="3" {}
            }
            span.muted { (words) }
        }
    }
}

fn spark(standing: &Standing) -> Markup {
    let seen: Vec<f64> = standing.history.iter().filter_map(|mean| *mean).collect();
    html! { @if seen.len() > 1 { (chart::spark(&seen, &standing.name)) } }
}

/// How something stands, as a figure.
pub(super) fn stat(standing: &Standing, label: &str, provenance: &str) -> Stat {
    let value = match standing.marks {
        None => Value::CannotTell("no session was scored".to_owned()),
        Some(marks) => Value::Known {
            text: format!("{:.2}", marks.mean),
            interval: Some(interval_words(marks.interval)),
            provenance: provenance.to_owned(),
        },
    };
    let course = standing.history.iter().filter_map(|mean| *mean).collect();
    let change = Some(format!("{} against the week before", change_words(&standing.change)));
    Stat { label: label.to_owned(), value, change, course, link: None }
}
