use ratchet_core::id::{MAX_ID_BYTES, ObservationId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::observation::Observation;
use ratchet_store::aggregate::Step;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{ObservationQuery, ScoreQuery, ScoresOn};
use ratchet_store::telemetry::Telemetry;

use super::Behaviour;
use crate::ask;
use crate::build::{at, batch, generation, json, project, score, span, text, trace};
use crate::reading::Reading;
use crate::recording::RecordBatch;
use crate::reference_store::Model;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("no question crosses the border of a project", |s| Box::pin(projects_are_apart(s))),
    ("eight megabytes are read back unchanged", |s| Box::pin(large_payloads(s))),
    ("odd texts are read back unchanged", |s| Box::pin(odd_texts(s))),
    ("odd ids are read back unchanged", |s| Box::pin(odd_ids(s))),
    ("extreme times and numbers are kept", |s| Box::pin(extremes(s))),
    ("a batch is seen whole or not at all", |s| Box::pin(batches_are_whole(s))),
    ("a clock that jumps back loses nothing", |s| Box::pin(clock_jumps_back(s))),
    ("an empty batch is no trouble", |s| Box::pin(empty_batch(s))),
    ("scores are found by what they judge", |s| Box::pin(scores_by_target(s))),
];

async fn projects_are_apart(store: Telemetry) {
    let (ours, theirs) = (project("ours"), project("theirs"));
    let recorded = |whose: &ProjectId, name: &str| {
        batch(whose)
            .with(trace("t").named(name).in_session("s").beginning(0))
            .with(generation("o").of("t").named(name).lasting(0, 1).tokens(1, 1).input(text(name)))
            .with(score("q").on(name).of_trace("t").number(0.5).given(0))
            .build()
    };
    store.record(recorded(&ours, "ours")).await.unwrap();
    let nothing = Reading::of_store(&store, &theirs).await;
    nothing.assert_equals(&Reading::of_model(&Model::default()), "reading an empty project");
    assert!(ask::session(&store, &theirs, "s").await.is_none());
    let (t, o) = (TraceId::parse("t").unwrap(), ObservationId::parse("o").unwrap());
    assert_eq!(store.trace(theirs.clone(), t.clone()).await.unwrap(), None);
    assert_eq!(store.observation(theirs.clone(), o.clone()).await.unwrap(), None);
    let within = ObservationQuery { trace: Some(t.clone()), ..ask::all_observations(&theirs) };
    assert_eq!(store.observations(within).await.unwrap().rows, []);
    let on = ScoresOn::Trace(t);
    let of_trace = ScoreQuery { on, ..ask::all_scores(&theirs) };
    assert_eq!(store.scores(of_trace).await.unwrap().rows, []);
    let sums = ask::sums(&store, ask::all_sums(&theirs, &[], Step::Whole)).await;
    assert_eq!(sums.groups, []);
    let found = store.search(super::search::look_for("ours", &theirs)).await.unwrap();
    assert_eq!((found.rows.len(), found.rows_read), (0, 0));

    store.record(recorded(&theirs, "theirs")).await.unwrap();
    for (whose, name) in [(&ours, "ours"), (&theirs, "theirs")] {
        let mut model = Model::default();
        model.record(recorded(whose, name));
        let read = Reading::of_store(&store, whose).await;
        read.assert_equals(&Reading::of_model(&model), name);
        assert_eq!(ask::observation(&store, whose, "o").await.name.as_deref(), Some(name));
    }
}

async fn content_of(store: &Telemetry, shop: &ProjectId, id: &str) -> (Payload, Payload) {
    let content = ask::observation(store, shop, id).await.content.unwrap();
    (content.input.unwrap(), content.output.unwrap())
}

async fn large_payloads(store: Telemetry) {
    let shop = project("shop");
    let eight_megabytes = 8 * 1024 * 1024;
    let same = text(&"x".repeat(eight_megabytes));
    // Neither repeats nor compresses well.
    let mut state = 1_u32;
    let noise: String = (0..eight_megabytes / 4)
        .filter_map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from_u32(0x1_0000 + (state >> 16))
        })
        .collect();
    let noise = text(&noise);
    let recorded = span("big").of("t").input(same.clone()).output(noise.clone());
    let small = span("small").of("t").input(text("a")).output(text("b"));
    store.record(batch(&shop).with(recorded).with(small).build()).await.unwrap();
    assert!(content_of(&store, &shop, "big").await == (same, noise), "a large payload changed");
    assert_eq!(content_of(&store, &shop, "small").await, (text("a"), text("b")));
}

