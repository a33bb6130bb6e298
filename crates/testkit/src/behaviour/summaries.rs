use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::record::observation::Level;
use ratchet_store::attached::{Attached, AttachedCount, MAX_ATTACHED};
use ratchet_store::query::{
    Compare, Condition, SessionColumn, SessionEnds, SessionQuery, Test, TextTest,
};
use ratchet_store::telemetry::Telemetry;

use super::Behaviour;
use crate::ask;
use crate::build::{
    at, batch, event, generation, observation, project, score, span, text, tool, trace,
};
use crate::recording::RecordBatch;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("a trace sums its observations", |s| Box::pin(a_trace_sums_up(s))),
    ("an update replaces what it was counted as", |s| Box::pin(updates_are_not_added(s))),
    ("an unknown cost is unknown, not zero", |s| Box::pin(unknown_cost(s))),
    ("a session sums its traces", |s| Box::pin(a_session_sums_up(s))),
    ("sessions are filtered by their fields", |s| Box::pin(sessions_are_filtered(s))),
    ("sessions know how they begin and end", |s| Box::pin(ends_of_sessions(s))),
    ("a trace moves from session to session", |s| Box::pin(a_trace_moves(s))),
    ("a session without traces is gone", |s| Box::pin(an_empty_session_is_gone(s))),
    ("late observations reach the session's sums", |s| Box::pin(late_steps_reach_the_session(s))),
    ("a trace begins when its first observation does", |s| Box::pin(begins_with_its_first(s))),
    ("what hangs on traces is listed by id", |s| Box::pin(what_hangs_on_traces(s))),
    ("of a long trace a list shows some ids", |s| Box::pin(much_on_one_trace(s))),
];

fn dollars(amount: f64) -> Option<Money> {
    Money::from_dollars(amount)
}

async fn a_trace_sums_up(store: Telemetry) {
    let shop = project("shop");
    let cached = [("input", 1), ("input_cached_tokens", 100), ("output", 2)];
    let recorded = batch(&shop)
        .with(span("a").of("t").lasting(100, 900).level(Level::Debug))
        .with(generation("b").of("t").lasting(200, 400).tokens(10, 5).costing(0.25))
        .with(generation("c").of("t").lasting(300, 1_000).using(&cached))
        .with(tool("d").of("t").lasting(50, 60).level(Level::Error))
        .with(event("e").of("t").beginning(2_000).level(Level::Warning));
    store.record(recorded.build()).await.unwrap();
    let sums = ask::trace(&store, &shop, "t").await.summary;
    let levels = sums.levels;
    assert_eq!((levels.debug, levels.default, levels.warning, levels.error), (1, 2, 1, 1));
    assert_eq!((sums.start, sums.end), (Some(at(50)), Some(at(2_000))));
    assert_eq!((sums.input_tokens, sums.output_tokens, sums.total_tokens), (111, 7, 118));
    assert_eq!(sums.cost, dollars(0.25));
    assert_eq!(sums.latency(), Some(1_950_000_000));
}

async fn updates_are_not_added(store: Telemetry) {
    let shop = project("shop");
    let create = generation("g").of("t").lasting(0, 10).tokens(10, 10).costing(1.0);
    store.record(batch(&shop).with(create.clone()).build()).await.unwrap();
    let update = observation("g").of("t").said_at(1).as_update();
    let update = update.tokens(1, 2).costing(0.5).level(Level::Error).ending(30);
    store.record(batch(&shop).with(update).build()).await.unwrap();
    store.record(batch(&shop).with(create).build()).await.unwrap();
    let sums = ask::trace(&store, &shop, "t").await.summary;
    assert_eq!((sums.input_tokens, sums.output_tokens, sums.total_tokens), (1, 2, 3));
    assert_eq!((sums.levels.total(), sums.levels.error), (1, 1));
    assert_eq!(sums.cost, dollars(0.5));
    assert_eq!(sums.latency(), Some(30_000_000));
}

