use std::sync::Arc;

use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::id::SessionId;
use ratchet_stages::chat::{ChatError, ChatLimits, ChatService};
use ratchet_testkit::seeded_random::SeededRandom;
use tokio::task::JoinSet;

use crate::talk::{Stage, assert_in_order, body};

const SESSIONS: usize = 8;
const CLIENTS: u64 = 3;
const TURNS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_loses_the_line_ends_with_the_same_events() {
    let stage = Arc::new(Stage::fake());
    let limits = ChatLimits { processes: 3, backlog: 16, ..ChatLimits::default() };
    let chats = stage.serve(limits).await;
    let mut talks = JoinSet::new();
    for n in 0..SESSIONS {
        let (stage, chats) = (stage.clone(), chats.clone());
        talks.spawn(async move {
            let chat_id = stage.new_chat(&chats).await;
            let mut clients = JoinSet::new();
            for client in 0..CLIENTS {
                let (stage, chats, chat_id) = (stage.clone(), chats.clone(), chat_id.clone());
                let chance = SeededRandom::new(n as u64 * CLIENTS + client);
                clients.spawn(async move { watch(&stage, &chats, &chat_id, chance).await });
            }
            talk(&stage, &chats, &chat_id).await;
            let seen = clients.join_all().await;
            let kept = stage.kept(&chat_id).await;
            assert_in_order(&kept);
            assert!(seen.iter().all(|seen| *seen == kept), "chat {n} was seen otherwise");
        });
    }
    while let Some(talk) = talks.join_next().await {
        talk.unwrap();
    }
}

async fn talk(stage: &Stage, chats: &ChatService, chat_id: &SessionId) {
    let mut after = 0;
    for _ in 0..TURNS {
        stage.say(chats, chat_id, "deltas 20").await.unwrap();
        after = rest(stage, chats, chat_id, after).await;
    }
    chats.close(stage.shop.clone(), chat_id.clone()).await.unwrap();
}

/// Waits until the turn is done; returns the sequence number of that event.
async fn rest(stage: &Stage, chats: &ChatService, chat_id: &SessionId, mut after: u64) -> u64 {
    let mut client = stage.look_on(chats, chat_id, after).await;
    let mut is_done = false;
    loop {
        let Ok(event) = client.next().await.unwrap() else {
            client = stage.look_on(chats, chat_id, after).await;
            continue;
        };
        after = event.seq;
        is_done |= event.kind == EventKind::Done;
        if is_done && event.kind == EventKind::State {
            return after;
        }
    }
}

/// Looks on with a line that breaks now and then.
async fn watch(
    stage: &Stage,
    chats: &ChatService,
    chat_id: &SessionId,
    mut chance: SeededRandom,
) -> Vec<ChatEvent> {
    let mut seen: Vec<ChatEvent> = Vec::new();
    loop {
        let after = seen.last().map_or(0, |event| event.seq);
        let mut client = stage.look_on(chats, chat_id, after).await;
        for _ in 0..1 + chance.number() % 40 {
            match client.next().await {
                Some(Ok(_)) => {}
                Some(Err(ChatError::Behind { .. })) => break,
                Some(Err(error)) => panic!("{error}"),
                None => break,
            }
        }
        seen.extend(client.seen);
        let last = seen.last().filter(|event| event.kind == EventKind::State);
        if last.is_some_and(|event| body(event)["state"] == "closed") {
            return seen;
        }
    }
}
