use ratchet_core::calendar::Granularity;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_core::record::score::ScoreValue;
use ratchet_store::StoreError;
use ratchet_store::aggregate::AggregateSource;
use ratchet_store::metrics::{
    Aggregation, Bin, By, Figure, Measure, MetricRequest, MetricsAnswer, MetricsQuery, MetricsRow,
    PERCENTILE_ERROR,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Compare, Condition, ObservationColumn as O, ScoreColumn as S, Test, TextTest, TimeRange,
    TraceColumn as T,
};
use ratchet_store::telemetry::{Batch, Telemetry};

use super::Behaviour;
use crate::ask;
use crate::build::{at, batch, observation, project, score, text, tool, trace};
use crate::recording::RecordBatch;
use crate::reference_store::Model;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("figures answer every dimension and step", |s| Box::pin(every_dimension(s))),
    ("figures of every kind over every measure", |s| Box::pin(every_figure(s))),
    ("figures over scores", |s| Box::pin(scores(s))),
    ("figures are over what passes", |s| Box::pin(conditions_narrow(s))),
    ("a range is exact to the nanosecond", |s| Box::pin(ranges_are_exact(s))),
    ("hourly sums answer what they keep", |s| Box::pin(sums_answer(s))),
    ("what hourly sums do not keep is read", |s| Box::pin(the_rest_is_read(s))),
    ("names beyond the cap do not spoil a filter", |s| Box::pin(other_names(s))),
    ("what does not fit is refused", |s| Box::pin(misfits(s))),
    ("nobody's figures are empty", |s| Box::pin(nobody(s))),
];

const HOUR: i64 = 3_600_000;

const OBSERVATION_DIMENSIONS: [O; 19] = [
    O::Environment,
    O::Kind,
    O::Name,
    O::Model,
    O::Level,
    O::Version,
    O::Agent,
    O::Id,
    O::Trace,
    O::Parent,
    O::Root,
    O::PromptName,
    O::PromptVersion,
    O::TraceName,
    O::TraceUser,
    O::TraceSession,
    O::TraceTags,
    O::TraceRelease,
    O::TraceVersion,
];

const OBSERVATION_MEASURES: [O; 15] = [
    O::Latency,
    O::StreamingLatency,
    O::TimeToFirstToken,
    O::InputTokens,
    O::OutputTokens,
    O::TotalTokens,
    O::TokensPerSecond,
    O::StreamedTokensPerSecond,
    O::TotalTokensPerSecond,
    O::Cost,
    O::ApproximateCost,
    O::InputCost,
    O::OutputCost,
    O::ScoreCount,
    O::PromptVersion,
];

const TRACE_DIMENSIONS: [T; 10] = [
    T::Id,
    T::Name,
    T::Tags,
    T::User,
    T::Session,
    T::Release,
    T::Version,
    T::Environment,
    T::Level,
    T::Public,
];

const TRACE_MEASURES: [T; 9] = [
    T::ObservationCount,
    T::ScoreCount,
    T::Latency,
    T::InputTokens,
    T::OutputTokens,
    T::TotalTokens,
    T::Cost,
    T::ApproximateCost,
    T::ErrorCount,
];

const AGGREGATIONS: [Aggregation; 11] = [
    Aggregation::Count,
    Aggregation::Distinct,
    Aggregation::Sum,
    Aggregation::Average,
    Aggregation::Min,
    Aggregation::Max,
    Aggregation::Percentile(50),
    Aggregation::Percentile(75),
    Aggregation::Percentile(99),
    Aggregation::Histogram { bins: 1 },
    Aggregation::Histogram { bins: 7 },
];

/// Every aggregation over each of these.
fn all_figures<C: Copy>(measures: &[C]) -> Vec<MetricRequest<C>> {
    let over = |measure| {
        AGGREGATIONS.into_iter().map(move |aggregation| MetricRequest { measure, aggregation })
    };
    let columns = measures.iter().flat_map(|column| over(Measure::Column(*column)));
    over(Measure::Records).chain(columns).collect()
}

