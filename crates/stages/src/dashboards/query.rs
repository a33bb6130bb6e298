//! From the `query` parameter to a question for the store.

use ratchet_core::calendar::Granularity;
use ratchet_core::issue::{Issue, PathStep};
use ratchet_remote::langfuse::wire::metrics::{
    AggregationWord, DirectionWord, GranularityWord, MetricSent, MetricsRequest, View,
};
use ratchet_remote::langfuse::wire::word::Spelled;
use ratchet_store::StoreResult;
use ratchet_store::metrics::{Aggregation, MetricRequest, MetricsAnswer, MetricsQuery};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, ObservationColumn, ScoreColumn, Test, TimeRange, TraceColumn,
};
use ratchet_store::telemetry::Telemetry;

use super::filter::column::{self, Columns};
use super::filter::parse;
use super::response::{By, FigureColumn, Order, Shape};
use super::view::{self, Names, Unit, ViewTable};

/// Dimensions and figures that one question may have.
const MAX_DIMENSIONS: usize = 20;
const MAX_METRICS: usize = 50;
const DEFAULT_BINS: u8 = 10;

/// Which version of the API is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Traces too, and as many rows as there are.
    First,
    /// No traces, and a hundred rows unless told otherwise.
    Second,
}

/// Rows that the second version answers with unless told otherwise.
const DEFAULT_ROWS: usize = 100;

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

    /// The same question over a shorter time.
    pub fn shorten(&mut self, to: TimeRange) {
        match self {
            Self::Traces(query) => query.range = query.range.and(to),
            Self::Observations(query) => query.range = query.range.and(to),
            Self::Scores(query) => query.range = query.range.and(to),
        }
    }
}

/// Reads a question; reports everything that is wrong.
///
/// # Errors
/// Everything that is wrong, and where.
pub fn question(
    project: ProjectId,
    sent: &MetricsRequest,
    version: Version,
) -> Result<(Question, Shape), Vec<Issue>> {
    let reading = Reading { project, sent, version };
    match sent.view.0 {
        View::Traces if version == Version::Second => {
            let why = "traces are not among the views of this version: ask for observations with \
                       isRootObservation, or use /api/public/metrics";
            Err(vec![issue([field("view")], why)])
        }
        View::Traces => {
            let (query, shape) = reading.read(&view::TRACES, &column::TRACE)?;
            Ok((Question::Traces(query), shape))
        }
        View::Observations => {
            let (query, shape) = reading.read(&view::OBSERVATIONS, &column::OBSERVATION)?;
            Ok((Question::Observations(query), shape))
        }
        View::ScoresNumeric => reading.scores(&view::NUMERIC_SCORES, &["NUMERIC", "BOOLEAN"]),
        View::ScoresBoolean => reading.scores(&view::BOOLEAN_SCORES, &["BOOLEAN"]),
        View::ScoresCategorical => reading.scores(&view::CATEGORICAL_SCORES, &["CATEGORICAL"]),
    }
}

struct Reading<'a> {
    project: ProjectId,
    sent: &'a MetricsRequest,
    version: Version,
}

