use ratchet_core::payload::Payload;
use ratchet_core::record::field::Authority;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::ScoreValue;
use ratchet_store::telemetry::Telemetry;

use super::Behaviour;
use crate::ask;
use crate::build::{
    Patch, at, batch, generation, json, observation, project, score, span, text, trace,
};
use crate::reading::Reading;
use crate::recording::RecordBatch;
use crate::reference_store::Model;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("what is recorded can be read at once", |s| Box::pin(read_your_write(s))),
    ("an observation is the same in any order", |s| Box::pin(observation_in_any_order(s))),
    ("a trace is the same in any order", |s| Box::pin(trace_in_any_order(s))),
    ("a score is the same in any order", |s| Box::pin(score_in_any_order(s))),
    ("a stray finds its trace in any order", |s| Box::pin(stray_in_any_order(s))),
    ("an end before the start is mended in any order", |s| Box::pin(backward_in_any_order(s))),
    ("null clears and silence keeps", |s| Box::pin(null_and_absent(s))),
    ("at the same moment the update wins", |s| Box::pin(update_wins_a_tie(s))),
    ("a stored stamp from the far future loses to the next word", |s| Box::pin(far_future(s))),
    ("tags only join", |s| Box::pin(tags_join(s))),
    ("the environment comes from the root", |s| Box::pin(environment_from_root(s))),
    ("an update alone waits in a trace of its own", |s| Box::pin(a_stray_is_visible(s))),
    ("one id in two traces is two observations", |s| Box::pin(same_id_in_two_traces(s))),
    ("the root's input and output stand in for the trace's", |s| Box::pin(root_stands_in(s))),
];

async fn read_your_write(store: Telemetry) {
    let shop = project("shop");
    for n in 0..20 {
        let (t, o, s) = (format!("t{n}"), format!("o{n}"), format!("s{n}"));
        let written = batch(&shop)
            .with(trace(&t).named("checkout"))
            .with(span(&o).of(&t).lasting(n, n + 5))
            .with(score(&s).on("quality").of_trace(&t).number(1.0).given(n));
        store.record(written.build()).await.unwrap();
        assert_eq!(ask::trace(&store, &shop, &t).await.name.as_deref(), Some("checkout"));
        assert_eq!(ask::observation(&store, &shop, &o).await.start, at(n));
        assert_eq!(ask::scores(&store, &shop).await[0].id.to_string(), s);
    }
}

/// Records the same patches in every order, each of them twice, in batches of one and in one batch:
/// every way must read the same, and like the reference store.
async fn check_every_order(store: &Telemetry, words: &[Patch]) {
    let mut model = Model::default();
    model.record(batch(&project("p")).with_all(words.to_vec()).build());
    let expected = Reading::of_model(&model);
    for (n, order) in orders(words.len()).into_iter().enumerate() {
        let written: Vec<Patch> = order.iter().map(|index| words[*index].clone()).collect();
        let alone = project(&format!("alone-{n}"));
        for word in written.iter().chain(&written) {
            store.record(batch(&alone).with(word.clone()).build()).await.unwrap();
        }
        let done = format!("one by one in order {order:?}");
        Reading::of_store(store, &alone).await.assert_equals(&expected, &done);

        let together = project(&format!("together-{n}"));
        store.record(batch(&together).with_all(written.clone()).build()).await.unwrap();
        let done = format!("together in order {order:?}");
        Reading::of_store(store, &together).await.assert_equals(&expected, &done);
    }
}

/// Every permutation of `n` items.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let with_last = |order: &Vec<usize>, place: usize| {
        let mut longer = order.clone();
        longer.insert(place, n - 1);
        longer
    };
    let shorter = orders(n - 1);
    shorter.iter().flat_map(|order| (0..n).map(move |place| with_last(order, place))).collect()
}

async fn observation_in_any_order(store: Telemetry) {
    let words = [
        generation("g").of("t").named("ask").lasting(10, 20).input(text("hi")).metadata("a", "1"),
        observation("g")
            .of("t")
            .said_at(5)
            .as_update()
            .ending(90)
            .tokens(10, 20)
            .metadata("b", "2"),
        observation("g").of("t").said_at(7).as_update().without_name().costing(0.5).beginning(4),
        observation("g").of("t").said_at(6).as_update().named("asked").level(Level::Error),
        observation("g").of("t").said_at(9).as_update().output(text("")).metadata("a", "null"),
    ];
    check_every_order(&store, &words.map(Patch::from)).await;
}

