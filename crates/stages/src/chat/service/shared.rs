use std::sync::Arc;
use std::time::Duration;

use ratchet_agent::claude::command::ClaudeCommand;
use ratchet_agent::claude::process_slots::{ProcessSlot, ProcessSlots, WorkPermit};
use ratchet_core::chat::notification::Notification;
use ratchet_store::StoreError;
use ratchet_store::catalog::{Chat, ChatStatus};
use ratchet_store::embedded::Store;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Batch;
use tokio::sync::watch;

use super::super::chat_actor::{Writing, Written};
use super::super::chat_handle::ChatHandle;
use super::super::error::ChatError;
use super::super::launch::{AgentMemory, Launcher};
use super::super::settings::ChatLimits;
use super::super::work_folder::WorkFolder;
use super::ChatClock;
use crate::record;

/// How long to wait for a store that has too much to do, and how often.
const STORE_PAUSE: Duration = Duration::from_millis(100);
const STORE_TRIES: u32 = 50;

pub(in super::super) struct Shared {
    pub(in super::super) store: Store,
    pub(in super::super) launcher: Launcher,
    pub(in super::super) limits: ChatLimits,
    pub(in super::super) clock: ChatClock,
    seats: ProcessSlots,
    wanted: watch::Sender<Wanted>,
}

/// Who waits for a place of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    waiting: usize,
    /// Those of them whom an idle session is making room for.
    served: usize,
}

/// Someone who waits for a place.
struct Wanting<'a>(&'a watch::Sender<Wanted>);

impl<'a> Wanting<'a> {
    fn begin(wanted: &'a watch::Sender<Wanted>) -> Self {
        wanted.send_modify(|wanted| wanted.waiting += 1);
        Self(wanted)
    }
}

impl Drop for Wanting<'_> {
    /// Nobody knows whose place they got. If it was not one that was made for them, one idle session
    /// more than needed may be parked, and nobody waits for ever.
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
        let seats = ProcessSlots::new(limits.processes);
        Self { store, launcher, limits, clock, seats, wanted: watch::Sender::default() }
    }

    /// Takes out of how a session stands what its project's rules find.
    pub(in super::super) async fn redact(
        &self,
        project: &ProjectId,
        standing: &mut ChatStatus,
    ) -> Result<(), StoreError> {
        let Some(why) = &mut standing.why else { return Ok(()) };
        let intake = self.store.catalog.intake(project).await?;
        *why = intake.redactor.text(why).into_owned();
        Ok(())
    }

    /// What starts the process of a session, and its folder, which is to be held until it has.
    pub(in super::super) async fn command(
        self: Arc<Self>,
        chat: Chat,
    ) -> Result<(ClaudeCommand, Option<WorkFolder>, AgentMemory), ChatError> {
        let command = tokio::task::spawn_blocking(move || self.launcher.command(&chat));
        command.await.map_err(|_| ChatError::Stopping)?
    }

    /// A place for a process, if there is one now.
    pub(in super::super) fn try_seat(&self) -> Option<ProcessSlot> {
        self.seats.try_take()
    }

    /// A slot for a process that goes on after an answer, if there is one now.
    pub(in super::super) fn try_slot(&self) -> Option<WorkPermit> {
        self.seats.try_slot()
    }

    /// A slot for a process that goes on. Whoever is idle makes room while someone waits.
    pub(in super::super) async fn slot(&self) -> WorkPermit {
        let _wanting = Wanting::begin(&self.wanted);
        self.seats.slot().await
    }

    /// How many slots of how many are taken.
    pub(in super::super) fn slots_in_use(&self) -> (usize, usize) {
        self.seats.in_use()
    }

    /// A place for a process. Whoever is idle makes room while someone waits.
    pub(in super::super) async fn seat(&self) -> ProcessSlot {
        let _wanting = Wanting::begin(&self.wanted);
        self.seats.take().await
    }

    /// Waits until someone needs the place of an idle process: each who waits asks one for it.
    pub(in super::super) async fn seat_wanted(&self) {
        let mut changes = self.wanted.subscribe();
        while !self.serve_one() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Takes it upon whoever asks to make room, if someone waits whom nobody makes room for.
    fn serve_one(&self) -> bool {
        let mut is_needed = false;
        self.wanted.send_if_modified(|wanted| {
            is_needed = wanted.served < wanted.waiting;
            wanted.served += usize::from(is_needed);
            false
        });
        is_needed
    }

    /// Writes events and what they say about traces, without what the project's rules find, all of
    /// it or nothing; returns the events once they are on disk. While the store has too much to do,
    /// the session waits, and its agent too.
    pub(in super::super) async fn write(
        self: Arc<Self>,
        room: Arc<ChatHandle>,
        writing: Writing,
    ) -> Result<Written, StoreError> {
        let Writing { after, told, patches, mut hush } = writing;
        let has_patches = !patches.is_empty();
        let batch = Batch {
            traces: patches.traces,
            observations: patches.observations,
            ..Batch::new(room.project.clone(), (self.clock)())
        };
        let Store { telemetry, catalog, .. } = &self.store;
        let intake = catalog.intake(&room.project).await?;
        let batch = record::redacted(batch, &intake, self.limits.text_bytes);
        let events = hush.redact(told, &intake.redactor, after);
        if events.get().is_empty() && !has_patches {
            // All of it is held back.
            return Ok(Written { events: events.into_inner(), hush });
        }
        for _ in 0..STORE_TRIES {
            let prepared = telemetry.prepare(batch.clone());
            let prepared = prepared.with_events(room.session.clone(), events.clone());
            match record::commit(telemetry, catalog, prepared).await {
                Err(StoreError::QueueFull) => tokio::time::sleep(STORE_PAUSE).await,
                Err(error) => return Err(error),
                Ok(()) => {
                    let events = events.into_inner();
                    if events.iter().any(|event| Notification::of(event).is_some()) {
                        catalog.wake_delivery();
                    }
                    return Ok(Written { events, hush });
                }
            }
        }
        Err(StoreError::QueueFull)
    }
}