fn kept_figures() -> Vec<MetricRequest<O>> {
    let sums = [Aggregation::Count, Aggregation::Sum, Aggregation::Average];
    let measures = [
        Measure::Records,
        Measure::Column(O::InputTokens),
        Measure::Column(O::OutputTokens),
        Measure::Column(O::TotalTokens),
        Measure::Column(O::Cost),
        Measure::Column(O::ApproximateCost),
        Measure::Column(O::Latency),
    ];
    let figures = measures.into_iter().flat_map(|measure| {
        sums.into_iter().map(move |aggregation| MetricRequest { measure, aggregation })
    });
    let percentiles = [50, 90, 99].map(|percent| MetricRequest {
        measure: Measure::Column(O::Latency),
        aggregation: Aggregation::Percentile(percent),
    });
    figures.chain(percentiles).collect()
}

/// Queries twice, the second time in a way that forces a scan, and compares both with the reference
/// store.
pub(super) async fn check(store: &Telemetry, model: &Model, query: MetricsQuery<O>) {
    let expected = model.observation_metrics(&query);
    let answer = store.observation_metrics(query.clone()).await.unwrap();
    same(&answer, &expected, &query);
    let mut scanned = query;
    scanned.conditions.push(ask::always());
    let answer = store.observation_metrics(scanned.clone()).await.unwrap();
    let is_scan = answer.source == AggregateSource::Scan;
    assert!(is_scan || expected.is_empty(), "hourly sums answered {scanned:?}");
    same(&answer, &expected, &scanned);
}

/// A few fast queries.
pub(super) async fn check_some(store: &Telemetry, model: &Model, shop: &ProjectId) {
    let range = TimeRange { from: Some(at(-HOUR / 2)), to: Some(at(2 * HOUR + 1)) };
    for (by, every) in [
        (vec![], Some(Granularity::Hour)),
        (vec![By::Column(O::Name), By::Column(O::Environment)], None),
        (vec![By::Column(O::TraceUser), By::Column(O::Root)], Some(Granularity::Minute)),
    ] {
        let metrics = kept_figures();
        check(store, model, MetricsQuery { range, by, every, metrics, ..ask::metrics(shop) }).await;
    }
    let by = vec![By::Column(T::Name), By::Column(T::Tags)];
    let metrics = all_figures(&[T::Latency, T::Cost, T::ObservationCount]);
    let query = MetricsQuery { by, metrics, ..ask::metrics(shop) };
    check_traces(store, model, query).await;
}

async fn check_traces(store: &Telemetry, model: &Model, query: MetricsQuery<T>) {
    let expected = model.trace_metrics(&query);
    let answer = store.trace_metrics(query.clone()).await.unwrap();
    same(&answer, &expected, &query);
}

#[track_caller]
fn same<C: std::fmt::Debug>(
    answer: &MetricsAnswer,
    expected: &[MetricsRow],
    query: &MetricsQuery<C>,
) {
    let mut rows = answer.rows.clone();
    rows.sort_by(|a, b| (a.at, &a.key).cmp(&(b.at, &b.key)));
    let heads =
        |rows: &[MetricsRow]| rows.iter().map(|row| (row.at, row.key.clone())).collect::<Vec<_>>();
    assert_eq!(heads(&rows), heads(expected), "{:?} for {query:?}", answer.source);
    for (row, expected) in rows.iter().zip(expected) {
        for (nth, (read, wanted)) in row.figures.iter().zip(&expected.figures).enumerate() {
            let metric = &query.metrics[nth];
            let is_rough = answer.source == AggregateSource::Rollup
                && matches!(metric.aggregation, Aggregation::Percentile(_));
            let off = if is_rough { PERCENTILE_ERROR } else { 1e-9 };
            assert!(
                is_near(read, wanted, off),
                "{metric:?} of {:?}: {read:?} instead of {wanted:?}, {:?} for {query:?}",
                row.key,
                answer.source
            );
        }
    }
}

fn is_near(read: &Figure, wanted: &Figure, off: f64) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= off * b.abs() + 2e-9;
    match (read, wanted) {
        (Figure::Number(read), Figure::Number(wanted)) => near(*read, *wanted),
        (Figure::Histogram(read), Figure::Histogram(wanted)) => {
            let same = |(a, b): (&Bin, &Bin)| {
                near(a.lower, b.lower) && near(a.upper, b.upper) && a.count == b.count
            };
            read.len() == wanted.len() && read.iter().zip(wanted).all(same)
        }
        (read, wanted) => read == wanted,
    }
}