impl Reading<'_> {
    fn scores(
        self,
        table: &'static ViewTable<ScoreColumn>,
        types: &[&str],
    ) -> Result<(Question, Shape), Vec<Issue>> {
        let (mut query, shape) = self.read(table, &column::SCORE)?;
        for condition in &mut query.conditions {
            if condition.column == ScoreColumn::Session {
                // As a dimension, too, it is the session of the score or of its trace.
                condition.column = ScoreColumn::AnySession;
            }
        }
        let types = types.iter().map(|word| (*word).to_owned()).collect();
        let column = ScoreColumn::DataType;
        query.conditions.push(Condition { column, test: Test::AnyOf(types) });
        Ok((Question::Scores(query), shape))
    }

    fn read<C: Copy>(
        self,
        table: &'static ViewTable<C>,
        columns: Columns<C>,
    ) -> Result<(MetricsQuery<C>, Shape), Vec<Issue>> {
        let mut issues = Vec::new();
        let (by, shown_by) = self.dimensions(table, &mut issues);
        let (metrics, shown_metrics) = self.metrics(table, &mut issues);
        let range = self.range(&mut issues);
        let filter = self.sent.filters.as_ref().map(|json| parse("filters", json.get(), columns));
        let conditions = match filter.transpose() {
            Ok(filter) => filter.map(|filter| (range.and(filter.range), filter.conditions)),
            Err(wrong) => {
                issues.extend(wrong.into_iter().map(|issue| issue.inside("query")));
                None
            }
        };
        let (range, conditions) = conditions.unwrap_or((range, Vec::new()));
        let every = self.granularity();
        let row_limit = self.row_limit(&mut issues);
        let mut shape =
            Shape { by: shown_by, metrics: shown_metrics, every, row_limit, ..Shape::over(range) };
        shape.order = self.order(&shape, &mut issues);
        self.refuse_wide(table, &shape, &mut issues);
        if !issues.is_empty() {
            return Err(issues);
        }
        let project = self.project;
        Ok((MetricsQuery { project, range, conditions, by, every, metrics }, shape))
    }

    fn dimensions<C: Copy>(
        &self,
        table: &'static ViewTable<C>,
        issues: &mut Vec<Issue>,
    ) -> (Vec<ratchet_store::metrics::By<C>>, Vec<By>) {
        let sent = &self.sent.dimensions;
        if sent.len() > MAX_DIMENSIONS {
            issues.push(issue([field("dimensions")], format!("at most {MAX_DIMENSIONS}")));
        }
        let names = Names::of(self.sent.view.0);
        let (mut by, mut shown) = (Vec::new(), Vec::new());
        for (place, dimension) in sent.iter().enumerate().take(MAX_DIMENSIONS) {
            if let Some(why) = names.no_dimension(&dimension.field) {
                issues.push(in_list("dimensions", (place, "field"), why));
            }
            if let Some(known) = table.dimension(&dimension.field) {
                by.push(known.by);
                shown.push(By { name: known.name, form: known.form });
            }
        }
        (by, shown)
    }

    fn metrics<C: Copy>(
        &self,
        table: &'static ViewTable<C>,
        issues: &mut Vec<Issue>,
    ) -> (Vec<MetricRequest<C>>, Vec<FigureColumn>) {
        let sent = &self.sent.metrics;
        if sent.is_empty() || sent.len() > MAX_METRICS {
            let why = format!("between 1 and {MAX_METRICS} are taken, not {}", sent.len());
            issues.push(issue([field("metrics")], why));
        }
        let bins = self.bins(issues);
        let names = Names::of(self.sent.view.0);
        let (mut metrics, mut shown) = (Vec::new(), Vec::new());
        for (place, metric) in sent.iter().enumerate().take(MAX_METRICS) {
            let wrong = |name, why| in_list("metrics", (place, name), why);
            if let Some(why) = names.no_measure(&metric.measure) {
                issues.push(wrong("measure", why));
            }
            let Some(known) = table.measures.iter().find(|known| known.name == metric.measure)
            else {
                continue;
            };
            match aggregation(metric, known.unit, bins) {
                Ok(aggregation) => {
                    metrics.push(MetricRequest { measure: known.measure, aggregation });
                    shown.push(FigureColumn {
                        name: format!("{}_{}", metric.aggregation.0.word(), known.name),
                        unit: known.unit,
                        aggregation,
                    });
                }
                Err(why) => issues.push(wrong("aggregation", why)),
            }
        }
        (metrics, shown)
    }

    fn bins(&self, issues: &mut Vec<Issue>) -> u8 {
        let Some(bins) = self.sent.config.bins else { return DEFAULT_BINS };
        let fits = u8::try_from(bins).ok().filter(|bins| (1..=100).contains(bins));
        fits.unwrap_or_else(|| {
            let why = format!("must be a whole number from 1 to 100, not {bins}");
            issues.push(issue([field("config"), field("bins")], why));
            DEFAULT_BINS
        })
    }

    fn row_limit(&self, issues: &mut Vec<Issue>) -> Option<usize> {
        let default = match self.version {
            Version::First => None,
            Version::Second => Some(DEFAULT_ROWS),
        };
        let Some(rows) = self.sent.config.row_limit else { return default };
        let fits = usize::try_from(rows).ok().filter(|rows| (1..=1_000).contains(rows));
        if fits.is_none() {
            let why = format!("must be a whole number from 1 to 1000, not {rows}");
            issues.push(issue([field("config"), field("row_limit")], why));
        }
        fits.or(default)
    }

    fn range(&self, issues: &mut Vec<Issue>) -> TimeRange {
        let (from, to) = (self.sent.from_timestamp.0, self.sent.to_timestamp.0);
        if from >= to {
            let why = format!("must be after fromTimestamp, which is {from}");
            issues.push(issue([field("toTimestamp")], why));
        }
        TimeRange { from: Some(from), to: Some(to) }
    }

    fn granularity(&self) -> Option<Granularity> {
        let (from, to) = (self.sent.from_timestamp.0, self.sent.to_timestamp.0);
        Some(match self.sent.time_dimension?.granularity.0 {
            GranularityWord::Auto => Granularity::for_range(from, to),
            GranularityWord::Minute => Granularity::Minute,
            GranularityWord::Hour => Granularity::Hour,
            GranularityWord::Day => Granularity::Day,
            GranularityWord::Week => Granularity::Week,
            GranularityWord::Month => Granularity::Month,
        })
    }

    fn order(&self, shape: &Shape, issues: &mut Vec<Issue>) -> Vec<Order> {
        let mut orders = Vec::new();
        for (place, sent) in self.sent.order_by.iter().enumerate() {
            match shape.place_of(&sent.field) {
                Some(by) => {
                    orders
                        .push(Order { by, is_descending: sent.direction.0 == DirectionWord::Desc });
                }
                None => {
                    let known = shape.names().join(", ");
                    let why = format!("{} is not among the columns: {known}", sent.field);
                    issues.push(in_list("orderBy", (place, "field"), why));
                }
            }
        }
        orders
    }

    /// The second version takes dimensions with a value for every record only for "the top ten".
    fn refuse_wide<C>(&self, table: &'static ViewTable<C>, shape: &Shape, issues: &mut Vec<Issue>) {
        let is_top = self.sent.config.row_limit.is_some() && shape.begins_with_the_greatest();
        if self.version == Version::First || is_top {
            return;
        }
        for (place, sent) in self.sent.dimensions.iter().enumerate() {
            if table.dimension(&sent.field).is_some_and(|known| known.is_wide) {
                let why = format!(
                    "{} has too many values to group by: filter on it instead, or set \
                     config.row_limit and an orderBy with direction desc on a metric",
                    sent.field
                );
                issues.push(in_list("dimensions", (place, "field"), why));
            }
        }
    }
}

