use ratchet_agent::claude::lines::FromClaude;
use ratchet_agent::claude::message::Reply;
use ratchet_agent::claude::request::CliRequest;
use ratchet_core::chat::event::{EventBody, EventKind, UnorderedEvent};
use ratchet_core::chat::permission_prompt::PermissionPrompt;
use ratchet_core::chat::reader::{LineOutcome, LineSignal, TurnEnd};
use ratchet_core::chat::state::{ChatInput, PermissionPromptId};
use ratchet_core::id::TraceId;

use super::super::turn_recorder::Beginning;
use super::{ChatActor, TaskResult};

impl ChatActor {
    /// Handles output of the agent.
    pub(super) fn receive(&mut self, said: Option<FromClaude>) {
        match said {
            Some(FromClaude::Line(line)) => self.line(line.raw.get()),
            Some(FromClaude::Request(request)) => self.request(&request),
            Some(FromClaude::Withdrawn { id, raw }) => {
                self.raw(raw.get());
                self.withdrawn(&PermissionPromptId::new(id));
            }
            Some(FromClaude::Lost { bytes }) => {
                self.emit_error(&format!(
                    "the agent wrote a line of {bytes} bytes, too long to store"
                ));
            }
            Some(FromClaude::Ended(end)) => self.died(&end.to_string()),
            None => self.died("the agent has exited"),
        }
    }

    fn line(&mut self, raw: &str) {
        // While our message waits, output belongs to another turn.
        let turn = self.state.turn().filter(|_| !self.is_put_off);
        let LineOutcome { events, sign } = self.reader.take(raw, turn);
        if let Some(LineSignal::Kept { file, lines }) = &sign {
            // Repeats other lines, for the transcript.
            return self.recorder.transcript_lines(file, lines);
        }
        // A turn starts before its first event and ends after its last.
        if let Some(LineSignal::Began { mode, .. }) = &sign {
            self.begin_by_itself(raw);
            self.mode.clone_from(mode);
        }
        self.raw(raw);
        self.recorder.agent_output(raw);
        for event in events {
            self.emit(event);
        }
        match sign {
            Some(LineSignal::Ended(end)) => self.ended(&end),
            Some(LineSignal::Background(tasks)) => {
                self.background = tasks;
                self.activity += 1;
                self.set_idle_clock();
            }
            Some(LineSignal::Mode(mode)) => self.reported_mode(&mode),
            Some(LineSignal::PutOff(message)) if self.is_about_turn(&message) => {
                self.is_put_off = true
            }
            Some(LineSignal::TakenUp(message)) if self.is_about_turn(&message) => {
                self.is_put_off = false
            }
            Some(LineSignal::TakenBack(message)) if self.is_about_turn(&message) => {
                self.taken_back()
            }
            _ => {}
        }
    }

    /// Emits a line unchanged.
    fn raw(&mut self, raw: &str) {
        self.emit(UnorderedEvent { kind: EventKind::Raw, body: raw.into() });
    }

    fn is_about_turn(&self, message: &str) -> bool {
        let turn = self.state.turn().map(ToString::to_string);
        turn.is_some_and(|turn| turn == message.replace('-', ""))
    }

    /// The agent starts a turn without a message.
    fn begin_by_itself(&mut self, raw: &str) {
        let is_free = self.state.turn().is_none();
        let Some(turn) = own_turn(raw).filter(|_| is_free) else { return };
        if self.apply(ChatInput::Began(turn.clone())).is_ok() {
            let at = self.now();
            self.recorder.turn_started(&turn, at, Beginning::Agent);
            self.reacquire_slot();
        }
    }

    fn ended(&mut self, end: &TurnEnd) {
        let status = &mut self.chat.status;
        status.turns += 1;
        status.cost = status.cost + end.cost.unwrap_or_default();
        status.is_at_least |= end.is_at_least;
        status.agent_cost = self.reader.cost();
        self.outbox.is_stale = true;
        if self.is_put_off {
            // Another turn ended: the agent's own, before it takes up ours.
            return;
        }
        let Some(turn) = self.state.turn().cloned() else { return };
        let at = self.now();
        let prices = self.prices();
        self.recorder.ended(&turn, end, at, &prices);
        self.why = end.result.clone().filter(|_| end.is_error);
        drop(self.apply(ChatInput::Ended));
        self.why = None;
        self.reacquire_slot();
        self.part_if_outdated();
    }

    /// The agent requests something: of a person, or of the client, which refuses.
    fn request(&mut self, request: &CliRequest) {
        self.raw(request.raw.get());
        let asked = PermissionPrompt::of_line(request.raw.get());
        let Some(asked) = asked else { return self.answer_nothing(request) };
        if self.apply(ChatInput::Asked(asked.id.clone())).is_err() {
            return self.answer_nothing(request);
        }
        let at = self.now();
        self.recorder.prompt_opened(&asked, self.state.turn(), at);
        self.emit(asked.to_event());
        self.release_slot();
        let (ask, limit) = (asked.id.clone(), self.shared.limits.answer);
        self.asks.insert(ask.clone(), asked);
        self.tasks.push(Box::pin(async move {
            tokio::time::sleep(limit).await;
            TaskResult::AskOver(ask)
        }));
    }

    fn answer_nothing(&mut self, request: &CliRequest) {
        let Some(running) = &self.running else { return };
        let (process, id) = (running.process.clone(), request.id.clone());
        let reply = Reply::unknown(request);
        self.tasks.push(Box::pin(async move {
            TaskResult::Said(process.answer(&id, &reply).await.err())
        }));
    }

    /// The agent withdrew a prompt.
    fn withdrawn(&mut self, ask: &PermissionPromptId) {
        if self.apply(ChatInput::Withdrawn(ask.clone())).is_err() {
            return;
        }
        self.asks.remove(ask);
        self.reacquire_slot();
        let body = EventBody::default().text("id", ask.as_str()).text("decision", "withdrawn");
        let event = body.into_event(EventKind::Answered);
        self.answered(ask, &event.body);
        self.emit(event);
    }

    /// Records the answer to a prompt.
    pub(super) fn answered(&mut self, ask: &PermissionPromptId, body: &str) {
        let at = self.now();
        self.recorder.answered(ask.as_str(), body, at);
    }
}

/// Id of a turn that the agent starts, from its first line.
fn own_turn(raw: &str) -> Option<TraceId> {
    let line: serde_json::Value = serde_json::from_str(raw).ok()?;
    let id = line["uuid"].as_str()?.replace('-', "");
    TraceId::parse(&id).ok()
}
