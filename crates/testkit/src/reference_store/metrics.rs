//! Metrics, computed as simply as possible.

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar;
use ratchet_core::time::Timestamp;
use ratchet_store::metrics::{
    Aggregation, Bin, By, Figure, Measure, MetricRequest, MetricsQuery, MetricsRow,
};

use super::column::Cell;

/// A time bucket and a value for each dimension.
type Head = (Option<Timestamp>, Vec<Option<String>>);

/// The rows of an answer, ordered by time and key.
///
/// `records` are those that match the query's conditions; `cell` returns a column of one of them.
pub(super) fn rows<T, C: Copy>(
    query: &MetricsQuery<C>,
    records: &[T],
    began: impl Fn(&T) -> Timestamp,
    cell: impl Fn(&T, C) -> Cell,
) -> Vec<MetricsRow> {
    let is_within = |record: &&T| {
        let at = began(record);
        query.range.from.is_none_or(|from| at >= from) && query.range.to.is_none_or(|to| at < to)
    };
    let mut groups: BTreeMap<Head, Vec<&T>> = BTreeMap::new();
    for record in records.iter().filter(is_within) {
        let at = began(record);
        let word = |by: &By<C>| match by {
            By::Day => Some(calendar::day(at)),
            By::Month => Some(calendar::month(at)),
            By::Column(column) => shown(&cell(record, *column)).filter(|word| !word.is_empty()),
        };
        let key = query.by.iter().map(word).collect();
        let step = query.every.map(|width| width.start_of(at));
        groups.entry((step, key)).or_default().push(record);
    }
    let figures = |records: &[&T]| {
        let figure = |metric: &MetricRequest<C>| {
            let value = |record: &&T| match metric.measure {
                Measure::Records => Some(Cell::Number(Some(1.0))),
                Measure::Column(column) => Some(cell(record, column)).filter(is_there),
            };
            figure(metric.aggregation, &records.iter().filter_map(value).collect::<Vec<_>>())
        };
        query.metrics.iter().map(figure).collect()
    };
    let row = |((at, key), records): ((_, _), Vec<&T>)| MetricsRow {
        at,
        key,
        figures: figures(&records),
    };
    groups.into_iter().map(row).collect()
}

fn shown(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => number.map(|number| number.to_string()),
        Cell::Truth(truth) => Some(truth.to_string()),
        Cell::Tags(tags) => (!tags.is_empty()).then(|| serde_json::to_string(tags).unwrap()),
        Cell::Time(_) | Cell::Keys(_) | Cell::Numbers(_) | Cell::Labels(_) | Cell::Models(_) => {
            panic!("nobody groups by this")
        }
    }
}

fn is_there(cell: &Cell) -> bool {
    shown(cell).is_some_and(|word| !word.is_empty())
}

fn figure(aggregation: Aggregation, cells: &[Cell]) -> Figure {
    let number = |cell: &Cell| match cell {
        Cell::Number(Some(number)) => *number,
        _ => f64::NAN,
    };
    let mut values: Vec<f64> = cells.iter().map(number).collect();
    values.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "tests count in small numbers")]
    let count = values.len() as f64;
    let some = |value: f64| if values.is_empty() { Figure::None } else { Figure::Number(value) };
    match aggregation {
        Aggregation::Count => Figure::Count(cells.len() as u64),
        Aggregation::Distinct => {
            let words: BTreeSet<_> = cells.iter().map(shown).collect();
            Figure::Count(words.len() as u64)
        }
        Aggregation::Sum => some(values.iter().sum()),
        Aggregation::Average => some(values.iter().sum::<f64>() / count),
        Aggregation::Min => some(values.first().copied().unwrap_or_default()),
        Aggregation::Max => some(values.last().copied().unwrap_or_default()),
        Aggregation::Percentile(percent) => {
            let reaches = |value: &&f64| {
                let up_to = values.iter().filter(|other| other <= value).count();
                up_to * 100 >= values.len() * usize::from(percent)
            };
            some(values.iter().find(reaches).copied().unwrap_or_default())
        }
        Aggregation::Histogram { bins } => histogram(bins, &values),
    }
}

fn histogram(bins: u8, values: &[f64]) -> Figure {
    let (Some(least), Some(most)) = (values.first(), values.last()) else { return Figure::None };
    if least == most {
        let count = values.len() as u64;
        return Figure::Histogram(vec![Bin { lower: *least, upper: *most, count }]);
    }
    let width = (most - least) / f64::from(bins);
    let edge = |bin: u8| if bin == bins { *most } else { least + width * f64::from(bin) };
    let bin = |bin: u8| {
        let (lower, upper) = (edge(bin), edge(bin + 1));
        let is_last = bin + 1 == bins;
        let is_inside = |value: &&f64| **value >= lower && (**value < upper || is_last);
        Bin { lower, upper, count: values.iter().filter(is_inside).count() as u64 }
    };
    Figure::Histogram((0..bins).map(bin).collect())
}
