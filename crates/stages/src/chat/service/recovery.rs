/// Events of a turn, and transcript lines without events.
mod replay;

use std::sync::Arc;

use ratchet_agent::claude::process_identity::ProcessIdentity;
use ratchet_core::chat::event::{EventBody, EventKind, UnorderedEvent};
use ratchet_core::chat::state::ChatStateName;
use ratchet_core::chat::stream_redaction::{StreamRedactor, TimedEvent};
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_core::record::claude_code::Patches;
use ratchet_store::blocking::run_blocking;
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

/// Reason of a turn that a restart of the server interrupted.
const RESTARTED: &str = "the server was restarted; the chat continues with the next message";

/// Ends what an earlier server left running, and reports it in the affected chats.
pub(super) async fn recover(shared: &Arc<Shared>) -> Result<(), ChatError> {
    for (project, chat) in shared.store.catalog.chats_left_open().await? {
        if let Some(process) = &chat.status.process {
            let identity = ProcessIdentity { pid: process.pid, started: process.started.clone() };
            let scratch = shared.launcher.scratch(&chat.id);
            let was_there = run_blocking(move || identity.end_orphan(&scratch)).await;
            if was_there.unwrap_or(false) {
                tracing::info!(chat_id = %chat.id, "ended an agent of an earlier server");
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
        chat.status.state,
        ChatStateName::Starting | ChatStateName::Running | ChatStateName::Waiting
    );
    let handle = Arc::new(ChatHandle::new(project.clone(), chat.id.clone(), 1));
    let after = shared.store.telemetry.last_event(project.clone(), chat.id.clone()).await?;
    let mut events = Vec::new();
    let mut cost = None;
    if let Some(turn) = &chat.status.turn {
        let mut recorder = TurnRecorder::new(chat.id.clone());
        events = wind_up(shared, &handle, (&chat, turn), &mut recorder).await?;
        // Recorded first, because recording adds prices.
        let writing = writing(after, Vec::new(), recorder.take());
        Arc::clone(shared).write(handle.clone(), writing).await?;
        let trace = shared.store.telemetry.trace(project.clone(), turn.clone()).await?;
        cost = trace.and_then(|trace| trace.summary.cost);
    }
    if is_lost {
        let turn = chat.status.turn.as_ref().map(ToString::to_string);
        events.push(restarted(turn.as_deref(), cost));
    }
    let status = ChatStatus {
        state: if is_lost { ChatStateName::Failed } else { ChatStateName::Parked },
        why: is_lost.then(|| RESTARTED.to_owned()),
        turn: None,
        process: None,
        cost: chat.status.cost + cost.unwrap_or_default(),
        is_at_least: chat.status.is_at_least || chat.status.turn.is_some(),
        ..chat.status
    };
    let body = EventBody::default().text("state", status.state.as_str());
    events.push(body.text_if("why", status.why.as_deref()).into_event(EventKind::State));
    let events = events.into_iter().map(|event| (now, event)).collect();
    Arc::clone(shared).write(handle, writing(after, events, Patches::default())).await?;
    shared.store.catalog.set_chat_status(project, chat.id, status, now).await?;
    Ok(())
}

fn writing(after: u64, events: Vec<TimedEvent>, patches: Patches) -> Writing {
    Writing { after, events, patches, stream_redactor: StreamRedactor::default() }
}

/// The event of a lost turn, with its known cost: a running call is billed, too, at an unknown
/// price.
fn restarted(turn: Option<&str>, cost: Option<Money>) -> UnorderedEvent {
    let body = match cost {
        Some(cost) => EventBody::default()
            .text("message", &format!("{RESTARTED}; the turn cost at least {cost}"))
            .value("cost", cost.dollars())
            .value("at_least", true),
        None => EventBody::default().text("message", RESTARTED),
    };
    body.text_if("turn", turn).into_event(EventKind::Error)
}

/// Records all that is known of a turn that was running: its events, and the rest of the
/// transcript. Returns the events that clients have not received yet.
async fn wind_up(
    shared: &Arc<Shared>,
    handle: &ChatHandle,
    (chat, turn): (&Chat, &TraceId),
    recorder: &mut TurnRecorder,
) -> Result<Vec<UnorderedEvent>, ChatError> {
    let now = (shared.clock)();
    let mut replay = Replay::read(&shared.store.telemetry, handle, turn, recorder).await?;
    let files = kept(shared, chat, turn, replay.has_message).await;
    let mut events = Vec::new();
    for file in &files {
        events.extend(replay.unrecorded(file));
        let path = file.path.display().to_string();
        if let Some(about) = &file.about {
            recorder.transcript_lines(&path, std::slice::from_ref(about));
        }
        recorder.transcript_lines(&path, &file.lines);
    }
    for ask in replay.open {
        let body = EventBody::default().text("id", &ask).text("decision", "withdrawn");
        let withdrawn = body.into_event(EventKind::Answered);
        recorder.answered(&ask, &withdrawn.body, now);
        events.push(withdrawn);
    }
    recorder.turn_interrupted(turn, RESTARTED, now);
    // Recording adds prices; a running call is billed, too.
    recorder.billed(turn, None, true, now);
    Ok(events)
}

/// Transcript of a turn, from the agent's files.
async fn kept(
    shared: &Arc<Shared>,
    chat: &Chat,
    turn: &TraceId,
    has_message: bool,
) -> Vec<TurnFile> {
    let Ok(conversation) = launch::uuid(&chat.id) else { return Vec::new() };
    let config = shared.launcher.family(chat);
    // The id of a turn is that of its message, unless the agent started it.
    let message = Uuid::parse_str(&turn.to_string()).ok().filter(|_| has_message);
    let reading = move || turn_lines::of_turn(&config, conversation, message);
    // A damaged transcript must not keep a server from starting.
    run_blocking(reading).await.unwrap_or_default()
}
