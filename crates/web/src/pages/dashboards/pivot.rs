use std::cmp::Ordering;
use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::catalog::dashboard::widget::Widget;
use ratchet_stages::dashboards::response::FigureColumn;
use ratchet_store::metrics::{Figure, MetricsRow};

use super::drawing::note;
use super::drill::Drill;
use super::reading;
use super::tile::ChartData;
use crate::components::chart;
use crate::components::table::{self, Column, Order, Row, Sort, Table};
use crate::request_context::RequestContext;

/// Columns that a table by two dimensions has at most.
const ACROSS: usize = 30;

/// A table: by two dimensions one figure, otherwise every figure of every key.
pub(super) fn draw(chart: &Widget, answer: &ChartData, drill: Option<&Drill<'_>>) -> Markup {
    let is_crossed = answer.shape.by.len() == 2 && chart.metrics.len() == 1;
    let across = if is_crossed { Crossed::of(answer) } else { Crossed::default() };
    let (columns, rows) =
        if is_crossed { across.draw(chart, drill) } else { listed(chart, answer, drill) };
    let caption = chart.name.clone();
    html! {
        figure.chart {
            (chart::caption(&chart.name, &note(chart, answer)))
            (table::table(&Table { caption, columns, rows, select_for: None }))
            @if across.left_out > 0 {
                p.muted { "The " (ACROSS) " greatest columns; " (across.left_out) " more are left out." }
            }
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
        link: drill.and_then(|drill| drill.keys(&row.key)),
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
        self.directed(ordering)
    }

    const fn directed(self, ordering: Ordering) -> Ordering {
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

fn cell(figure: &Figure, column: &FigureColumn) -> Markup {
    html! {
        @match reading::number(figure) {
            Some(number) => {
                span title=(reading::exact(column)(number)) { (reading::read(column)(number)) }
            },
            None => { span.muted { "–" } },
        }
    }
}

/// One figure by two dimensions: rows by the first, columns by the second, the greatest first.
#[derive(Default)]
struct Crossed<'a> {
    down: Vec<&'a Option<String>>,
    across: Vec<&'a Option<String>>,
    cells: BTreeMap<(&'a Option<String>, &'a Option<String>), &'a MetricsRow>,
    first: &'static str,
    column: Option<&'a FigureColumn>,
    /// Columns that are not shown.
    left_out: usize,
}

impl<'a> Crossed<'a> {
    fn of(answer: &'a ChartData) -> Self {
        let mut all = Self {
            first: answer.shape.by.first().map_or("", |by| by.name),
            column: answer.shape.metrics.first(),
            ..Self::default()
        };
        // The rows come with the greatest first.
        for row in &answer.rows {
            let [left, top] = row.key.as_slice() else { continue };
            for (seen, part) in [(&mut all.down, left), (&mut all.across, top)] {
                if !seen.contains(&part) {
                    seen.push(part);
                }
            }
            all.cells.insert((left, top), row);
        }
        all.left_out = all.across.len().saturating_sub(ACROSS);
        all.across.truncate(ACROSS);
        all
    }

    fn draw(&self, chart: &Widget, drill: Option<&Drill<'_>>) -> (Vec<Column>, Vec<Row>) {
        let sort = drill.and_then(|drill| TableOrder::asked(chart, drill.ctx));
        let names = self.across.iter().map(|top| Column::number(&reading::key(top.as_deref())));
        let names = std::iter::once(Column::text(&reading::dimension(self.first))).chain(names);
        let heads = names.enumerate().map(|(index, column)| match drill {
            Some(drill) => column.sorted_by(TableOrder::head(chart, drill.ctx, (sort, index))),
            None => column,
        });
        let mut down = self.down.clone();
        if let Some(sort) = sort {
            down.sort_by(|one, other| sort.directed(self.compare(sort.column, (one, other))));
        }
        (heads.collect(), down.into_iter().map(|left| self.row(left, drill)).collect())
    }

    fn compare(
        &self,
        column: usize,
        (one, other): (&'a Option<String>, &'a Option<String>),
    ) -> Ordering {
        let Some(top) = column.checked_sub(1).and_then(|at| self.across.get(at)) else {
            return one.cmp(other);
        };
        let number = |left: &'a Option<String>| {
            let row = self.cells.get(&(left, *top));
            row.and_then(|row| reading::number(row.figures.first()?)).unwrap_or(f64::MIN)
        };
        number(one).total_cmp(&number(other))
    }

    fn row(&self, left: &'a Option<String>, drill: Option<&Drill<'_>>) -> Row {
        let name = html! { bdi { (reading::key(left.as_deref())) } };
        let cells = self.across.iter().map(|top| self.cell(left, top, drill));
        Row {
            id: left.clone().unwrap_or_default(),
            link: drill.and_then(|drill| drill.keys(std::slice::from_ref(left))),
            cells: std::iter::once(name).chain(cells).collect(),
            ..Row::default()
        }
    }

    fn cell(
        &self,
        left: &'a Option<String>,
        top: &'a Option<String>,
        drill: Option<&Drill<'_>>,
    ) -> Markup {
        let found = self.cells.get(&(left, top)).zip(self.column);
        let Some((row, column)) = found else { return Markup::default() };
        let Some(figure) = row.figures.first() else { return Markup::default() };
        let text = cell(figure, column);
        html! {
            @match drill.and_then(|drill| drill.keys(&row.key)) {
                Some(link) => { a href=(link) { (text) } },
                None => { (text) },
            }
        }
    }
}
