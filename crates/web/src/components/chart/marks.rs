use maud::{Markup, html};

use super::{Form, HUES, OverTime, Series, across, polyline, ratio};
use crate::components::plot::{self, End};

pub(super) fn lines(chart: &OverTime, top: f64) -> Markup {
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
pub(super) fn ends(chart: &OverTime, top: f64) -> Vec<End<'_>> {
    let steps = chart.steps.len();
    let stood = stack(chart, steps.saturating_sub(1));
    // A line without a value has no end.
    let all = chart.series.iter().zip(stood).enumerate();
    let ends = all.filter_map(|(index, (series, (from, to)))| {
        let y = match chart.form {
            Form::Lines => points(series, steps, top).last().map(|last| last.1),
            Form::Bars | Form::Areas => Some(plot::y_of((from + to) / 2.0 / top)),
        };
        let link = chart.series_links.get(index).and_then(Option::as_ref);
        Some(End { y: y?, hue: series.hue % HUES, name: &series.name, link })
    });
    ends.collect()
}

pub(super) fn bars(chart: &OverTime, top: f64) -> Markup {
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

/// Bottom and top of each series' bar in one time bucket.
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

pub(super) fn areas(chart: &OverTime, top: f64) -> Markup {
    let steps = chart.steps.len();
    let stacks: Vec<Vec<(f64, f64)>> = (0..steps).map(|index| stack(chart, index)).collect();
    let edge = |at: usize, pick: fn(&(f64, f64)) -> f64| -> Vec<(f64, f64)> {
        let point = |(step, stack): (usize, &Vec<(f64, f64)>)| {
            let y = plot::y_of(pick(stack.get(at)?) / top);
            Some((across(step, steps) * plot::WIDTH, y))
        };
        stacks.iter().enumerate().filter_map(point).collect()
    };
    html! {
        @for (at, series) in chart.series.iter().enumerate() {
            @let below = edge(at, |(from, _)| *from);
            @let above = edge(at, |(_, to)| *to);
            polygon class={ "area hue-" (series.hue % HUES) }
                points=(polyline(above.into_iter().chain(below.into_iter().rev()))) {}
        }
    }
}

/// All of it in the time before, as a dashed line over the marks.
pub(super) fn before(chart: &OverTime, top: f64) -> Markup {
    let steps = chart.steps.len();
    let values = chart.before.iter().take(steps).copied().collect();
    let mut points = points(&Series { name: String::new(), hue: 0, values }, steps, top);
    // A single point makes no line: it is drawn as wide as half a step.
    if let [(x, y)] = points[..] {
        let half = plot::WIDTH / ratio(steps.max(1), 1) / 4.0;
        points = vec![(x - half, y), (x + half, y)];
    }
    html! {
        @if !points.is_empty() { polyline.before points=(polyline(points.into_iter())) {} }
    }
}
