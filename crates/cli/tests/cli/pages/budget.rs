use std::path::Path;

use super::list::PAGES;
use super::stage::stage;
use super::{LIGHT, report};
use ratchet_store::Store;
use ratchet_testkit::build::{self, BatchBuilder};
use ratchet_testkit::process::PROJECT;
use ratchet_testkit::recording::RecordBatch;

/// What pages are measured with.
const TRACES: i64 = 10_000;
const OBSERVATIONS_EACH: i64 = 10;
/// Traces that are written at once.
const BATCH: i64 = 500;
/// How far back the oldest goes.
const DAYS: i64 = 7;

/// More than this no page needs, assets and all, while nothing of it is cached.
const MOST_BYTES: u64 = 600_000;

/// Fills a folder with a week of traces that ends now.
pub(super) fn fill(data: &Path) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let folder = Store::open(data, ratchet_testkit::folder::options()).unwrap();
        for first in (0..TRACES).step_by(usize::try_from(BATCH).unwrap()) {
            folder.telemetry.record(traces(first).build()).await.unwrap();
        }
        folder.close().await.unwrap();
    });
}

/// Milliseconds from the start of all stories until now.
fn now() -> i64 {
    let now = ratchet_server::clock::Clock::System.now();
    now.since(build::START) / 1_000_000
}

fn traces(first: i64) -> BatchBuilder {
    let project = build::project(PROJECT);
    let step = DAYS * 86_400_000 / TRACES;
    let begin = now() - DAYS * 86_400_000;
    let mut batch = build::batch(&project).received(now());
    for nth in first..first + BATCH {
        let (trace, at) = (format!("t{nth}"), begin + nth * step);
        let about =
            build::trace(&trace).beginning(at).named(["refund", "order", "chat"][pick(nth, 3)]);
        batch = batch.with(
            about
                .for_user(&format!("user-{}", nth % 400))
                .in_session(&format!("session-{}", nth / 3))
                .agent(["support", "travel"][pick(nth, 2)])
                .tagged(["web", "app"][pick(nth, 2)])
                .input(build::text("Where is my order? It was due on Tuesday."))
                .output(build::text("It left our warehouse this morning.")),
        );
        batch = batch.with_all((0..OBSERVATIONS_EACH).map(|step| call(&trace, at, step)));
    }
    batch
}

fn call(trace: &str, at: i64, step: i64) -> build::ObservationBuilder {
    let id = format!("{trace}-{step}");
    let (from, to) = (at + step * 400, at + step * 400 + 350);
    let call = match step % 3 {
        0 => build::generation(&id).calling("gpt-5").tokens(1_200, 300).costing(0.004),
        1 => build::tool(&id).named("search"),
        _ => build::span(&id).named("step"),
    };
    let words = build::text("A few words, as long as one line of a conversation between people.");
    let call = call.of(trace).lasting(from, to).input(words.clone()).output(words);
    if step == 0 { call } else { call.under(&format!("{trace}-0")) }
}

fn pick(nth: i64, of: i64) -> usize {
    usize::try_from(nth % of).unwrap()
}

#[test]
fn pages_stay_small_however_much_there_is_to_show() {
    let stage = stage();
    let crowded = stage.crowded();
    let mut found = Vec::new();
    let mut response = format!("pages at {} observations:\n", TRACES * OBSERVATIONS_EACH);
    for listed in PAGES {
        let path = listed.path(&crowded.places);
        // A page of its own each time: nothing is cached.
        let page = stage.browser.page();
        LIGHT.at(&page);
        page.open(&crowded.url(&path));
        let cost = page.cost();
        let (server, paint) = (cost.server, cost.first_paint.unwrap_or_default());
        response += &format!(
            "  {:20} server {server:9.1?}  first paint {paint:9.1?}  {:7} bytes in {} requests\n",
            listed.name, cost.bytes, cost.requests,
        );
        if cost.bytes > MOST_BYTES {
            found.push(format!("  {} ({path}): {} bytes", listed.name, cost.bytes));
        }
    }
    ratchet_testkit::say(&response);
    report(&found);
}
