use ratchet_core::id::TraceId;
use ratchet_store::aggregate::{AggregateDimension, Step};
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::{Batch, Telemetry};

use super::{Behaviour, aggregates};
use crate::ask;
use crate::build::{at, batch, generation, observation, project, score, text, trace};
use crate::reading::Reading;
use crate::recording::RecordBatch;
use crate::reference_store::Model;
use crate::wait;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("what is old goes, with all that hangs on it", |s| Box::pin(old_goes(s))),
    ("a trace that begins at the border stays", |s| Box::pin(the_border_stays(s))),
    ("other projects keep what they have", |s| Box::pin(others_keep(s))),
    ("a deleted record can begin anew", |s| Box::pin(a_new_beginning(s))),
    ("traces go by name, with all that hangs on them", |s| Box::pin(named_traces_go(s))),
    ("an abandoned project is out of reach at once, then gone", |s| Box::pin(abandoned_goes(s))),
    ("many large traces go in slices", |s| Box::pin(many_traces_go(s))),
];

const DAY: i64 = 24 * 3_600_000;

/// A trace per day for ten days, two per session, with observations and scores.
fn ten_days(shop: &ProjectId) -> Batch {
    let mut recorded = batch(shop);
    for day in 0..10 {
        let id = format!("t{day}");
        let about = trace(&id).beginning(day * DAY).in_session(&format!("s{}", day / 2));
        recorded = recorded.with(about.input(text("hello")));
        for n in 0..3 {
            let begin = day * DAY + n * 1_000;
            let call = generation(&format!("g{day}-{n}")).of(&id).lasting(begin, begin + 500);
            let call = call.calling("small").tokens(3, 4).costing(0.5).named("ask");
            recorded =
                recorded.with(call.input(text("question")).metadata("day", &day.to_string()));
        }
        let on = |id: &str| score(id).on("quality").number(0.5).given(day * DAY);
        recorded = recorded
            .with(on(&format!("q{day}")).of_trace(&id))
            .with(on(&format!("r{day}")).of_observation(&id, &format!("g{day}-0")));
    }
    recorded.with(score("s").on("quality").of_session("s1").number(1.0).given(0)).build()
}

/// Deletes slice by slice until nothing is left to delete; returns the number deleted.
pub(super) async fn delete_all_before(store: &Telemetry, shop: &ProjectId, millis: i64) -> u64 {
    let mut gone = 0;
    wait::until_async("everything old is deleted", async || {
        let slice = store.delete_before(shop.clone(), at(millis)).await.unwrap();
        gone += slice;
        slice == 0
    })
    .await;
    gone
}

/// Deletes slice by slice what deleted projects have left.
pub(super) async fn delete_all_abandoned(store: &Telemetry) {
    wait::until_async("nothing of deleted projects is left", async || {
        store.delete_abandoned().await.unwrap() == 0
    })
    .await;
}

async fn old_goes(store: Telemetry) {
    let shop = project("shop");
    let mut model = Model::default();
    model.record(ten_days(&shop));
    store.record(ten_days(&shop)).await.unwrap();
    for day in [0, 1, 3, 7, 20] {
        delete_all_before(&store, &shop, day * DAY).await;
        model.delete_before(at(day * DAY));
        let read = Reading::of_store(&store, &shop).await;
        read.assert_equals(&Reading::of_model(&model), &format!("deleting before day {day}"));
        for by in [&[][..], &[AggregateDimension::Name, AggregateDimension::Model]] {
            aggregates::check(&store, &model, ask::all_sums(&shop, by, Step::Day)).await;
        }
    }
    assert_eq!(ask::scores(&store, &shop).await, [], "scores go with what they judge");
}

async fn the_border_stays(store: Telemetry) {
    let shop = project("shop");
    store.record(ten_days(&shop)).await.unwrap();
    assert_eq!(delete_all_before(&store, &shop, 4 * DAY).await, 4);
    let oldest = ask::traces(&store, &shop).await.pop().unwrap();
    assert_eq!(oldest.timestamp, at(4 * DAY));
}

async fn others_keep(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    store.record(ten_days(&shop)).await.unwrap();
    store.record(ten_days(&other)).await.unwrap();
    let before = Reading::of_store(&store, &other).await;
    delete_all_before(&store, &shop, 20 * DAY).await;
    Reading::of_store(&store, &other).await.assert_equals(&before, "deleting in another project");
}

