use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::id::SessionId;
use ratchet_store::StoreResult;
use ratchet_store::chat::ChatWindow;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Telemetry;
use tokio::task::JoinSet;

use super::Behaviour;
use super::retention::{delete_all_abandoned, delete_all_before};
use crate::ask;
use crate::build::{at, batch, project, span};
use crate::recording::RecordBatch;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("events are read in order, after a sequence number", |s| Box::pin(in_order(s))),
    ("bodies are read back unchanged", |s| Box::pin(bodies(s))),
    ("a window has whole turns", |s| Box::pin(windows(s))),
    ("chats and projects are apart", |s| Box::pin(apart(s))),
    ("a place is taken once, and none is left out", |s| Box::pin(one_order(s))),
    ("events and traces are recorded together", |s| Box::pin(together(s))),
    ("many chats at once lose nothing", |s| Box::pin(many(s))),
    ("chats that are old go whole", |s| Box::pin(retention(s))),
    ("an abandoned project's chats go", |s| Box::pin(abandoned(s))),
];

fn chat(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

/// An event with a sequence number, at as many milliseconds.
fn event(seq: u64, body: &str) -> ChatEvent {
    let millis = i64::try_from(seq).unwrap();
    ChatEvent { seq, at: at(millis), kind: EventKind::TextDelta, body: body.into() }
}

async fn tell(
    store: &Telemetry,
    shop: &ProjectId,
    id: &str,
    events: Vec<ChatEvent>,
) -> StoreResult<()> {
    store.record_with_events(batch(shop).build(), chat(id), events).await
}

async fn all(store: &Telemetry, shop: &ProjectId, id: &str) -> Vec<ChatEvent> {
    let mut written: Vec<ChatEvent> = Vec::new();
    loop {
        let last = written.last().map_or(0, |event| event.seq);
        let more = store.chat_events(shop.clone(), chat(id), last, 10_000).await.unwrap();
        if more.is_empty() {
            return written;
        }
        written.extend(more);
    }
}

async fn in_order(store: Telemetry) {
    let shop = project("shop");
    assert_eq!(store.last_event(shop.clone(), chat("c")).await.unwrap(), 0);
    let written: Vec<_> = (1..=5).map(|seq| event(seq, "{}")).collect();
    tell(&store, &shop, "c", written[..3].to_vec()).await.unwrap();
    tell(&store, &shop, "c", written[3..].to_vec()).await.unwrap();
    assert_eq!(all(&store, &shop, "c").await, written);
    let some = store.chat_events(shop.clone(), chat("c"), 2, 2).await.unwrap();
    assert_eq!(some, written[2..4]);
    assert_eq!(store.chat_events(shop.clone(), chat("c"), 5, 9).await.unwrap(), []);
    assert_eq!(store.last_event(shop, chat("c")).await.unwrap(), 5);
}

async fn windows(store: Telemetry) {
    let shop = project("shop");
    // Three turns: a message, a raw line after each of its pieces, and in the last many of them.
    let kinds = |pieces: usize| {
        let pieces = [EventKind::TextDelta, EventKind::Raw].repeat(pieces);
        [EventKind::Message].into_iter().chain(pieces)
    };
    let kinds = kinds(2).chain(kinds(3)).chain(kinds(20));
    let written: Vec<_> =
        (1..).zip(kinds).map(|(seq, kind)| ChatEvent { kind, ..event(seq, "{}") }).collect();
    tell(&store, &shop, "c", written.clone()).await.unwrap();
    let shown = vec![EventKind::Message, EventKind::TextDelta];
    let starts = |turns, events, to| {
        let window = ChatWindow { to, kinds: shown.clone(), turns, events };
        store.chat_window(shop.clone(), chat("c"), window)
    };
    let last = written.len() as u64;
    assert_eq!(starts(1, 100, last).await.unwrap(), 13);
    assert_eq!(starts(2, 100, last).await.unwrap(), 6);
    assert_eq!(starts(9, 100, last).await.unwrap(), 1);
    // A turn that is too long is whole nevertheless; a further one that does not fit is left out.
    assert_eq!(starts(9, 5, last).await.unwrap(), 13);
    assert_eq!(starts(9, 24, last).await.unwrap(), 13);
    assert_eq!(starts(9, 25, last).await.unwrap(), 6);
    // What comes before a window has one of its own.
    assert_eq!(starts(1, 100, 12).await.unwrap(), 6);
    assert_eq!(starts(1, 100, 0).await.unwrap(), 1);
    let some = store.chat_events_of(shop.clone(), chat("c"), 6..=12, shown.clone()).await.unwrap();
    assert_eq!(some.iter().map(|event| event.seq).collect::<Vec<_>>(), [6, 7, 9, 11]);
}

async fn bodies(store: Telemetry) {
    let shop = project("shop");
    let long = format!("{{\"text\":\"{}\"}}", "日本 \\u0000 ".repeat(200_000));
    let texts = ["{}", "{\"b\":1.0,\"a\":1e400}", long.as_str()];
    let written: Vec<_> = (1..).zip(texts).map(|(seq, text)| event(seq, text)).collect();
    tell(&store, &shop, "c", written.clone()).await.unwrap();
    assert_eq!(all(&store, &shop, "c").await, written);
    for (seq, kind) in (4..).zip(EventKind::ALL) {
        tell(&store, &shop, "c", vec![ChatEvent { kind, ..event(seq, "{}") }]).await.unwrap();
    }
    let kinds: Vec<_> = all(&store, &shop, "c").await.iter().skip(3).map(|it| it.kind).collect();
    assert_eq!(kinds, EventKind::ALL);
    let newest = |kind, limit| store.newest_events(shop.clone(), chat("c"), kind, limit);
    let texts = newest(EventKind::TextDelta, 2).await.unwrap();
    assert_eq!(texts.iter().map(|event| event.seq).collect::<Vec<_>>(), [7, 3]);
    let done = newest(EventKind::Done, 9).await.unwrap();
    assert_eq!(done.iter().map(|event| event.kind).collect::<Vec<_>>(), [EventKind::Done]);
    let elsewhere = store.newest_events(project("other"), chat("c"), EventKind::Done, 9).await;
    assert_eq!(elsewhere.unwrap(), []);
}

async fn apart(store: Telemetry) {
    let (ours, theirs) = (project("ours"), project("theirs"));
    tell(&store, &ours, "c", vec![event(1, "1"), event(2, "2")]).await.unwrap();
    tell(&store, &ours, "d", vec![event(1, "3")]).await.unwrap();
    assert_eq!(all(&store, &theirs, "c").await, []);
    assert_eq!(all(&store, &ours, "d").await, [event(1, "3")]);
    tell(&store, &theirs, "c", vec![event(1, "4")]).await.unwrap();
    assert_eq!(all(&store, &ours, "c").await, [event(1, "1"), event(2, "2")]);
}

async fn one_order(store: Telemetry) {
    let shop = project("shop");
    tell(&store, &shop, "c", vec![event(1, "1")]).await.unwrap();
    let taken = tell(&store, &shop, "c", vec![event(1, "2"), event(2, "2")]).await;
    assert!(taken.is_err(), "someone else speaks for the chat");
    let skipping = tell(&store, &shop, "c", vec![event(2, "2"), event(4, "4")]).await;
    assert!(skipping.is_err(), "one is left out");
    assert_eq!(all(&store, &shop, "c").await, [event(1, "1")]);
    tell(&store, &shop, "c", vec![event(2, "2")]).await.unwrap();
    assert_eq!(all(&store, &shop, "c").await.len(), 2);
}

async fn together(store: Telemetry) {
    let shop = project("shop");
    let written = || batch(&shop).with(span("o").of("t").lasting(0, 1)).build();
    let wrong = store.record_with_events(written(), chat("c"), vec![event(7, "7")]).await;
    assert!(wrong.is_err());
    assert_eq!(ask::traces(&store, &shop).await, []);
    store.record_with_events(written(), chat("c"), vec![event(1, "1")]).await.unwrap();
    assert_eq!(ask::traces(&store, &shop).await.len(), 1);
    assert_eq!(all(&store, &shop, "c").await.len(), 1);
}

async fn many(store: Telemetry) {
    let shop = project("shop");
    let mut chats = JoinSet::new();
    for n in 0..40 {
        let (store, shop) = (store.clone(), shop.clone());
        chats.spawn(async move {
            for seq in 1..=20 {
                tell(&store, &shop, &format!("c{n}"), vec![event(seq, "{}")]).await.unwrap();
            }
        });
    }
    chats.join_all().await;
    for n in 0..40 {
        let seqs: Vec<_> = all(&store, &shop, &format!("c{n}")).await;
        assert!(seqs.iter().map(|event| event.seq).eq(1..=20), "chat {n}");
    }
}

async fn retention(store: Telemetry) {
    let shop = project("shop");
    let long: Vec<_> = (1..=5_000).map(|seq| event(seq, "{}")).collect();
    tell(&store, &shop, "old", long).await.unwrap();
    let late = ChatEvent { at: at(9_000), ..event(2, "{}") };
    tell(&store, &shop, "new", vec![event(1, "{}"), late]).await.unwrap();
    delete_all_before(&store, &shop, 6_000).await;
    assert_eq!(all(&store, &shop, "old").await, []);
    assert_eq!(all(&store, &shop, "new").await.len(), 2, "it is still being talked in");
}

async fn abandoned(store: Telemetry) {
    let shop = project("shop");
    tell(&store, &shop, "c", vec![event(1, "{}")]).await.unwrap();
    store.abandon(shop.clone()).await.unwrap();
    delete_all_abandoned(&store).await;
    assert_eq!(all(&store, &shop, "c").await, []);
    tell(&store, &shop, "c", vec![event(1, "{}")]).await.unwrap();
}