fn story(shop: &ProjectId) -> Batch {
    let mut recorded = batch(shop);
    for n in 0..40_i64 {
        let trace_id = format!("t{}", n % 4);
        let kinds = [ObservationKind::Generation, ObservationKind::Tool, ObservationKind::Span];
        let pick = usize::try_from(n).unwrap();
        let start = n * HOUR / 3 - HOUR;
        let mut step = observation(&format!("o{n}")).of(&trace_id).kind(kinds[pick % 3]);
        step = if n == 11 { step.beginning(start) } else { step.lasting(start, start + n * 70) };
        if n % 5 != 0 {
            step = step.named(["plan", "act", "act", "tell"][pick % 4]).version("v1");
        }
        if n % 3 == 0 {
            step = step.calling(["small", "large"][pick % 2]).tokens(n.unsigned_abs(), 3);
            step = step.first_token(start + n * 20).prompted_by("p", 1 + u32::from(n % 2 == 0));
        }
        if n % 6 == 0 {
            step = step.costing(0.1).in_environment("prod").agent("helper");
        }
        if n % 7 == 0 {
            step = step.level(Level::Error).under("o0").metadata("k", "7");
        }
        if n % 14 == 0 {
            step = step.as_app_root();
        }
        recorded = recorded.with(step);
        if n % 8 == 0 {
            let judged = score(&format!("s{n}")).on("q").number(0.5).given(0);
            recorded = recorded.with(judged.of_observation(&trace_id, &format!("o{n}")));
        }
    }
    recorded
        .with(trace("t0").named("chat").for_user("ann").in_session("s").tagged("a").tagged("b"))
        .with(trace("t1").named("chat").for_user("bob").version("2").release("r").public(true))
        .with(trace("t2").for_user("ann").in_session("s").tagged("a").input(text("hello")))
        .with(trace("empty").named("").beginning(5 * HOUR))
        .build()
}

async fn recorded(store: &Telemetry) -> (ProjectId, Model) {
    let shop = project("shop");
    let mut model = Model::default();
    model.record(story(&shop));
    store.record(story(&shop)).await.unwrap();
    (shop, model)
}

async fn every_dimension(store: Telemetry) {
    let (shop, model) = recorded(&store).await;
    let steps = Granularity::ALL.map(Some).into_iter().chain([None]);
    for every in steps {
        for column in OBSERVATION_DIMENSIONS {
            let by = vec![By::Column(column)];
            let query = MetricsQuery { by, every, metrics: kept_figures(), ..ask::metrics(&shop) };
            check(&store, &model, query).await;
        }
        for column in TRACE_DIMENSIONS {
            let by = vec![By::Month, By::Column(column)];
            check_traces(&store, &model, MetricsQuery { by, every, ..ask::metrics(&shop) }).await;
        }
    }
    for other in OBSERVATION_DIMENSIONS {
        let by = vec![By::Day, By::Column(other), By::Column(O::Name), By::Month];
        check(&store, &model, MetricsQuery { by, ..ask::metrics(&shop) }).await;
    }
}

async fn every_figure(store: Telemetry) {
    let (shop, model) = recorded(&store).await;
    for by in [vec![], vec![By::Column(O::Kind)], vec![By::Column(O::TraceUser)]] {
        let metrics = all_figures(&OBSERVATION_MEASURES);
        check(&store, &model, MetricsQuery { by, metrics, ..ask::metrics(&shop) }).await;
    }
    for by in [vec![], vec![By::Column(T::User)]] {
        let metrics = all_figures(&TRACE_MEASURES);
        check_traces(&store, &model, MetricsQuery { by, metrics, ..ask::metrics(&shop) }).await;
    }
    let users =
        MetricRequest { measure: Measure::Column(T::User), aggregation: Aggregation::Distinct };
    let query = MetricsQuery { metrics: vec![users], ..ask::metrics(&shop) };
    let answer = store.trace_metrics(query.clone()).await.unwrap();
    assert_eq!(answer.rows[0].figures, [Figure::Count(2)]);
    check_traces(&store, &model, query).await;
}