/// Deletes traces by id; returns the number deleted.
async fn delete(store: &Telemetry, shop: &ProjectId, ids: &[&str]) -> u64 {
    let ids = ids.iter().map(|id| TraceId::parse(id).unwrap()).collect();
    store.delete_traces(shop.clone(), ids).await.unwrap()
}

async fn named_traces_go(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    let mut model = Model::default();
    for recorded in [ten_days(&shop), ten_days(&other)] {
        store.record(recorded).await.unwrap();
    }
    model.record(ten_days(&shop));
    let before = Reading::of_store(&store, &other).await;
    let rounds: [(&[&str], u64); 5] =
        [(&["t3"], 1), (&["t3"], 0), (&["t2", "nobody", "t2", "t0"], 2), (&[], 0), (&["t9"], 1)];
    for (ids, gone) in rounds {
        assert_eq!(delete(&store, &shop, ids).await, gone, "deleting {ids:?}");
        let ids: Vec<_> = ids.iter().map(|id| TraceId::parse(id).unwrap()).collect();
        model.delete_traces(&ids);
        let read = Reading::of_store(&store, &shop).await;
        read.assert_equals(&Reading::of_model(&model), &format!("deleting {ids:?}"));
        for by in [&[][..], &[AggregateDimension::Name, AggregateDimension::Model]] {
            aggregates::check(&store, &model, ask::all_sums(&shop, by, Step::Day)).await;
        }
    }
    assert!(ask::session(&store, &shop, "s1").await.is_none(), "both its traces are gone");
    Reading::of_store(&store, &other).await.assert_equals(&before, "deleting in another project");
}

async fn abandoned_goes(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    for recorded in [ten_days(&shop), ten_days(&other)] {
        store.record(recorded).await.unwrap();
    }
    let before = Reading::of_store(&store, &other).await;
    assert_eq!(store.delete_abandoned().await.unwrap(), 0, "nothing is abandoned yet");
    store.abandon(shop.clone()).await.unwrap();
    let empty = Reading::of_model(&Model::default());
    Reading::of_store(&store, &shop).await.assert_equals(&empty, "just abandoned");

    // A new project of the same id starts empty, and retains what it records.
    let mut model = Model::default();
    model.record(ten_days(&shop));
    store.record(ten_days(&shop)).await.unwrap();
    delete_all_abandoned(&store).await;
    let read = Reading::of_store(&store, &shop).await;
    read.assert_equals(&Reading::of_model(&model), "the new one of the name");
    aggregates::check(&store, &model, ask::all_sums(&shop, &[AggregateDimension::Name], Step::Day))
        .await;
    Reading::of_store(&store, &other).await.assert_equals(&before, "another project");
    store.abandon(project("nobody")).await.unwrap();
}

async fn many_traces_go(store: Telemetry) {
    let shop = project("shop");
    let mut recorded = batch(&shop);
    let ids: Vec<String> = (0..600).map(|n| format!("t{n}")).collect();
    for id in &ids {
        let step = |n: i64| observation(&format!("{id}-{n}")).of(id).beginning(n).named("step");
        recorded = recorded.with_all((0..8).map(step)).with(trace(id).input(text("hello")));
    }
    store.record(recorded.build()).await.unwrap();
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(delete(&store, &shop, &all[..599]).await, 599);
    let read = Reading::of_store(&store, &shop).await;
    assert_eq!((read.traces.len(), read.observations.len()), (1, 8));
    let sums = ask::sums(&store, ask::all_sums(&shop, &[], Step::Whole)).await;
    assert_eq!(sums.groups[0].sums.count, 8);
}

async fn a_new_beginning(store: Telemetry) {
    let shop = project("shop");
    store.record(ten_days(&shop)).await.unwrap();
    delete_all_before(&store, &shop, 20 * DAY).await;
    let mut model = Model::default();
    let late = observation("g0-0").of("t0").said_at(9).as_update().named("late").beginning(5);
    let recorded = batch(&shop).with(late).build();
    model.record(recorded.clone());
    store.record(recorded).await.unwrap();
    let read = Reading::of_store(&store, &shop).await;
    assert_eq!(read.observations, Reading::of_model(&model).observations);
    aggregates::check(&store, &model, ask::all_sums(&shop, &[], Step::Whole)).await;
}
