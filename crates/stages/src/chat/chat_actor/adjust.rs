use ratchet_agent::claude::control::{Rewind, RewindReport};
use ratchet_agent::claude::error::ClaudeError;
use ratchet_agent::claude::options::PermissionMode;
use ratchet_agent::claude::process::ClaudeProcess;
use ratchet_core::chat::config_layer::Trust;
use ratchet_core::chat::event::{EventBody, EventKind};
use ratchet_core::chat::state::ChatState;
use ratchet_core::money::Money;
use uuid::Uuid;

use super::super::command::{ChatCommand, Reply};
use super::super::error::ChatError;
use super::super::settings::{ChatChange, ChatSettings};
use super::{ChatActor, TaskResult};

impl ChatActor {
    /// Applies changes to the agent, one after the other.
    pub(super) fn change(&mut self, change: ChatChange, reply: Reply<()>) {
        match self.state {
            ChatState::Closed => self.reply_after_write(reply, Err(ChatError::Closed)),
            // The process that is starting has the new settings already.
            ChatState::Starting { .. } => self.later.push(ChatCommand::Change { change, reply }),
            _ => {
                self.changes.push_back((change, reply));
                if self.changes.len() == 1 {
                    self.next_change();
                }
            }
        }
    }

    fn next_change(&mut self) {
        let Some((change, _)) = self.changes.front() else { return };
        let running = self.running.as_ref().filter(|running| running.is_up);
        let Some(process) = running.map(|running| running.process.clone()) else {
            return self.changed(Ok(()));
        };
        let (change, before) =
            (change.clone(), self.settings().and_then(|settings| settings.model));
        self.tasks.push(Box::pin(async move {
            TaskResult::Changed(changed(&process, &change, before.as_deref()).await)
        }));
    }

    /// The agent applied a change, or refused it.
    pub(super) fn changed(&mut self, outcome: Result<(), ClaudeError>) {
        let Some((change, reply)) = self.changes.pop_front() else { return };
        match outcome {
            Ok(()) => {
                self.set(&change);
                self.reply_after_write(reply, Ok(()));
            }
            Err(error) => self.reply_after_write(reply, Err(ChatError::Agent(error.to_string()))),
        }
        self.next_change();
    }

    /// The agent reports its permission mode. A change of its own, as after an accepted plan,
    /// applies to later processes, too.
    pub(super) fn reported_mode(&mut self, mode: &str) {
        let before = self.mode.replace(mode.to_owned());
        let is_new = before.is_some_and(|before| before != mode) && self.changes.is_empty();
        // Never to bypass permissions, which cannot be set here.
        let known = PermissionMode::parse(mode).filter(|mode| *mode != PermissionMode::Bypass);
        if let Some(mode) = known.filter(|_| is_new) {
            self.set(&ChatChange { mode: Some(mode), ..ChatChange::default() });
        }
    }

    pub(super) fn settings(&self) -> Option<ChatSettings> {
        ChatSettings::read(&self.chat.settings).ok()
    }

    /// Stores new settings and emits them.
    fn set(&mut self, change: &ChatChange) {
        let Some(mut settings) = self.settings() else { return };
        let mode = change.mode.map(PermissionMode::as_str);
        if let Some(mode) = mode {
            settings.mode = Some(mode.to_owned());
            self.mode = Some(mode.to_owned());
        }
        if let Some(model) = &change.model {
            settings.model = model.name().map(str::to_owned);
        }
        if let Some(budget) = change.budget {
            settings.max_budget = budget.limit().map(Money::dollars);
        }
        if let Some(trust) = change.trust {
            settings.distrusts_workspace = trust == Trust::Untrusted;
        }
        self.chat.settings = settings.write();
        self.outbox.is_reset = true;
        for (what, word) in change.words() {
            let body = EventBody::default().text("what", what).text("text", &word);
            self.emit(body.into_event(EventKind::Notice));
        }
        if change.budget.is_some() || change.trust.is_some() {
            // Both apply when the agent starts.
            if let Some(running) = &mut self.running {
                running.is_outdated = true;
            }
            self.part_if_outdated();
        }
    }

    /// Restores files to their state before a message.
    pub(super) fn rewind(&mut self, message: Uuid, rewind: Rewind, reply: Reply<RewindReport>) {
        if self.state == ChatState::Closed {
            return self.reply_after_write(reply, Err(ChatError::Closed));
        }
        if let Some(turn) = self.state.turn().cloned() {
            return self.reply_after_write(reply, Err(ChatError::Busy { turn }));
        }
        let running = self.running.as_ref().filter(|running| running.is_up);
        match running.map(|running| running.process.clone()) {
            Some(process) => {
                self.ask_agent(reply, async move { process.rewind_files(message, rewind).await });
            }
            None => {
                self.later.push(ChatCommand::Rewind { message, rewind, reply });
                drop(self.wake());
            }
        }
    }
}

/// Applies a change to a process: all of it, or nothing.
async fn changed(
    process: &ClaudeProcess,
    change: &ChatChange,
    before: Option<&str>,
) -> Result<(), ClaudeError> {
    if let Some(model) = &change.model {
        process.set_model(model.name()).await?;
    }
    let Some(mode) = change.mode else { return Ok(()) };
    let refused = process.set_permission_mode(mode).await;
    if refused.is_err() && change.model.as_ref().is_some_and(|model| model.name() != before) {
        // If it refuses its previous model, it is started again with it.
        if process.set_model(before).await.is_err() {
            process.kill().await;
        }
    }
    refused
}
