//! Who judged the scores of a chart: scores of different judges, or of versions of one, are never
//! averaged.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::catalog::dashboard::widget::{
    AggregationKind, ChartKind, GroupBy, Metric, Widget, WidgetRecords,
};
use ratchet_core::catalog::filter::FilterCondition;
use ratchet_stages::dashboards::view::{COUNT, JUDGE};
use ratchet_store::metrics::{Figure, MetricsRow};

use super::tile::{self, ChartQuery};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Groups whose judges are looked at, at the most.
const MAX_GROUPS: u32 = 1_000;
/// Judges that a note names.
const MAX_NAMED: usize = 2;

/// A chart whose figures are each of one judge.
pub(super) struct JudgedChart<'a> {
    /// Grouped by judge where several gave its scores.
    pub(super) chart: Cow<'a, Widget>,
    /// The only judge whose scores it shows, where it cannot be grouped.
    pub(super) only: Option<String>,
    /// Says who judged.
    pub(super) note: String,
}

/// Finds out who gave the scores of a chart, and tells judges apart.
pub(super) async fn tell_apart<'a>(
    web: &Web,
    ctx: &RequestContext,
    chart: &'a Widget,
    besides: &[FilterCondition],
) -> PageResult<JudgedChart<'a>> {
    let plain = JudgedChart { chart: Cow::Borrowed(chart), only: None, note: String::new() };
    if !has_marks(chart) || chart.dimensions.iter().any(|by| by.field == JUDGE) {
        return Ok(plain);
    }
    let counts = &counts(chart);
    let asked = ChartQuery { chart: counts, besides, judge: None };
    // What is wrong with the chart is said where it is drawn.
    let Ok(found) = tile::answer(web, ctx, &asked).await? else { return Ok(plain) };
    Ok(match judges(&found.rows) {
        GroupJudges::One(names) => JudgedChart { note: named(&names), ..plain },
        GroupJudges::Several(_) if is_grouped(chart) => {
            let mut split = chart.clone();
            split.dimensions.push(GroupBy { field: JUDGE.to_owned() });
            JudgedChart { chart: Cow::Owned(split), ..plain }
        }
        GroupJudges::Several(most) => JudgedChart {
            note: format!(", judged by {most}; scores by others are left out"),
            only: Some(most),
            ..plain
        },
    })
}

/// Whether it is about the values of scores, and not about how many there are.
fn has_marks(chart: &Widget) -> bool {
    let is_of_scores = match chart.view {
        WidgetRecords::ScoresNumeric | WidgetRecords::ScoresBoolean => true,
        WidgetRecords::Observations | WidgetRecords::ScoresCategorical => false,
    };
    let is_value =
        |metric: &Metric| metric.measure != COUNT && metric.aggregation != AggregationKind::Count;
    is_of_scores && (chart.chart == ChartKind::Histogram || chart.metrics.iter().any(is_value))
}

/// Whether it can show several groups.
fn is_grouped(chart: &Widget) -> bool {
    !matches!(chart.chart, ChartKind::Number | ChartKind::Histogram)
}

/// The chart of how many scores each judge gave in each of its groups.
fn counts(chart: &Widget) -> Widget {
    let mut counts = chart.clone();
    if !is_grouped(chart) {
        counts.dimensions.clear();
    }
    counts.dimensions.push(GroupBy { field: JUDGE.to_owned() });
    counts.metrics =
        vec![Metric { measure: COUNT.to_owned(), aggregation: AggregationKind::Count }];
    counts.chart = ChartKind::PivotTable;
    counts.settings.row_limit = Some(MAX_GROUPS);
    counts.settings.default_sort = None;
    counts
}

enum GroupJudges {
    /// No group has more than one; the names of those that say who they are.
    One(BTreeSet<String>),
    /// The one of most scores that says who it is.
    Several(String),
}

fn judges(rows: &[MetricsRow]) -> GroupJudges {
    let mut by_group: BTreeMap<&[Option<String>], BTreeSet<Option<&String>>> = BTreeMap::new();
    let mut counts: BTreeMap<&String, u64> = BTreeMap::new();
    for row in rows {
        let Some((judge, group)) = row.key.split_last() else { continue };
        by_group.entry(group).or_default().insert(judge.as_ref());
        if let (Some(judge), Some(Figure::Count(count))) = (judge, row.figures.first()) {
            *counts.entry(judge).or_default() += count;
        }
    }
    let is_mixed = by_group.values().any(|judges| judges.len() > 1);
    let most = counts.iter().max_by_key(|(_, count)| **count).map(|(judge, _)| (*judge).clone());
    match most.filter(|_| is_mixed) {
        Some(most) => GroupJudges::Several(most),
        None => GroupJudges::One(counts.into_keys().cloned().collect()),
    }
}

fn named(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
    match names.len() {
        0 => String::new(),
        count if count > MAX_NAMED => format!(", judged by {count} judges, each in its own groups"),
        _ => format!(", judged by {}", shown.join(" and ")),
    }
}
