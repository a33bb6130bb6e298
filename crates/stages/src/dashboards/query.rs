//! From a metrics query by name to a typed query for the store.

use std::fmt;

use ratchet_core::catalog::dashboard::widget::{
    AggregationKind, Metric, MetricsRecords, MetricsSpec, SortDirection,
};
use ratchet_core::catalog::filter::ConditionPart;
use ratchet_core::record::field_table::{OBSERVATION, SCORE, TRACE};
use ratchet_store::StoreResult;
use ratchet_store::metrics::{Aggregation, MetricRequest, MetricsAnswer, MetricsQuery};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, ObservationColumn, ScoreColumn, Test, TimeRange, TraceColumn,
};
use ratchet_store::telemetry::Telemetry;

use super::filter::{Columns, Filter};
use super::response::{FigureColumn, Order, ResultDimension, Shape};
use super::view::{self, Names, Unit, ViewTable};

/// Dimensions and figures that one question may have.
const MAX_DIMENSIONS: usize = 20;
const MAX_METRICS: usize = 50;
const DEFAULT_BINS: u8 = 10;

/// What is wrong with a metrics query, and in which part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryProblem {
    pub part: QueryPart,
    pub message: String,
}

/// A part of a metrics query; lists with the index of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryPart {
    Dimensions,
    Dimension(usize),
    Metrics,
    Measure(usize),
    Aggregation(usize),
    Filter(usize, ConditionPart),
    /// The end of the time range.
    To,
    Bins,
    RowLimit,
    Order(usize),
}

impl fmt::Display for QueryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A question, by what it is about.
#[derive(Debug)]
pub enum Question {
    Traces(MetricsQuery<TraceColumn>),
    Observations(MetricsQuery<ObservationColumn>),
    Scores(MetricsQuery<ScoreColumn>),
}

impl Question {
    /// Asks the store.
    ///
    /// # Errors
    /// Fails when the database does, or when the answer would take too long or too much room.
    pub async fn answer(self, telemetry: &Telemetry) -> StoreResult<MetricsAnswer> {
        match self {
            Self::Traces(query) => telemetry.trace_metrics(query).await,
            Self::Observations(query) => telemetry.observation_metrics(query).await,
            Self::Scores(query) => telemetry.score_metrics(query).await,
        }
    }

    /// Whether hourly sums answer, at any size at once.
    pub fn is_of_sums(&self, telemetry: &Telemetry) -> bool {
        match self {
            Self::Observations(query) => telemetry.has_sums_for(query),
            Self::Traces(_) | Self::Scores(_) => false,
        }
    }

    /// The same question about scores of one judge, named as in the dimension `judge`.
    pub fn judged_by(&mut self, judge: &str) {
        if let Self::Scores(query) = self {
            query.conditions.push(Condition::equals(ScoreColumn::Judge, judge.to_owned()));
        }
    }

    /// The same question over a shorter time.
    pub fn shorten(&mut self, to: TimeRange) {
        match self {
            Self::Traces(query) => query.range = query.range.and(to),
            Self::Observations(query) => query.range = query.range.and(to),
            Self::Scores(query) => query.range = query.range.and(to),
        }
    }
}

/// Builds the query for the store; reports everything that is wrong.
///
/// # Errors
/// Everything that is wrong, and where.
pub fn question(
    project: ProjectId,
    spec: &MetricsSpec,
) -> Result<(Question, Shape), Vec<QueryProblem>> {
    let reading = Reading { project, spec };
    match spec.view {
        MetricsRecords::Traces => {
            let (query, shape) = reading.read(&view::TRACES, &TRACE)?;
            Ok((Question::Traces(query), shape))
        }
        MetricsRecords::Observations => {
            let (query, shape) = reading.read(&view::OBSERVATIONS, &OBSERVATION)?;
            Ok((Question::Observations(query), shape))
        }
        MetricsRecords::ScoresNumeric => {
            reading.scores(&view::NUMERIC_SCORES, &["NUMERIC", "BOOLEAN"])
        }
        MetricsRecords::ScoresBoolean => reading.scores(&view::BOOLEAN_SCORES, &["BOOLEAN"]),
        MetricsRecords::ScoresCategorical => {
            reading.scores(&view::CATEGORICAL_SCORES, &["CATEGORICAL"])
        }
    }
}

