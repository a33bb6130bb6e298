use ratchet_agent::claude::control::{Rewind, RewindReport};
use ratchet_core::chat::event::EventKind;
use ratchet_core::chat::permission_prompt::Decision;
use ratchet_core::chat::state::{ChatStateName, PermissionPromptId};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_store::StoreError;
use ratchet_store::catalog::AuditAction;
use ratchet_store::project::ProjectId;
use serde_json::Value;
use uuid::Uuid;

use super::super::command::ChatCommand;
use super::super::error::ChatError;
use super::super::event_feed::EventFeed;
use super::super::settings::ChatChange;
use super::{ChatService, NewMessage};

/// Maximum number of answers that are searched for the first one.
const MOST_ANSWERS: u32 = 1_000;

impl ChatService {
    /// Sends a message, which starts a turn. Returns the turn once the message is on disk.
    ///
    /// # Errors
    /// Fails if a turn is running, which it names, or the chat is closed or missing.
    pub async fn send(
        &self,
        project: ProjectId,
        chat_id: SessionId,
        new: NewMessage,
    ) -> Result<TraceId, ChatError> {
        let NewMessage { message, by } = new;
        let message = Box::new(message);
        self.send_command(project, chat_id, move |reply| ChatCommand::Send {
            message: message.clone(),
            by: by.clone(),
            reply,
        })
        .await
    }

    /// Answers a prompt of the agent. The first answer counts.
    ///
    /// # Errors
    /// Fails if it was answered before, with the first answer, or is not open, or needs another
    /// type of answer.
    pub async fn answer(
        &self,
        project: ProjectId,
        chat_id: SessionId,
        (ask, decision): (PermissionPromptId, Decision),
        by: Option<String>,
    ) -> Result<(), ChatError> {
        let answered =
            self.send_command(project.clone(), chat_id.clone(), |reply| ChatCommand::Answer {
                ask: ask.clone(),
                decision: decision.clone(),
                by: by.clone(),
                reply,
            });
        match answered.await {
            Err(ChatError::NotOpen(ask)) => {
                // The first answer is on disk before the second is refused, also after a restart.
                let telemetry = &self.shared.store.telemetry;
                let answers =
                    telemetry.newest_events(project, chat_id, EventKind::Answered, MOST_ANSWERS);
                let first = answers.await?.into_iter().find(|event| is_about(&event.body, &ask));
                Err(match first {
                    Some(first) => ChatError::Answered { ask, first: first.body },
                    None => ChatError::NotOpen(ask),
                })
            }
            Err(error) => Err(error),
            Ok(()) => {
                let became = format!("{}: {}", ask.as_str(), decision.summary());
                self.audit(project, chat_id, (AuditAction::Answered, Some(became))).await
            }
        }
    }

    /// Interrupts the running turn.
    ///
    /// # Errors
    /// Fails if there is none, or the agent does not respond.
    pub async fn interrupt(&self, project: ProjectId, chat_id: SessionId) -> Result<(), ChatError> {
        self.send_command(project.clone(), chat_id.clone(), |reply| ChatCommand::Interrupt {
            reply,
        })
        .await?;
        self.audit(project, chat_id, (AuditAction::Stopped, None)).await
    }

    /// Starts a process for a chat, as the next message would.
    ///
    /// # Errors
    /// Fails if the chat is closed or missing. A process that does not start is an event.
    pub async fn resume(&self, project: ProjectId, chat_id: SessionId) -> Result<(), ChatError> {
        self.send_command(project, chat_id, |reply| ChatCommand::Wake { reply }).await
    }

    /// Changes settings, for now and for later processes: all of them, or none.
    ///
    /// # Errors
    /// Fails if the agent refuses, or the chat is closed or missing; then nothing changes.
    pub async fn change(
        &self,
        project: ProjectId,
        chat_id: SessionId,
        change: ChatChange,
    ) -> Result<(), ChatError> {
        let command = |reply| ChatCommand::Change { change: change.clone(), reply };
        self.send_command(project.clone(), chat_id.clone(), command).await?;
        self.audit(project, chat_id, (AuditAction::Changed, Some(change.summary()))).await
    }

    /// Renames a chat; `None` removes the title.
    ///
    /// # Errors
    /// Fails if there is no such chat.
    pub async fn rename(
        &self,
        project: ProjectId,
        chat_id: SessionId,
        title: Option<String>,
    ) -> Result<(), ChatError> {
        let now = (self.shared.clock)();
        match self.catalog().rename_chat(project, chat_id.clone(), title, now).await {
            Err(StoreError::NotFound(_)) => Err(ChatError::NotFound(chat_id)),
            renamed => Ok(renamed?),
        }
    }

    /// Restores files to their state before a message, or reports what that would change.
    ///
    /// # Errors
    /// Fails during a turn, if the agent does not know the message, or if the chat is closed.
    pub async fn rewind(
        &self,
        project: ProjectId,
        chat_id: SessionId,
        message: Uuid,
        rewind: Rewind,
    ) -> Result<RewindReport, ChatError> {
        let command = move |reply| ChatCommand::Rewind { message, rewind, reply };
        let report = self.send_command(project.clone(), chat_id.clone(), command).await?;
        if rewind == Rewind::Apply {
            let became = format!("files as before message {message}");
            self.audit(project, chat_id, (AuditAction::Changed, Some(became))).await?;
        }
        Ok(report)
    }

    /// Closes a chat permanently. Its events and traces remain.
    ///
    /// # Errors
    /// Fails if it is closed already or missing.
    pub async fn close(&self, project: ProjectId, chat_id: SessionId) -> Result<(), ChatError> {
        self.send_command(project.clone(), chat_id.clone(), |reply| ChatCommand::Close { reply })
            .await?;
        self.audit(project, chat_id, (AuditAction::Closed, None)).await
    }

    /// Returns the events of a chat after a sequence number: stored ones first, then new ones.
    ///
    /// # Errors
    /// Fails if there is no such chat.
    pub async fn events(
        &self,
        project: ProjectId,
        chat_id: SessionId,
        after: u64,
    ) -> Result<EventFeed, ChatError> {
        let handle = self.handle(&project, &chat_id);
        let telemetry = self.shared.store.telemetry.clone();
        let feed = EventFeed::new(telemetry.clone(), handle.clone(), after);
        let chat = self.chat(project.clone(), chat_id.clone()).await?;
        if chat.status.state != ChatStateName::Closed {
            return Ok(feed);
        }
        // The actor may be closing the chat just now, before the last event is published. After it,
        // nothing follows, though the actor runs until its process has ended.
        let is_over = handle.status().is_none() || {
            let last = telemetry.newest_events(project, chat_id, EventKind::State, 1).await?;
            last.first().is_some_and(EventFeed::ends_with)
        };
        Ok(if is_over { feed.so_far() } else { feed })
    }
}

/// Whether an event is the answer to a prompt.
fn is_about(body: &str, ask: &PermissionPromptId) -> bool {
    let event: Option<Value> = serde_json::from_str(body).ok();
    event.is_some_and(|event| event["id"] == ask.as_str())
}