async fn unknown_cost(store: Telemetry) {
    let shop = project("shop");
    let call = generation("g").of("t").calling("a model nobody sells").tokens(5, 5);
    store.record(batch(&shop).with(call).with(trace("t").in_session("s")).build()).await.unwrap();
    assert_eq!(ask::observation(&store, &shop, "g").await.cost, None);
    assert_eq!(ask::trace(&store, &shop, "t").await.summary.cost, None);
    assert_eq!(ask::session(&store, &shop, "s").await.unwrap().cost, None);

    let free = observation("g").of("t").said_at(1).as_update().costing(0.0);
    store.record(batch(&shop).with(free).build()).await.unwrap();
    assert_eq!(ask::trace(&store, &shop, "t").await.summary.cost, Some(Money::ZERO));
    assert_eq!(ask::session(&store, &shop, "s").await.unwrap().cost, Some(Money::ZERO));

    let unset = observation("g").of("t").said_at(2).as_update().without_cost();
    store.record(batch(&shop).with(unset).build()).await.unwrap();
    assert_eq!(ask::trace(&store, &shop, "t").await.summary.cost, None);
    assert_eq!(ask::session(&store, &shop, "s").await.unwrap().cost, None);
}

async fn a_session_sums_up(store: Telemetry) {
    let shop = project("shop");
    let recorded = batch(&shop)
        .with(trace("t1").in_session("s").beginning(500).in_environment("prod"))
        .with(trace("t2").in_session("s").beginning(100).in_environment("prod"))
        .with(trace("t3").in_session("other").beginning(900))
        .with(generation("g1").of("t1").lasting(500, 600).tokens(1, 2).costing(0.5))
        .with(generation("g2").of("t2").lasting(100, 200).tokens(10, 20));
    store.record(recorded.build()).await.unwrap();
    let session = ask::session(&store, &shop, "s").await.unwrap();
    assert_eq!((session.created_at, session.last_at), (at(100), at(500)));
    assert_eq!((session.traces, session.total_tokens), (2, 33));
    assert_eq!(session.cost, dollars(0.5));
    assert_eq!(session.environment.as_str(), "prod");
    let listed: Vec<_> = ask::sessions(&store, &shop).await;
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0].id.to_string(), "other", "newest first");
    assert_eq!(listed[1], session);
    assert_eq!(ask::session(&store, &shop, "nobody's").await, None);
}

async fn sessions_are_filtered(store: Telemetry) {
    let shop = project("shop");
    let recorded = batch(&shop)
        .with(trace("t1").in_session("a").beginning(100).for_user("ann"))
        .with(trace("t2").in_session("a").beginning(200).for_user("bob"))
        .with(trace("t3").in_session("b").beginning(300).in_environment("prod"))
        // The first trace ends after the last one.
        .with(generation("g1").of("t1").lasting(100, 5_100).tokens(1, 2).costing(0.5))
        .with(tool("x").of("t3").lasting(300, 400).level(Level::Error))
        .with(score("q").on("quality").of_session("a").number(0.5));
    store.record(recorded.build()).await.unwrap();
    let text = |how, text: &str| Test::Text(how, text.to_owned());
    let any = |word: &str| Test::AnyOf(vec![word.to_owned()]);
    let quality = Test::Key("quality".to_owned(), Box::new(Test::Number(Compare::Less, 0.6)));
    let cases = [
        (SessionColumn::Id, text(TextTest::Equals, "a"), "a"),
        (SessionColumn::Users, any("bob"), "a"),
        (SessionColumn::Users, text(TextTest::Differs, "bob"), "b"),
        (SessionColumn::Users, Test::IsNull, "b"),
        (SessionColumn::Environment, any("prod"), "b"),
        (SessionColumn::CreatedAt, Test::Time(Compare::Greater, at(200)), "b"),
        (SessionColumn::LastActivity, Test::Time(Compare::Equal, at(200)), "a"),
        (SessionColumn::TraceCount, Test::Number(Compare::Greater, 1.0), "a"),
        (SessionColumn::ErrorCount, Test::Number(Compare::AtLeast, 1.0), "b"),
        (SessionColumn::Duration, Test::Number(Compare::Equal, 5.0), "a"),
        (SessionColumn::TotalTokens, Test::Number(Compare::Equal, 3.0), "a"),
        (SessionColumn::Cost, Test::IsNull, "b"),
        (SessionColumn::ScoreCount, Test::Number(Compare::Equal, 0.0), "b"),
        (SessionColumn::ScoreNumbers, quality, "a"),
    ];
    for (column, test, expected) in cases {
        let conditions = vec![Condition { column, test }];
        let query = SessionQuery { conditions, ..ask::all_sessions(&shop) };
        let page = store.sessions(query).await.unwrap();
        let ids: Vec<_> = page.rows.iter().map(|session| session.id.to_string()).collect();
        assert_eq!((ids, page.total), (vec![expected.to_owned()], Some(1)), "{column:?}");
    }
}