const ODD_TEXTS: [&str; 12] = [
    "",
    " ",
    "\0",
    "a\0b",
    "\u{feff}bom",
    "日本語",
    "e\u{301}",
    "🦀👩‍👩‍👧",
    "\u{202e}right to left",
    "'; DROP TABLE trace; --",
    "line\r\nbreak\u{2028}",
    "\u{10ffff}",
];

async fn odd_texts(store: Telemetry) {
    let shop = project("shop");
    let mut model = Model::default();
    for (n, odd) in ODD_TEXTS.iter().enumerate() {
        let id = format!("{n}");
        let quoted = serde_json::to_string(odd).unwrap();
        let step = generation(&id).of(&id).named(odd).because(odd).version(odd).agent(odd);
        let step = step.calling(odd).prompted_by(odd, 1).lasting(0, 1).using(&[(odd, 1)]);
        let step = step.input(text(odd)).output(Payload::Json(json(&quoted)));
        let about = trace(&id).named(odd).for_user(odd).release(odd).tagged(odd).beginning(0);
        let recorded = batch(&shop)
            .with(about.metadata(odd, &quoted))
            .with(step.metadata(odd, &quoted))
            .with(score(&id).on(odd).of_trace(&id).comment(odd).number(0.0).given(0))
            .build();
        model.record(recorded.clone());
        store.record(recorded).await.unwrap();
    }
    let read = Reading::of_store(&store, &shop).await;
    read.assert_equals(&Reading::of_model(&model), "recording odd texts");
}

async fn odd_ids(store: Telemetry) {
    let shop = project("shop");
    let long = "é".repeat(MAX_ID_BYTES / 2);
    let odd = [
        long.as_str(),
        "0123456789abcdef",
        "0123456789ABCDEF",
        "0123456789abcdef0123456789abcdef",
        "00000000000000000000000000000000",
        " ",
        "a/b?c#d%20",
        "%",
        "\0",
        "'",
        "日本",
    ];
    for id in odd {
        let recorded = batch(&shop)
            .with(trace(id).in_session(id).named(id).beginning(0))
            .with(span(id).of(id).lasting(0, 1).input(text(id)))
            .with(score(id).on("q").of_observation(id, id).number(1.0).given(0));
        store.record(recorded.build()).await.unwrap();
    }
    for id in odd {
        assert_eq!(ask::trace(&store, &shop, id).await.name.as_deref(), Some(id));
        let seen = ask::observation(&store, &shop, id).await;
        assert_eq!((seen.id.to_string(), seen.trace.to_string()), (id.to_owned(), id.to_owned()));
        assert_eq!(ask::session(&store, &shop, id).await.unwrap().traces, 1, "session {id:?}");
    }
    assert_eq!(ask::traces(&store, &shop).await.len(), odd.len());
    assert_eq!(ask::scores(&store, &shop).await.len(), odd.len());
}

async fn extremes(store: Telemetry) {
    let shop = project("shop");
    let ages = 250 * 365 * 24 * 3_600_000_i64;
    let recorded = batch(&shop)
        .with(generation("old").of("t1").lasting(-ages, -ages + 1).tokens(u64::MAX, u64::MAX))
        .with(
            generation("far").of("t2").lasting(0, 200 * 365 * 24 * 3_600_000).costing(9_000_000.0),
        )
        .with(generation("far2").of("t2").lasting(1, 2).costing(9_000_000.0))
        .build();
    store.record(recorded).await.unwrap();
    let old = ask::observation(&store, &shop, "old").await;
    assert_eq!(old.start, at(-ages));
    assert!(old.usage.total() >= i64::MAX.cast_unsigned(), "too many tokens are many, not few");
    let sums = ask::trace(&store, &shop, "t2").await.summary;
    assert!(sums.cost.unwrap().dollars() > 9_000_000.0, "sums stop, they do not wrap");
    let sums = ask::sums(&store, ask::all_sums(&shop, &[], Step::Whole)).await;
    assert_eq!(sums.groups[0].sums.count, 3);
}

