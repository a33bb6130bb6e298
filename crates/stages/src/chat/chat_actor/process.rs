use std::sync::Arc;

use ratchet_agent::claude::error::ClaudeError;
use ratchet_agent::claude::lines::ClaudeLines;
use ratchet_agent::claude::process::ClaudeProcess;
use ratchet_agent::claude::process_slots::ProcessSlot;
use ratchet_core::chat::event::{EventBody, EventKind};
use ratchet_core::chat::reader::LineReader;
use ratchet_core::chat::state::{ChatInput, ChatState};

use super::super::error::ChatError;
use super::pending_writes::Effect;
use super::{ChatActor, ChatCommand, Running, TaskResult};

impl ChatActor {
    /// Starts a process, once there is a slot and the previous one has ended.
    pub(super) fn launch(&mut self) {
        let is_under_way = self.running.is_some();
        if is_under_way {
            return;
        }
        self.launch += 1;
        self.why = None;
        let reader = LineReader::new(self.chat.status.agent_cost);
        self.reader = reader.with_prices(self.prices());
        let (launch, leaving) = (self.launch, self.leaving.clone());
        let shared = self.shared.clone();
        self.tasks.push(Box::pin(async move {
            if let Some(leaving) = leaving {
                leaving.end().await;
            }
            match shared.try_process_slot() {
                Some(slot) => TaskResult::GotSlot(launch, slot),
                None => TaskResult::Queued(launch),
            }
        }));
    }

    /// Starts a process that has its slot.
    pub(super) fn start(&mut self, launch: u64, slot: ProcessSlot) {
        let (shared, chat) = (self.shared.clone(), self.chat.clone());
        self.tasks.push(Box::pin(async move {
            // Reads files on a blocking thread. The folder stays open until the process is in it.
            let (command, _folder, memory) = match Arc::clone(&shared).command(chat.clone()).await {
                Ok(command) => command,
                Err(error) => {
                    let why = error.to_string();
                    return TaskResult::Launched(
                        launch,
                        Err(ClaudeError::NotStarted { why }),
                        None,
                    );
                }
            };
            let warning = memory.warning(&shared.launcher.family(&chat));
            TaskResult::Launched(launch, command.spawn(slot), warning)
        }));
    }

    pub(super) fn launched(
        &mut self,
        launch: u64,
        outcome: Result<(ClaudeProcess, ClaudeLines), ClaudeError>,
        warning: Option<String>,
    ) {
        let is_wanted = self.awaits(launch);
        let (process, lines) = match outcome {
            // Dropping it ends it.
            Ok(_) if !is_wanted => {
                if !self.state.has_process() {
                    self.shared.launcher.forget_given(&self.chat.id);
                }
                return;
            }
            Ok(started) => started,
            Err(error) if is_wanted => return self.died(&error.to_string()),
            Err(_) => return,
        };
        if let Some(warning) = warning {
            self.emit_error(&warning);
        }
        let greeting = process.clone();
        self.running = Some(Running { process, lines, is_up: false, is_outdated: false });
        self.outbox.is_stale = true;
        self.tasks.push(Box::pin(async move {
            TaskResult::Greeted(launch, greeting.initialize().await.map(drop))
        }));
    }

    pub(super) fn greeted(&mut self, launch: u64, outcome: Result<(), ClaudeError>) {
        if launch != self.launch || self.running.is_none() {
            return;
        }
        self.shared.launcher.forget_given(&self.chat.id);
        if let Err(error) = outcome {
            let why = error.to_string();
            if let Some(running) = self.running.take() {
                self.dismiss(running.process);
            }
            return self.died(&why);
        }
        if let Some(running) = &mut self.running {
            running.is_up = true;
        }
        if self.apply(ChatInput::Started).is_err() {
            return;
        }
        if let Some(message) = self.first.take() {
            self.outbox.then(Effect::Say(message));
        }
        for command in std::mem::take(&mut self.later) {
            self.execute(command);
        }
    }

    /// The process has ended, or did not start.
    pub(super) fn died(&mut self, why: &str) {
        self.running = None;
        self.shared.launcher.forget_given(&self.chat.id);
        self.background = 0;
        self.leave_queue();
        self.withdraw_all();
        let lost = self.state.turn().cloned();
        let body = match &lost {
            Some(turn) => self.end_interrupted_turn(turn, why),
            None => EventBody::default(),
        };
        let is_a_loss = lost.is_some() || matches!(self.state, ChatState::Starting { .. });
        if is_a_loss {
            self.why = Some(why.to_owned());
            self.emit(body.text("message", why).into_event(EventKind::Error));
        }
        self.first = None;
        if self.apply(ChatInput::Died).is_err() {
            self.outbox.is_stale = true;
        }
        for command in std::mem::take(&mut self.later) {
            refuse(command, why);
        }
    }

    /// Ends the process: it is idle, or another chat needs the slot.
    pub(super) fn park(&mut self) {
        if self.apply(ChatInput::Parked).is_ok()
            && let Some(running) = self.running.take()
        {
            self.dismiss(running.process);
        }
    }

    /// Ends a process. The next one starts after it has ended.
    pub(super) fn dismiss(&mut self, process: ClaudeProcess) {
        self.leaving = Some(process.clone());
        self.outbox.is_stale = true;
        self.tasks.push(Box::pin(async move {
            process.end().await;
            TaskResult::Left
        }));
    }

    pub(super) fn left(&mut self) {
        self.leaving = None;
    }

    /// Withdraws all prompts.
    pub(super) fn withdraw_all(&mut self) {
        let asks: Vec<_> = self.asks.drain().map(|(ask, _)| ask).collect();
        for ask in asks {
            let body = EventBody::default().text("id", ask.as_str()).text("decision", "withdrawn");
            let event = body.into_event(EventKind::Answered);
            let at = self.now();
            self.recorder.answered(ask.as_str(), &event.body, at);
            self.emit(event);
        }
    }
}

fn refuse(command: ChatCommand, why: &str) {
    let error = || ChatError::Agent(why.to_owned());
    // The caller may be gone.
    match command {
        ChatCommand::Send { reply, .. } => drop(reply.send(Err(error()))),
        ChatCommand::Rewind { reply, .. } => drop(reply.send(Err(error()))),
        ChatCommand::Answer { reply, .. }
        | ChatCommand::Interrupt { reply }
        | ChatCommand::Wake { reply }
        | ChatCommand::Change { reply, .. }
        | ChatCommand::Close { reply }
        | ChatCommand::Stop { reply } => drop(reply.send(Err(error()))),
    }
}
