//! The series or bar of all keys that a chart does not show one by one.

use ratchet_core::catalog::dashboard::widget::{ChartKind, Widget, WidgetRecords};
use ratchet_core::catalog::filter::{FilterCondition, FilterKind, Operator};
use ratchet_core::record::field_table::{FieldKind, OBSERVATION, SCORE};
use serde_json::{Value, json};

use super::reading;
use super::tile::ChartData;

/// Name of the series.
pub(super) const OTHERS: &str = "others";

/// The chart of all other keys together, and its conditions: `None` if all keys are shown, or if
/// there is no condition that leaves keys out.
///
/// Means and percentiles of several keys are not made of theirs, so they are queried.
pub(super) fn query(
    chart: &Widget,
    answer: &ChartData,
    shown: &[Option<String>],
) -> Option<(Widget, Vec<FilterCondition>)> {
    let [dimension] = chart.dimensions.as_slice() else { return None };
    let has_sum = answer.shape.metrics.first().is_some_and(reading::adds_up);
    let is_drawn = match chart.chart {
        ChartKind::Number | ChartKind::Histogram | ChartKind::PivotTable => false,
        // The sum of the other lines is at hand.
        _ if is_over_time(chart) => !has_sum,
        _ => true,
    };
    if !is_drawn {
        return None;
    }
    let column = dimension.field.as_str();
    let kind = match chart.view {
        WidgetRecords::Observations => OBSERVATION.by_api_name(column)?.kind,
        WidgetRecords::ScoresNumeric
        | WidgetRecords::ScoresBoolean
        | WidgetRecords::ScoresCategorical => SCORE.by_api_name(column)?.kind,
    };
    let keys = answer.rows.iter().map(|row| row.key.first().cloned().flatten());
    let is_whole = keys.into_iter().all(|key| shown.contains(&key)) && !is_cut(chart, answer);
    if is_whole || !matches!(kind, FieldKind::Text | FieldKind::Choice) {
        return None;
    }
    let condition = |kind, operator, value: Value| FilterCondition {
        column: column.to_owned(),
        operator,
        kind,
        value,
        key: None,
    };
    let words: Vec<&String> = shown.iter().flatten().collect();
    let mut conditions = vec![condition(FilterKind::StringOptions, Operator::NoneOf, json!(words))];
    if shown.contains(&None) {
        conditions.push(condition(FilterKind::Null, Operator::IsNotNull, Value::Null));
    }
    let together = Widget { dimensions: Vec::new(), ..chart.clone() };
    Some((together, conditions))
}

/// Whether there may be more keys than the answer has.
fn is_cut(chart: &Widget, answer: &ChartData) -> bool {
    let limit = answer.shape.row_limit;
    !is_over_time(chart) && limit.is_some_and(|limit| answer.rows.len() >= limit)
}

fn is_over_time(chart: &Widget) -> bool {
    matches!(
        chart.chart,
        ChartKind::LineTimeSeries | ChartKind::AreaTimeSeries | ChartKind::BarTimeSeries
    )
}
