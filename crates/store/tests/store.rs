//! Runs the behaviour suite of every engine on the embedded engine, plus tests of its own.

#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

use ratchet_core::money::Money;
use ratchet_core::record::price::PriceTable;
use ratchet_store::aggregate::Step;
use ratchet_store::telemetry::Telemetry;
use ratchet_store::{Store, StoreError, StoreOptions};
use ratchet_testkit::ask;
use ratchet_testkit::behaviour::{self, Fresh, runtime};
use ratchet_testkit::build::{at, batch, generation, observation, project, span, text, trace};
use ratchet_testkit::folder::{DataFolder, options};
use ratchet_testkit::reading::Reading;
use ratchet_testkit::recording::RecordBatch;
use ratchet_testkit::soak::scaled;
use ratchet_testkit::wait;

fn embedded() -> Fresh {
    let folder = DataFolder::new();
    Fresh { store: folder.telemetry().clone(), keep: Box::new(folder) }
}

#[test]
fn merging() {
    behaviour::check(embedded, behaviour::merging::ALL);
}

#[test]
fn summaries() {
    behaviour::check(embedded, behaviour::summaries::ALL);
}

#[test]
fn paging() {
    behaviour::check(embedded, behaviour::paging::ALL);
}

#[test]
fn seeking() {
    behaviour::check(embedded, behaviour::seeking::ALL);
}

#[test]
fn filters() {
    behaviour::check(embedded, behaviour::filters::ALL);
}

#[test]
fn scores() {
    behaviour::check(embedded, behaviour::scores::ALL);
}

#[test]
fn users() {
    behaviour::check(embedded, behaviour::users::ALL);
}

#[test]
fn judgements() {
    behaviour::check(embedded, behaviour::judgements::ALL);
}

#[test]
fn chats() {
    behaviour::check(embedded, behaviour::chats::ALL);
}

#[test]
fn search() {
    behaviour::check(embedded, behaviour::search::ALL);
}

#[test]
fn aggregates() {
    behaviour::check(embedded, behaviour::aggregates::ALL);
}

#[test]
fn metrics() {
    behaviour::check(embedded, behaviour::metrics::ALL);
}

#[test]
fn experiments() {
    behaviour::check(embedded, behaviour::experiments::ALL);
}

#[test]
fn retention() {
    behaviour::check(embedded, behaviour::retention::ALL);
}

#[test]
fn borders() {
    behaviour::check(embedded, behaviour::borders::ALL);
}

#[test]
fn random_stories() {
    behaviour::random::check(embedded, 250);
}

#[test]
fn jobs_are_never_lost_completed_twice_or_handed_out_while_leased() {
    behaviour::jobs::check(scaled(80, 2_000));
}

fn priced() -> StoreOptions {
    let table = "[[model]]\nname = \"small\"\nprice = { input = 1.0, output = 2.0 }\n\
                 [[model]]\nname = \"large\"\nprice = { input = 10.0, output = 20.0 }\n";
    StoreOptions { prices: PriceTable::parse(table).unwrap().into(), ..options() }
}

/// Checks the cost of the observation, of its trace and of the hourly rollup.
#[track_caller]
fn assert_costs(store: &Telemetry, micro_dollars: Option<i64>) {
    let expected = micro_dollars.map(|micro| Money::from_pico(micro * 1_000_000));
    runtime().block_on(async {
        let shop = project("shop");
        let call = ask::observation(store, &shop, "g").await;
        assert_eq!(call.cost.map(|cost| cost.total()), expected);
        assert_eq!(ask::trace(store, &shop, "t").await.summary.cost, expected);
        let sums = ask::sums(store, ask::all_sums(&shop, &[], Step::Whole)).await;
        let sums = &sums.groups[0].sums;
        assert_eq!(sums.cost, expected.unwrap_or(Money::ZERO));
        assert_eq!(sums.cost_unknown, i64::from(expected.is_none()));
    });
}