struct Reading<'a> {
    project: ProjectId,
    spec: &'a MetricsSpec,
}

impl Reading<'_> {
    fn scores(
        self,
        table: &'static ViewTable<ScoreColumn>,
        types: &[&str],
    ) -> Result<(Question, Shape), Vec<QueryProblem>> {
        let (mut query, shape) = self.read(table, &SCORE)?;
        for condition in &mut query.conditions {
            if condition.column == ScoreColumn::Session {
                // As a dimension, too, it is the session of the score or of its trace.
                condition.column = ScoreColumn::AnySession;
            }
        }
        let types = types.iter().map(|word| (*word).to_owned()).collect();
        let column = ScoreColumn::DataType;
        query.conditions.push(Condition { column, test: Test::AnyOf(types) });
        // Of two verdicts of a judge on a session only the newer one counts.
        let column = ScoreColumn::Superseded;
        query.conditions.push(Condition { column, test: Test::Is(false) });
        Ok((Question::Scores(query), shape))
    }

    fn read<C: Copy>(
        self,
        table: &'static ViewTable<C>,
        columns: Columns<C>,
    ) -> Result<(MetricsQuery<C>, Shape), Vec<QueryProblem>> {
        let mut problems = Vec::new();
        let (by, shown_by) = self.dimensions(table, &mut problems);
        let (metrics, shown_metrics) = self.metrics(table, &mut problems);
        let range = self.range(&mut problems);
        let filter = Filter::resolve(&self.spec.filters, columns).unwrap_or_else(|wrong| {
            problems.extend(wrong.into_iter().map(|(position, wrong)| {
                problem(QueryPart::Filter(position, wrong.part), wrong.message)
            }));
            Filter::default()
        });
        let (range, conditions) = (range.and(filter.range), filter.conditions);
        let every = self.spec.every;
        let row_limit = self.row_limit(&mut problems);
        let mut shape =
            Shape { by: shown_by, metrics: shown_metrics, every, row_limit, ..Shape::over(range) };
        shape.order = self.order(&shape, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let project = self.project;
        Ok((MetricsQuery { project, range, conditions, by, every, metrics }, shape))
    }

    fn dimensions<C: Copy>(
        &self,
        table: &'static ViewTable<C>,
        problems: &mut Vec<QueryProblem>,
    ) -> (Vec<ratchet_store::metrics::By<C>>, Vec<ResultDimension>) {
        let asked = &self.spec.dimensions;
        if asked.len() > MAX_DIMENSIONS {
            problems.push(problem(QueryPart::Dimensions, format!("at most {MAX_DIMENSIONS}")));
        }
        let names = Names::of(self.spec.view);
        let (mut by, mut shown) = (Vec::new(), Vec::new());
        for (position, dimension) in asked.iter().enumerate().take(MAX_DIMENSIONS) {
            if let Some(why) = names.no_dimension(dimension) {
                problems.push(problem(QueryPart::Dimension(position), why));
            }
            if let Some(known) = table.dimension(dimension) {
                by.push(known.by);
                shown.push(ResultDimension { name: known.name, form: known.form });
            }
        }
        (by, shown)
    }

    fn metrics<C: Copy>(
        &self,
        table: &'static ViewTable<C>,
        problems: &mut Vec<QueryProblem>,
    ) -> (Vec<MetricRequest<C>>, Vec<FigureColumn>) {
        let asked = &self.spec.metrics;
        if asked.is_empty() || asked.len() > MAX_METRICS {
            let why = format!("between 1 and {MAX_METRICS} are taken, not {}", asked.len());
            problems.push(problem(QueryPart::Metrics, why));
        }
        let bins = self.bins(problems);
        let names = Names::of(self.spec.view);
        let (mut metrics, mut shown) = (Vec::new(), Vec::new());
        for (position, metric) in asked.iter().enumerate().take(MAX_METRICS) {
            if let Some(why) = names.no_measure(&metric.measure) {
                problems.push(problem(QueryPart::Measure(position), why));
            }
            let Some(known) = table.measures.iter().find(|known| known.name == metric.measure)
            else {
                continue;
            };
            match aggregation(metric, known.unit, bins) {
                Ok(aggregation) => {
                    metrics.push(MetricRequest { measure: known.measure, aggregation });
                    shown.push(FigureColumn {
                        name: format!("{}_{}", metric.aggregation.as_str(), known.name),
                        unit: known.unit,
                        aggregation,
                    });
                }
                Err(why) => problems.push(problem(QueryPart::Aggregation(position), why)),
            }
        }
        (metrics, shown)
    }

    fn bins(&self, problems: &mut Vec<QueryProblem>) -> u8 {
        let Some(bins) = self.spec.bins else { return DEFAULT_BINS };
        let fits = u8::try_from(bins).ok().filter(|bins| (1..=100).contains(bins));
        fits.unwrap_or_else(|| {
            let why = format!("must be a whole number from 1 to 100, not {bins}");
            problems.push(problem(QueryPart::Bins, why));
            DEFAULT_BINS
        })
    }

    fn row_limit(&self, problems: &mut Vec<QueryProblem>) -> Option<usize> {
        let rows = self.spec.row_limit?;
        let fits = usize::try_from(rows).ok().filter(|rows| (1..=1_000).contains(rows));
        if fits.is_none() {
            let why = format!("must be a whole number from 1 to 1000, not {rows}");
            problems.push(problem(QueryPart::RowLimit, why));
        }
        fits
    }

    fn range(&self, problems: &mut Vec<QueryProblem>) -> TimeRange {
        let (from, to) = (self.spec.from, self.spec.to);
        if from >= to {
            let why = format!("must be after the start of the range, which is {from}");
            problems.push(problem(QueryPart::To, why));
        }
        TimeRange { from: Some(from), to: Some(to) }
    }

    fn order(&self, shape: &Shape, problems: &mut Vec<QueryProblem>) -> Vec<Order> {
        let mut orders = Vec::new();
        for (position, sort) in self.spec.order.iter().enumerate() {
            match shape.place_of(&sort.column) {
                Some(by) => {
                    orders.push(Order { by, is_descending: sort.order == SortDirection::Desc });
                }
                None => {
                    let known = shape.names().join(", ");
                    let why = format!("{} is not among the columns: {known}", sort.column);
                    problems.push(problem(QueryPart::Order(position), why));
                }
            }
        }
        orders
    }
}

