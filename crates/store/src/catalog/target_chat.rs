use ratchet_core::id::SessionId;
use ratchet_core::payload::Payload;
use ratchet_core::record::limit::elide;
use ratchet_core::record::redact::path::Root;
use ratchet_core::record::redact::{LimitedRedactor, Redact};
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::project_table::ProjectTable;
use super::sql::Row;
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

/// A chat with a target. What was said is in the traces of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetChat {
    /// Also the id of the session.
    pub id: SessionId,
    /// Name of the target.
    pub target: String,
    /// The start of the first message.
    pub title: String,
    /// Messages that were sent.
    pub turns: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Bytes of a title.
const MAX_TITLE_BYTES: usize = 120;

/// The first message of a chat, which its title is cut from.
struct FirstMessage(String);

impl Redact for FirstMessage {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        Self(rules.payload(Payload::Text(self.0.as_str().into()), Root::Input).as_str().to_owned())
    }
}

const COLUMNS: &str = "id, target, title, turns, created_at, updated_at";
const CHATS: ProjectTable<TargetChat> =
    ProjectTable::new(("target_chat", "chat"), COLUMNS, read).in_order("updated_at DESC, id");

impl Catalog {
    /// Counts a turn of a chat, which is created with its first one: the start of its message, redacted,
    /// is the title. Returns the turn's number, from 1.
    ///
    /// # Errors
    /// Fails if the chat is one with another target.
    pub async fn count_target_turn(
        &self,
        project: ProjectId,
        id: SessionId,
        (target, message): (String, String),
        now: Timestamp,
    ) -> StoreResult<u64> {
        // Cut after redaction, so that no cut goes through a secret.
        let settings = self.recording_settings(&project).await?;
        let message = settings.redactor.redact(FirstMessage(message), MAX_TITLE_BYTES);
        let title = elide(message.get().0.trim(), MAX_TITLE_BYTES).into_owned();
        self.transact(move |tx| {
            let key = id.to_string();
            let known = CHATS.find(tx, &project, &key)?;
            if let Some(other) = known.as_ref().filter(|chat| chat.target != target) {
                let why = format!("target: chat {key} is one with {}", other.target);
                return Err(StoreError::BadQuery(why));
            }
            let turns = known.map_or(0, |chat| chat.turns) + 1;
            tx.execute(
                "INSERT INTO target_chat (project, id, target, title, turns, created_at, \
                 updated_at) VALUES ($1, $2, $3, $4, 1, $5, $5) \
                 ON CONFLICT (project, id) DO UPDATE SET turns = target_chat.turns + 1, \
                 updated_at = excluded.updated_at",
                &[(&project).into(), key.into(), target.into(), title.into(), now.into()],
            )?;
            Ok(turns)
        })
        .await
    }

    /// Returns a chat with a target.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn target_chat(
        &self,
        project: ProjectId,
        id: SessionId,
    ) -> StoreResult<Option<TargetChat>> {
        self.transact(move |tx| CHATS.find(tx, &project, &id.to_string())).await
    }

    /// Returns chats with targets, the last changed first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn target_chats(
        &self,
        project: ProjectId,
        page: PageNumber,
    ) -> StoreResult<Page<TargetChat>> {
        self.transact(move |tx| CHATS.page(tx, &project, page)).await
    }
}

fn read(row: &Row<'_>) -> StoreResult<TargetChat> {
    Ok(TargetChat {
        id: row.get(0)?,
        target: row.get(1)?,
        title: row.get(2)?,
        turns: row.get(3)?,
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
    })
}
