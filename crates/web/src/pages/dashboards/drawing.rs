//! Figures into marks.

use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::catalog::dashboard::widget::{ChartKind, Widget};
use ratchet_core::stats::distribution::HistogramBin;
use ratchet_core::time::Timestamp;
use ratchet_stages::dashboards::response::FigureColumn;
use ratchet_stages::dashboards::view::Unit;
use ratchet_store::metrics::{Bin, Figure, MetricsRow};

use super::drill::Drill;
use super::others::OTHERS;
use super::panel::{SHOWN, add, label};
use super::pivot;
use super::reading;
use super::tile::ChartData;
use crate::components::bars::{self, HorizontalBars, Spread};
use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::plot::PlotHeight;
use crate::components::{empty, figure};
use crate::request_context::Link;

/// The size of a chart, and where its records are listed.
type Around<'a> = (PlotHeight, Option<&'a Drill<'a>>);

/// Draws what a chart has found.
pub(super) fn draw(chart: &Widget, answer: &ChartData, (tall, drill): Around<'_>) -> Markup {
    let is_empty = answer.rows.iter().all(|row| row.figures.iter().all(is_nothing));
    if is_empty && chart.chart != ChartKind::Number {
        return nothing(chart, answer, drill);
    }
    match chart.chart {
        ChartKind::LineTimeSeries => over_time(chart, answer, Form::Lines, (tall, drill)),
        ChartKind::AreaTimeSeries => over_time(chart, answer, Form::Areas, (tall, drill)),
        ChartKind::BarTimeSeries => over_time(chart, answer, Form::Bars, (tall, drill)),
        ChartKind::HorizontalBar | ChartKind::Pie => horizontal_bars(chart, answer, drill),
        ChartKind::VerticalBar => vertical_bars(chart, answer, (tall, drill)),
        ChartKind::Number => number(chart, answer, drill),
        ChartKind::Histogram => histogram(chart, answer, (tall, drill)),
        ChartKind::PivotTable => pivot::draw(chart, answer, drill),
    }
}

/// The keys that a chart shows one by one.
pub(super) fn shown_keys(chart: &Widget, answer: &ChartData) -> Vec<Option<String>> {
    let first = |row: &MetricsRow| row.key.first().cloned().flatten();
    match chart.chart {
        ChartKind::LineTimeSeries | ChartKind::AreaTimeSeries | ChartKind::BarTimeSeries => {
            let lines = lines(chart, answer).into_iter().take(SHOWN);
            lines.map(|line| line.key.into_iter().next().flatten()).collect()
        }
        ChartKind::HorizontalBar | ChartKind::VerticalBar | ChartKind::Pie => {
            answer.rows.iter().map(first).collect()
        }
        ChartKind::Number | ChartKind::Histogram | ChartKind::PivotTable => {
            answer.rows.iter().map(first).collect()
        }
    }
}

fn is_nothing(figure: &Figure) -> bool {
    match figure {
        Figure::None | Figure::Count(0) => true,
        Figure::Histogram(bins) => bins.is_empty(),
        Figure::Count(_) => false,
        Figure::Number(number) => *number == 0.0,
    }
}

fn nothing(chart: &Widget, answer: &ChartData, drill: Option<&Drill<'_>>) -> Markup {
    let how = html! {
        p.muted { "No data in this time range for: " (reading::about(chart)) "." }
        @if let Some(drill) = drill {
            p { a.button href=(drill.ctx.here().with("range", "all")) { "Show all time" } }
        }
    };
    html! {
        figure.chart {
            (chart::caption(&chart.name, &answer.note))
            (empty::empty("No data", &how))
        }
    }
}

/// Subtitle: metric, sample size and time range.
pub(super) fn note(chart: &Widget, answer: &ChartData) -> String {
    format!("{} · {}", reading::about(chart), answer.note)
}

/// A row's key in one text.
pub(super) fn key_of(row: &MetricsRow) -> String {
    let words: Vec<String> = row.key.iter().map(|word| reading::key(word.as_deref())).collect();
    words.join(" · ")
}

/// Values by step of time.
type Values = Vec<Option<f64>>;

/// One line of a chart over time.
struct Line {
    key: Vec<Option<String>>,
    name: String,
    values: Values,
}

