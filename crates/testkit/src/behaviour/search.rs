use std::time::Duration;

use ratchet_core::payload::Payload;
use ratchet_core::record::observation::Observation;
use ratchet_store::StoreError;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{TextHits, TextQuery, TimeRange};
use ratchet_store::telemetry::Telemetry;

use super::Behaviour;
use crate::build::{at, batch, json, project, span, text};
use crate::recording::RecordBatch;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("a text is found wherever it stands", |s| Box::pin(found_anywhere(s))),
    ("a text is found as it is written", |s| Box::pin(found_literally(s))),
    ("hits come newest first, page by page", |s| Box::pin(newest_first(s))),
    ("a search without time still gets on", |s| Box::pin(no_time_at_all(s))),
    ("a search says how far it looked", |s| Box::pin(says_how_far(s))),
    ("a search keeps to its range", |s| Box::pin(keeps_to_its_range(s))),
    ("a search rejects a malformed cursor", |s| Box::pin(refuses_cursors(s))),
];

const AMPLE: Duration = Duration::from_secs(30);

/// Searches for a text with time to spare.
pub(super) fn look_for(text: &str, project: &ProjectId) -> TextQuery {
    TextQuery {
        project: project.clone(),
        range: TimeRange::default(),
        text: text.to_owned(),
        cursor: None,
        limit: 100,
        budget: AMPLE,
    }
}

fn names(hits: &TextHits<Observation>) -> Vec<String> {
    hits.rows.iter().map(|seen| seen.id.to_string()).collect()
}

async fn found_anywhere(store: Telemetry) {
    let shop = project("shop");
    let recorded = batch(&shop)
        .with(span("in-name").of("t").named("Refund please").beginning(1))
        .with(span("in-input").of("t").input(text("a REFUND of 3 €")).beginning(2))
        .with(span("in-output").of("t").output(Payload::Json(json(r#"["refund"]"#))).beginning(3))
        .with(span("in-metadata").of("t").metadata("why", r#""refund""#).beginning(4))
        .with(span("nowhere").of("t").named("sale").input(text("re fund")).beginning(5));
    store.record(recorded.build()).await.unwrap();
    let hits = store.search(look_for("refund", &shop)).await.unwrap();
    assert_eq!(names(&hits), ["in-metadata", "in-output", "in-input", "in-name"]);
    assert_eq!(hits.cursor, None);
}

async fn found_literally(store: Telemetry) {
    let shop = project("shop");
    let odd = ["100%", "a_b", r"back\slash", "quo'te", r#"dou"ble"#, "日本語", "*", "[x]", "\t"];
    for (n, odd) in odd.iter().enumerate() {
        let step = span(&format!("o{n}")).of("t").input(text(&format!("…{odd}…")));
        store.record(batch(&shop).with(step).build()).await.unwrap();
    }
    let plain = span("plain").of("t").input(text("100x aXb backslash quote"));
    store.record(batch(&shop).with(plain).build()).await.unwrap();
    for (n, odd) in odd.iter().enumerate() {
        let hits = store.search(look_for(odd, &shop)).await.unwrap();
        assert_eq!(names(&hits), [format!("o{n}")], "looking for {odd:?}");
    }
}

/// Forty observations, every fourth with the text.
async fn tell_forty(store: &Telemetry, shop: &ProjectId) {
    for n in 0..40 {
        let said = if n % 4 == 0 { "needle" } else { "hay" };
        let step = span(&format!("o{n:02}")).of(&format!("t{}", n % 7)).lasting(n, n + 1);
        let recorded = batch(shop).with(step.input(text(said)));
        store.record(recorded.build()).await.unwrap();
    }
}

fn expected() -> Vec<String> {
    (0..40).rev().filter(|n| n % 4 == 0).map(|n| format!("o{n:02}")).collect()
}

async fn newest_first(store: Telemetry) {
    let shop = project("shop");
    tell_forty(&store, &shop).await;
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let query = TextQuery { cursor, limit: 3, ..look_for("needle", &shop) };
        let hits = store.search(query).await.unwrap();
        assert!(hits.rows.len() <= 3);
        found.extend(names(&hits));
        cursor = hits.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, expected());
}

async fn no_time_at_all(store: Telemetry) {
    let shop = project("shop");
    tell_forty(&store, &shop).await;
    let (mut found, mut cursor, mut rounds) = (Vec::new(), None, 0);
    loop {
        let query = TextQuery { cursor, budget: Duration::ZERO, ..look_for("needle", &shop) };
        let hits = store.search(query).await.unwrap();
        assert!(hits.rows_read > 0 || hits.cursor.is_none(), "no time must still mean one row");
        found.extend(names(&hits));
        cursor = hits.cursor;
        rounds += 1;
        assert!(rounds < 100, "the search does not get on");
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, expected());
}

async fn says_how_far(store: Telemetry) {
    let shop = project("shop");
    tell_forty(&store, &shop).await;
    let all = store.search(look_for("nothing like it", &shop)).await.unwrap();
    assert_eq!((all.rows_read, all.cursor), (40, None));
    assert_eq!(all.searched_back_to, Some(at(0)));
    let query = TextQuery { limit: 1, ..look_for("needle", &shop) };
    let first = store.search(query).await.unwrap();
    assert_eq!(names(&first), ["o36"]);
    assert!(first.cursor.is_some(), "there is more to look at");
    assert!(first.searched_back_to.is_some_and(|back| back <= at(36)));
    let nothing = store.search(look_for("needle", &project("nobody"))).await.unwrap();
    assert_eq!((nothing.rows_read, nothing.searched_back_to), (0, None));
}

async fn keeps_to_its_range(store: Telemetry) {
    let shop = project("shop");
    tell_forty(&store, &shop).await;
    let range = TimeRange { from: Some(at(8)), to: Some(at(16)) };
    let hits = store.search(TextQuery { range, ..look_for("needle", &shop) }).await.unwrap();
    assert_eq!(names(&hits), ["o12", "o08"]);
    assert_eq!(hits.rows_read, 8);
}

async fn refuses_cursors(store: Telemetry) {
    let shop = project("shop");
    tell_forty(&store, &shop).await;
    for cursor in ["", "x", "////", "e30="] {
        let query = TextQuery { cursor: Some(cursor.to_owned()), ..look_for("needle", &shop) };
        let answer = store.search(query).await;
        assert!(matches!(answer, Err(StoreError::BadQuery(_))), "{cursor:?}: {answer:?}");
    }
}
