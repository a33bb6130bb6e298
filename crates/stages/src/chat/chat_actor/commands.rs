use ratchet_agent::claude::error::ClaudeError;
use ratchet_agent::claude::message::{MessageContent, Reply as ToAgent, UserMessage};
use ratchet_core::chat::event::{EventBody, EventKind};
use ratchet_core::chat::permission_prompt::{AnswerMismatch, Decision};
use ratchet_core::chat::state::{ChatInput, ChatState, PermissionPromptId};
use ratchet_core::id::TraceId;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::command::{ChatCommand, Reply};
use super::super::error::ChatError;
use super::super::turn_recorder::Beginning;
use super::pending_writes::Effect;
use super::{ChatActor, TaskResult};

impl ChatActor {
    pub(super) fn execute(&mut self, command: ChatCommand) {
        match command {
            ChatCommand::Send { message, by, reply } => {
                let sent = self.send(message, by.as_deref());
                self.reply_after_write(reply, sent);
            }
            ChatCommand::Answer { ask, decision, by, reply } => {
                let answered = self.answer(&ask, &decision, by.as_deref());
                self.reply_after_write(reply, answered);
            }
            ChatCommand::Interrupt { reply } => self.interrupt(reply),
            ChatCommand::Wake { reply } => {
                let woken = self.wake();
                self.reply_after_write(reply, woken);
            }
            ChatCommand::Close { reply } => {
                let closed = self.close();
                self.reply_after_write(reply, closed);
            }
            ChatCommand::Stop { reply } => self.stop(reply),
            ChatCommand::Change { change, reply } => self.change(change, reply),
            ChatCommand::Rewind { message, rewind, reply } => self.rewind(message, rewind, reply),
        }
    }

    /// Replies once the events so far are on disk.
    pub(super) fn reply_after_write<T: Send + 'static>(
        &mut self,
        reply: Reply<T>,
        came: Result<T, ChatError>,
    ) {
        // The caller may be gone.
        self.outbox.then(Effect::Answer(Box::new(move || drop(reply.send(came)))));
    }

    fn send(&mut self, message: Box<UserMessage>, by: Option<&str>) -> Result<TraceId, ChatError> {
        let name = message.uuid.simple().to_string();
        let turn = TraceId::parse(&name).map_err(|why| ChatError::Setting(why.to_string()))?;
        let before = self.state.clone();
        let after = ratchet_core::chat::state::next(&before, ChatInput::Sent(turn.clone()))?;
        self.check_budget()?;
        let content = match &message.content {
            MessageContent::Text(text) => Value::from(text.as_str()),
            MessageContent::Blocks(blocks) => Value::from(blocks.clone()),
        };
        let (id, content) = (message.uuid.to_string(), content.to_string());
        let body = EventBody::default()
            .text("id", &id)
            .text("turn", &name)
            .text_if("by", by)
            .raw("content", &content);
        self.emit(body.into_event(EventKind::Message));
        let at = self.now();
        let beginning = Beginning::Person { by, message: &id, content: &content };
        self.recorder.turn_started(&turn, at, beginning);
        self.why = None;
        self.is_put_off = false;
        self.apply(ChatInput::Sent(turn.clone()))?;
        if let ChatState::Starting { .. } = after {
            self.first = Some(message);
            if !matches!(before, ChatState::Starting { .. }) {
                self.launch();
            }
        } else {
            self.outbox.then(Effect::Say(message));
        }
        Ok(turn)
    }

    fn answer(
        &mut self,
        ask: &PermissionPromptId,
        decision: &Decision,
        by: Option<&str>,
    ) -> Result<(), ChatError> {
        let asked = self.asks.get(ask).ok_or_else(|| ChatError::NotOpen(ask.clone()))?;
        let reply =
            RawValue::from_string(asked.reply(decision)?).map_err(|_| AnswerMismatch::Input)?;
        let event = decision.to_event(ask, by);
        self.asks.remove(ask);
        self.answered(ask, &event.body);
        self.emit(event);
        self.outbox.then(Effect::Reply(ask.as_str().to_owned(), ToAgent::Success(reply)));
        self.apply(ChatInput::Answered(ask.clone()))?;
        Ok(())
    }

    pub(super) fn ask_over(&mut self, ask: &PermissionPromptId) {
        if self.asks.contains_key(ask)
            && let Err(error) = self.answer(ask, &Decision::TimedOut, None)
        {
            self.emit_error(&error.to_string());
        }
    }

    fn interrupt(&mut self, reply: Reply<()>) {
        if let ChatState::Starting { turn: Some(turn) } = &self.state {
            let turn = turn.clone();
            self.cancel(&turn);
            return self.reply_after_write(reply, Ok(()));
        }
        match self.apply(ChatInput::Interrupted) {
            // After the message, which may not be on disk yet.
            Ok(()) => self.outbox.then(Effect::Interrupt(reply)),
            Err(unfit) => self.reply_after_write(reply, Err(unfit.into())),
        }
    }

    /// Sends a request to the agent and replies with its result.
    pub(super) fn ask_agent<T: Send + 'static>(
        &mut self,
        reply: Reply<T>,
        asking: impl Future<Output = Result<T, ClaudeError>> + Send + 'static,
    ) {
        self.tasks.push(Box::pin(async move {
            let said = asking.await.map_err(|error| ChatError::Agent(error.to_string()));
            // The caller may be gone.
            drop(reply.send(said));
            TaskResult::Done
        }));
    }

    pub(super) fn wake(&mut self) -> Result<(), ChatError> {
        let had_process = self.state.has_process();
        self.apply(ChatInput::Woken)?;
        if !had_process {
            self.launch();
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), ChatError> {
        self.withdraw_all();
        if let Some(turn) = self.state.turn().cloned() {
            // The state says that it is closed; that is no error.
            drop(self.end_interrupted_turn(&turn, "the chat was closed"));
        }
        self.first = None;
        self.launch += 1;
        self.leave_queue();
        self.apply(ChatInput::Closed)?;
        self.kill_process();
        Ok(())
    }

    /// Kills the process. The next one starts after it has ended.
    pub(super) fn kill_process(&mut self) {
        let Some(running) = self.running.take() else { return };
        let process = running.process;
        self.leaving = Some(process.clone());
        self.outbox.is_stale = true;
        self.tasks.push(Box::pin(async move {
            process.kill().await;
            TaskResult::Left
        }));
    }

    /// The server stops: interrupts the turn. The chat can continue later.
    fn stop(&mut self, reply: Reply<()>) {
        self.is_stopping = true;
        self.launch += 1;
        self.leave_queue();
        match self.state {
            ChatState::Idle => self.park(),
            _ if self.state.has_process() => {
                let running = self.running.take();
                self.died("the server was stopped");
                self.running = running;
                self.kill_process();
            }
            _ => {}
        }
        self.reply_after_write(reply, Ok(()));
    }
}
