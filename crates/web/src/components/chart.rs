//! Drawings of numbers, made by the server. Every one has its numbers as a table, one click away.

mod marks;
/// The numbers as a table.
mod numbers;

use std::fmt::Write as _;

use maud::{Markup, html};

use super::figure;
use super::plot::{self, Plot, PlotHeight, plot};
use crate::request_context::Link;

/// A line, or bars, over steps of time.
#[derive(Clone, Debug)]
pub struct Series {
    /// Label at the end of the line.
    pub name: String,
    /// Which of the six hues, from 0, or [`FAILED`].
    pub hue: usize,
    /// Its values, one for each step; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

#[derive(Clone, Debug)]
pub struct OverTime {
    pub title: String,
    /// Of how many, from where: `n = 1,204 steps`.
    pub note: String,
    /// The steps, as the axis and the table name them.
    pub steps: Vec<String>,
    pub series: Vec<Series>,
    /// All of it together in as long a time before, step by step; none when nothing is compared.
    pub before: Vec<Option<f64>>,
    pub form: Form,
    /// Where the records of each step are listed; none where they cannot be.
    pub step_links: Vec<Link>,
    /// Where the records of each series are listed.
    pub series_links: Vec<Option<Link>>,
    /// How a value reads, with its unit.
    pub read: fn(f64) -> String,
    /// How it reads with all its digits.
    pub exact: fn(f64) -> String,
    pub tall: PlotHeight,
}

impl Default for OverTime {
    fn default() -> Self {
        Self {
            title: String::new(),
            note: String::new(),
            steps: Vec::new(),
            series: Vec::new(),
            before: Vec::new(),
            step_links: Vec::new(),
            series_links: Vec::new(),
            form: Form::Lines,
            read: figure::number,
            exact: figure::digits,
            tall: PlotHeight::default(),
        }
    }
}

/// How values over time are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Lines,
    /// As bars, on top of each other.
    Bars,
    /// As areas, on top of each other.
    Areas,
}

/// The hue of what failed.
pub const FAILED: usize = 6;
const HUES: usize = 7;
/// Names below a drawing that fit.
const NAMES: usize = 6;

/// A small line without axes. A step without a value keeps its place and interrupts the line.
pub fn spark(values: &[Option<f64>], label: &str) -> Markup {
    let top = values.iter().flatten().copied().fold(0.0, f64::max);
    let x = |index: usize| ratio(index, values.len().saturating_sub(1)) * 96.0 + 2.0;
    let y = |value: f64| 22.0 - if top > 0.0 { value / top * 20.0 } else { 0.0 };
    let placed: Vec<Option<(f64, f64)>> = values
        .iter()
        .enumerate()
        .map(|(index, value)| value.map(|value| (x(index), y(value))))
        .collect();
    // A value between two gaps is a short line: a single point of a line is not drawn.
    let drawn = |part: &[Option<(f64, f64)>]| {
        let points: Vec<(f64, f64)> = part.iter().copied().flatten().collect();
        match points.as_slice() {
            [(x, y)] => vec![(x - 1.0, *y), (x + 1.0, *y)],
            _ => points,
        }
    };
    let parts = placed.split(Option::is_none).map(drawn).filter(|part| !part.is_empty());
    html! {
        svg.spark viewBox="0 0 100 24" role="img" aria-label={ (label) " over time" }
            preserveAspectRatio="none" {
            @for part in parts { polyline points=(polyline(part.into_iter())) {} }
        }
    }
}

/// Draws values over time. A single series is named by the title.
pub fn over_time(chart: &OverTime) -> Markup {
    let top = nice(greatest(chart));
    let drawing = html! {
        @match chart.form {
            Form::Lines => { (marks::lines(chart, top)) },
            Form::Bars => { (marks::bars(chart, top)) },
            Form::Areas => { (marks::areas(chart, top)) },
        }
        (marks::before(chart, top))
        (readings(chart))
    };
    let steps = chart.steps.len();
    let names = chart.steps.iter().enumerate().step_by(steps.div_ceil(NAMES).max(1));
    let framed = Plot {
        title: &chart.title,
        scale: [0.0, 0.5, 1.0].map(|part| (part, (chart.read)(part * top))).into(),
        below: names.map(|(index, name)| (across(index, steps), name.clone())).collect(),
        ends: if chart.series.len() > 1 { marks::ends(chart, top) } else { Vec::new() },
        drawing,
        tall: chart.tall,
    };
    html! {
        figure.chart {
            (caption(&chart.title, &chart.note))
            (plot(&framed))
            (numbers::table(chart))
        }
    }
}