fn aggregation(metric: &Metric, unit: Unit, bins: u8) -> Result<Aggregation, String> {
    let kind = metric.aggregation;
    if unit == Unit::Different {
        return match kind {
            AggregationKind::Uniq | AggregationKind::Count | AggregationKind::Sum => {
                Ok(Aggregation::Distinct)
            }
            _ => Err(format!("{} takes uniq, count or sum, not {}", metric.measure, kind.as_str())),
        };
    }
    Ok(match kind {
        AggregationKind::Sum => Aggregation::Sum,
        AggregationKind::Avg => Aggregation::Average,
        AggregationKind::Count => Aggregation::Count,
        AggregationKind::Max => Aggregation::Max,
        AggregationKind::Min => Aggregation::Min,
        AggregationKind::P50 => Aggregation::Percentile(50),
        AggregationKind::P75 => Aggregation::Percentile(75),
        AggregationKind::P90 => Aggregation::Percentile(90),
        AggregationKind::P95 => Aggregation::Percentile(95),
        AggregationKind::P99 => Aggregation::Percentile(99),
        AggregationKind::Histogram => Aggregation::Histogram { bins },
        AggregationKind::Uniq => Aggregation::Distinct,
    })
}

fn problem(part: QueryPart, message: impl Into<String>) -> QueryProblem {
    QueryProblem { part, message: message.into() }
}
