//! From figures to the answer: names, units, order, and the steps of time that have nothing.

use std::cmp::Ordering;

use ratchet_core::calendar::{self, Granularity};
use ratchet_core::time::Timestamp;
use ratchet_store::metrics::{Aggregation, Figure, MetricsRow};
use ratchet_store::query::TimeRange;
use serde_json::{Map, Value, json};

use super::view::{Form, Unit};

/// The column with the time bucket of a row.
pub const TIME: &str = "time_dimension";
/// Steps of time that are filled in at most.
const MAX_FILLED: usize = 10_000;

#[derive(Debug)]
pub struct Shape {
    pub range: TimeRange,
    pub by: Vec<ResultDimension>,
    /// How wide its steps of time are, if it has any.
    pub every: Option<Granularity>,
    pub metrics: Vec<FigureColumn>,
    /// Sort order; by time or by the first metric when empty.
    pub order: Vec<Order>,
    /// Rows at most.
    pub row_limit: Option<usize>,
}

/// A dimension of the response.
#[derive(Debug)]
pub struct ResultDimension {
    pub name: &'static str,
    /// Format of its values.
    pub form: Form,
}

/// A figure in the answer.
#[derive(Debug)]
pub struct FigureColumn {
    /// What it is called, as `sum_totalCost`.
    pub name: String,
    /// What it is given in.
    pub unit: Unit,
    pub aggregation: Aggregation,
}

/// Sort order of rows.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub by: ResultColumn,
    pub is_descending: bool,
}

/// A column of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultColumn {
    Time,
    Dimension(usize),
    Metric(usize),
}

impl Shape {
    /// An answer with nothing in it yet.
    pub fn over(range: TimeRange) -> Self {
        let (by, metrics, order) = (Vec::new(), Vec::new(), Vec::new());
        Self { range, by, every: None, metrics, order, row_limit: None }
    }

    /// The names of all columns.
    pub fn names(&self) -> Vec<String> {
        let time = self.every.map(|_| TIME.to_owned());
        let by = self.by.iter().map(|by| by.name.to_owned());
        time.into_iter().chain(by).chain(self.metrics.iter().map(|m| m.name.clone())).collect()
    }

    /// The column of a name; a measure's name alone will do for its first figure.
    pub fn place_of(&self, name: &str) -> Option<ResultColumn> {
        if name == TIME && self.every.is_some() {
            return Some(ResultColumn::Time);
        }
        let metric = self.metrics.iter().position(|metric| metric.name == name);
        let dimension =
            || self.by.iter().position(|by| by.name == name).map(ResultColumn::Dimension);
        let measure = || {
            let ends = format!("_{name}");
            self.metrics
                .iter()
                .position(|metric| metric.name.ends_with(&ends))
                .map(ResultColumn::Metric)
        };
        metric.map(ResultColumn::Metric).or_else(dimension).or_else(measure)
    }

    /// Whether the rows with the greatest figure come first.
    pub fn is_sorted_descending(&self) -> bool {
        let is_figure = |order: &&Order| matches!(order.by, ResultColumn::Metric(_));
        self.order.iter().find(|order| order.is_descending).as_ref().is_some_and(is_figure)
    }

    /// Whether a percentile is among the figures.
    pub fn has_percentiles(&self) -> bool {
        let is_percentile =
            |column: &FigureColumn| matches!(column.aggregation, Aggregation::Percentile(_));
        self.metrics.iter().any(is_percentile)
    }

    /// Puts the rows in order, fills the gaps, cuts, and writes them out.
    pub fn show(&self, rows: Vec<MetricsRow>) -> Vec<Map<String, Value>> {
        self.arrange(rows).iter().map(|row| self.row(row)).collect()
    }

    /// Puts the rows in order, fills the gaps, and cuts.
    pub fn arrange(&self, mut rows: Vec<MetricsRow>) -> Vec<MetricsRow> {
        let fills = self.order.is_empty();
        let order = match (self.order.as_slice(), self.every) {
            ([], Some(_)) => vec![Order { by: ResultColumn::Time, is_descending: false }],
            ([], None) => vec![Order { by: ResultColumn::Metric(0), is_descending: true }],
            (levels, _) => levels.to_vec(),
        };
        // A stable order: rows that are equal stay by time and key.
        rows.sort_by(|a, b| compare(a, b, &order));
        if let Some(every) = self.every.filter(|_| fills) {
            rows = self.filled(rows, every);
        }
        rows.truncate(self.row_limit.unwrap_or(usize::MAX));
        rows
    }

