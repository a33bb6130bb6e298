use std::collections::BTreeMap;

use ratchet_core::calendar::Granularity;
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_core::record::observation::Level;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;
use ratchet_store::project::ProjectId;
use ratchet_store::query::TimeRange;
use ratchet_store::telemetry::Telemetry;
use ratchet_store::user::{ServedUser, UserDay, UserOrder, UserQuery, UserScope, UserSums};

use super::Behaviour;
use crate::build::{at, batch, generation, project, span, trace};
use crate::recording::RecordBatch;
use crate::reference_store::Model;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("users are summed in a time, in an environment and by name", |s| Box::pin(sums(s))),
    ("users come in the order asked for", |s| Box::pin(orders(s))),
    ("a trace moves from user to user and from day to day", |s| Box::pin(moves(s))),
    ("users of deleted traces are gone", |s| Box::pin(deleting(s))),
];

const DAY: i64 = 86_400_000;

fn scope(project: &ProjectId) -> UserScope {
    let (range, environments) = (TimeRange::default(), Vec::new());
    UserScope { project: project.clone(), range, environments }
}

fn all(project: &ProjectId) -> UserQuery {
    let (containing, order) = (String::new(), UserOrder::default());
    UserQuery { scope: scope(project), containing, order, limit: 100 }
}

/// Fails unless the engine's users and their days are those of the reference store.
pub(super) async fn check(store: &Telemetry, model: &Model, shop: &ProjectId) {
    let mut traces: BTreeMap<String, BTreeMap<Timestamp, Vec<Trace>>> = BTreeMap::new();
    for trace in model.traces() {
        let Some(user) = trace.user.clone().filter(|user| !user.is_empty()) else { continue };
        let day = Granularity::Day.start_of(trace.timestamp);
        traces.entry(user).or_default().entry(day).or_default().push(trace);
    }
    let mut read = store.users(all(shop)).await.unwrap();
    read.rows.sort_by(|a, b| a.id.cmp(&b.id));
    let whole = |days: &BTreeMap<_, Vec<Trace>>| summed(days.values().flatten());
    let expected: Vec<_> =
        traces.iter().map(|(id, days)| ServedUser { id: id.clone(), sums: whole(days) }).collect();
    assert_eq!(read.rows, expected);
    assert_eq!(read.total, expected.len() as u64);
    for (user, days) in traces {
        let read = store.user_days(scope(shop), user).await.unwrap();
        let days = days.iter().map(|(day, traces)| UserDay { day: *day, sums: summed(traces) });
        assert_eq!(read, days.collect::<Vec<_>>());
    }
}

fn summed<'a>(traces: impl IntoIterator<Item = &'a Trace>) -> UserSums {
    traces.into_iter().fold(UserSums::default(), |sums, trace| UserSums {
        traces: sums.traces + 1,
        errors: sums.errors + trace.summary.levels.error,
        total_tokens: sums.total_tokens + trace.summary.total_tokens,
        cost: sums.cost.into_iter().chain(trace.summary.cost).reduce(|a, b| a + b),
        approximate_cost: sums.approximate_cost + trace.summary.approximate_cost,
        last_at: if sums.traces == 0 { trace.timestamp } else { sums.last_at.max(trace.timestamp) },
    })
}

async fn named(store: &Telemetry, query: UserQuery) -> Vec<(String, u64)> {
    let users = store.users(query).await.unwrap();
    users.rows.into_iter().map(|user| (user.id, user.sums.traces)).collect()
}

fn recorded(users: &[(&str, u64)]) -> Vec<(String, u64)> {
    users.iter().map(|(user, traces)| ((*user).to_owned(), *traces)).collect()
}

