use ratchet_core::calendar::Granularity;
use ratchet_core::catalog::dashboard::widget::{
    Metric, MetricsRecords, MetricsSpec, SortDirection, TableSort,
};
use ratchet_core::issue::{Issue, PathStep};
use ratchet_remote::langfuse::wire::filter::part_name;
use ratchet_remote::langfuse::wire::metrics::{
    DirectionName, GranularityName, MetricSent, MetricsRequest, OrderBy,
};
use ratchet_stages::dashboards::response::Shape;
use ratchet_stages::dashboards::view::Names;
use ratchet_stages::dashboards::{self, QueryPart, QueryProblem, Question};
use ratchet_store::project::ProjectId;

use crate::langfuse::filter;

/// A version of the metrics API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Traces too, and as many rows as there are.
    First,
    /// No traces, and a hundred rows by default.
    Second,
}

/// Rows in a response of the second version by default.
const DEFAULT_ROWS: i64 = 100;

/// Converts a request to a query; reports everything that is wrong.
///
/// # Errors
/// Everything that is wrong, and where.
pub(super) fn question(
    project: ProjectId,
    sent: MetricsRequest,
    version: Version,
) -> Result<(Question, Shape), Vec<Issue>> {
    if sent.view.0 == MetricsRecords::Traces && version == Version::Second {
        let why = "traces are not among the views of this version: ask for observations with \
                   isRootObservation, or use /api/public/metrics";
        return Err(vec![at([field("view")], why)]);
    }
    let is_limited = sent.config.row_limit.is_some();
    let filters = sent.filters.as_ref().map(|json| filter::sent("filters", json.get()));
    let (filters, issues) = filters.unwrap_or_default();
    let mut issues: Vec<Issue> = issues.into_iter().map(|issue| issue.inside("query")).collect();
    let (places, filters): (Vec<_>, Vec<_>) = filters.into_iter().unzip();
    let mut spec = spec(sent, version);
    spec.filters = filters;
    let asked = dashboards::question(project, &spec);
    let problems = match &asked {
        Ok((_, shape)) if version == Version::Second => {
            let is_top = is_limited && shape.is_sorted_descending();
            if is_top { Vec::new() } else { wide_dimensions(&spec) }
        }
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(|problem| issue(problem, &spec, &places)).collect(),
    };
    issues.extend(problems);
    asked.ok().filter(|_| issues.is_empty()).ok_or(issues)
}

fn spec(sent: MetricsRequest, version: Version) -> MetricsSpec {
    let (from, to) = (sent.from_timestamp.0, sent.to_timestamp.0);
    let metric =
        |sent: MetricSent| Metric { measure: sent.measure, aggregation: sent.aggregation.0 };
    let default_rows = (version == Version::Second).then_some(DEFAULT_ROWS);
    MetricsSpec {
        view: sent.view.0,
        dimensions: sent.dimensions.into_iter().map(|dimension| dimension.field).collect(),
        metrics: sent.metrics.into_iter().map(metric).collect(),
        filters: Vec::new(),
        every: sent.time_dimension.map(|time| match time.granularity.0 {
            GranularityName::Auto => Granularity::for_range(from, to),
            GranularityName::Minute => Granularity::Minute,
            GranularityName::Hour => Granularity::Hour,
            GranularityName::Day => Granularity::Day,
            GranularityName::Week => Granularity::Week,
            GranularityName::Month => Granularity::Month,
        }),
        from,
        to,
        order: sent.order_by.into_iter().map(sort).collect(),
        bins: sent.config.bins,
        row_limit: sent.config.row_limit.or(default_rows),
    }
}

fn sort(by: OrderBy) -> TableSort {
    let order = match by.direction.0 {
        DirectionName::Asc => SortDirection::Asc,
        DirectionName::Desc => SortDirection::Desc,
    };
    TableSort { column: by.field, order }
}

/// The second version takes dimensions with a value for every record only for "the top ten".
fn wide_dimensions(spec: &MetricsSpec) -> Vec<Issue> {
    let names = Names::of(spec.view);
    let wide = spec.dimensions.iter().enumerate().filter(|(_, name)| names.is_wide(name));
    let issue = |(index, name): (usize, &String)| {
        let why = format!(
            "{name} has too many values to group by: filter on it instead, or set \
             config.row_limit and an orderBy with direction desc on a metric"
        );
        in_list("dimensions", (index, "field"), why)
    };
    wide.map(issue).collect()
}

/// A problem with its place in the request; `places` are the indexes of the filters there.
fn issue(problem: &QueryProblem, spec: &MetricsSpec, places: &[usize]) -> Issue {
    let why = problem.message.clone();
    match problem.part {
        QueryPart::Dimensions => at([field("dimensions")], why),
        QueryPart::Dimension(index) => in_list("dimensions", (index, "field"), why),
        QueryPart::Metrics => at([field("metrics")], why),
        QueryPart::Measure(index) => in_list("metrics", (index, "measure"), why),
        QueryPart::Aggregation(index) => in_list("metrics", (index, "aggregation"), why),
        QueryPart::Filter(index, part) => {
            let index = places.get(index).copied().unwrap_or(index);
            in_list("filters", (index, part_name(part)), why)
        }
        QueryPart::To => {
            let why = format!("must be after fromTimestamp, which is {}", spec.from);
            at([field("toTimestamp")], why)
        }
        QueryPart::Bins => at([field("config"), field("bins")], why),
        QueryPart::RowLimit => at([field("config"), field("row_limit")], why),
        QueryPart::Order(index) => in_list("orderBy", (index, "field"), why),
    }
}

fn field(name: &str) -> PathStep {
    PathStep::Field(name.to_owned())
}

fn at(path: impl IntoIterator<Item = PathStep>, message: impl Into<String>) -> Issue {
    let path = std::iter::once(field("query")).chain(path).collect();
    Issue { path, message: message.into() }
}

fn in_list(list: &str, at: (usize, &str), message: String) -> Issue {
    Issue::in_list(list, at, message).inside("query")
}
