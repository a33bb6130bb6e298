use ratchet_agent::claude::control::{Rewind, RewindReport};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::major::asked::Decision;
use ratchet_core::major::event::EventKind;
use ratchet_core::major::state::{AskId, StateWord};
use ratchet_store::StoreError;
use ratchet_store::catalog::Verb;
use ratchet_store::project::ProjectId;
use serde_json::Value;
use uuid::Uuid;

use super::super::feed::Feed;
use super::super::refusal::MajorError;
use super::super::setting::ChatChange;
use super::super::wish::Wish;
use super::{Major, NewMessage};

/// First answers that are looked through for whoever comes second.
const MOST_ANSWERS: u32 = 1_000;

impl Major {
    /// Sends a message, which begins a turn. Returns the turn once the message is on disk.
    ///
    /// # Errors
    /// Fails if a turn is under way, which it names, or the session is closed or not there.
    pub async fn send(
        &self,
        project: ProjectId,
        session: SessionId,
        new: NewMessage,
    ) -> Result<TraceId, MajorError> {
        let NewMessage { message, by } = new;
        let message = Box::new(message);
        self.ask(project, session, move |reply| Wish::Send {
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
        (ask, decision): (AskId, Decision),
        by: Option<String>,
    ) -> Result<(), MajorError> {
        let answered = self.ask(project.clone(), session.clone(), |reply| Wish::Answer {
            ask: ask.clone(),
            decision: decision.clone(),
            by: by.clone(),
            reply,
        });
        match answered.await {
            Err(MajorError::NotOpen(ask)) => {
                // Whoever was first is on disk before the second is told, also after a restart.
                let telemetry = &self.shared.store.telemetry;
                let answers =
                    telemetry.newest_events(project, session, EventKind::Answered, MOST_ANSWERS);
                let first = answers.await?.into_iter().find(|event| is_about(&event.body, &ask));
                Err(match first {
                    Some(first) => MajorError::Answered { ask, first: first.body },
                    None => MajorError::NotOpen(ask),
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
    pub async fn interrupt(
        &self,
        project: ProjectId,
        session: SessionId,
    ) -> Result<(), MajorError> {
        self.ask(project.clone(), session.clone(), |reply| Wish::Interrupt { reply }).await?;
        self.note(project, session, (Verb::Stopped, None)).await
    }

    /// Has a process started for a session, as the next message would.
    ///
    /// # Errors
    /// Fails if the session is closed or not there. That the process does not start is an event.
    pub async fn resume(&self, project: ProjectId, session: SessionId) -> Result<(), MajorError> {
        self.ask(project, session, |reply| Wish::Wake { reply }).await
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
    ) -> Result<(), MajorError> {
        let wish = |reply| Wish::Change { change: change.clone(), reply };
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
    ) -> Result<(), MajorError> {
        let now = (self.shared.clock)();
        match self.catalog().title_chat(project, session.clone(), title, now).await {
            Err(StoreError::NotFound(_)) => Err(MajorError::NotFound(session)),
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
    ) -> Result<RewindReport, MajorError> {
        let wish = move |reply| Wish::Rewind { message, rewind, reply };
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
    pub async fn close(&self, project: ProjectId, session: SessionId) -> Result<(), MajorError> {
        self.ask(project.clone(), session.clone(), |reply| Wish::Close { reply }).await?;
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
    ) -> Result<Feed, MajorError> {
        let room = self.room(&project, &session);
        let telemetry = self.shared.store.telemetry.clone();
        let feed = Feed::new(telemetry.clone(), room.clone(), after);
        let chat = self.chat(project.clone(), session.clone()).await?;
        if chat.standing.state != StateWord::Closed {
            return Ok(feed);
        }
        // Whoever runs it may be closing it just now, and has yet to tell. Once it is told, nothing
        // comes any more, though whoever runs it stays until its process is gone.
        let is_over = room.standing().is_none() || {
            let last = telemetry.newest_events(project, session, EventKind::State, 1).await?;
            last.first().is_some_and(Feed::ends_with)
        };
        Ok(if is_over { feed.so_far() } else { feed })
    }
}

/// Whether the answer to a question is told.
fn is_about(body: &str, ask: &AskId) -> bool {
    let told: Option<Value> = serde_json::from_str(body).ok();
    told.is_some_and(|told| told["id"] == ask.as_str())
}
