use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_store::aggregate::{
    Aggregate, AggregateDimension, AggregateQuery, AggregateSource, Group, Step,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Condition, ObservationColumn, Test, TextTest, TimeRange};
use ratchet_store::telemetry::{Batch, Telemetry};

use super::Behaviour;
use crate::ask;
use crate::build::{at, batch, generation, observation, project, span, tool, trace};
use crate::recording::RecordBatch;
use crate::reference_store::Model;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("sums answer every dimension and step", |s| Box::pin(every_dimension(s))),
    ("sums keep up with updates", |s| Box::pin(updates_are_subtracted(s))),
    ("a range is widened to whole hours", |s| Box::pin(whole_hours(s))),
    ("conditions are answered by a scan", |s| Box::pin(conditions_scan(s))),
    ("dashboards are answered by rollups", |s| Box::pin(dashboards_do_not_scan(s))),
    ("too many names become one", |s| Box::pin(too_many_names(s))),
    ("latencies have percentiles", |s| Box::pin(percentiles(s))),
    ("nothing sums to nothing", |s| Box::pin(nothing(s))),
];

pub(super) const DIMENSIONS: [AggregateDimension; 13] = [
    AggregateDimension::Environment,
    AggregateDimension::Kind,
    AggregateDimension::Name,
    AggregateDimension::Model,
    AggregateDimension::Level,
    AggregateDimension::Version,
    AggregateDimension::Agent,
    AggregateDimension::Prompt,
    AggregateDimension::TraceName,
    AggregateDimension::User,
    AggregateDimension::Session,
    AggregateDimension::Release,
    AggregateDimension::Tags,
];

const STEPS: [Step; 3] = [Step::Whole, Step::Hour, Step::Day];
const HOUR: i64 = 3_600_000;

/// Runs the same query three ways: as it is, in a way that forces a scan, and on the reference
/// store.
pub(super) async fn check(store: &Telemetry, model: &Model, query: AggregateQuery) {
    let expected = model.aggregate(&query);
    let asked = ask::sums(store, query.clone()).await;
    same(&asked, &expected, &query);
    let mut scanned = query;
    scanned.conditions.push(ask::always());
    let answer = ask::sums(store, scanned.clone()).await;
    let is_scan = answer.source == AggregateSource::Scan;
    assert!(is_scan || expected.is_empty(), "a rollup answered {scanned:?}");
    same(&answer, &expected, &scanned);
}

#[track_caller]
fn same(answer: &Aggregate, expected: &[Group], query: &AggregateQuery) {
    let mut groups = answer.groups.clone();
    groups.sort_by(|a, b| (a.at, &a.key).cmp(&(b.at, &b.key)));
    assert!(
        groups == expected,
        "{:?} for {query:?}:\n    read {groups:#?}\nexpected {expected:#?}",
        answer.source
    );
}

fn story(shop: &ProjectId) -> Batch {
    let mut recorded = batch(shop);
    for n in 0..30_i64 {
        let trace_id = format!("t{}", n % 4);
        let kinds = [ObservationKind::Generation, ObservationKind::Tool, ObservationKind::Span];
        let pick = usize::try_from(n).unwrap();
        let mut step = observation(&format!("o{n}")).of(&trace_id).kind(kinds[pick % 3]);
        step = step.lasting(n * HOUR / 4 - HOUR, n * HOUR / 4 - HOUR + n * 7);
        if n % 5 != 0 {
            step = step.named(["plan", "act", "act", "tell"][pick % 4]).version("v1");
        }
        if n % 3 == 0 {
            step = step.calling(["small", "large"][pick % 2]).tokens(n.unsigned_abs(), 3);
        }
        if n % 6 == 0 {
            step = step.costing(0.125).in_environment("prod").agent("helper");
        }
        if n % 7 == 0 {
            step = step.level(Level::Error);
        }
        recorded = recorded.with(step);
    }
    recorded
        .with(trace("t0").named("chat").for_user("ann"))
        .with(trace("t1").named("chat").for_user("bob"))
        .with(trace("t2").for_user("ann"))
        .build()
}

async fn every_dimension(store: Telemetry) {
    let shop = project("shop");
    let mut model = Model::default();
    model.record(story(&shop));
    store.record(story(&shop)).await.unwrap();
    for step in STEPS {
        check(&store, &model, ask::all_sums(&shop, &[], step)).await;
        for one in DIMENSIONS {
            check(&store, &model, ask::all_sums(&shop, &[one], step)).await;
            for other in DIMENSIONS.into_iter().filter(|other| *other != one) {
                check(&store, &model, ask::all_sums(&shop, &[one, other], step)).await;
            }
        }
    }
}