    /// The rows, by time, with a row of nothing for each step that has none.
    fn filled(&self, rows: Vec<MetricsRow>, every: Granularity) -> Vec<MetricsRow> {
        let (Some(from), Some(to)) = (self.range.from, self.range.to) else { return rows };
        let most = self.row_limit.unwrap_or(usize::MAX).min(MAX_FILLED);
        let mut filled = Vec::new();
        let mut rows = rows.into_iter().peekable();
        let mut step = every.start_of(from);
        while step < to && filled.len() < most {
            let mut is_empty = true;
            while let Some(row) = rows.next_if(|row| row.at <= Some(step)) {
                filled.push(row);
                is_empty = false;
            }
            if is_empty {
                filled.push(self.nothing(step));
            }
            step = every.next(step);
        }
        filled.extend(rows);
        filled
    }

    fn nothing(&self, at: Timestamp) -> MetricsRow {
        let figure = |column: &FigureColumn| match column.aggregation {
            Aggregation::Count | Aggregation::Distinct => Figure::Count(0),
            Aggregation::Sum => Figure::Number(0.0),
            Aggregation::Average
            | Aggregation::Min
            | Aggregation::Max
            | Aggregation::Percentile(_)
            | Aggregation::Histogram { .. } => Figure::None,
        };
        let figures = self.metrics.iter().map(figure).collect();
        MetricsRow { at: Some(at), key: vec![None; self.by.len()], figures }
    }

    fn row(&self, row: &MetricsRow) -> Map<String, Value> {
        let mut shown = Map::new();
        for (by, word) in self.by.iter().zip(&row.key) {
            shown.insert(by.name.to_owned(), dimension(by.form, word.as_deref()));
        }
        if let (Some(every), Some(at)) = (self.every, row.at) {
            shown.insert(TIME.to_owned(), Value::String(moment(at, every)));
        }
        for (column, figure) in self.metrics.iter().zip(&row.figures) {
            shown.insert(column.name.clone(), column.value(figure));
        }
        shown
    }
}

impl FigureColumn {
    fn value(&self, figure: &Figure) -> Value {
        let in_unit = |number: f64| {
            if self.unit == Unit::Milliseconds { number * 1e3 } else { number }
        };
        match figure {
            Figure::None => Value::Null,
            Figure::Count(count) => json!(count),
            Figure::Number(number) => self.number(in_unit(*number)),
            Figure::Histogram(bins) => {
                let bin = |bin: &ratchet_store::metrics::Bin| {
                    json!([in_unit(bin.lower), in_unit(bin.upper), bin.count])
                };
                Value::Array(bins.iter().map(bin).collect())
            }
        }
    }

    fn number(&self, number: f64) -> Value {
        /// Beyond this, floats skip whole numbers.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let is_whole = self.unit == Unit::Pieces && number.fract() == 0.0 && number.abs() <= EXACT;
        if is_whole {
            #[expect(clippy::cast_possible_truncation, reason = "checked on the line above")]
            return json!(number as i64);
        }
        json!(number)
    }
}

fn compare(a: &MetricsRow, b: &MetricsRow, orders: &[Order]) -> Ordering {
    orders.iter().fold(Ordering::Equal, |so_far, order| {
        so_far.then_with(|| {
            let ordering = match order.by {
                ResultColumn::Time => a.at.cmp(&b.at),
                ResultColumn::Dimension(index) => a.key.get(index).cmp(&b.key.get(index)),
                ResultColumn::Metric(index) => {
                    let size = |row: &MetricsRow| row.figures.get(index).and_then(size);
                    compare_sizes(size(a), size(b))
                }
            };
            if order.is_descending { ordering.reverse() } else { ordering }
        })
    })
}

/// Nothing is less than anything.
fn compare_sizes(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "to put counts in order")]
fn size(figure: &Figure) -> Option<f64> {
    match figure {
        Figure::None => None,
        Figure::Count(count) => Some(*count as f64),
        Figure::Number(number) => Some(*number),
        Figure::Histogram(bins) => Some(bins.iter().map(|bin| bin.count as f64).sum()),
    }
}

fn dimension(form: Form, word: Option<&str>) -> Value {
    match (form, word) {
        (Form::Tags, None) => json!([]),
        (_, None) => Value::Null,
        (Form::Text, Some(word)) => json!(word),
        (Form::Number | Form::Tags, Some(word)) => {
            serde_json::from_str(word).unwrap_or_else(|_| json!(word))
        }
        (Form::Truth, Some(word)) => json!(matches!(word, "true" | "1")),
    }
}

/// Days and longer as a date, shorter steps as a moment.
fn moment(at: Timestamp, every: Granularity) -> String {
    match every {
        Granularity::Minute | Granularity::Hour => at.to_string(),
        Granularity::Day | Granularity::Week | Granularity::Month => calendar::day(at),
    }
}