/// The lines of a chart, the greatest in the charted measure first.
fn lines(chart: &Widget, answer: &ChartData) -> Vec<Line> {
    let steps = answer.course.len();
    let mut lines: BTreeMap<(Vec<Option<String>>, String), Values> = BTreeMap::new();
    let is_split = !answer.shape.by.is_empty();
    // A chart that is split shows its first figure; one that is not, all of them.
    let metrics = if is_split { 1 } else { chart.metrics.len() };
    for row in &answer.rows {
        let Some(step) = row.at.and_then(|at: Timestamp| answer.course.step_of(at)) else {
            continue;
        };
        for (metric, figure) in chart.metrics.iter().zip(&row.figures).take(metrics) {
            // A step that was filled in has no key and belongs to no line.
            let is_filler = is_split && row.key.iter().all(Option::is_none) && is_nothing(figure);
            if is_filler {
                continue;
            }
            let name = if is_split { key_of(row) } else { reading::metric(metric, chart.view) };
            let line = lines.entry((row.key.clone(), name)).or_insert_with(|| vec![None; steps]);
            if let Some(slot) = line.get_mut(step) {
                *slot = reading::number(figure);
            }
        }
    }
    let lines = lines.into_iter().map(|((key, name), values)| Line { key, name, values });
    let mut lines: Vec<Line> = lines.collect();
    let adds_up = answer.shape.metrics.first().is_none_or(reading::adds_up);
    let size = |line: &Line| {
        let values: Vec<f64> = line.values.iter().flatten().copied().collect();
        let sum: f64 = values.iter().sum();
        if adds_up { sum } else { sum / float(values.len()).max(1.0) }
    };
    lines.sort_by(|one, other| size(other).total_cmp(&size(one)));
    lines
}

#[expect(clippy::cast_precision_loss, reason = "a number of steps")]
fn float(count: usize) -> f64 {
    count as f64
}

fn over_time(chart: &Widget, answer: &ChartData, form: Form, (tall, drill): Around<'_>) -> Markup {
    let Some(column) = answer.shape.metrics.first() else { return html! {} };
    let mut all = lines(chart, answer);
    let count = all.len();
    let rest = all.split_off(count.min(SHOWN));
    let is_split = !answer.shape.by.is_empty();
    let key = |line: &Line| drill?.keys(&line.key);
    let mut series_links: Vec<Option<Link>> =
        all.iter().map(|line| if is_split { key(line) } else { None }).collect();
    let drawn = all.into_iter().enumerate();
    let drawn =
        drawn.map(|(hue, line)| Series { name: label(&line.name), hue, values: line.values });
    let mut series: Vec<Series> = drawn.collect();
    if !rest.is_empty() {
        series.extend(others_over_time(answer, column, rest));
        series_links.push(None);
    }
    // Metrics that do not add up cannot be stacked.
    let stacks = reading::adds_up(column) || series.len() == 1;
    let form = if stacks { form } else { Form::Lines };
    let more = if count >= series.len() && count > SHOWN {
        format!(", top {SHOWN} of {count}")
    } else {
        String::new()
    };
    chart::over_time(&OverTime {
        title: chart.name.clone(),
        note: format!("{}{more}", note(chart, answer)),
        steps: answer.course.names(),
        series,
        step_links: drill.map(|drill| drill.steps(answer.course.spans())).unwrap_or_default(),
        series_links,
        form,
        read: reading::read(column),
        exact: reading::exact(column),
        tall,
        ..OverTime::default()
    })
}

/// All other lines as one: their sum, or what was queried of them together.
fn others_over_time(answer: &ChartData, column: &FigureColumn, rest: Vec<Line>) -> Option<Series> {
    let (name, hue) = (OTHERS.to_owned(), SHOWN);
    if reading::adds_up(column) {
        let rest =
            rest.into_iter().map(|line| Series { name: line.name, hue, values: line.values });
        return Some(Series { name, hue, values: add(&rest.collect::<Vec<_>>()) });
    }
    let mut values = vec![None; answer.course.len()];
    for row in &answer.others {
        let step = row.at.and_then(|at| answer.course.step_of(at));
        if let Some(slot) = step.and_then(|step| values.get_mut(step)) {
            *slot = row.figures.first().and_then(reading::number);
        }
    }
    values.iter().any(Option::is_some).then_some(Series { name, hue, values })
}

/// A bar: its name, its value, and where its records are listed.
type Bar = (String, f64, Option<Link>);