async fn updates_are_subtracted(store: Telemetry) {
    let shop = project("shop");
    let mut model = Model::default();
    let words = [
        generation("g").of("t").lasting(0, 50).named("ask").calling("small").tokens(1, 2),
        observation("g").of("t").said_at(1).as_update().named("answer").costing(0.5),
        observation("g").of("t").said_at(2).as_update().calling("large").tokens(7, 8),
        observation("g").of("t").said_at(3).as_update().level(Level::Error).ending(90_000),
        observation("g").of("t").said_at(4).as_update().beginning(-2 * HOUR),
        observation("g").of("t").said_at(5).as_update().without_name().without_cost(),
        observation("g").of("t").said_at(6).as_update().kind(ObservationKind::Tool),
        observation("g").of("t").said_at(7).as_update().in_environment("prod"),
    ];
    for word in words {
        let recorded = batch(&shop).with(word).build();
        model.record(recorded.clone());
        store.record(recorded).await.unwrap();
        for by in [
            &[][..],
            &[AggregateDimension::Name],
            &[AggregateDimension::Model, AggregateDimension::Environment],
        ] {
            check(&store, &model, ask::all_sums(&shop, by, Step::Hour)).await;
        }
    }
}

async fn whole_hours(store: Telemetry) {
    let shop = project("shop");
    let mut model = Model::default();
    let recorded = batch(&shop)
        .with(span("a").of("t").beginning(0))
        .with(span("b").of("t").beginning(HOUR - 1))
        .with(span("c").of("t").beginning(HOUR))
        .with(span("d").of("t").beginning(2 * HOUR))
        .build();
    model.record(recorded.clone());
    store.record(recorded).await.unwrap();
    for (from, to) in [(0, HOUR), (1, HOUR + 1), (HOUR, 2 * HOUR), (HOUR, HOUR), (-1, 1)] {
        let range = TimeRange { from: Some(at(from)), to: Some(at(to)) };
        let query = AggregateQuery { range, ..ask::all_sums(&shop, &[], Step::Hour) };
        check(&store, &model, query).await;
    }
}

async fn conditions_scan(store: Telemetry) {
    let shop = project("shop");
    let mut model = Model::default();
    model.record(story(&shop));
    store.record(story(&shop)).await.unwrap();
    let only = Condition {
        column: ObservationColumn::TraceUser,
        test: Test::Text(TextTest::Equals, "ann".to_owned()),
    };
    let by = [AggregateDimension::Name];
    let query = AggregateQuery { conditions: vec![only], ..ask::all_sums(&shop, &by, Step::Day) };
    let answer = ask::sums(&store, query.clone()).await;
    assert_eq!(answer.source, AggregateSource::Scan);
    assert!(answer.rows_read > 0, "a scan says how many rows it read");
    check(&store, &model, query).await;
}

async fn dashboards_do_not_scan(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop)).await.unwrap();
    for by in [
        &[][..],
        &[AggregateDimension::Environment],
        &[AggregateDimension::Kind],
        &[AggregateDimension::Model],
    ] {
        let answer = ask::sums(&store, ask::all_sums(&shop, by, Step::Hour)).await;
        assert_eq!(answer.source, AggregateSource::Rollup, "by {by:?}");
    }
}

async fn too_many_names(store: Telemetry) {
    let shop = project("shop");
    let names = 3_000_i64;
    let steps = (0..names).map(|n| tool(&format!("o{n}")).of("t").named(&format!("n{n}")));
    let steps = steps.map(|step| step.lasting(0, 1));
    store.record(batch(&shop).with_all(steps).build()).await.unwrap();
    let by_name = ask::all_sums(&shop, &[AggregateDimension::Name], Step::Whole);
    let answer = ask::sums(&store, by_name.clone()).await;
    assert_eq!(answer.source, AggregateSource::Rollup);
    let total =
        |answer: &Aggregate| answer.groups.iter().map(|group| group.sums.count).sum::<i64>();
    assert_eq!(total(&answer), names, "other names are counted too");
    let other: Vec<_> = answer.groups.iter().filter(|group| group.sums.count > 1).collect();
    assert_eq!(other.len(), 1, "all names beyond the cap are one group");
    assert_eq!(other[0].key, [Some("(other)".to_owned())]);

    let renamed = observation("o2999").of("t").said_at(1).as_update().named("n0");
    store.record(batch(&shop).with(renamed).build()).await.unwrap();
    let answer = ask::sums(&store, by_name).await;
    assert_eq!(total(&answer), names, "what left other is counted where it went");
    let first = answer.groups.iter().find(|group| group.key == [Some("n0".to_owned())]).unwrap();
    assert_eq!(first.sums.count, 2);
}

async fn percentiles(store: Telemetry) {
    let shop = project("shop");
    let steps = (1..=100).map(|n| tool(&format!("o{n}")).of("t").lasting(0, n));
    store.record(batch(&shop).with_all(steps).build()).await.unwrap();
    let answer = ask::sums(&store, ask::all_sums(&shop, &[], Step::Whole)).await;
    let latency = &answer.groups[0].sums.latency;
    for (percent, millis) in [(50, 50.0), (95, 95.0), (99, 99.0)] {
        #[expect(clippy::cast_precision_loss, reason = "a tenth of a second fits")]
        let read = latency.percentile(percent).unwrap() as f64 / 1e6;
        assert!((read / millis - 1.0_f64).abs() < 0.04, "p{percent}: {read} instead of {millis}");
    }
}

async fn nothing(store: Telemetry) {
    let answer = ask::sums(&store, ask::all_sums(&project("nobody"), &[], Step::Whole)).await;
    assert_eq!(answer.groups, []);
}