/// Title with the name of a single series, which has no label.
pub fn named(title: &str, series: &[Series]) -> String {
    match series {
        [only] => format!("{title}: {}", only.name),
        _ => title.to_owned(),
    }
}

/// What a drawing shows, and of how many.
pub fn caption(title: &str, note: &str) -> Markup {
    html! {
        figcaption {
            bdi { (title) }
            @if !note.is_empty() { " " small.note { (note) } }
        }
    }
}

fn greatest(chart: &OverTime) -> f64 {
    let at =
        |index: usize| chart.series.iter().filter_map(move |s| s.values.get(index).copied()?);
    let steps = 0..chart.steps.len();
    let before = chart.before.iter().flatten().copied().fold(0.0, f64::max);
    match chart.form {
        Form::Lines => steps.flat_map(at).fold(before, f64::max),
        Form::Bars | Form::Areas => steps.map(|index| at(index).sum()).fold(before, f64::max),
    }
}

/// The next round number whose half is round too.
fn nice(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let unit = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
        .map(|times| times * unit)
        .into_iter()
        .find(|n| *n >= value)
        .unwrap_or(10.0 * unit)
}

#[expect(clippy::cast_precision_loss, reason = "positions in a drawing")]
fn ratio(index: usize, of: usize) -> f64 {
    if of == 0 { 0.5 } else { index as f64 / of as f64 }
}

/// How far to the right the middle of a step is.
fn across(index: usize, steps: usize) -> f64 {
    ratio(index * 2 + 1, steps * 2)
}

fn polyline(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.fold(String::new(), |mut text, (x, y)| {
        let _infallible = write!(text, "{x:.1},{y:.1} ");
        text
    })
}

/// What to read when the pointer is over a step.
fn readings(chart: &OverTime) -> Markup {
    let steps = chart.steps.len();
    let width = plot::WIDTH / ratio(steps.max(1), 1);
    html! {
        @for (index, step) in chart.steps.iter().enumerate() {
            // A click follows the link of the step; without a script the table of numbers has it.
            rect.reading data-href=[chart.step_links.get(index)]
                 x=(across(index, steps) * plot::WIDTH - width / 2.0) y="0" width=(width)
                 height=(plot::HEIGHT) {
                title {
                    (step)
                    @for series in &chart.series {
                        @if let Some(value) = series.values.get(index).copied().flatten() {
                            "\n" (series.name) " " ((chart.exact)(value))
                        }
                    }
                    @if let Some(value) = chart.before.get(index).copied().flatten() {
                        "\nbefore " ((chart.exact)(value))
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!([0.0, 0.7, 1.0, 1.1, 34.0, 99.0].map(nice), [1.0, 0.8, 1.0, 2.0, 40.0, 100.0]);
    }

    #[test]
    fn a_step_without_a_value_keeps_its_place() {
        let drawn = spark(&[Some(1.0), Some(0.5), None, Some(1.0)], "quality").into_string();
        assert!(drawn.contains("\"2.0,2.0 34.0,12.0 \""), "{drawn}");
        assert!(drawn.contains("\"97.0,2.0 99.0,2.0 \""), "{drawn}");
    }

    #[test]
    fn a_chart_without_steps_is_still_a_chart() {
        for form in [Form::Bars, Form::Lines, Form::Areas] {
            let chart = OverTime { form, ..OverTime::default() };
            assert!(over_time(&chart).into_string().contains("<svg"));
        }
    }

    #[test]
    fn the_time_before_is_dashed_and_read_beside_the_values() {
        let series = vec![Series { name: "all".to_owned(), hue: 0, values: vec![Some(3.0)] }];
        let steps = vec!["9 Nov".to_owned()];
        let chart = OverTime { steps, series, before: vec![Some(7.0)], ..OverTime::default() };
        let drawn = over_time(&chart).into_string();
        assert!(drawn.contains("before 7") && drawn.contains("class=\"before\""), "{drawn}");
        assert!(drawn.contains("scope=\"col\">Previous<"), "{drawn}");
    }
}
