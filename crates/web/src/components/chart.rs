//! Drawings of numbers, made by the server. Every one has its numbers as a table, one click away.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::plot::{self, End, Plot, plot};

/// A line, or bars, over steps of time.
#[derive(Clone, Debug)]
pub struct Series {
    /// What it shows; stands at its end.
    pub name: String,
    /// Which of the six hues, from 0, or [`FAILED`].
    pub hue: usize,
    /// Its values, one for each step; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

/// Values over time.
#[derive(Clone, Debug)]
pub struct OverTime {
    /// What is shown.
    pub title: String,
    /// The steps, as the axis and the table name them.
    pub steps: Vec<String>,
    /// What is drawn.
    pub series: Vec<Series>,
    /// How it is drawn.
    pub form: Form,
    /// How a value reads, with its unit.
    pub read: fn(f64) -> String,
}

/// How values over time are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As lines.
    Lines,
    /// As bars, on top of each other.
    Bars,
}

/// The hue of what failed.
pub const FAILED: usize = 6;
const HUES: usize = 7;
/// Names below a drawing that fit.
const NAMES: usize = 6;

/// A small line without axes.
pub fn spark(values: &[f64], label: &str) -> Markup {
    let top = values.iter().copied().fold(0.0, f64::max);
    let points = values.iter().enumerate().map(|(index, value)| {
        let x = ratio(index, values.len().saturating_sub(1)) * 96.0 + 2.0;
        let y = 22.0 - if top > 0.0 { value / top * 20.0 } else { 0.0 };
        (x, y)
    });
    html! {
        svg.spark viewBox="0 0 100 24" role="img" aria-label={ (label) " over time" }
            preserveAspectRatio="none" {
            polyline points=(polyline(points)) {}
        }
    }
}

/// Draws values over time. A single series is named by the title.
pub fn over_time(chart: &OverTime) -> Markup {
    let top = nice(greatest(chart));
    let drawing = html! {
        @match chart.form {
            Form::Lines => { (lines(chart, top)) },
            Form::Bars => { (bars(chart, top)) },
        }
        (readings(chart))
    };
    let steps = chart.steps.len();
    let names = chart.steps.iter().enumerate().step_by(steps.div_ceil(NAMES).max(1));
    let framed = Plot {
        title: &chart.title,
        scale: [0.0, 0.5, 1.0].map(|part| (part, (chart.read)(part * top))).into(),
        below: names.map(|(index, name)| (across(index, steps), name.clone())).collect(),
        ends: if chart.series.len() > 1 { ends(chart, top) } else { Vec::new() },
        drawing,
    };
    html! {
        figure.chart {
            figcaption { (chart.title) }
            (plot(&framed))
            (numbers(chart))
        }
    }
}

fn greatest(chart: &OverTime) -> f64 {
    let at =
        |index: usize| chart.series.iter().filter_map(move |s| s.values.get(index).copied()?);
    let steps = 0..chart.steps.len();
    match chart.form {
        Form::Lines => steps.flat_map(at).fold(0.0, f64::max),
        Form::Bars => steps.map(|index| at(index).sum()).fold(0.0, f64::max),
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

fn lines(chart: &OverTime, top: f64) -> Markup {
    html! {
        @for series in &chart.series {
            @let points = points(series, chart.steps.len(), top);
            g class={ "hue-" (series.hue % HUES) } {
                polyline.line points=(polyline(points.iter().copied())) {}
                @if let Some((x, y)) = points.last() {
                    path.dot d={ "M" (format!("{x:.1} {y:.1}")) "h0" } {}
                }
            }
        }
    }
}

fn points(series: &Series, steps: usize, top: f64) -> Vec<(f64, f64)> {
    let values = series.values.iter().enumerate();
    let point = |(at, value): (usize, &Option<f64>)| {
        Some((across(at, steps) * plot::WIDTH, plot::y_of((*value)? / top)))
    };
    values.filter_map(point).collect()
}

/// The name of each series, beside its last value.
fn ends(chart: &OverTime, top: f64) -> Vec<End<'_>> {
    let steps = chart.steps.len();
    let stood = stack(chart, steps.saturating_sub(1));
    let ends = chart.series.iter().zip(stood).map(|(series, (from, to))| {
        let y = match chart.form {
            Form::Lines => points(series, steps, top).last().map(|last| last.1),
            Form::Bars => Some(plot::y_of((from + to) / 2.0 / top)),
        };
        End { y: y.unwrap_or_default(), hue: series.hue % HUES, name: &series.name }
    });
    ends.collect()
}

fn bars(chart: &OverTime, top: f64) -> Markup {
    let steps = chart.steps.len();
    let width = (plot::WIDTH / ratio(steps.max(1), 1) * 0.76).max(1.0);
    html! {
        @for index in 0..steps {
            @for (series, (from, to)) in chart.series.iter().zip(stack(chart, index)) {
                @if to > from {
                    rect class={ "hue-" (series.hue % HUES) } width=(width)
                         x=(across(index, steps) * plot::WIDTH - width / 2.0)
                         y=(plot::y_of(to / top))
                         height=(plot::y_of(from / top) - plot::y_of(to / top)) {}
                }
            }
        }
    }
}

/// From where to where each series' bar stands at one step.
fn stack(chart: &OverTime, index: usize) -> Vec<(f64, f64)> {
    let mut below = 0.0;
    let value = |series: &Series| series.values.get(index).copied().flatten().unwrap_or_default();
    let mut stand = |series| {
        let from = below;
        below += value(series);
        (from, below)
    };
    chart.series.iter().map(&mut stand).collect()
}

/// What to read when the pointer is over a step.
fn readings(chart: &OverTime) -> Markup {
    let steps = chart.steps.len();
    let width = plot::WIDTH / ratio(steps.max(1), 1);
    html! {
        @for (index, step) in chart.steps.iter().enumerate() {
            rect.reading x=(across(index, steps) * plot::WIDTH - width / 2.0) y="0" width=(width)
                 height=(plot::HEIGHT) {
                title {
                    (step)
                    @for series in &chart.series {
                        @if let Some(value) = series.values.get(index).copied().flatten() {
                            "\n" (series.name) " " ((chart.read)(value))
                        }
                    }
                }
            }
        }
    }
}

fn numbers(chart: &OverTime) -> Markup {
    html! {
        details.numbers {
            summary { "Numbers" }
            div.table-wrap tabindex="0" role="region" aria-label={ (chart.title) ", numbers" } {
                table {
                    thead { tr {
                        th scope="col" { "When" }
                        @for series in &chart.series { th.num scope="col" { (series.name) } }
                    } }
                    tbody {
                        @for (index, step) in chart.steps.iter().enumerate() {
                            tr {
                                th scope="row" { (step) }
                                @for series in &chart.series {
                                    td.num { @if let Some(value) = series.values.get(index).copied().flatten() { ((chart.read)(value)) } }
                                }
                            }
                        }
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
    fn a_chart_without_steps_is_still_a_chart() {
        let read = |value: f64| format!("{value}");
        let (title, steps, series) = (String::new(), Vec::new(), Vec::new());
        let chart = OverTime { title, steps, series, form: Form::Bars, read };
        assert!(over_time(&chart).into_string().contains("<svg"));
    }
}
