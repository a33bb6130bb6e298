//! Figures into marks.

use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::catalog::dashboard::widget::{ChartKind, Widget};
use ratchet_core::stats::distribution::HistogramBin;
use ratchet_core::time::Timestamp;
use ratchet_stages::dashboards::response::FigureColumn;
use ratchet_stages::dashboards::view::Unit;
use ratchet_store::metrics::{Bin, Figure, MetricsRow};

use super::panel::{SHOWN, add, label};
use super::pivot;
use super::reading;
use super::tile::ChartData;
use crate::components::bars::{self, HorizontalBars, Spread};
use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::plot::PlotHeight;
use crate::components::{empty, figure};

/// Draws what a chart has found.
pub(super) fn draw(chart: &Widget, answer: &ChartData, tall: PlotHeight) -> Markup {
    let is_empty = answer.rows.iter().all(|row| row.figures.iter().all(is_nothing));
    if is_empty && chart.chart != ChartKind::Number {
        return nothing(chart, answer);
    }
    match chart.chart {
        ChartKind::LineTimeSeries => over_time(chart, answer, (Form::Lines, tall)),
        ChartKind::AreaTimeSeries => over_time(chart, answer, (Form::Areas, tall)),
        ChartKind::BarTimeSeries => over_time(chart, answer, (Form::Bars, tall)),
        ChartKind::HorizontalBar | ChartKind::Pie => horizontal_bars(chart, answer),
        ChartKind::VerticalBar => vertical_bars(chart, answer, tall),
        ChartKind::Number => number(chart, answer),
        ChartKind::Histogram => histogram(chart, answer, tall),
        ChartKind::PivotTable => pivot::draw(chart, answer),
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

fn nothing(chart: &Widget, answer: &ChartData) -> Markup {
    let how = html! {
        p.muted { "No data in this time range for: " (reading::about(chart)) "." }
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

/// The values of each line, step by step, the greatest line first.
fn lines(chart: &Widget, answer: &ChartData) -> Vec<(String, Vec<Option<f64>>)> {
    let steps = answer.course.len();
    let mut lines: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
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
            let line = lines.entry(name).or_insert_with(|| vec![None; steps]);
            if let Some(slot) = line.get_mut(step) {
                *slot = reading::number(figure);
            }
        }
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    let size = |values: &[Option<f64>]| values.iter().flatten().sum::<f64>();
    lines.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
    lines
}

fn over_time(chart: &Widget, answer: &ChartData, (form, tall): (Form, PlotHeight)) -> Markup {
    let Some(column) = answer.shape.metrics.first() else { return html! {} };
    let all = lines(chart, answer);
    let count = all.len();
    let series = all.into_iter().enumerate().map(|(at, (name, values))| Series {
        name: label(&name),
        hue: at.min(SHOWN),
        values,
    });
    let mut series: Vec<Series> = series.collect();
    let rest = series.split_off(count.min(SHOWN));
    if !rest.is_empty() && reading::adds_up(column) {
        series.push(Series { name: "others".to_owned(), hue: SHOWN, values: add(&rest) });
    }
    // Metrics that do not add up cannot be stacked.
    let stacks = reading::adds_up(column) || series.len() == 1;
    let form = if stacks { form } else { Form::Lines };
    let more = if count > SHOWN && !reading::adds_up(column) {
        format!(", top {SHOWN} of {count}")
    } else {
        String::new()
    };
    chart::over_time(&OverTime {
        title: chart.name.clone(),
        note: format!("{}{more}", note(chart, answer)),
        steps: answer.course.names(),
        series,
        form,
        read: reading::read(column),
        exact: reading::exact(column),
        tall,
        ..OverTime::default()
    })
}

/// The first figure of each row, with its key.
fn firsts(answer: &ChartData) -> Vec<(String, f64)> {
    let one = |row: &MetricsRow| Some((key_of(row), reading::number(row.figures.first()?)?));
    answer.rows.iter().filter_map(one).collect()
}

fn bars<'a>(
    chart: &'a Widget,
    column: &FigureColumn,
    values: &'a [(String, f64)],
) -> HorizontalBars<'a> {
    HorizontalBars {
        title: &chart.name,
        note: String::new(),
        values,
        is_share: chart.chart == ChartKind::Pie && reading::adds_up(column),
        read: reading::read(column),
        exact: reading::exact(column),
    }
}

fn horizontal_bars(chart: &Widget, answer: &ChartData) -> Markup {
    let Some(column) = answer.shape.metrics.first() else { return html! {} };
    let values = firsts(answer);
    bars::horizontal(&HorizontalBars { note: note(chart, answer), ..bars(chart, column, &values) })
}

fn vertical_bars(chart: &Widget, answer: &ChartData, tall: PlotHeight) -> Markup {
    let Some(column) = answer.shape.metrics.first() else { return html! {} };
    let (names, values): (Vec<String>, Vec<f64>) = firsts(answer).into_iter().unzip();
    let series = vec![Series {
        name: String::new(),
        hue: 0,
        values: values.into_iter().map(Some).collect(),
    }];
    chart::over_time(&OverTime {
        title: chart.name.clone(),
        note: note(chart, answer),
        steps: names.iter().map(|name| label(name)).collect(),
        series,
        form: Form::Bars,
        read: reading::read(column),
        exact: reading::exact(column),
        tall,
        ..OverTime::default()
    })
}

fn number(chart: &Widget, answer: &ChartData) -> Markup {
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
                    Some((text, exact)) => { p.stat-value title=(exact) { (text) } },
                    None => {
                        p.stat-value.unknown { "Not enough data" }
                        p.muted { "No data in this time range." }
                    },
                }
            }
        }
    }
}

fn histogram(chart: &Widget, answer: &ChartData, tall: PlotHeight) -> Markup {
    let figure = answer.rows.first().and_then(|row| row.figures.first());
    let Some(Figure::Histogram(bins)) = figure else { return nothing(chart, answer) };
    let stretch = |bin: &Bin| HistogramBin { lower: bin.lower, upper: bin.upper, count: bin.count };
    let bins: Vec<HistogramBin> = bins.iter().map(stretch).collect();
    let read =
        answer.shape.metrics.first().map_or(figure::number as fn(f64) -> String, reading::read);
    let (title, note) = (&chart.name, &note(chart, answer));
    bars::histogram(&Spread { title, note, bins: &bins, colour: "hue-0", read, tall })
}