fn aggregation(metric: &MetricSent, unit: Unit, bins: u8) -> Result<Aggregation, String> {
    let word = metric.aggregation.0;
    if unit == Unit::Different {
        return match word {
            AggregationWord::Uniq | AggregationWord::Count | AggregationWord::Sum => {
                Ok(Aggregation::Distinct)
            }
            _ => Err(format!("{} takes uniq, count or sum, not {}", metric.measure, word.word())),
        };
    }
    Ok(match word {
        AggregationWord::Sum => Aggregation::Sum,
        AggregationWord::Avg => Aggregation::Average,
        AggregationWord::Count => Aggregation::Count,
        AggregationWord::Max => Aggregation::Max,
        AggregationWord::Min => Aggregation::Min,
        AggregationWord::P50 => Aggregation::Percentile(50),
        AggregationWord::P75 => Aggregation::Percentile(75),
        AggregationWord::P90 => Aggregation::Percentile(90),
        AggregationWord::P95 => Aggregation::Percentile(95),
        AggregationWord::P99 => Aggregation::Percentile(99),
        AggregationWord::Histogram => Aggregation::Histogram { bins },
        AggregationWord::Uniq => Aggregation::Distinct,
    })
}

fn field(name: &str) -> PathStep {
    PathStep::Field(name.to_owned())
}

/// An issue with something in the query.
fn issue(path: impl IntoIterator<Item = PathStep>, message: impl Into<String>) -> Issue {
    let path = std::iter::once(field("query")).chain(path).collect();
    Issue { path, message: message.into() }
}

/// An issue with an entry of a list in the query.
fn in_list(list: &str, at: (usize, &str), message: String) -> Issue {
    Issue::in_list(list, at, message).inside("query")
}
