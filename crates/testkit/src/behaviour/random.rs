//! Property tests: random patches of few records with many collisions, in batches, with deletions
//! in between. The engine must always answer like the reference store.

use std::cell::Cell;
use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use ratchet_core::id::{ScoreId, TraceId};
use ratchet_core::record::field::Authority;
use ratchet_core::record::observation::Level;
use ratchet_store::aggregate::{AggregateDimension, Step};
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Telemetry;

use super::retention::delete_all_before;
use super::{Fresh, aggregates, metrics, runtime, users};
use crate::ask;
use crate::build::{ObservationBuilder, Patch, TraceBuilder, at, batch, observation, project};
use crate::build::{json, score, text, trace};
use crate::reading::Reading;
use crate::recording::RecordBatch;
use crate::reference_store::Model;

#[derive(Clone)]
enum StoreOperation {
    Recorded(Vec<Patch>),
    DeletedBefore(i64),
    ScoreDeleted(usize),
    Deleted(Vec<usize>),
}

/// Prints only fields that are set: a patch has many, and most are not.
impl fmt::Debug for StoreOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patches = match self {
            Self::DeletedBefore(millis) => return write!(f, "deleted before {millis}"),
            Self::ScoreDeleted(number) => return write!(f, "deleted score s{number}"),
            Self::Deleted(traces) => return write!(f, "deleted t{traces:?}"),
            Self::Recorded(patches) => patches,
        };
        f.write_str("recorded")?;
        for patch in patches {
            let fields = format!("{patch:?}");
            let is_said = |part: &&str| !part.contains("None)") && !part.ends_with("{})");
            let said: Vec<_> = fields.split(", ").filter(is_said).collect();
            write!(f, "\n        {}", said.join(", "))?;
        }
        Ok(())
    }
}

const TRACES: usize = 4;
const HOUR: i64 = 3_600_000;

/// Runs random sequences of operations and fails on the first that reads differently from the
/// reference store, after shrinking it.
#[track_caller]
pub fn check(open: fn() -> Fresh, stories: u32) {
    let runtime = runtime();
    let fresh = open();
    let mut runner =
        TestRunner::new(Config { cases: stories, failure_persistence: None, ..Config::default() });
    let written = Cell::new(0);
    let result = runner.run(&vec(happening(), 1..12), |story| {
        written.set(written.get() + 1);
        let shop = project(&format!("story-{}", written.get()));
        let event = tell(&fresh.store, &shop, &story);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            runtime.block_on(event);
        }));
        outcome.map_err(|_| TestCaseError::fail("the engine does not answer like the model"))
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

async fn tell(store: &Telemetry, shop: &ProjectId, story: &[StoreOperation]) {
    let mut model = Model::default();
    for (moment, happening) in (0..).zip(story) {
        match happening {
            StoreOperation::Recorded(patches) => {
                let written = batch(shop).received(moment).with_all(patches.clone()).build();
                model.record(written.clone());
                store.record(written).await.unwrap();
            }
            StoreOperation::DeletedBefore(millis) => {
                delete_all_before(store, shop, *millis).await;
                model.delete_before(at(*millis));
            }
            StoreOperation::ScoreDeleted(number) => {
                let id = ScoreId::parse(&format!("s{number}")).unwrap();
                let was_there = store.delete_score(shop.clone(), id.clone()).await.unwrap();
                assert_eq!(was_there, model.delete_score(&id));
            }
            StoreOperation::Deleted(traces) => {
                let name = |number: &usize| TraceId::parse(&format!("t{number}")).unwrap();
                let ids: Vec<_> = traces.iter().map(name).collect();
                store.delete_traces(shop.clone(), ids.clone()).await.unwrap();
                model.delete_traces(&ids);
            }
        }
        let read = Reading::of_store(store, shop).await;
        read.assert_equals(&Reading::of_model(&model), &format!("after {happening:?}"));
    }
    for by in [
        &[][..],
        &[AggregateDimension::Name],
        &[AggregateDimension::Model, AggregateDimension::Environment],
    ] {
        aggregates::check(store, &model, ask::all_sums(shop, by, Step::Hour)).await;
    }
    aggregates::check(store, &model, ask::all_sums(shop, &[AggregateDimension::User], Step::Day))
        .await;
    metrics::check_some(store, &model, shop).await;
    users::check(store, &model, shop).await;
}

