//! Drawings of numbers, made by the server. Every one has its numbers as a table, one click away.

use std::fmt::Write as _;

use maud::{Markup, html};

/// A line, or bars, over steps of time.
#[derive(Clone, Debug)]
pub struct Series {
    /// What it shows; stands at its end.
    pub name: String,
    /// Which of the six hues, from 0.
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

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 112.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 22.0;
const HUES: usize = 6;
/// The height of a label at the end of a line.
const LABEL: f64 = 12.0;

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

/// Draws values over time.
pub fn over_time(chart: &OverTime) -> Markup {
    let top = nice(greatest(chart));
    html! {
        figure.chart {
            figcaption { (chart.title) }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(chart.title) {
                (axis(chart, top))
                @match chart.form {
                    Form::Lines => { (lines(chart, top)) },
                    Form::Bars => { (bars(chart, top)) },
                }
                (readings(chart))
            }
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

/// The next round number: 1, 2 or 5 with zeros.
fn nice(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let unit = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0]
        .map(|times| times * unit)
        .into_iter()
        .find(|n| *n >= value)
        .unwrap_or(10.0 * unit)
}

#[expect(clippy::cast_precision_loss, reason = "positions in a drawing")]
fn ratio(index: usize, of: usize) -> f64 {
    if of == 0 { 0.5 } else { index as f64 / of as f64 }
}

fn x_of(index: usize, steps: usize) -> f64 {
    LEFT + ratio(index * 2 + 1, steps * 2) * (WIDTH - LEFT - RIGHT)
}

fn y_of(value: f64, top: f64) -> f64 {
    HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)
}

fn polyline(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.fold(String::new(), |mut text, (x, y)| {
        let _infallible = write!(text, "{x:.1},{y:.1} ");
        text
    })
}

fn axis(chart: &OverTime, top: f64) -> Markup {
    let steps = chart.steps.len();
    let every = steps.div_ceil(6).max(1);
    html! {
        @for part in [0.0, 0.5, 1.0] {
            line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(y_of(part * top, top)) y2=(y_of(part * top, top)) {}
            text.axis.end x=(LEFT - 6.0) y=(y_of(part * top, top) + 4.0) { ((chart.read)(part * top)) }
        }
        @for (index, step) in chart.steps.iter().enumerate().step_by(every) {
            text.axis.middle x=(x_of(index, steps)) y=(HEIGHT - 5.0) { (step) }
        }
    }
}

fn lines(chart: &OverTime, top: f64) -> Markup {
    let steps = chart.steps.len();
    let points = |series: &Series| -> Vec<(f64, f64)> {
        let values = series.values.iter().enumerate();
        values.filter_map(|(at, value)| Some((x_of(at, steps), y_of((*value)?, top)))).collect()
    };
    let drawn: Vec<Vec<(f64, f64)>> = chart.series.iter().map(points).collect();
    let ends: Vec<f64> =
        drawn.iter().map(|points| points.last().map_or(TOP, |end| end.1)).collect();
    html! {
        @for ((series, points), label) in chart.series.iter().zip(&drawn).zip(apart(&ends)) {
            g class={ "hue-" (series.hue % HUES) } {
                polyline.line points=(polyline(points.iter().copied())) {}
                @if let Some((x, y)) = points.last() {
                    circle cx=(x) cy=(y) r="2.5" {}
                    text.direct x=(WIDTH - RIGHT + 8.0) y=(label + 4.0) { (series.name) }
                }
            }
        }
    }
}

/// Moves labels down until none covers another, and up again where they would leave the drawing.
fn apart(ends: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|one, other| ends[*one].total_cmp(&ends[*other]));
    let mut placed = ends.to_vec();
    for pair in order.windows(2) {
        placed[pair[1]] = placed[pair[1]].max(placed[pair[0]] + LABEL);
    }
    let mut floor = HEIGHT - BOTTOM;
    for index in order.into_iter().rev() {
        placed[index] = placed[index].min(floor);
        floor = placed[index] - LABEL;
    }
    placed
}

fn bars(chart: &OverTime, top: f64) -> Markup {
    let steps = chart.steps.len();
    let width = ((WIDTH - LEFT - RIGHT) / ratio(steps.max(1), 1) * 0.76).max(1.0);
    html! {
        @for index in 0..steps {
            @for (series, (from, to)) in chart.series.iter().zip(stack(chart, index)) {
                @if to > from {
                    rect class={ "hue-" (series.hue % HUES) } width=(width)
                         x=(x_of(index, steps) - width / 2.0) y=(y_of(to, top))
                         height=(y_of(from, top) - y_of(to, top)) {}
                }
            }
        }
        @for (index, series) in chart.series.iter().enumerate() {
            text class={ "direct hue-" (series.hue % HUES) }
                 x=(WIDTH - RIGHT + 6.0) y=(TOP + 12.0 + ratio(index, 1) * 14.0) { (series.name) }
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
    let width = (WIDTH - LEFT - RIGHT) / ratio(steps.max(1), 1);
    html! {
        @for (index, step) in chart.steps.iter().enumerate() {
            rect.reading x=(x_of(index, steps) - width / 2.0) y=(TOP) width=(width)
                 height=(HEIGHT - TOP - BOTTOM) {
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
        assert_eq!([0.0, 0.7, 1.0, 1.1, 34.0, 99.0].map(nice), [1.0, 1.0, 1.0, 2.0, 50.0, 100.0]);
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let placed = apart(&[150.0, 150.0, 20.0, 158.0]);
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= LABEL), "{placed:?}");
        assert!(sorted.last().is_some_and(|last| *last <= HEIGHT - BOTTOM), "{placed:?}");
        assert_eq!(placed[2], 20.0);
    }

    #[test]
    fn a_chart_without_steps_is_still_a_chart() {
        let read = |value: f64| format!("{value}");
        let (title, steps, series) = (String::new(), Vec::new(), Vec::new());
        let chart = OverTime { title, steps, series, form: Form::Bars, read };
        assert!(over_time(&chart).into_string().contains("<svg"));
    }
}
