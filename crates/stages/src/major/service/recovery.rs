use std::sync::Arc;

use ratchet_agent::claude::mark::ProcessMark;
use ratchet_core::major::event::{EventBody, EventKind};
use ratchet_core::major::state::StateWord;
use ratchet_store::catalog::{Chat, ChatStanding};
use ratchet_store::project::ProjectId;

use super::super::book::TurnBook;
use super::super::host::Writing;
use super::super::refusal::MajorError;
use super::super::room::Room;
use super::Shared;

/// What clients are told of a turn that the server did not live to see the end of.
const RESTARTED: &str = "the server was restarted; the conversation goes on with the next message";

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
    let mut told = Vec::new();
    if is_lost {
        let turn = chat.standing.turn.as_ref().map(ToString::to_string);
        let body = EventBody::default().text("message", RESTARTED);
        told.push(body.text_if("turn", turn.as_deref()).told(EventKind::Error));
    }
    let body = EventBody::default().text("state", standing.state.as_str());
    told.push(body.text_if("why", standing.why.as_deref()).told(EventKind::State));
    let mut book = TurnBook::new(chat.id.clone());
    if let Some(turn) = &chat.standing.turn {
        book.broke_off(turn, RESTARTED, now);
    }
    let events = super::super::host::placed(told, last, now);
    let room = Arc::new(Room::new(project.clone(), chat.id.clone(), 1));
    let writing = Writing { events, patches: book.take() };
    Arc::clone(shared).write(room, writing).await?;
    shared.store.catalog.stand_chat(project, chat.id, standing, now).await?;
    Ok(())
}