#[test]
fn calls_cost_what_the_table_says_unless_the_client_knows_better() {
    let folder = DataFolder::with(priced());
    let store = folder.telemetry();
    let tell = |word: ratchet_testkit::build::ObservationBuilder| {
        let result = batch(&project("shop")).with(word).build();
        runtime().block_on(store.record(result)).unwrap();
    };
    let again = |millis| observation("g").of("t").said_at(millis).as_update();
    tell(generation("g").of("t").lasting(0, 1).calling("nobody's").tokens(10, 100));
    assert_costs(store, None);
    tell(again(1).calling("small"));
    assert_costs(store, Some(210));
    tell(again(2).calling("large"));
    assert_costs(store, Some(2_100));
    tell(again(3).tokens(1, 1));
    assert_costs(store, Some(30));
    tell(again(4).costing(0.5));
    assert_costs(store, Some(500_000));
    tell(again(5).calling("small"));
    assert_costs(store, Some(500_000));
    tell(again(6).without_cost());
    assert_costs(store, Some(3));
    tell(again(7).using(&[("input", 1), ("input_audio_tokens", 1)]));
    assert_costs(store, None);
}

#[test]
fn what_was_recorded_is_there_after_reopening() {
    let runtime = runtime();
    runtime.block_on(async {
        let shop = project("shop");
        let folder = DataFolder::new();
        let result = batch(&shop)
            .with(trace("t").named("chat").in_session("s").input(text("hi")).beginning(0))
            .with(span("o").of("t").lasting(1, 2).output(text("ho")).metadata("k", "[1]"));
        folder.telemetry().record(result.build()).await.unwrap();
        let before = Reading::of_store(folder.telemetry(), &shop).await;
        let folder = folder.reopened().await;
        let after = Reading::of_store(folder.telemetry(), &shop).await;
        after.assert_equals(&before, "reopening");
        let late = observation("o").of("t").said_at(5).as_update().named("late");
        folder.telemetry().record(batch(&shop).with(late).build()).await.unwrap();
        let seen = ask::observation(folder.telemetry(), &shop, "o").await;
        assert_eq!((seen.name.as_deref(), seen.end), (Some("late"), Some(at(2))));
    });
}

#[test]
fn a_folder_has_one_owner() {
    let folder = DataFolder::new();
    let second = Store::open(folder.path(), options()).unwrap_err();
    assert!(
        matches!(&second, StoreError::Locked { holder, .. } if holder.contains("a test")),
        "{second}"
    );
    drop(folder);
}

#[test]
fn what_is_deleted_gives_its_space_back() {
    runtime().block_on(async {
        let shop = project("shop");
        let folder = DataFolder::new();
        let mut chance = ratchet_testkit::seeded_random::SeededRandom::new(3);
        for n in 0..40 {
            let noise: String = (0..4_000).map(|_| format!("{:016x}", chance.number())).collect();
            let step = span(&format!("o{n}")).of(&format!("t{n}")).lasting(n, n + 1);
            let result = batch(&shop).with(step.input(text(&noise)));
            folder.telemetry().record(result.build()).await.unwrap();
        }
        let full = folder.folder().compact().await.unwrap().bytes_after;
        wait::until_async("everything old is deleted", async || {
            folder.telemetry().delete_before(shop.clone(), at(1_000)).await.unwrap() == 0
        })
        .await;
        let empty = folder.folder().compact().await.unwrap().bytes_after;
        assert!(empty * 4 < full, "{full} bytes before, {empty} after");
    });
}

#[test]
fn a_full_queue_refuses_and_drops_nothing_silently() {
    let folder = DataFolder::with(StoreOptions { queue_len: 1, ..options() });
    let shop = project("shop");
    let store = folder.telemetry();
    let runtime = runtime();
    let mut taken = Vec::new();
    let mut refused = 0;
    // Concurrent requests, until the queue was full at least once.
    for round in 0..50 {
        let mut requests = tokio::task::JoinSet::new();
        for n in 0..40 {
            let id = format!("{round}-{n}");
            let result =
                batch(&shop).with(span(&id).of(&id).lasting(0, 1).input(text(&id))).build();
            let store = store.clone();
            requests.spawn_on(async move { (id, store.record(result).await) }, runtime.handle());
        }
        for (id, answer) in runtime.block_on(requests.join_all()) {
            match answer {
                Ok(()) => taken.push(id),
                Err(StoreError::QueueFull) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
        if refused > 0 {
            break;
        }
    }
    assert!(refused > 0 && !taken.is_empty(), "{} taken, {refused} refused", taken.len());
    taken.sort();
    let mut found: Vec<_> = runtime
        .block_on(ask::observations(store, &shop))
        .into_iter()
        .map(|seen| seen.id.to_string())
        .collect();
    found.sort();
    assert_eq!(found, taken);
}
