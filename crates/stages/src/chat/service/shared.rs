use std::sync::Arc;
use std::time::Duration;

use ratchet_agent::claude::command::ClaudeCommand;
use ratchet_agent::claude::process_slots::{ProcessSlot, ProcessSlots, WorkPermit};
use ratchet_core::chat::notification::Notification;
use ratchet_store::blocking::run_blocking;
use ratchet_store::catalog::{Chat, ChatStatus};
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Batch;
use ratchet_store::{Store, StoreError};
use tokio::sync::watch;

use super::super::chat_actor::{Writing, Written};
use super::super::chat_handle::ChatHandle;
use super::super::error::ChatError;
use super::super::launch::{AgentMemory, Launcher};
use super::super::settings::ChatLimits;
use super::super::work_folder::WorkFolder;
use super::ChatClock;
use crate::record;

/// Retries when the write queue is full.
const STORE_PAUSE: Duration = Duration::from_millis(100);
const STORE_TRIES: u32 = 50;

pub(in super::super) struct Shared {
    pub(in super::super) store: Store,
    pub(in super::super) launcher: Launcher,
    pub(in super::super) limits: ChatLimits,
    pub(in super::super) clock: ChatClock,
    slots: ProcessSlots,
    wanted: watch::Sender<SlotDemand>,
}

/// Demand for process slots.
#[derive(Clone, Copy, Debug, Default)]
struct SlotDemand {
    waiting: usize,
    /// Waiters for which an idle chat is ending its process.
    served: usize,
}

struct SlotWaiter<'a>(&'a watch::Sender<SlotDemand>);

impl<'a> SlotWaiter<'a> {
    fn begin(wanted: &'a watch::Sender<SlotDemand>) -> Self {
        wanted.send_modify(|wanted| wanted.waiting += 1);
        Self(wanted)
    }
}

impl Drop for SlotWaiter<'_> {
    /// Which slot it got is unknown. If it was not one freed for it, one idle chat more than needed
    /// may be parked, but no waiter is forgotten.
    fn drop(&mut self) {
        self.0.send_modify(|wanted| {
            wanted.waiting = wanted.waiting.saturating_sub(1);
            wanted.served = wanted.served.saturating_sub(1);
        });
    }
}

impl Shared {
    pub(super) fn new(
        store: Store,
        launcher: Launcher,
        limits: ChatLimits,
        clock: ChatClock,
    ) -> Self {
        let slots = ProcessSlots::new(limits.processes);
        Self { store, launcher, limits, clock, slots, wanted: watch::Sender::default() }
    }

    /// Redacts the reason in a status by the rules of the project.
    pub(in super::super) async fn redact(
        &self,
        project: &ProjectId,
        status: &mut ChatStatus,
    ) -> Result<(), StoreError> {
        let Some(why) = &mut status.why else { return Ok(()) };
        let settings = self.store.catalog.recording_settings(project).await?;
        *why = settings.redactor.text(why).into_owned();
        Ok(())
    }

    /// Returns the command that starts the process of a chat, and its folder, which must stay open
    /// until then.
    pub(in super::super) async fn command(
        self: Arc<Self>,
        chat: Chat,
    ) -> Result<(ClaudeCommand, Option<WorkFolder>, AgentMemory), ChatError> {
        run_blocking(move || self.launcher.command(&chat)).await?
    }

    /// Acquires a slot for a process, if one is free.
    pub(in super::super) fn try_process_slot(&self) -> Option<ProcessSlot> {
        self.slots.try_take()
    }

    /// Acquires a permit for a process that continues after an answer, if one is free.
    pub(in super::super) fn try_work_permit(&self) -> Option<WorkPermit> {
        self.slots.try_work_permit()
    }

    /// Waits for a permit. Idle chats end their processes while there are waiters.
    pub(in super::super) async fn work_permit(&self) -> WorkPermit {
        let _wanting = SlotWaiter::begin(&self.wanted);
        self.slots.work_permit().await
    }

    /// Slots in use and their limit.
    pub(in super::super) fn slots_in_use(&self) -> (usize, usize) {
        self.slots.in_use()
    }

    /// Waits for a slot. Idle chats end their processes while there are waiters.
    pub(in super::super) async fn process_slot(&self) -> ProcessSlot {
        let _wanting = SlotWaiter::begin(&self.wanted);
        self.slots.take().await
    }

    /// Waits until an idle process is needed to end: one for each waiter.
    pub(in super::super) async fn process_slot_wanted(&self) {
        let mut changes = self.wanted.subscribe();
        while !self.serve_one() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Claims one waiter that is not served yet.
    fn serve_one(&self) -> bool {
        let mut is_needed = false;
        self.wanted.send_if_modified(|wanted| {
            is_needed = wanted.served < wanted.waiting;
            wanted.served += usize::from(is_needed);
            false
        });
        is_needed
    }

    /// Writes events and trace patches, redacted, in one commit; returns the events once they are
    /// on disk. While the write queue is full, the chat waits, and so does its agent.
    pub(in super::super) async fn write(
        self: Arc<Self>,
        handle: Arc<ChatHandle>,
        writing: Writing,
    ) -> Result<Written, StoreError> {
        let Writing { after, events, patches, mut stream_redactor } = writing;
        let has_patches = !patches.is_empty();
        let batch = Batch {
            traces: patches.traces,
            observations: patches.observations,
            ..Batch::new(handle.project.clone(), (self.clock)())
        };
        let Store { telemetry, catalog, .. } = &self.store;
        let settings = catalog.recording_settings(&handle.project).await?;
        let batch = record::redacted(batch, &settings, self.limits.text_bytes);
        let events = stream_redactor.redact(events, &settings.redactor, after);
        if events.get().is_empty() && !has_patches {
            // All of it is held back.
            return Ok(Written { events: events.into_inner(), stream_redactor });
        }
        for _ in 0..STORE_TRIES {
            let prepared = telemetry.prepare(batch.clone());
            let prepared = prepared.with_events(handle.chat_id.clone(), events.clone());
            match record::commit(telemetry, catalog, prepared).await {
                Err(StoreError::QueueFull) => tokio::time::sleep(STORE_PAUSE).await,
                Err(error) => return Err(error),
                Ok(()) => {
                    let events = events.into_inner();
                    if events.iter().any(|event| Notification::of(event).is_some()) {
                        catalog.wake_delivery();
                    }
                    return Ok(Written { events, stream_redactor });
                }
            }
        }
        Err(StoreError::QueueFull)
    }
}
