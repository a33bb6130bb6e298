use std::cmp::Ordering;
use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::catalog::dashboard::widget::Widget;
use ratchet_store::metrics::{Figure, MetricsRow};

use super::drawing::note;
use super::drill::Drill;
use super::reading;
use super::tile::ChartData;
use crate::components::chart;
use crate::components::table::{self, Column, Order, Row, Sort, Table};
use crate::request_context::RequestContext;

/// Columns that a table by two dimensions has at most.
const ACROSS: usize = 10;

/// A table: by two dimensions one figure, otherwise every figure of every key.
pub(super) fn draw(chart: &Widget, answer: &ChartData, drill: Option<&Drill<'_>>) -> Markup {
    let is_crossed = answer.shape.by.len() == 2 && chart.metrics.len() == 1;
    let (columns, rows) = if is_crossed { crossed(answer) } else { listed(chart, answer, drill) };
    let caption = chart.name.clone();
    html! {
        figure.chart {
            (chart::caption(&chart.name, &note(chart, answer)))
            (table::table(&Table { caption, columns, rows, select_for: None }))
        }
    }
}

fn listed(
    chart: &Widget,
    answer: &ChartData,
    drill: Option<&Drill<'_>>,
) -> (Vec<Column>, Vec<Row>) {
    let sort = drill.and_then(|drill| TableOrder::asked(chart, drill.ctx));
    let by = answer.shape.by.iter().map(|by| Column::text(&reading::dimension(by.name)));
    let metrics = chart.metrics.iter();
    let metrics = metrics.map(|metric| Column::number(&reading::metric(metric, chart.view)));
    let heads = by.chain(metrics).enumerate().map(|(index, column)| match drill {
        Some(drill) => column.sorted_by(TableOrder::head(chart, drill.ctx, (sort, index))),
        None => column,
    });
    let row = |row: &&MetricsRow| Row {
        id: row.key.iter().flatten().cloned().collect::<Vec<_>>().join(" "),
        link: drill.and_then(|drill| drill.key(row.key.first()?.as_deref())),
        cells: words(row).chain(figures(chart, answer, row)).collect(),
        ..Row::default()
    };
    let mut rows: Vec<&MetricsRow> = answer.rows.iter().collect();
    if let Some(sort) = sort {
        rows.sort_by(|one, other| sort.compare(one, other));
    }
    (heads.collect(), rows.iter().map(row).collect())
}

/// By which column of a table rows are sorted, and which way: `sort=WIDGET~COLUMN~asc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TableOrder {
    column: usize,
    order: Order,
}

impl TableOrder {
    fn asked(chart: &Widget, ctx: &RequestContext) -> Option<Self> {
        let (rest, order) = ctx.params.get("sort")?.rsplit_once('~')?;
        let (id, column) = rest.rsplit_once('~')?;
        let order = if order == "asc" { Order::Ascending } else { Order::Descending };
        let column = column.parse().ok()?;
        (id == chart.id).then_some(Self { column, order })
    }

    fn head(chart: &Widget, ctx: &RequestContext, (now, column): (Option<Self>, usize)) -> Sort {
        let now = now.filter(|now| now.column == column).map(|now| now.order);
        let word = if now == Some(Order::Descending) { "asc" } else { "desc" };
        Sort { link: ctx.here().with("sort", format!("{}~{column}~{word}", chart.id)), now }
    }

    fn compare(self, one: &MetricsRow, other: &MetricsRow) -> Ordering {
        let keys = one.key.len();
        let number = |row: &MetricsRow| {
            row.figures.get(self.column - keys).and_then(reading::number).unwrap_or(f64::MIN)
        };
        let ordering = if self.column < keys {
            one.key.get(self.column).cmp(&other.key.get(self.column))
        } else {
            number(one).total_cmp(&number(other))
        };
        match self.order {
            Order::Ascending => ordering,
            Order::Descending => ordering.reverse(),
        }
    }
}

fn words(row: &MetricsRow) -> impl Iterator<Item = Markup> {
    row.key.iter().map(|word| html! { bdi { (reading::key(word.as_deref())) } })
}

fn figures(chart: &Widget, answer: &ChartData, row: &MetricsRow) -> impl Iterator<Item = Markup> {
    let own = row.figures.iter().take(chart.metrics.len());
    own.zip(&answer.shape.metrics).map(|(figure, column)| cell(figure, column))
}

fn cell(figure: &Figure, column: &ratchet_stages::dashboards::response::FigureColumn) -> Markup {
    html! {
        @match reading::number(figure) {
            Some(number) => {
                span title=(reading::exact(column)(number)) { (reading::read(column)(number)) }
            },
            None => { span.muted { "–" } },
        }
    }
}

/// Rows by the first dimension, columns by the second, the busiest first.
fn crossed(answer: &ChartData) -> (Vec<Column>, Vec<Row>) {
    let word =
        |row: &MetricsRow, at: usize| reading::key(row.key.get(at).and_then(|key| key.as_deref()));
    let mut across: Vec<String> = Vec::new();
    let mut down: Vec<String> = Vec::new();
    let mut cells: BTreeMap<(String, String), &Figure> = BTreeMap::new();
    // The rows come with the greatest first.
    for row in &answer.rows {
        let (left, top) = (word(row, 0), word(row, 1));
        for (seen, name) in [(&mut down, &left), (&mut across, &top)] {
            if !seen.contains(name) {
                seen.push(name.clone());
            }
        }
        if let Some(figure) = row.figures.first() {
            cells.insert((left, top), figure);
        }
    }
    across.truncate(ACROSS);
    let column = answer.shape.metrics.first();
    let row = |left: &String| {
        let name = html! { bdi { (left) } };
        let figures = across.iter().map(|top| {
            let found = cells.get(&(left.clone(), top.clone())).zip(column);
            html! { @if let Some((figure, column)) = found { (cell(figure, column)) } }
        });
        let cells = std::iter::once(name).chain(figures).collect();
        Row { id: left.clone(), cells, ..Row::default() }
    };
    let first = answer.shape.by.first().map_or("", |by| by.name);
    let columns = std::iter::once(Column::text(&reading::dimension(first)));
    let columns = columns.chain(across.iter().map(|top| Column::number(top))).collect();
    (columns, down.iter().map(row).collect())
}
