use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use ratchet_core::calendar::{self, Granularity};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::metrics::{DailyMetrics, ModelUsage};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_store::aggregate::AggregateSource;
use ratchet_store::metrics::{
    Aggregation, By, Figure, Measure, MetricRequest, MetricsQuery, MetricsRow, OTHER_GROUP,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, PageNumber, Paging, Test, TimeRange,
    TraceColumn, TraceOrder, TraceQuery,
};

use super::daily_traces::{self, Counted, RequestKey};
use crate::app::App;
use crate::auth::Reader;
use crate::error::ApiResult;
use crate::langfuse::params::{self, PageParams, Params};

/// A parsed request.
pub(super) struct ListRequest {
    project: ProjectId,
    pub(super) range: TimeRange,
    name: Option<String>,
    user: Option<String>,
    tags: Vec<String>,
    environments: Vec<String>,
}

/// `GET /api/public/metrics/daily`: traces, observations, usage and costs by day, newest first.
#[utoipa::path(
    get,
    path = "/api/public/metrics/daily",
    tag = "Metrics",
    params(
        PageParams,
        ("traceName" = Option<String>, Query, description = "Name of the trace."),
        ("userId" = Option<String>, Query, description = "User of the trace."),
        ("tags" = Option<Vec<String>>, Query, description = "The trace has all of these tags."),
        ("environment" = Option<Vec<String>>, Query, description = "Any of these environments."),
        ("fromTimestamp" = Option<Time>, Query, description = "Started at this time or later."),
        ("toTimestamp" = Option<Time>, Query, description = "Started before this time."),
    ),
    responses((status = 200, body = Paged<DailyMetrics>))
)]
pub(in crate::langfuse) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Paged<DailyMetrics>>> {
    let page = params.page();
    let asked = ListRequest {
        project: caller.project,
        range: params.range("fromTimestamp", "toTimestamp"),
        name: params.text("traceName"),
        user: params.text("userId"),
        tags: params.list("tags"),
        environments: params.list("environment"),
    };
    params.finish()?;
    let days = asked.days(&app).await?;
    let total = days.len() as u64;
    let skipped = page.page.saturating_sub(1).saturating_mul(page.limit);
    let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
    let on_page = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let data = days.into_iter().rev().skip(skipped).take(on_page).collect();
    Ok(Json(Paged { data, meta: params::meta(page, Some(total)) }))
}

impl ListRequest {
    /// All days, oldest first: sums from the hourly rollup, if it has them.
    async fn days(&self, app: &App) -> ApiResult<Vec<DailyMetrics>> {
        let telemetry = &app.store.telemetry;
        let sums = telemetry.observation_metrics(self.observations(sums())).await?;
        let is_other = |row: &MetricsRow| row.key.first().is_some_and(is_other_group);
        if sums.source == AggregateSource::Rollup && !sums.rows.iter().any(is_other) {
            let counted = daily_traces::counts(app, self, &sums.rows).await?;
            return Ok(with_counts(&counted, &sums.rows));
        }
        let traces = telemetry.trace_metrics(self.traces(self.range)).await?;
        let metrics = sums_and_traces();
        let observations = telemetry.observation_metrics(self.observations(metrics)).await?;
        Ok(days(&traces.rows, &observations.rows))
    }

    pub(super) fn key(&self) -> RequestKey {
        let (project, environments) = (self.project.clone(), self.environments.clone());
        RequestKey { project, range: self.range, environments }
    }

    /// Number of traces of the project, which costs nothing.
    pub(super) async fn recorded_traces(&self, app: &App) -> ApiResult<u64> {
        let query = TraceQuery {
            project: self.project.clone(),
            range: TimeRange::default(),
            conditions: Vec::new(),
            order: (TraceOrder::Timestamp, Direction::Descending),
            paging: Paging::Numbered(PageNumber { page: 1, limit: 1 }),
            detail: Detail::Row,
        };
        Ok(app.store.telemetry.traces(query).await?.total.unwrap_or(0))
    }

    pub(super) fn traces(&self, range: TimeRange) -> MetricsQuery<TraceColumn> {
        MetricsQuery {
            project: self.project.clone(),
            range,
            conditions: self.conditions([
                TraceColumn::Name,
                TraceColumn::User,
                TraceColumn::Tags,
                TraceColumn::Environment,
            ]),
            by: Vec::new(),
            every: Some(Granularity::Day),
            metrics: vec![figure(Measure::Records, Aggregation::Count)],
        }
    }

    /// Distinct traces by model.
    pub(super) fn traces_by_model(&self, range: TimeRange) -> MetricsQuery<ObservationColumn> {
        MetricsQuery { range, ..self.observations(vec![distinct_traces()]) }
    }

