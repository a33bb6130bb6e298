//! Queries for tests, with defaults for everything a test does not care about.

use ratchet_core::id::{ObservationId, ScoreId, SessionId, TraceId};
use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::Score;
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;
use ratchet_store::aggregate::{Aggregate, AggregateDimension, AggregateQuery, Step};
use ratchet_store::metrics::{Aggregation, Measure, MetricRequest, MetricsQuery};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, PageNumber, Paging,
    ScoreQuery, ScoresOn, SessionQuery, Test, TimeRange, TraceOrder, TraceQuery,
};
use ratchet_store::telemetry::Telemetry;

/// The first page, large enough for any test.
pub const ONE_PAGE: Paging = Paging::Numbered(PageNumber { page: 1, limit: 10_000 });

/// Queries all traces of a project, with content, newest first.
pub fn all_traces(project: &ProjectId) -> TraceQuery {
    TraceQuery {
        project: project.clone(),
        range: TimeRange::default(),
        conditions: Vec::new(),
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: ONE_PAGE,
        detail: Detail::Content,
    }
}

/// Queries all observations of a project, with content, oldest first.
pub fn all_observations(project: &ProjectId) -> ObservationQuery {
    ObservationQuery {
        project: project.clone(),
        range: TimeRange::default(),
        trace: None,
        conditions: Vec::new(),
        direction: Direction::Ascending,
        paging: ONE_PAGE,
        detail: Detail::Content,
    }
}

pub fn all_sessions(project: &ProjectId) -> SessionQuery {
    SessionQuery {
        project: project.clone(),
        range: TimeRange::default(),
        conditions: Vec::new(),
        paging: ONE_PAGE,
    }
}

pub fn all_scores(project: &ProjectId) -> ScoreQuery {
    ScoreQuery {
        project: project.clone(),
        range: TimeRange::default(),
        on: ScoresOn::Anything,
        conditions: Vec::new(),
        paging: ONE_PAGE,
    }
}

/// Queries the sums over all observations of a project.
pub fn all_sums(project: &ProjectId, by: &[AggregateDimension], step: Step) -> AggregateQuery {
    AggregateQuery {
        project: project.clone(),
        range: TimeRange::default(),
        by: by.to_vec(),
        step,
        conditions: Vec::new(),
    }
}

/// A metrics query with only a count of records.
pub fn metrics<C>(project: &ProjectId) -> MetricsQuery<C> {
    MetricsQuery {
        project: project.clone(),
        range: TimeRange::default(),
        conditions: Vec::new(),
        by: Vec::new(),
        every: None,
        metrics: vec![MetricRequest { measure: Measure::Records, aggregation: Aggregation::Count }],
    }
}

/// A condition that every observation passes and that no rollup can answer.
pub fn always() -> Condition<ObservationColumn> {
    Condition { column: ObservationColumn::Id, test: Test::IsNotNull }
}

/// All traces of a project, newest first.
pub async fn traces(store: &Telemetry, project: &ProjectId) -> Vec<Trace> {
    store.traces(all_traces(project)).await.unwrap().rows
}

/// All observations of a project, oldest first.
pub async fn observations(store: &Telemetry, project: &ProjectId) -> Vec<Observation> {
    store.observations(all_observations(project)).await.unwrap().rows
}

/// All sessions of a project, newest first.
pub async fn sessions(store: &Telemetry, project: &ProjectId) -> Vec<Session> {
    store.sessions(all_sessions(project)).await.unwrap().rows
}

/// All scores of a project, newest first.
pub async fn scores(store: &Telemetry, project: &ProjectId) -> Vec<Score> {
    store.scores(all_scores(project)).await.unwrap().rows
}

pub async fn sums(store: &Telemetry, query: AggregateQuery) -> Aggregate {
    store.aggregate(query).await.unwrap()
}

/// A trace that must exist.
pub async fn trace(store: &Telemetry, project: &ProjectId, id: &str) -> Trace {
    let found = store.trace(project.clone(), TraceId::parse(id).unwrap()).await.unwrap();
    found.unwrap_or_else(|| panic!("trace {id} is not there"))
}

/// An observation that must exist.
pub async fn observation(store: &Telemetry, project: &ProjectId, id: &str) -> Observation {
    let id = ObservationId::parse(id).unwrap();
    let found = store.observation(project.clone(), id.clone()).await.unwrap();
    found.unwrap_or_else(|| panic!("observation {id} is not there"))
}

/// A score, if it exists.
pub async fn score(store: &Telemetry, project: &ProjectId, id: &str) -> Option<Score> {
    store.score(project.clone(), ScoreId::parse(id).unwrap()).await.unwrap()
}

/// A session, if it exists.
pub async fn session(store: &Telemetry, project: &ProjectId, id: &str) -> Option<Session> {
    store.session(project.clone(), SessionId::parse(id).unwrap()).await.unwrap()
}
