use std::collections::BTreeSet;
use std::sync::Arc;

use ratchet_agent::claude::mark::ProcessMark;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::major::event::{EventBody, EventKind};
use ratchet_core::major::hush::Hush;
use ratchet_core::major::state::StateWord;
use ratchet_store::catalog::{Chat, ChatStanding};
use ratchet_store::project::ProjectId;
use serde_json::Value;

use super::super::book::{Beginning, TurnBook};
use super::super::host::Writing;
use super::super::refusal::MajorError;
use super::super::room::Room;
use super::Shared;

/// What clients are told of a turn that the server did not live to see the end of.
const RESTARTED: &str = "the server was restarted; the conversation goes on with the next message";

/// Events that are read at once.
const PAGE: u32 = 500;

/// Ends what an earlier server left running, and says so in the sessions concerned.
pub(super) async fn recover(shared: &Arc<Shared>) -> Result<(), MajorError> {
    for (project, chat) in shared.store.catalog.chats_left_open().await? {
        if let Some(process) = &chat.standing.process {
            let mark = ProcessMark { pid: process.pid, started: process.started.clone() };
            let scratch = shared.launcher.scratch(&chat.id);
            let was_there = tokio::task::spawn_blocking(move || mark.end_orphan(&scratch)).await;
            if was_there.unwrap_or(false) {
                tracing::info!(session = %chat.id, "ended an agent that an earlier server had left");
            }
        }
        shared.launcher.forget_given(&chat.id);
        settle(shared, project, chat).await?;
    }
    Ok(())
}

async fn settle(shared: &Arc<Shared>, project: ProjectId, chat: Chat) -> Result<(), MajorError> {
    let now = (shared.clock)();
    let is_lost = matches!(
        chat.standing.state,
        StateWord::Starting | StateWord::Running | StateWord::Waiting
    );
    let standing = ChatStanding {
        state: if is_lost { StateWord::Failed } else { StateWord::Parked },
        why: is_lost.then(|| RESTARTED.to_owned()),
        turn: None,
        process: None,
        ..chat.standing.clone()
    };
    let last = shared.store.telemetry.last_event(project.clone(), chat.id.clone()).await?;
    let mut book = TurnBook::new(chat.id.clone());
    let mut told = Vec::new();
    if let Some(turn) = &chat.standing.turn {
        let open = replay(shared, &project, &chat.id, turn, &mut book).await?;
        for ask in open {
            let body = EventBody::default().text("id", &ask).text("decision", "withdrawn");
            let withdrawn = body.told(EventKind::Answered);
            book.answered(&ask, &withdrawn.body, now);
            told.push(withdrawn);
        }
        book.broke_off(turn, RESTARTED, now);
    }
    if is_lost {
        let turn = chat.standing.turn.as_ref().map(ToString::to_string);
        let body = EventBody::default().text("message", RESTARTED);
        told.push(body.text_if("turn", turn.as_deref()).told(EventKind::Error));
    }
    let body = EventBody::default().text("state", standing.state.as_str());
    told.push(body.text_if("why", standing.why.as_deref()).told(EventKind::State));
    let told = told.into_iter().map(|telling| (now, telling)).collect();
    let room = Arc::new(Room::new(project.clone(), chat.id.clone(), 1));
    let writing = Writing { after: last, told, patches: book.take(), hush: Hush::default() };
    Arc::clone(shared).write(room, writing).await?;
    shared.store.catalog.stand_chat(project, chat.id, standing, now).await?;
    Ok(())
}

/// Tells the book what was said in a turn that was under way, as far as it is kept; returns what
/// the agent still asks.
async fn replay(
    shared: &Arc<Shared>,
    project: &ProjectId,
    session: &SessionId,
    turn: &TraceId,
    book: &mut TurnBook,
) -> Result<BTreeSet<String>, MajorError> {
    let mut open = BTreeSet::new();
    let Some(mut after) = beginning(shared, project, session, turn).await? else { return Ok(open) };
    loop {
        let (project, session) = (project.clone(), session.clone());
        let telemetry = &shared.store.telemetry;
        let events = telemetry.session_events(project, session, after, PAGE).await?;
        let Some(last) = events.last() else { return Ok(open) };
        after = last.seq;
        for event in events {
            let said: Value = serde_json::from_str(&event.body).unwrap_or_default();
            let id = said["id"].as_str().unwrap_or_default();
            match event.kind {
                EventKind::Raw => book.heard(&event.body),
                EventKind::Message => {
                    let content = said["content"].to_string();
                    let by = said["by"].as_str();
                    let beginning = Beginning::Person { by, message: id, content: &content };
                    book.began(turn, event.at, beginning);
                }
                EventKind::Question | EventKind::Permission => {
                    book.asked_before(id, turn, event.at);
                    open.insert(id.to_owned());
                }
                EventKind::Answered => drop(open.remove(id)),
                _ => {}
            }
        }
    }
}

/// The place before the first event of a turn: a message, or the agent's own beginning.
async fn beginning(
    shared: &Arc<Shared>,
    project: &ProjectId,
    session: &SessionId,
    turn: &TraceId,
) -> Result<Option<u64>, MajorError> {
    let turn = turn.to_string();
    for kind in [EventKind::Message, EventKind::State] {
        let (project, session) = (project.clone(), session.clone());
        let newest = shared.store.telemetry.newest_events(project, session, kind, PAGE).await?;
        let is_of_turn = |body: &str| {
            let said: Value = serde_json::from_str(body).unwrap_or_default();
            said["turn"] == turn.as_str()
        };
        let first = newest.into_iter().filter(|event| is_of_turn(&event.body)).last();
        if let Some(first) = first {
            return Ok(Some(first.seq.saturating_sub(1)));
        }
    }
    Ok(None)
}