async fn sums(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    let told_of = batch(&shop)
        .with(trace("t1").for_user("Ann").beginning(0).in_environment("prod"))
        .with(trace("t2").for_user("Ann").beginning(DAY).in_environment("beta"))
        .with(trace("t3").for_user("bob").beginning(2 * DAY))
        .with(trace("t4").for_user("").beginning(2 * DAY))
        .with(trace("t5").beginning(2 * DAY))
        .with(generation("g").of("t1").lasting(0, 10).tokens(1, 2).costing(0.5))
        .with(span("e").of("t2").lasting(DAY, DAY + 1).level(Level::Error));
    store.record(told_of.build()).await.unwrap();
    let read = store.users(all(&shop)).await.unwrap();
    assert_eq!(read.total, 2, "no name is nobody");
    let ann = read.rows.iter().find(|user| user.id == "Ann").unwrap();
    let cost = Money::from_dollars(0.5);
    let (traces, errors, total_tokens, last_at) = (2, 1, 3, at(DAY));
    let approximate_cost = Money::default();
    assert_eq!(
        ann.sums,
        UserSums { traces, errors, total_tokens, cost, approximate_cost, last_at }
    );

    let first_day = TimeRange { from: Some(at(5)), to: Some(at(DAY / 2)) };
    let in_time = UserScope { range: first_day, ..scope(&shop) };
    let query = UserQuery { scope: in_time, ..all(&shop) };
    assert_eq!(named(&store, query).await, recorded(&[("Ann", 1)]), "whole days");
    let in_beta = UserScope { environments: vec!["beta".to_owned()], ..scope(&shop) };
    let query = UserQuery { scope: in_beta, ..all(&shop) };
    assert_eq!(named(&store, query).await, recorded(&[("Ann", 1)]));
    let query = UserQuery { containing: "AN".to_owned(), ..all(&shop) };
    assert_eq!(named(&store, query).await, recorded(&[("Ann", 2)]));
    assert_eq!(named(&store, all(&other)).await, []);
    assert_eq!(store.user_days(scope(&other), "Ann".to_owned()).await.unwrap(), []);
}

async fn orders(store: Telemetry) {
    let shop = project("shop");
    let told_of = batch(&shop)
        .with(trace("t1").for_user("often").beginning(1))
        .with(trace("t2").for_user("often").beginning(2))
        .with(trace("t3").for_user("dear").beginning(3))
        .with(trace("t4").for_user("late").beginning(4))
        .with(trace("t5").for_user("wordy").beginning(0))
        .with(trace("t6").for_user("unlucky").beginning(0))
        .with(generation("g3").of("t3").lasting(3, 4).tokens(1, 0).costing(9.0))
        .with(generation("g5").of("t5").lasting(0, 1).tokens(900, 0))
        .with(span("e6").of("t6").lasting(0, 1).level(Level::Error));
    store.record(told_of.build()).await.unwrap();
    for (order, first) in [
        (UserOrder::LastSeen, "late"),
        (UserOrder::Traces, "often"),
        (UserOrder::Errors, "unlucky"),
        (UserOrder::Tokens, "wordy"),
        (UserOrder::Cost, "dear"),
    ] {
        let users = store.users(UserQuery { order, limit: 1, ..all(&shop) }).await.unwrap();
        assert_eq!((users.rows[0].id.as_str(), users.rows.len()), (first, 1), "{order:?}");
        assert_eq!(users.total, 5);
    }
    let too_many = UserQuery { limit: 10_001, ..all(&shop) };
    assert!(store.users(too_many).await.is_err());
}

async fn moves(store: Telemetry) {
    let shop = project("shop");
    let mut model = Model::default();
    let steps = [
        batch(&shop).with(trace("t1").for_user("ann").beginning(2 * DAY)),
        batch(&shop).with(trace("t2").for_user("ann").beginning(2 * DAY + 5)),
        batch(&shop).with(trace("t2").for_user("ann").beginning(2 * DAY + 3)),
        batch(&shop).with(trace("t2").for_user("ann").beginning(DAY)),
        batch(&shop).with(trace("t1").said_at(1).as_update().for_user("bob")),
        batch(&shop).with(generation("g").of("t1").lasting(2 * DAY, 2 * DAY + 1).tokens(1, 1)),
        batch(&shop).with(trace("t1").said_at(2).as_update().in_environment("prod")),
        batch(&shop).with(trace("t1").said_at(3).as_update().without_user()),
    ];
    for step in steps {
        let step = step.build();
        model.record(step.clone());
        store.record(step).await.unwrap();
        check(&store, &model, &shop).await;
    }
}

async fn deleting(store: Telemetry) {
    let shop = project("shop");
    let told_of = batch(&shop)
        .with(trace("t1").for_user("ann").beginning(0))
        .with(trace("t2").for_user("ann").beginning(7))
        .with(generation("g2").of("t2").lasting(7, 8).costing(0.5))
        .with(trace("t3").for_user("bob").beginning(0));
    let mut model = Model::default();
    model.record(told_of.clone().build());
    store.record(told_of.build()).await.unwrap();
    // The other trace of the day remains, and its sums alone.
    for id in ["t2", "t3"] {
        let id = TraceId::parse(id).unwrap();
        store.delete_traces(shop.clone(), vec![id.clone()]).await.unwrap();
        model.delete_traces(&[id]);
        check(&store, &model, &shop).await;
    }
    assert_eq!(named(&store, all(&shop)).await, recorded(&[("ann", 1)]));
}
