use std::time::Duration;

use ratchet_core::id::TraceId;
use ratchet_store::StoreError;
use ratchet_store::live_tail::{Arrival, RecordKind};
use ratchet_store::query::{
    Condition, Direction, ObservationColumn, ObservationQuery, Paging, Test, TextTest, TraceColumn,
    TraceOrder, TraceQuery,
};
use ratchet_store::telemetry::Telemetry;

use super::Behaviour;
use crate::ask;
use crate::build::{BatchBuilder, batch, project, span, text, trace};
use crate::recording::RecordBatch;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("a list sought without time ends up whole", |s| Box::pin(sought_traces(s))),
    ("observations sought without time end up whole", |s| Box::pin(sought_observations(s))),
    ("a list in another order is sought whole or not at all", |s| Box::pin(sought_in_order(s))),
    ("what is committed has arrived", |s| Box::pin(arrivals(s))),
];

const RECORDS: i64 = 2_300;

/// Many traces of one observation each; one in a thousand is rare, and some share a timestamp.
fn story() -> BatchBuilder {
    let mut recorded = batch(&project("shop"));
    for n in 0..RECORDS {
        let name = if n % 1_000 == 3 { "rare" } else { "usual" };
        let id = format!("t{n}");
        recorded =
            recorded.with(trace(&id).rooted_in(&format!("s{n}")).named(name).beginning(n / 4));
        let step = span(&format!("s{n}")).of(&id).named(name).lasting(n / 4, n);
        recorded =
            recorded.with(step.input(text(if n % 500 == 9 { "a parcel" } else { "a letter" })));
    }
    recorded
}

fn is<C>(column: C, how: TextTest, text: &str) -> Condition<C> {
    Condition { column, test: Test::Text(how, text.to_owned()) }
}

async fn sought_traces(store: Telemetry) {
    store.record(story().build()).await.unwrap();
    for direction in [Direction::Ascending, Direction::Descending] {
        for condition in [
            is(TraceColumn::Name, TextTest::Equals, "rare"),
            is(TraceColumn::Name, TextTest::Equals, "nobody"),
            is(TraceColumn::Id, TextTest::Equals, "t77"),
            is(TraceColumn::Input, TextTest::Contains, "parcel"),
        ] {
            let order = (TraceOrder::Timestamp, direction);
            let conditions = vec![condition];
            let query = TraceQuery { conditions, order, ..ask::all_traces(&project("shop")) };
            let whole = store.traces(query.clone()).await.unwrap().rows;
            let (mut joined, mut cursor, mut pauses) = (Vec::new(), None, 0);
            loop {
                let paging = Paging::After { cursor, limit: 5 };
                let query = TraceQuery { paging, ..query.clone() };
                let sought = store.seek_traces(query, Duration::ZERO).await.unwrap();
                assert!(sought.page.rows.len() <= 5);
                assert!(sought.reached.is_none() || sought.page.cursor.is_some());
                pauses += u32::from(sought.reached.is_some());
                joined.extend(sought.page.rows);
                cursor = sought.page.cursor;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(joined, whole, "{:?}", query.conditions);
            let is_looked_up = query.conditions[0].column == TraceColumn::Id;
            assert_eq!(pauses == 0, is_looked_up, "{:?}", query.conditions);
        }
    }
}

async fn sought_observations(store: Telemetry) {
    store.record(story().build()).await.unwrap();
    let rare = is(ObservationColumn::Name, TextTest::Equals, "rare");
    let parcel = is(ObservationColumn::Input, TextTest::Contains, "parcel");
    for condition in [rare, parcel] {
        let conditions = vec![condition];
        let query = ObservationQuery { conditions, ..ask::all_observations(&project("shop")) };
        let whole = store.observations(query.clone()).await.unwrap().rows;
        let (mut joined, mut cursor) = (Vec::new(), None);
        loop {
            let paging = Paging::After { cursor, limit: 5 };
            let query = ObservationQuery { paging, ..query.clone() };
            let sought = store.seek_observations(query, Duration::ZERO).await.unwrap();
            joined.extend(sought.page.rows);
            cursor = sought.page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(joined, whole, "{:?}", query.conditions);
    }
}

async fn sought_in_order(store: Telemetry) {
    store.record(story().build()).await.unwrap();
    let order = (TraceOrder::Latency, Direction::Descending);
    let paging = Paging::After { cursor: None, limit: 7 };
    let query = TraceQuery { order, paging, ..ask::all_traces(&project("shop")) };
    let page = store.traces(query.clone()).await.unwrap();
    let sought = store.seek_traces(query.clone(), Duration::from_secs(60)).await.unwrap();
    assert_eq!((sought.page, sought.reached), (page, None));
    let refused = store.seek_traces(query.clone(), Duration::ZERO).await;
    assert!(matches!(refused, Err(StoreError::TooSlow)), "{refused:?}");
    assert!(store.traces(query).await.is_ok(), "what was given up harms nobody else");
}

async fn arrivals(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    let start = store.arrived();
    let of_shop = (&shop, RecordKind::Traces);
    assert_eq!(store.arrivals(of_shop, start, 10).records, []);
    store.record(batch(&shop).with(span("late").of("t1").beginning(-5_000)).build()).await.unwrap();
    store.record(batch(&other).with(trace("o").beginning(1)).build()).await.unwrap();
    store.record(batch(&shop).with(trace("t2").beginning(1)).build()).await.unwrap();
    let trace = |id| Arrival::Trace(TraceId::parse(id).unwrap());
    let first = store.arrivals(of_shop, start, 1);
    assert_eq!((first.records, first.has_more), (vec![trace("t1")], true));
    let rest = store.arrivals(of_shop, first.until, 10);
    assert_eq!((rest.records, rest.has_more, rest.is_cut), (vec![trace("t2")], false, false));
    let steps = store.arrivals((&shop, RecordKind::Observations), start, 10).records;
    let [Arrival::Observation(_, step)] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(step.to_string(), "late");
}