fn happening() -> impl Strategy<Value = StoreOperation> {
    prop_oneof![
        18 => vec(patch(), 1..6).prop_map(StoreOperation::Recorded),
        2 => (-2 * HOUR..3 * HOUR).prop_map(StoreOperation::DeletedBefore),
        1 => (0..3_usize).prop_map(StoreOperation::ScoreDeleted),
        2 => vec(0..=TRACES, 0..3).prop_map(StoreOperation::Deleted),
    ]
}

fn patch() -> impl Strategy<Value = Patch> {
    prop_oneof![
        3 => trace_patch().prop_map(Patch::from),
        6 => observation_patch().prop_map(Patch::from),
        1 => score_patch(),
    ]
}

fn pick(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words)
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![-2 * HOUR..3 * HOUR, Just(0), Just(HOUR), Just(HOUR - 1)]
}

/// One change of a trace.
type TraceWord = fn(TraceBuilder, &'static str, i64) -> TraceBuilder;

const TRACE_WORDS: [TraceWord; 14] = [
    |t, word, _| t.named(word),
    |t, _, _| t.without_name(),
    |t, word, _| t.for_user(word),
    |t, _, _| t.without_user(),
    |t, word, _| t.in_session(if word.is_empty() { "session" } else { word }),
    |t, _, _| t.without_session(),
    |t, word, _| t.in_environment(word),
    |t, word, _| t.tagged(word),
    |t, word, _| t.metadata(word, "1"),
    |t, word, _| t.metadata(word, "null"),
    |t, word, _| t.input(text(word)),
    |t, _, _| t.without_output(),
    |t, word, _| t.output(ratchet_core::payload::Payload::Json(json(&format!("[{word:?}]")))),
    |t, _, time| t.beginning(time),
];

/// One change of an observation.
type ObservationWord = fn(ObservationBuilder, &'static str, i64) -> ObservationBuilder;

const OBSERVATION_WORDS: [ObservationWord; 18] = [
    |o, word, _| o.named(word),
    |o, _, _| o.without_name(),
    |o, _, time| o.beginning(time),
    |o, _, time| o.ending(time),
    |o, _, time| o.first_token(time),
    |o, word, _| o.calling(word),
    |o, _, time| o.tokens(time.unsigned_abs() % 100, 3),
    |o, _, _| o.using(&[]),
    |o, _, time| o.costing(f64::from(u8::try_from(time.rem_euclid(50)).unwrap())),
    |o, _, _| o.without_cost(),
    |o, _, _| o.level(Level::Error),
    |o, _, _| o.level(Level::Warning),
    |o, word, _| o.in_environment(word),
    |o, word, _| o.input(text(word)),
    |o, _, _| o.without_output(),
    |o, word, _| o.metadata(word, "[]"),
    |o, word, _| o.metadata(word, "null"),
    |o, _, _| o.as_app_root(),
];

const WORDS: &[&str] = &["", "a", "b", "prod"];

fn trace_patch() -> impl Strategy<Value = TraceBuilder> {
    let authority =
        prop::sample::select(&[Authority::Child, Authority::Root, Authority::Stated][..]);
    let words = vec((prop::sample::select(&TRACE_WORDS[..]), pick(WORDS), time()), 0..5);
    (0..TRACES, 0..4_i64, any::<bool>(), authority, words).prop_map(
        |(number, said_at, is_update, authority, words)| {
            let patch = trace(&format!("t{number}")).said_at(said_at).by(authority);
            let patch = if is_update { patch.as_update() } else { patch };
            words.into_iter().fold(patch, |patch, (say, word, time)| say(patch, word, time))
        },
    )
}

fn observation_patch() -> impl Strategy<Value = ObservationBuilder> {
    let words = vec((prop::sample::select(&OBSERVATION_WORDS[..]), pick(WORDS), time()), 0..7);
    (0..TRACES * 2, 0..4_i64, any::<bool>(), 0..6_u8, words).prop_map(
        |(number, said_at, is_update, knows_trace, words)| {
            let patch = observation(&format!("o{number}")).said_at(said_at);
            let patch = if is_update { patch.as_update() } else { patch };
            let is_stray = is_update && knows_trace == 0;
            let home = format!("t{}", number % TRACES);
            let patch = if is_stray { patch } else { patch.of(&home) };
            words.into_iter().fold(patch, |patch, (say, word, time)| say(patch, word, time))
        },
    )
}

fn score_patch() -> impl Strategy<Value = Patch> {
    (0..3_usize, 0..TRACES, 0..4_i64, time()).prop_map(|(number, on, said_at, time)| {
        let judged = score(&format!("s{number}")).said_at(said_at).on("quality").given(time);
        judged.of_trace(&format!("t{on}")).number(f64::from(u8::try_from(on).unwrap())).into()
    })
}
