use ratchet_agent::claude::control::{Rewind, RewindReport};
use ratchet_core::chat::event::EventKind;
use ratchet_core::chat::permission_prompt::Decision;
use ratchet_core::chat::state::{ChatStateName, PermissionPromptId};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_store::StoreError;
use ratchet_store::catalog::Verb;
use ratchet_store::project::ProjectId;
use serde_json::Value;
use uuid::Uuid;

use super::super::command::ChatCommand;
use super::super::error::ChatError;
use super::super::event_feed::EventFeed;
use super::super::settings::ChatChange;
use super::{ChatService, NewMessage};

/// First answers that are looked through for whoever comes second.
const MOST_ANSWERS: u32 = 1_000;

impl ChatService {
    /// Sends a message, which begins a turn. Returns the turn once the message is on disk.
    ///
    /// # Errors
    /// Fails if a turn is under way, which it names, or the session is closed or not there.
    pub async fn send(
        &self,
        project: ProjectId,
        session: SessionId,
        new: NewMessage,
    ) -> Result<TraceId, ChatError> {
        let NewMessage { message, by } = new;
        let message = Box::new(message);
        self.ask(project, session, move |reply| ChatCommand::Send {
            message: message.clone(),
            by: by.clone(),
            reply,
        })
        .await
    }

    /// Answers what the agent asked. The first answer counts.
    ///
    /// # Errors
    /// Fails if it was answered, with the first answer, or is not open, or wants another kind of
    /// answer.
    pub async fn answer(
        &self,
        project: ProjectId,
        session: SessionId,
        (ask, decision): (PermissionPromptId, Decision),
        by: Option<String>,
    ) -> Result<(), ChatError> {
        let answered = self.ask(project.clone(), session.clone(), |reply| ChatCommand::Answer {
            ask: ask.clone(),
            decision: decision.clone(),
            by: by.clone(),
            reply,
        });
        match answered.await {
            Err(ChatError::NotOpen(ask)) => {
                // Whoever was first is on disk before the second is told, also after a restart.
                let telemetry = &self.shared.store.telemetry;
                let answers =
                    telemetry.newest_events(project, session, EventKind::Answered, MOST_ANSWERS);
                let first = answers.await?.into_iter().find(|event| is_about(&event.body, &ask));
                Err(match first {
                    Some(first) => ChatError::Answered { ask, first: first.body },
                    None => ChatError::NotOpen(ask),
                })
            }
            Err(error) => Err(error),
            Ok(()) => {
                let became = format!("{}: {}", ask.as_str(), decision.word());
                self.note(project, session, (Verb::Answered, Some(became))).await
            }
        }
    }

    /// Stops the turn that is under way.
    ///
    /// # Errors
    /// Fails if there is none, or the agent does not hear.
    pub async fn interrupt(&self, project: ProjectId, session: SessionId) -> Result<(), ChatError> {
        self.ask(project.clone(), session.clone(), |reply| ChatCommand::Interrupt { reply })
            .await?;
        self.note(project, session, (Verb::Stopped, None)).await
    }

    /// Has a process started for a session, as the next message would.
    ///
    /// # Errors
    /// Fails if the session is closed or not there. That the process does not start is an event.
    pub async fn resume(&self, project: ProjectId, session: SessionId) -> Result<(), ChatError> {
        self.ask(project, session, |reply| ChatCommand::Wake { reply }).await
    }

    /// Changes how the agent works, now and in later processes: all of it, or nothing.
    ///
    /// # Errors
    /// Fails if the agent refuses, or the session is closed or not there; then all is as it was.
    pub async fn change(
        &self,
        project: ProjectId,
        session: SessionId,
        change: ChatChange,
    ) -> Result<(), ChatError> {
        let wish = |reply| ChatCommand::Change { change: change.clone(), reply };
        self.ask(project.clone(), session.clone(), wish).await?;
        self.note(project, session, (Verb::Changed, Some(change.summary()))).await
    }

    /// Has people call a session otherwise; by nothing when there is no title.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub async fn rename(
        &self,
        project: ProjectId,
        session: SessionId,
        title: Option<String>,
    ) -> Result<(), ChatError> {
        let now = (self.shared.clock)();
        match self.catalog().title_chat(project, session.clone(), title, now).await {
            Err(StoreError::NotFound(_)) => Err(ChatError::NotFound(session)),
            renamed => Ok(renamed?),
        }
    }

    /// Brings files back to what they were before a message, or says what that would change.
    ///
    /// # Errors
    /// Fails during a turn, if the agent does not know the message, or the session is closed.
    pub async fn rewind(
        &self,
        project: ProjectId,
        session: SessionId,
        message: Uuid,
        rewind: Rewind,
    ) -> Result<RewindReport, ChatError> {
        let wish = move |reply| ChatCommand::Rewind { message, rewind, reply };
        let report = self.ask(project.clone(), session.clone(), wish).await?;
        if rewind == Rewind::Do {
            let became = format!("files as before message {message}");
            self.note(project, session, (Verb::Changed, Some(became))).await?;
        }
        Ok(report)
    }

    /// Ends a session for good; what was said in it stays.
    ///
    /// # Errors
    /// Fails if it is closed already or not there.
    pub async fn close(&self, project: ProjectId, session: SessionId) -> Result<(), ChatError> {
        self.ask(project.clone(), session.clone(), |reply| ChatCommand::Close { reply }).await?;
        self.note(project, session, (Verb::Closed, None)).await
    }

    /// The events of a session after a place in their order: those that are kept, then those that
    /// come, each once.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub async fn events(
        &self,
        project: ProjectId,
        session: SessionId,
        after: u64,
    ) -> Result<EventFeed, ChatError> {
        let room = self.room(&project, &session);
        let telemetry = self.shared.store.telemetry.clone();
        let feed = EventFeed::new(telemetry.clone(), room.clone(), after);
        let chat = self.chat(project.clone(), session.clone()).await?;
        if chat.standing.state != ChatStateName::Closed {
            return Ok(feed);
        }
        // Whoever runs it may be closing it just now, and has yet to tell. Once it is told, nothing
        // comes any more, though whoever runs it stays until its process is gone.
        let is_over = room.standing().is_none() || {
            let last = telemetry.newest_events(project, session, EventKind::State, 1).await?;
            last.first().is_some_and(EventFeed::ends_with)
        };
        Ok(if is_over { feed.so_far() } else { feed })
    }
}

/// Whether the answer to a question is told.
fn is_about(body: &str, ask: &PermissionPromptId) -> bool {
    let told: Option<Value> = serde_json::from_str(body).ok();
    told.is_some_and(|told| told["id"] == ask.as_str())
}