async fn scores(store: Telemetry) {
    let (shop, mut model) = recorded(&store).await;
    let label = |label: &str| ScoreValue::Categorical { label: label.to_owned(), number: None };
    let more = batch(&shop)
        .with(score("n1").on("quality").of_trace("t0").number(0.25).given(0))
        .with(score("n2").on("quality").of_trace("t1").number(0.75).given(HOUR))
        .with(score("n3").on("quality").of_trace("gone").number(1.0).given(HOUR))
        .with(score("b1").on("ok").of_observation("t0", "o0").value(ScoreValue::Boolean(true)))
        .with(score("b2").on("ok").of_session("s").value(ScoreValue::Boolean(false)).given(1))
        .with(score("c1").on("tone").of_observation("t3", "o3").value(label("warm")).given(2))
        .build();
    model.record(more.clone());
    store.record(more).await.unwrap();
    for column in [
        S::Id,
        S::Name,
        S::DataType,
        S::Number,
        S::Text,
        S::Truth,
        S::Source,
        S::Environment,
        S::Config,
        S::Trace,
        S::Observation,
        S::TraceName,
        S::TraceUser,
        S::TraceTags,
        S::TraceRelease,
        S::TraceVersion,
        S::AnySession,
        S::ObservationName,
        S::ObservationModel,
        S::ObservationPromptName,
        S::ObservationPromptVersion,
    ] {
        for every in [None, Some(Granularity::Day)] {
            let by = vec![By::Column(column), By::Day];
            let metrics = all_figures(&[S::Number]);
            let query = MetricsQuery { by, every, metrics, ..ask::metrics(&shop) };
            check_scores(&store, &model, query).await;
        }
    }
    let yes = Condition { column: S::Truth, test: Test::Is(true) };
    let conditions = vec![yes];
    check_scores(&store, &model, MetricsQuery { conditions, ..ask::metrics(&shop) }).await;
}

async fn check_scores(store: &Telemetry, model: &Model, query: MetricsQuery<S>) {
    let expected = model.score_metrics(&query);
    let answer = store.score_metrics(query.clone()).await.unwrap();
    same(&answer, &expected, &query);
}

fn is(column: O, word: &str) -> Condition<O> {
    Condition { column, test: Test::Text(TextTest::Equals, word.to_owned()) }
}

async fn conditions_narrow(store: Telemetry) {
    let (shop, model) = recorded(&store).await;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let conditions = [
        is(O::Name, "act"),
        is(O::Name, ""),
        is(O::Kind, "GENERATION"),
        is(O::Environment, "default"),
        is(O::TraceUser, "ann"),
        Condition { column: O::Name, test: Test::IsNull },
        Condition { column: O::Model, test: Test::IsNotNull },
        Condition { column: O::Model, test: Test::NoneOf(words(&["small"])) },
        Condition { column: O::Name, test: Test::AnyOf(words(&["plan", "tell"])) },
        Condition { column: O::Name, test: Test::Text(TextTest::Lacks, "a".to_owned()) },
        Condition { column: O::TraceTags, test: Test::AllOf(words(&["a", "b"])) },
        Condition {
            column: O::ScoreNumbers,
            test: Test::Key("q".to_owned(), Box::new(Test::Number(Compare::Greater, 0.25))),
        },
        Condition {
            column: O::Metadata,
            test: Test::Key("k".to_owned(), Box::new(Test::Text(TextTest::Equals, "7".to_owned()))),
        },
    ];
    for condition in conditions {
        let by = vec![By::Column(O::Name)];
        let conditions = vec![condition, is(O::Environment, "default")];
        let metrics = kept_figures();
        let query = MetricsQuery { by, metrics, conditions, ..ask::metrics(&shop) };
        check(&store, &model, query).await;
    }
    let carried =
        Condition { column: T::Input, test: Test::Text(TextTest::Contains, "ell".to_owned()) };
    let query = MetricsQuery { conditions: vec![carried], ..ask::metrics(&shop) };
    let answer = store.trace_metrics(query.clone()).await.unwrap();
    assert_eq!(answer.rows[0].figures, [Figure::Count(1)]);
    check_traces(&store, &model, query).await;
}