async fn ends_of_sessions(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    let recorded = batch(&shop)
        .with(trace("t1").in_session("s").beginning(500).for_user("ann"))
        .with(trace("t2").in_session("s").beginning(100).input(text("hello")))
        .with(span("bad").of("t1").lasting(500, 900).level(Level::Error));
    store.record(recorded.build()).await.unwrap();
    assert_eq!(ask::session(&store, &shop, "s").await.unwrap().errors, 1);
    let ids = ["s", "nobody's"].map(|id| SessionId::parse(id).unwrap()).to_vec();
    let ends = store.session_ends(shop, ids.clone()).await.unwrap();
    let first = ends[0].first.clone().unwrap();
    assert_eq!((first.id.to_string().as_str(), first.timestamp), ("t2", at(100)));
    assert_eq!(first.content.unwrap().input, Some(text("hello")));
    let last = ends[0].last.clone().unwrap();
    assert_eq!((last.user.as_deref(), last.summary.end), (Some("ann"), Some(at(900))));
    assert_eq!(ends[1], SessionEnds::default());
    let theirs = store.session_ends(other, ids).await.unwrap();
    assert_eq!(theirs, vec![SessionEnds::default(); 2]);
}

async fn a_trace_moves(store: Telemetry) {
    let shop = project("shop");
    let recorded = batch(&shop)
        .with(trace("t1").in_session("a").beginning(10))
        .with(trace("t2").in_session("a").beginning(20))
        .with(trace("t3").in_session("b").beginning(30))
        .with(generation("g1").of("t1").lasting(10, 11).tokens(1, 0).costing(1.0))
        .with(generation("g2").of("t2").lasting(20, 21).tokens(2, 0).costing(2.0))
        .with(generation("g3").of("t3").lasting(30, 31).tokens(4, 0));
    store.record(recorded.build()).await.unwrap();
    let moved = trace("t1").said_at(1).as_update().in_session("b");
    store.record(batch(&shop).with(moved).build()).await.unwrap();
    let a = ask::session(&store, &shop, "a").await.unwrap();
    assert_eq!((a.traces, a.total_tokens, a.cost), (1, 2, dollars(2.0)));
    assert_eq!((a.created_at, a.last_at), (at(20), at(20)));
    let b = ask::session(&store, &shop, "b").await.unwrap();
    assert_eq!((b.traces, b.total_tokens, b.cost), (2, 5, dollars(1.0)));
    assert_eq!((b.created_at, b.last_at), (at(10), at(30)));
}

async fn an_empty_session_is_gone(store: Telemetry) {
    let shop = project("shop");
    store.record(batch(&shop).with(trace("t").in_session("s")).build()).await.unwrap();
    assert!(ask::session(&store, &shop, "s").await.is_some());
    let left = trace("t").said_at(1).as_update().without_session();
    store.record(batch(&shop).with(left).build()).await.unwrap();
    assert_eq!(ask::session(&store, &shop, "s").await, None);
    assert_eq!(ask::sessions(&store, &shop).await, []);
}