    fn observations(
        &self,
        metrics: Vec<MetricRequest<ObservationColumn>>,
    ) -> MetricsQuery<ObservationColumn> {
        MetricsQuery {
            project: self.project.clone(),
            range: self.range,
            conditions: self.conditions([
                ObservationColumn::TraceName,
                ObservationColumn::TraceUser,
                ObservationColumn::TraceTags,
                ObservationColumn::Environment,
            ]),
            by: vec![By::Column(ObservationColumn::Model)],
            every: Some(Granularity::Day),
            metrics,
        }
    }

    /// The same conditions on the corresponding columns of each kind of record.
    fn conditions<C>(&self, [name, user, tags, environment]: [C; 4]) -> Vec<Condition<C>> {
        let is = |column, text: &Option<String>| Some(Condition::equals(column, text.as_deref()?));
        let several = |column, words: &[String], test: fn(Vec<String>) -> Test| {
            (!words.is_empty()).then(|| Condition { column, test: test(words.to_vec()) })
        };
        let conditions = [
            is(name, &self.name),
            is(user, &self.user),
            several(tags, &self.tags, Test::AllOf),
            several(environment, &self.environments, Test::AnyOf),
        ];
        conditions.into_iter().flatten().collect()
    }
}

fn figure<C>(measure: Measure<C>, aggregation: Aggregation) -> MetricRequest<C> {
    MetricRequest { measure, aggregation }
}

fn distinct_traces() -> MetricRequest<ObservationColumn> {
    figure(Measure::Column(ObservationColumn::Trace), Aggregation::Distinct)
}

/// What the rollup sums.
fn sums() -> Vec<MetricRequest<ObservationColumn>> {
    let sum = |column| figure(Measure::Column(column), Aggregation::Sum);
    vec![
        figure(Measure::Records, Aggregation::Count),
        sum(ObservationColumn::InputTokens),
        sum(ObservationColumn::OutputTokens),
        sum(ObservationColumn::TotalTokens),
        sum(ObservationColumn::Cost),
    ]
}

fn sums_and_traces() -> Vec<MetricRequest<ObservationColumn>> {
    sums().into_iter().chain([distinct_traces()]).collect()
}

/// Whether a group stands for all models beyond those that are kept apart.
fn is_other_group(model: &Option<String>) -> bool {
    model.as_deref() == Some(OTHER_GROUP)
}

/// The days of sums, with counted traces.
fn with_counts(counted: &Counted, sums: &[MetricsRow]) -> Vec<DailyMetrics> {
    let mut days = BTreeMap::new();
    for (at, counts) in &counted.days {
        let row = MetricsRow { at: *at, key: Vec::new(), figures: Vec::new() };
        day(&mut days, &row).count_traces = counts.traces;
    }
    for row in sums {
        let counts = counted.days.get(&row.at);
        let traces = counts.and_then(|day| day.by_model.get(&row.key.first().cloned().flatten()));
        add(day(&mut days, row), row, traces.copied().unwrap_or(0));
    }
    days.into_values().collect()
}

fn days(traces: &[MetricsRow], observations: &[MetricsRow]) -> Vec<DailyMetrics> {
    let mut days: BTreeMap<Option<Timestamp>, DailyMetrics> = BTreeMap::new();
    for row in traces {
        day(&mut days, row).count_traces = count(row, 0);
    }
    for row in observations {
        add(day(&mut days, row), row, count(row, 5));
    }
    days.into_values().collect()
}

/// Adds the sums of a model to its day.
fn add(day: &mut DailyMetrics, row: &MetricsRow, count_traces: u64) {
    let cost = number(row, 4);
    day.count_observations += count(row, 0);
    day.total_cost += cost;
    day.usage.push(ModelUsage {
        model: row.key.first().cloned().flatten(),
        input_usage: count(row, 1),
        output_usage: count(row, 2),
        total_usage: count(row, 3),
        count_traces,
        count_observations: count(row, 0),
        total_cost: cost,
    });
}

fn day<'a>(
    days: &'a mut BTreeMap<Option<Timestamp>, DailyMetrics>,
    row: &MetricsRow,
) -> &'a mut DailyMetrics {
    days.entry(row.at).or_insert_with(|| DailyMetrics {
        date: row.at.map(calendar::day).unwrap_or_default(),
        count_traces: 0,
        count_observations: 0,
        total_cost: 0.0,
        usage: Vec::new(),
    })
}

fn number(row: &MetricsRow, place: usize) -> f64 {
    match row.figures.get(place) {
        Some(Figure::Number(number)) => *number,
        _ => 0.0,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of counts, and casts stop at the edge"
)]
pub(super) fn count(row: &MetricsRow, place: usize) -> u64 {
    match row.figures.get(place) {
        Some(Figure::Count(count)) => *count,
        Some(Figure::Number(number)) => *number as u64,
        _ => 0,
    }
}