async fn ranges_are_exact(store: Telemetry) {
    let (shop, model) = recorded(&store).await;
    let edges = [-HOUR, -HOUR + 1, 0, 1, HOUR / 3, HOUR - 1, HOUR, HOUR + 1, 4 * HOUR, 9 * HOUR];
    for from in edges {
        for to in edges {
            let range = TimeRange { from: Some(at(from)), to: Some(at(to)) };
            let query = MetricsQuery { range, metrics: kept_figures(), ..ask::metrics(&shop) };
            check(&store, &model, query).await;
        }
        let range = TimeRange { from: None, to: Some(at(from)) };
        check(&store, &model, MetricsQuery { range, ..ask::metrics(&shop) }).await;
    }
}

async fn sums_answer(store: Telemetry) {
    let (shop, _) = recorded(&store).await;
    let range = TimeRange { from: Some(at(-HOUR + 1)), to: Some(at(9 * HOUR + 7)) };
    for column in [O::Environment, O::Kind, O::Name, O::Model] {
        let by = vec![By::Column(column), By::Month];
        let conditions = vec![is(O::Kind, "TOOL")];
        let every = Some(Granularity::Week);
        let metrics = kept_figures();
        let (project, _) = (shop.clone(), ());
        let query = MetricsQuery { project, range, conditions, by, every, metrics };
        let answer = store.observation_metrics(query).await.unwrap();
        assert_eq!(answer.source, AggregateSource::Rollup, "by {column:?}");
    }
}

async fn the_rest_is_read(store: Telemetry) {
    let (shop, _) = recorded(&store).await;
    let least =
        MetricRequest { measure: Measure::Column(O::Latency), aggregation: Aggregation::Min };
    let score =
        MetricRequest { measure: Measure::Column(O::ScoreCount), aggregation: Aggregation::Sum };
    let base = || ask::metrics::<O>(&shop);
    for query in [
        MetricsQuery { by: vec![By::Column(O::TraceUser)], ..base() },
        MetricsQuery { conditions: vec![is(O::Level, "ERROR")], ..base() },
        MetricsQuery { metrics: vec![least], ..base() },
        MetricsQuery { metrics: vec![score], ..base() },
        MetricsQuery { every: Some(Granularity::Minute), ..base() },
    ] {
        let answer = store.observation_metrics(query.clone()).await.unwrap();
        assert_eq!(answer.source, AggregateSource::Scan, "{query:?}");
        assert!(answer.rows_read > 0, "a scan says how many rows it read");
    }
}

async fn other_names(store: Telemetry) {
    let shop = project("shop");
    let names = 2_100_i64;
    let steps = (0..names).map(|n| tool(&format!("o{n}")).of("t").named(&format!("n{n}")));
    let steps = steps.map(|step| step.lasting(0, 1));
    store.record(batch(&shop).with_all(steps).build()).await.unwrap();
    let query = MetricsQuery { conditions: vec![is(O::Name, "n2099")], ..ask::metrics(&shop) };
    let answer = store.observation_metrics(query).await.unwrap();
    assert_eq!(answer.rows[0].figures, [Figure::Count(1)]);
}

async fn misfits(store: Telemetry) {
    let (shop, _) = recorded(&store).await;
    let sum =
        |column| MetricRequest { measure: Measure::Column(column), aggregation: Aggregation::Sum };
    for query in [
        MetricsQuery { by: vec![By::Column(O::Metadata)], ..ask::metrics(&shop) },
        MetricsQuery { by: vec![By::Column(O::Start)], ..ask::metrics(&shop) },
        MetricsQuery { metrics: vec![sum(O::Name)], ..ask::metrics(&shop) },
        MetricsQuery { metrics: vec![sum(O::Input)], ..ask::metrics(&shop) },
    ] {
        let refused = store.observation_metrics(query).await;
        assert!(matches!(refused, Err(StoreError::BadQuery(_))), "{refused:?}");
    }
}

async fn nobody(store: Telemetry) {
    let query = ask::metrics::<O>(&project("nobody"));
    assert_eq!(store.observation_metrics(query).await.unwrap().rows, []);
    let query = ask::metrics::<T>(&project("nobody"));
    assert_eq!(store.trace_metrics(query).await.unwrap().rows, []);
}
