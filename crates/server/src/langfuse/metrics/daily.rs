use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use ratchet_core::calendar::{self, Granularity};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::metrics::{DailyMetrics, ModelUsage};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_store::metrics::{
    Aggregation, By, Figure, Measure, MetricRequest, MetricsQuery, MetricsRow,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Condition, ObservationColumn, Test, TimeRange, TraceColumn};

use crate::app::App;
use crate::auth::Reader;
use crate::error::ApiResult;
use crate::langfuse::params::{self, PageParams, Params};

/// A parsed request.
struct ListRequest {
    project: ProjectId,
    range: TimeRange,
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
    let traces = app.store.telemetry.trace_metrics(asked.traces()).await?;
    let observations = app.store.telemetry.observation_metrics(asked.observations()).await?;
    let days = days(&traces.rows, &observations.rows);
    let total = days.len() as u64;
    let skipped = page.page.saturating_sub(1).saturating_mul(page.limit);
    let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
    let on_page = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let data = days.into_iter().rev().skip(skipped).take(on_page).collect();
    Ok(Json(Paged { data, meta: params::meta(page, Some(total)) }))
}

impl ListRequest {
    fn traces(&self) -> MetricsQuery<TraceColumn> {
        MetricsQuery {
            project: self.project.clone(),
            range: self.range,
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

    fn observations(&self) -> MetricsQuery<ObservationColumn> {
        let sum = |column| figure(Measure::Column(column), Aggregation::Sum);
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
            metrics: vec![
                figure(Measure::Records, Aggregation::Count),
                figure(Measure::Column(ObservationColumn::Trace), Aggregation::Distinct),
                sum(ObservationColumn::InputTokens),
                sum(ObservationColumn::OutputTokens),
                sum(ObservationColumn::TotalTokens),
                sum(ObservationColumn::Cost),
            ],
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

fn days(traces: &[MetricsRow], observations: &[MetricsRow]) -> Vec<DailyMetrics> {
    let mut days: BTreeMap<Option<Timestamp>, DailyMetrics> = BTreeMap::new();
    for row in traces {
        day(&mut days, row).count_traces = count(row, 0);
    }
    for row in observations {
        let day = day(&mut days, row);
        let cost = number(row, 5);
        day.count_observations += count(row, 0);
        day.total_cost += cost;
        day.usage.push(ModelUsage {
            model: row.key.first().cloned().flatten(),
            input_usage: count(row, 2),
            output_usage: count(row, 3),
            total_usage: count(row, 4),
            count_traces: count(row, 1),
            count_observations: count(row, 0),
            total_cost: cost,
        });
    }
    days.into_values().collect()
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
fn count(row: &MetricsRow, place: usize) -> u64 {
    match row.figures.get(place) {
        Some(Figure::Count(count)) => *count,
        Some(Figure::Number(number)) => *number as u64,
        _ => 0,
    }
}