/// The first figure of each row, and that of all other keys.
fn firsts(answer: &ChartData, drill: Option<&Drill<'_>>) -> Vec<Bar> {
    let value = |row: &MetricsRow| row.figures.first().and_then(reading::number);
    let link = |row: &MetricsRow| drill?.keys(&row.key);
    let one = |row: &MetricsRow| Some((key_of(row), value(row)?, link(row)));
    let others = answer.others.iter().filter_map(value).filter(|value| *value != 0.0);
    let others = others.map(|value| (OTHERS.to_owned(), value, None));
    answer.rows.iter().filter_map(one).chain(others).collect()
}

fn horizontal_bars(chart: &Widget, answer: &ChartData, drill: Option<&Drill<'_>>) -> Markup {
    let Some(column) = answer.shape.metrics.first() else { return html! {} };
    let mut links = Vec::new();
    let mut values = Vec::new();
    for (name, value, link) in firsts(answer, drill) {
        values.push((name, value));
        links.push(link);
    }
    bars::horizontal(&HorizontalBars {
        title: &chart.name,
        note: note(chart, answer),
        values: &values,
        links,
        is_share: chart.chart == ChartKind::Pie && reading::adds_up(column),
        read: reading::read(column),
        exact: reading::exact(column),
    })
}

fn vertical_bars(chart: &Widget, answer: &ChartData, (tall, drill): Around<'_>) -> Markup {
    let Some(column) = answer.shape.metrics.first() else { return html! {} };
    let bars = firsts(answer, drill);
    let values = bars.iter().map(|(_, value, _)| Some(*value)).collect();
    let series = vec![Series { name: String::new(), hue: 0, values }];
    let all = drill.map(Drill::all);
    let link = |bar: &Bar| bar.2.clone().or_else(|| all.clone());
    chart::over_time(&OverTime {
        title: chart.name.clone(),
        note: note(chart, answer),
        steps: bars.iter().map(|(name, ..)| label(name)).collect(),
        step_links: bars.iter().filter_map(link).collect(),
        series,
        form: Form::Bars,
        read: reading::read(column),
        exact: reading::exact(column),
        tall,
        ..OverTime::default()
    })
}

fn number(chart: &Widget, answer: &ChartData, drill: Option<&Drill<'_>>) -> Markup {
    let figures = answer.rows.first().map(|row| row.figures.as_slice()).unwrap_or_default();
    let value = |at: usize| {
        let column = answer.shape.metrics.get(at)?;
        let number = reading::number(figures.get(at)?)?;
        let is_money = column.unit == Unit::Dollars;
        let mark = if is_money { figure::mark(answer.approximate_cost) } else { "" };
        let text = format!("{mark}{}", reading::read(column)(number));
        Some((text, reading::exact(column)(number)))
    };
    html! {
        figure.chart.one-number {
            (chart::caption(&chart.name, &note(chart, answer)))
            @for (at, metric) in chart.metrics.iter().enumerate() {
                @if chart.metrics.len() > 1 {
                    p.stat-label { (reading::metric(metric, chart.view)) }
                }
                @match value(at) {
                    Some((text, exact)) => {
                        p.stat-value title=(exact) {
                            @match drill {
                                Some(drill) => { a.quiet-link href=(drill.all()) { (text) } },
                                None => { (text) },
                            }
                        }
                    },
                    None => {
                        p.stat-value.unknown { "Not enough data" }
                        p.muted { "No data in this time range." }
                    },
                }
            }
        }
    }
}

fn histogram(chart: &Widget, answer: &ChartData, (tall, drill): Around<'_>) -> Markup {
    let figure = answer.rows.first().and_then(|row| row.figures.first());
    let Some(Figure::Histogram(bins)) = figure else { return nothing(chart, answer, drill) };
    let stretch = |bin: &Bin| HistogramBin { lower: bin.lower, upper: bin.upper, count: bin.count };
    let bins: Vec<HistogramBin> = bins.iter().map(stretch).collect();
    let read =
        answer.shape.metrics.first().map_or(figure::number as fn(f64) -> String, reading::read);
    let (title, note) = (&chart.name, &note(chart, answer));
    let measure = chart.metrics.first().map_or("", |metric| metric.measure.as_str());
    let link = |(at, bin): (usize, &HistogramBin)| {
        drill?.between(measure, (bin.lower, bin.upper), at + 1 == bins.len())
    };
    let links = bins.iter().enumerate().map(link).collect();
    bars::histogram(&Spread { title, note, bins: &bins, links, colour: "hue-0", read, tall })
}
