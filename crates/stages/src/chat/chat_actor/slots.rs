use futures_util::future::{AbortHandle, abortable};
use ratchet_agent::claude::error::ClaudeError;
use ratchet_agent::claude::process::ClaudeProcess;
use ratchet_agent::claude::process_slots::ProcessSlot;
use ratchet_core::chat::event::{EventBody, EventKind};
use ratchet_core::chat::state::{ChatInput, ChatState};
use ratchet_core::chat::transcript_view::ABORTED_START;
use ratchet_core::id::TraceId;

use super::{ChatActor, TaskResult};

/// Reason of a turn that a person interrupted.
const INTERRUPTED: &str = "interrupted";

/// What a chat waits for.
pub(super) enum Queued {
    /// For its process; aborts the wait when sent.
    Start(AbortHandle),
    /// With an answer for an agent whose process exists.
    Answer,
}

impl ChatActor {
    /// All slots are in use: the chat waits for one, and its state reports it.
    pub(super) fn queued(&mut self, launch: u64) {
        if !self.awaits(launch) {
            return;
        }
        let shared = self.shared.clone();
        let (slot, queue_task) = abortable(async move { shared.process_slot().await });
        self.tell_queued(Queued::Start(queue_task));
        self.tasks.push(Box::pin(async move {
            match slot.await {
                Ok(slot) => TaskResult::GotSlot(launch, slot),
                Err(_) => TaskResult::Done,
            }
        }));
    }

    /// A slot for the process was acquired.
    pub(super) fn got_slot(&mut self, launch: u64, slot: ProcessSlot) {
        // Dropped, the slot is free again.
        if self.awaits(launch) {
            self.tell_unqueued();
            self.start(launch, slot);
        }
    }

    /// Stops waiting for a slot.
    pub(super) fn leave_queue(&mut self) {
        if let Some(Queued::Start(queue_task)) = self.queued.take() {
            queue_task.abort();
        }
    }

    /// Whether a process that is starting is still needed.
    pub(super) fn awaits(&self, launch: u64) -> bool {
        launch == self.launch && matches!(self.state, ChatState::Starting { .. })
    }

    fn tell_queued(&mut self, queued: Queued) {
        let (taken, most) = self.shared.slots_in_use();
        self.why = Some(format!("waiting for a slot ({taken} of {most})"));
        self.queued = Some(queued);
        self.emit_state();
    }

    fn tell_unqueued(&mut self) {
        if self.queued.take().is_some() {
            self.why = None;
            self.emit_state();
        }
    }

    /// The agent waits for a person: releases its permit.
    pub(super) fn release_slot(&mut self) {
        let running = self.running.as_ref().filter(|running| running.is_up);
        if let (ChatState::Waiting { .. }, Some(running)) = (&self.state, running) {
            running.process.release_slot();
        }
    }

    /// The agent continues on its own, and is counted again as soon as a permit is free.
    pub(super) fn reacquire_slot(&mut self) {
        let Some(running) = &self.running else { return };
        if running.process.has_slot() || matches!(self.state, ChatState::Waiting { .. }) {
            return;
        }
        let (shared, process) = (self.shared.clone(), running.process.clone());
        match shared.try_work_permit() {
            Some(slot) => process.take_slot(slot),
            None => self.tasks.push(Box::pin(async move {
                process.take_slot(shared.work_permit().await);
                TaskResult::Done
            })),
        }
    }

    /// Sends an answer to the agent once it has a permit.
    pub(super) fn with_slot(
        &mut self,
        process: ClaudeProcess,
        saying: impl Future<Output = Result<(), ClaudeError>> + Send + 'static,
    ) {
        if !process.has_slot()
            && let Some(slot) = self.shared.try_work_permit()
        {
            process.take_slot(slot);
        }
        if process.has_slot() {
            self.tasks.push(Box::pin(async move { TaskResult::Said(saying.await.err()) }));
            return;
        }
        self.tell_queued(Queued::Answer);
        let shared = self.shared.clone();
        self.tasks.push(Box::pin(async move {
            process.take_slot(shared.work_permit().await);
            TaskResult::Resumed(saying.await.err())
        }));
    }

    /// The agent has a permit again and received the answer.
    pub(super) fn resumed(&mut self, error: Option<ClaudeError>) {
        self.tell_unqueued();
        self.task_done(TaskResult::Said(error));
    }

    /// Withdraws a message that waits for its process: the agent never receives it.
    pub(super) fn cancel(&mut self, turn: &TraceId) {
        self.tell_stopped(turn);
        self.first = None;
        self.launch += 1;
        self.leave_queue();
        self.why = None;
        drop(self.apply(ChatInput::Interrupted));
        self.kill_process();
        for command in std::mem::take(&mut self.later) {
            self.execute(command);
        }
    }

    /// The agent was interrupted before it processed the message of this turn, and will not mention
    /// it.
    pub(super) fn taken_back(&mut self) {
        let Some(turn) = self.state.turn().cloned() else { return };
        self.is_put_off = false;
        self.tell_stopped(&turn);
        drop(self.apply(ChatInput::Ended));
        self.reacquire_slot();
        self.part_if_outdated();
    }

    fn tell_stopped(&mut self, turn: &TraceId) {
        let body = EventBody::default().text("turn", &turn.to_string()).value("is_error", true);
        let body = body.text("reason", ABORTED_START).text("result", INTERRUPTED);
        self.emit(body.into_event(EventKind::Done));
        let at = self.now();
        self.recorder.stopped(turn, INTERRUPTED, at);
    }
}
