/// What was told of a turn, and what was not.
mod replay;

use std::sync::Arc;

use ratchet_agent::claude::process_identity::ProcessIdentity;
use ratchet_core::chat::event::{EventBody, EventKind, UnorderedEvent};
use ratchet_core::chat::state::ChatStateName;
use ratchet_core::chat::stream_redaction::{StreamRedactor, TimedEvent};
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_core::record::claude_code::Patches;
use ratchet_store::catalog::{Chat, ChatStatus};
use ratchet_store::project::ProjectId;
use uuid::Uuid;

use super::super::chat_actor::Writing;
use super::super::chat_handle::ChatHandle;
use super::super::error::ChatError;
use super::super::launch;
use super::super::launch::turn_lines::{self, TurnFile};
use super::super::turn_recorder::TurnRecorder;
use super::Shared;
use replay::Replay;

/// What clients are told of a turn that the server did not live to see the end of.
const RESTARTED: &str = "the server was restarted; the conversation goes on with the next message";

/// Ends what an earlier server left running, and says so in the sessions concerned.
pub(super) async fn recover(shared: &Arc<Shared>) -> Result<(), ChatError> {
    for (project, chat) in shared.store.catalog.chats_left_open().await? {
        if let Some(process) = &chat.standing.process {
            let mark = ProcessIdentity { pid: process.pid, started: process.started.clone() };
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

async fn settle(shared: &Arc<Shared>, project: ProjectId, chat: Chat) -> Result<(), ChatError> {
    let now = (shared.clock)();
    let is_lost = matches!(
        chat.standing.state,
        ChatStateName::Starting | ChatStateName::Running | ChatStateName::Waiting
    );
    let room = Arc::new(ChatHandle::new(project.clone(), chat.id.clone(), 1));
    let after = shared.store.telemetry.last_event(project.clone(), chat.id.clone()).await?;
    let mut told = Vec::new();
    let mut cost = None;
    if let Some(turn) = &chat.standing.turn {
        let mut book = TurnRecorder::new(chat.id.clone());
        told = wind_up(shared, &room, (&chat, turn), &mut book).await?;
        // Recorded first, for recording knows prices.
        let writing = writing(after, Vec::new(), book.take());
        Arc::clone(shared).write(room.clone(), writing).await?;
        let trace = shared.store.telemetry.trace(project.clone(), turn.clone()).await?;
        cost = trace.and_then(|trace| trace.summary.cost);
    }
    if is_lost {
        let turn = chat.standing.turn.as_ref().map(ToString::to_string);
        told.push(restarted(turn.as_deref(), cost));
    }
    let standing = ChatStatus {
        state: if is_lost { ChatStateName::Failed } else { ChatStateName::Parked },
        why: is_lost.then(|| RESTARTED.to_owned()),
        turn: None,
        process: None,
        cost: chat.standing.cost + cost.unwrap_or_default(),
        is_at_least: chat.standing.is_at_least || chat.standing.turn.is_some(),
        ..chat.standing
    };
    let body = EventBody::default().text("state", standing.state.as_str());
    told.push(body.text_if("why", standing.why.as_deref()).told(EventKind::State));
    let told = told.into_iter().map(|telling| (now, telling)).collect();
    Arc::clone(shared).write(room, writing(after, told, Patches::default())).await?;
    shared.store.catalog.stand_chat(project, chat.id, standing, now).await?;
    Ok(())
}

fn writing(after: u64, told: Vec<TimedEvent>, patches: Patches) -> Writing {
    Writing { after, told, patches, hush: StreamRedactor::default() }
}

/// Says that a turn was lost, and what is known of its price: a call that was under way is billed,
/// too, and nobody knows for how much.
fn restarted(turn: Option<&str>, cost: Option<Money>) -> UnorderedEvent {
    let body = match cost {
        Some(cost) => EventBody::default()
            .text("message", &format!("{RESTARTED}; the turn cost at least {cost}"))
            .value("cost", cost.dollars())
            .value("at_least", true),
        None => EventBody::default().text("message", RESTARTED),
    };
    body.text_if("turn", turn).told(EventKind::Error)
}

/// Tells the book all that is known of a turn that was under way: what was told, and what the agent
/// has kept besides. Returns what clients have not been told yet.
async fn wind_up(
    shared: &Arc<Shared>,
    room: &ChatHandle,
    (chat, turn): (&Chat, &TraceId),
    book: &mut TurnRecorder,
) -> Result<Vec<UnorderedEvent>, ChatError> {
    let now = (shared.clock)();
    let mut replay = Replay::read(&shared.store.telemetry, room, turn, book).await?;
    let files = kept(shared, chat, turn, replay.has_message).await;
    let mut told = Vec::new();
    for file in &files {
        told.extend(replay.untold(file));
        let path = file.path.display().to_string();
        if let Some(about) = &file.about {
            book.kept(&path, std::slice::from_ref(about));
        }
        book.kept(&path, &file.lines);
    }
    for ask in replay.open {
        let body = EventBody::default().text("id", &ask).text("decision", "withdrawn");
        let withdrawn = body.told(EventKind::Answered);
        book.answered(&ask, &withdrawn.body, now);
        told.push(withdrawn);
    }
    book.broke_off(turn, RESTARTED, now);
    // Recording prices what is known; a call that was under way is billed, too.
    book.billed(turn, None, true, now);
    Ok(told)
}

/// What the agent has kept of a turn, in its own files.
async fn kept(
    shared: &Arc<Shared>,
    chat: &Chat,
    turn: &TraceId,
    has_message: bool,
) -> Vec<TurnFile> {
    let Ok(conversation) = launch::uuid(&chat.id) else { return Vec::new() };
    let config = shared.launcher.family(chat);
    // A turn is named by the message that began it, unless the agent did.
    let message = Uuid::parse_str(&turn.to_string()).ok().filter(|_| has_message);
    let reading = move || turn_lines::of_turn(&config, conversation, message);
    // A server starts whatever an agent has written.
    tokio::task::spawn_blocking(reading).await.unwrap_or_default()
}