async fn late_steps_reach_the_session(store: Telemetry) {
    let shop = project("shop");
    let first = generation("g1").of("t").lasting(500, 501).tokens(1, 1);
    let recorded = batch(&shop).with(trace("t").in_session("s")).with(first);
    store.record(recorded.build()).await.unwrap();
    let late = generation("g2").of("t").lasting(100, 900).tokens(5, 5).costing(0.125);
    store.record(batch(&shop).with(late).build()).await.unwrap();
    let session = ask::session(&store, &shop, "s").await.unwrap();
    assert_eq!((session.total_tokens, session.cost), (12, dollars(0.125)));
    assert_eq!((session.created_at, session.last_at), (at(100), at(100)));
}

async fn begins_with_its_first(store: Telemetry) {
    let shop = project("shop");
    let recorded = batch(&shop).received(90_000).with(span("b").of("t").lasting(700, 800));
    store.record(recorded.build()).await.unwrap();
    assert_eq!(ask::trace(&store, &shop, "t").await.timestamp, at(700));
    let earlier = batch(&shop).received(91_000).with(span("a").of("t").lasting(600, 650));
    store.record(earlier.build()).await.unwrap();
    assert_eq!(ask::trace(&store, &shop, "t").await.timestamp, at(600));
    let stated = batch(&shop).with(trace("t").beginning(650));
    store.record(stated.build()).await.unwrap();
    let read = ask::trace(&store, &shop, "t").await;
    assert_eq!(read.timestamp, at(650), "the trace's own word beats its observations'");
    assert_eq!(read.summary.start, Some(at(600)));
}

async fn what_hangs_on_traces(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    let recorded = batch(&shop)
        .with(span("late").of("t").lasting(700, 800))
        .with(span("early").of("t").lasting(600, 650))
        .with(span("alone").of("u").lasting(100, 200))
        .with(score("old").of_trace("t").on("quality").number(1.0).given(1))
        .with(score("new").of_observation("t", "late").on("quality").number(1.0).given(2));
    store.record(recorded.build()).await.unwrap();
    let id = |text: &str| TraceId::parse(text).unwrap();
    let ids = vec![id("u"), id("nobody"), id("t")];
    let found = store.attached(shop, ids.clone()).await.unwrap();
    let recorded = found.iter().map(|on| format!("{:?}", (&on.observations, &on.scores)));
    assert_eq!(
        recorded.collect::<Vec<_>>(),
        [r#"(["alone"], [])"#, "([], [])", r#"(["early", "late"], ["new", "old"])"#]
    );
    let count = store.count_attached(project("shop"), ids.clone()).await.unwrap();
    assert_eq!(count, AttachedCount { observations: 3, scores: 2 });
    let theirs = store.attached(other.clone(), ids.clone()).await.unwrap();
    assert_eq!(theirs, vec![Attached::default(); 3]);
    assert_eq!(store.count_attached(other, ids).await.unwrap(), AttachedCount::default());
}

async fn much_on_one_trace(store: Telemetry) {
    let shop = project("shop");
    let many = i64::from(MAX_ATTACHED) + 5;
    let steps = (0..many).map(|n| span(&format!("o{n:05}")).of("t").lasting(many - n, many));
    let scores = (0..many)
        .map(|n| score(&format!("s{n:05}")).of_trace("t").on("quality").number(1.0).given(n));
    let recorded = batch(&shop).with_all(steps).with_all(scores);
    store.record(recorded.build()).await.unwrap();
    let ids = vec![TraceId::parse("t").unwrap()];
    let found = store.attached(shop.clone(), ids.clone()).await.unwrap().remove(0);
    let max = MAX_ATTACHED as usize;
    assert_eq!((found.observations.len(), found.scores.len()), (max, max));
    assert!(found.observations.is_sorted_by(|a, b| a > b), "by start, and the last began first");
    assert_eq!(found.scores[0].to_string(), format!("s{:05}", many - 1), "the newest is there");
    let count = store.count_attached(shop, ids).await.unwrap();
    let all = u64::try_from(many).unwrap();
    assert_eq!(count, AttachedCount { observations: all, scores: all });
}