async fn batches_are_whole(store: Telemetry) {
    let shop = project("shop");
    let together = 7;
    let write = async {
        for n in 0..60 {
            let steps = (0..together).map(|k| span(&format!("{n}-{k}")).of("t").lasting(n, n + k));
            store.record(batch(&shop).with_all(steps).build()).await.unwrap();
        }
    };
    let read = async {
        let mut seen = 0;
        while seen < 60 * together {
            seen = ask::observations(&store, &shop).await.len().try_into().unwrap();
            assert_eq!(seen % together, 0, "half a batch was seen");
            let found = store.trace(shop.clone(), TraceId::parse("t").unwrap()).await.unwrap();
            let counted = found.map_or(0, |trace| trace.summary.levels.total());
            assert_eq!(counted % together.unsigned_abs(), 0, "half a batch was summed");
        }
    };
    tokio::join!(write, read);
}

async fn clock_jumps_back(store: Telemetry) {
    let shop = project("shop");
    for (n, received) in [50_000, -50_000, 10_000].into_iter().enumerate() {
        let n = i64::try_from(n).unwrap();
        let recorded = batch(&shop)
            .received(received)
            .with(trace("t").said_at(n).named(&format!("name {n}")))
            .with(span("o").of("t").said_at(n).named(&format!("name {n}")).lasting(0, n))
            .with(score("q").said_at(n).on("q").of_trace("t").comment(&n.to_string()).number(1.0));
        store.record(recorded.build()).await.unwrap();
    }
    let seen = ask::observation(&store, &shop, "o").await;
    assert_eq!((seen.name.as_deref(), seen.end), (Some("name 2"), Some(at(2))));
    assert!(seen.created_at <= seen.updated_at, "changed before it was made: {seen:?}");
    let run = ask::trace(&store, &shop, "t").await;
    assert_eq!((run.name.as_deref(), run.summary.levels.total()), (Some("name 2"), 1));
    assert!(run.created_at <= run.updated_at, "changed before it was made: {run:?}");
    let judged = ask::scores(&store, &shop).await;
    assert_eq!((judged.len(), judged[0].comment.as_deref()), (1, Some("2")));
    assert!(judged[0].created_at <= judged[0].updated_at, "changed before it was made");
}

async fn empty_batch(store: Telemetry) {
    let shop = project("shop");
    store.record(batch(&shop).build()).await.unwrap();
    assert_eq!(ask::traces(&store, &shop).await, []);
}

async fn scores_by_target(store: Telemetry) {
    let shop = project("shop");
    let recorded = batch(&shop)
        .with(score("on-trace").on("a").of_trace("t").number(1.0).given(1))
        .with(score("on-step").on("a").of_observation("t", "o").number(1.0).given(2))
        .with(score("on-other").on("b").of_trace("u").number(1.0).given(3))
        .with(score("on-session").on("b").of_session("s").number(1.0).given(4))
        .with(score("on-run").on("c").of_run("r").number(1.0).given(5));
    store.record(recorded.build()).await.unwrap();
    let (t, o) = (TraceId::parse("t").unwrap(), ObservationId::parse("o").unwrap());
    let session = ratchet_core::id::SessionId::parse("s").unwrap();
    let by_target: [(ScoresOn, &[&str]); 5] = [
        (ScoresOn::Anything, &["on-run", "on-session", "on-other", "on-step", "on-trace"]),
        (ScoresOn::Trace(t.clone()), &["on-step", "on-trace"]),
        (ScoresOn::Observation(t, o), &["on-step"]),
        (ScoresOn::Session(session), &["on-session"]),
        (ScoresOn::DatasetRun("r".to_owned()), &["on-run"]),
    ];
    for (on, expected) in by_target {
        let query = ScoreQuery { on: on.clone(), ..ask::all_scores(&shop) };
        let found = store.scores(query).await.unwrap().rows;
        let ids: Vec<_> = found.iter().map(|score| score.id.to_string()).collect();
        assert_eq!(ids, expected, "{on:?}");
    }
    let none: Vec<Observation> = ask::observations(&store, &shop).await;
    assert_eq!(none, [], "a score makes no observation");
}
