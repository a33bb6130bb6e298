use futures_util::future::{AbortHandle, abortable};
use ratchet_agent::claude::error::ClaudeError;
use ratchet_agent::claude::process::ClaudeProcess;
use ratchet_agent::claude::process_slots::ProcessSlot;
use ratchet_core::chat::event::{EventBody, EventKind};
use ratchet_core::chat::state::{ChatInput, ChatState};
use ratchet_core::chat::transcript_view::ABORTED_START;
use ratchet_core::id::TraceId;

use super::{ChatActor, Chore};

/// What a turn that a person stopped came to.
const INTERRUPTED: &str = "interrupted";

/// How a session waits for a slot.
pub(super) enum Queued {
    /// For its process: this gives its place up.
    Start(AbortHandle),
    /// With an answer for an agent that has its process already.
    Answer,
}

impl ChatActor {
    /// All slots are taken: the session waits for one, and says so.
    pub(super) fn queued(&mut self, launch: u64) {
        if !self.awaits(launch) {
            return;
        }
        let shared = self.shared.clone();
        let (seat, place) = abortable(async move { shared.seat().await });
        self.tell_queued(Queued::Start(place));
        self.chores.push(Box::pin(async move {
            match seat.await {
                Ok(seat) => Chore::Seated(launch, seat),
                Err(_) => Chore::Done,
            }
        }));
    }

    /// There is a slot for the process of the session.
    pub(super) fn seated(&mut self, launch: u64, seat: ProcessSlot) {
        // Dropped, the seat is somebody else's.
        if self.awaits(launch) {
            self.tell_unqueued();
            self.start(launch, seat);
        }
    }

    /// Nobody needs a slot for it any more.
    pub(super) fn leave_queue(&mut self) {
        if let Some(Queued::Start(place)) = self.queued.take() {
            place.abort();
        }
    }

    /// Whether a process on its way is still wanted.
    pub(super) fn awaits(&self, launch: u64) -> bool {
        launch == self.launch && matches!(self.state, ChatState::Starting { .. })
    }

    fn tell_queued(&mut self, queued: Queued) {
        let (taken, most) = self.shared.slots_in_use();
        self.why = Some(format!("waiting for a slot ({taken} of {most})"));
        self.queued = Some(queued);
        self.tell_state();
    }

    fn tell_unqueued(&mut self) {
        if self.queued.take().is_some() {
            self.why = None;
            self.tell_state();
        }
    }

    /// The agent waits for a person: others may work meanwhile.
    pub(super) fn rest(&mut self) {
        let running = self.running.as_ref().filter(|running| running.is_up);
        if let (ChatState::Waiting { .. }, Some(running)) = (&self.state, running) {
            running.process.rest();
        }
    }

    /// The agent goes on by itself, and is counted again as soon as there is a slot.
    pub(super) fn regain(&mut self) {
        let Some(running) = &self.running else { return };
        if running.process.has_slot() || matches!(self.state, ChatState::Waiting { .. }) {
            return;
        }
        let (shared, process) = (self.shared.clone(), running.process.clone());
        match shared.try_slot() {
            Some(slot) => process.work(slot),
            None => self.chores.push(Box::pin(async move {
                process.work(shared.slot().await);
                Chore::Done
            })),
        }
    }

    /// Tells the agent an answer once it may go on.
    pub(super) fn with_slot(
        &mut self,
        process: ClaudeProcess,
        saying: impl Future<Output = Result<(), ClaudeError>> + Send + 'static,
    ) {
        if !process.has_slot()
            && let Some(slot) = self.shared.try_slot()
        {
            process.work(slot);
        }
        if process.has_slot() {
            self.chores.push(Box::pin(async move { Chore::Said(saying.await.err()) }));
            return;
        }
        self.tell_queued(Queued::Answer);
        let shared = self.shared.clone();
        self.chores.push(Box::pin(async move {
            process.work(shared.slot().await);
            Chore::Resumed(saying.await.err())
        }));
    }

    /// The agent has a slot again, and was told an answer.
    pub(super) fn resumed(&mut self, error: Option<ClaudeError>) {
        self.tell_unqueued();
        self.chore(Chore::Said(error));
    }

    /// Takes back a message that waits for its process: the agent never hears of it.
    pub(super) fn cancel(&mut self, turn: &TraceId) {
        self.tell_stopped(turn);
        self.first = None;
        self.launch += 1;
        self.leave_queue();
        self.why = None;
        drop(self.happen(ChatInput::Interrupted));
        self.let_go();
        for wish in std::mem::take(&mut self.later) {
            self.wish(wish);
        }
    }

    /// The agent was stopped before it took up the message of this turn. It says no more of it.
    pub(super) fn taken_back(&mut self) {
        let Some(turn) = self.state.turn().cloned() else { return };
        self.is_put_off = false;
        self.tell_stopped(&turn);
        drop(self.happen(ChatInput::Ended));
        self.regain();
        self.part_if_outdated();
    }

    fn tell_stopped(&mut self, turn: &TraceId) {
        let body = EventBody::default().text("turn", &turn.to_string()).value("is_error", true);
        let body = body.text("reason", ABORTED_START).text("result", INTERRUPTED);
        self.tell(body.told(EventKind::Done));
        let at = self.now();
        self.book.stopped(turn, INTERRUPTED, at);
    }
}