async fn trace_in_any_order(store: Telemetry) {
    let words = [
        trace("t").beginning(50).named("first").for_user("ann").in_session("monday").tagged("a"),
        trace("t").said_at(3).named("third").tagged("b").metadata("k", r#"{"deep":[1]}"#),
        trace("t").said_at(2).as_update().without_user().named("second").beginning(20),
        trace("t").said_at(8).in_session("tuesday").output(text("done")).public(true),
        trace("t").said_at(8).as_update().in_session("sunday").metadata("k", "null").tagged("a"),
    ];
    check_every_order(&store, &words.map(Patch::from)).await;
}

async fn score_in_any_order(store: Telemetry) {
    let label = ScoreValue::Categorical { label: "fair".to_owned(), number: Some(0.5) };
    let words = [
        score("s").on("quality").of_trace("t").number(0.25).given(40).comment("meh"),
        score("s").said_at(2).on("quality").of_trace("t").number(0.75).given(30),
        score("s").said_at(3).as_update().value(label).on("mood").without_comment().given(90),
        score("s")
            .said_at(1)
            .on("q")
            .number(0.5)
            .in_environment("prod")
            .metadata("judge", r#""b""#),
    ];
    // A score is always sent whole: target and value.
    let words = words.map(|word| word.of_trace("t"));
    check_every_order(&store, &words.map(Patch::from)).await;
}

async fn stray_in_any_order(store: Telemetry) {
    let words: [Patch; 4] = [
        observation("o").said_at(4).as_update().ending(80).tokens(1, 2).output(text("late")).into(),
        observation("o").said_at(3).as_update().level(Level::Warning).costing(0.1).into(),
        generation("o").of("t").lasting(10, 20).named("ask").into(),
        trace("t").named("checkout").in_session("monday").beginning(5).into(),
    ];
    check_every_order(&store, &words).await;
}

async fn backward_in_any_order(store: Telemetry) {
    let words: [Patch; 3] = [
        span("o").of("t").lasting(100, 50).into(),
        observation("o").of("t").said_at(1).as_update().beginning(30).into(),
        observation("o").of("t").said_at(2).as_update().ending(20).into(),
    ];
    check_every_order(&store, &words).await;
}

async fn null_and_absent(store: Telemetry) {
    let shop = project("shop");
    let first = span("o").of("t").named("step").input(text("in")).output(text("out"));
    store.record(batch(&shop).with(first).build()).await.unwrap();
    let silent = observation("o").of("t").said_at(1).as_update().ending(9);
    store.record(batch(&shop).with(silent).build()).await.unwrap();
    let kept = ask::observation(&store, &shop, "o").await;
    assert_eq!(kept.name.as_deref(), Some("step"), "silence must not clear");
    assert_eq!(kept.content.unwrap().output, Some(text("out")), "silence must not clear");

    let null = observation("o").of("t").said_at(2).as_update().without_name().without_output();
    store.record(batch(&shop).with(null).build()).await.unwrap();
    let cleared = ask::observation(&store, &shop, "o").await;
    assert_eq!(cleared.name, None, "null must clear");
    let content = cleared.content.unwrap();
    assert_eq!((content.input, content.output), (Some(text("in")), None), "null must clear");

    let older = observation("o").of("t").said_at(1).as_update().named("older");
    store.record(batch(&shop).with(older).build()).await.unwrap();
    let still = ask::observation(&store, &shop, "o").await;
    assert_eq!(still.name, None, "a tombstone outlives older words");

    let newer = observation("o").of("t").said_at(3).as_update().named("").output(text(""));
    store.record(batch(&shop).with(newer).build()).await.unwrap();
    let empty = ask::observation(&store, &shop, "o").await;
    assert_eq!(empty.name.as_deref(), Some(""), "empty is not null");
    assert_eq!(empty.content.unwrap().output, Some(text("")), "empty is not null");
}

async fn update_wins_a_tie(store: Telemetry) {
    let shop = project("shop");
    let update = trace("t").said_at(5).as_update().named("a");
    let create = trace("t").said_at(5).named("z");
    store.record(batch(&shop).with(update).build()).await.unwrap();
    store.record(batch(&shop).with(create).build()).await.unwrap();
    assert_eq!(ask::trace(&store, &shop, "t").await.name.as_deref(), Some("a"));
}

async fn far_future(store: Telemetry) {
    const CENTURY: i64 = 36_525 * 86_400_000;
    let shop = project("shop");
    // As records were stored before stamps were clamped at their receipt.
    let stuck = batch(&shop)
        .with(trace("t").said_at(CENTURY).named("stuck").metadata("k", "1"))
        .with(span("o").of("t").said_at(CENTURY).named("stuck").output(text("kept")))
        .with(score("s").said_at(CENTURY).on("quality").of_trace("t").number(0.0));
    store.record(stuck.build()).await.unwrap();
    let next = batch(&shop)
        .received(1_000)
        .with(trace("t").said_at(900).as_update().named("mended").metadata("k", "2"))
        .with(observation("o").of("t").said_at(900).as_update().named("mended"))
        .with(score("s").said_at(900).as_update().on("quality").of_trace("t").number(1.0));
    store.record(next.build()).await.unwrap();
    let trace = ask::trace(&store, &shop, "t").await;
    assert_eq!(trace.name.as_deref(), Some("mended"));
    assert_eq!(trace.content.unwrap().metadata, [("k".to_owned(), json("2"))]);
    let step = ask::observation(&store, &shop, "o").await;
    assert_eq!(step.name.as_deref(), Some("mended"));
    assert_eq!(step.content.unwrap().output, Some(text("kept")), "nobody said anything else");
    assert_eq!(ask::scores(&store, &shop).await[0].value.number(), Some(1.0));
}

async fn tags_join(store: Telemetry) {
    let shop = project("shop");
    for tag in ["b", "a", "b", "c", ""] {
        store.record(batch(&shop).with(trace("t").tagged(tag)).build()).await.unwrap();
    }
    assert_eq!(ask::trace(&store, &shop, "t").await.tags, ["", "a", "b", "c"]);
}

async fn environment_from_root(store: Telemetry) {
    let shop = project("shop");
    let child = trace("t").said_at(900).by(Authority::Child).in_environment("staging");
    store.record(batch(&shop).with(child).build()).await.unwrap();
    assert_eq!(ask::trace(&store, &shop, "t").await.environment.as_str(), "staging");
    let root = trace("t").said_at(100).by(Authority::Root).in_environment("prod");
    store.record(batch(&shop).with(root).build()).await.unwrap();
    assert_eq!(ask::trace(&store, &shop, "t").await.environment.as_str(), "prod");
    let late = trace("t").said_at(999).by(Authority::Child).in_environment("dev");
    store.record(batch(&shop).with(late).build()).await.unwrap();
    assert_eq!(ask::trace(&store, &shop, "t").await.environment.as_str(), "prod");
}

async fn a_stray_is_visible(store: Telemetry) {
    let shop = project("shop");
    let stray = observation("o").as_update().named("lost").beginning(3);
    store.record(batch(&shop).with(stray).build()).await.unwrap();
    let waiting = ask::observation(&store, &shop, "o").await;
    assert_eq!(waiting.trace.to_string(), "o", "a stray waits in a trace named after it");
    assert_eq!(ask::traces(&store, &shop).await.len(), 1);

    let create = generation("o").of("t").lasting(1, 2);
    store.record(batch(&shop).with(create).build()).await.unwrap();
    let found = ask::observation(&store, &shop, "o").await;
    assert_eq!(found.trace.to_string(), "t");
    assert_eq!(found.name.as_deref(), Some("lost"));
    let traces = ask::traces(&store, &shop).await;
    assert_eq!(traces.len(), 1, "the trace it waited in is gone");
}

async fn same_id_in_two_traces(store: Telemetry) {
    let shop = project("shop");
    let written = batch(&shop)
        .with(span("o").of("t1").named("one").beginning(1).input(text("1")))
        .with(span("o").of("t2").named("two").beginning(2).input(text("2")));
    store.record(written.build()).await.unwrap();
    let names: Vec<_> =
        ask::observations(&store, &shop).await.into_iter().map(|seen| seen.name).collect();
    assert_eq!(names, [Some("one".to_owned()), Some("two".to_owned())]);
}

async fn root_stands_in(store: Telemetry) {
    let shop = project("shop");
    let written = batch(&shop)
        .with(trace("t").by(Authority::Root).rooted_in("root"))
        .with(span("root").of("t").input(text("question")).output(text("answer")))
        .with(span("leaf").of("t").under("root").input(text("x")).output(text("y")));
    store.record(written.build()).await.unwrap();
    let content = ask::trace(&store, &shop, "t").await.content.unwrap();
    assert_eq!((content.input, content.output), (Some(text("question")), Some(text("answer"))));

    let stated = trace("t").said_at(1).output(Payload::Json(json("[]")));
    store.record(batch(&shop).with(stated).build()).await.unwrap();
    let content = ask::trace(&store, &shop, "t").await.content.unwrap();
    assert_eq!(content.input, Some(text("question")));
    assert_eq!(content.output.unwrap().as_str(), "[]", "the trace's own word wins");
}
