use ratchet_core::chat::state::ChatStateName;
use ratchet_core::id::{Id, SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use super::audit::{AuditAction, AuditObject};
use super::project_table::ProjectTable;
use super::sql::{FromColumn, Row, Tx, Value};
use super::{Catalog, redaction};
use crate::StoreResult;
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};

/// A chat: a conversation with an agent that Ratchet runs. Its events are telemetry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    /// Also the id of the session that records it.
    pub id: SessionId,
    pub origin: ChatOrigin,
    pub title: Option<String>,
    /// Folder in which the agent works.
    pub workspace: String,
    /// Settings of its agent, a JSON object.
    pub settings: Json,
    pub status: ChatStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Origin of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatOrigin {
    /// The chat at the root of all forks; they share a folder.
    pub family: SessionId,
    /// The chat that it was forked from.
    pub parent: Option<SessionId>,
    /// Last message of the parent that is included; all when `None`.
    pub fork_at: Option<String>,
}

/// Status of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatStatus {
    pub state: ChatStateName,
    /// Reason of the state.
    pub why: Option<String>,
    pub turn: Option<TraceId>,
    /// The running process.
    pub process: Option<ChatProcess>,
    pub turns: u64,
    /// Cost of the turns as the agent reports it, with what is known of interrupted ones.
    pub cost: Money,
    /// Whether `cost` is a lower bound, because calls were interrupted or retried.
    pub is_at_least: bool,
    /// What the parent had spent when it was forked: it counts against the budget.
    pub spent_before: Money,
    /// Cost according to the agent: of a fork, including that of its parent.
    pub agent_cost: Money,
}

/// Identity of a process across restarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatProcess {
    /// May be reused by another process later.
    pub pid: u32,
    /// Start time as the system reports it; with the pid it identifies a process.
    pub started: String,
}

impl ChatStatus {
    /// Status of a chat without messages.
    pub const fn new() -> Self {
        Self {
            state: ChatStateName::Parked,
            why: None,
            turn: None,
            process: None,
            turns: 0,
            cost: Money::ZERO,
            is_at_least: false,
            spent_before: Money::ZERO,
            agent_cost: Money::ZERO,
        }
    }
}

impl Default for ChatStatus {
    fn default() -> Self {
        Self::new()
    }
}

const COLUMNS: &str = "id, family, parent, fork_at, title, workspace, setting, state, why, turn, \
                       pid, process_started, turns, cost, agent_cost, is_at_least, spent_before, \
                       created_at, updated_at";
const CHATS: ProjectTable<Chat> =
    ProjectTable::new(("chat", "chat"), COLUMNS, read).in_order("updated_at DESC, id DESC");

impl Catalog {
    /// Stores a new chat; its title is redacted by the project's rules.
    ///
    /// # Errors
    /// Fails if the id exists in the project, or if a rule matches the settings, which are used as
    /// they are.
    pub async fn create_chat(&self, project: ProjectId, chat: Chat) -> StoreResult<()> {
        let title = self.redacted(&project, chat.title.clone()).await?;
        self.transact(move |tx| {
            let Chat { id, origin, workspace, settings, status, .. } = &chat;
            let title = title.get();
            redaction::must_pass(tx, &project, &[("settings", settings)])?;
            let mut values = vec![
                (&project).into(),
                id.into(),
                (&origin.family).into(),
                origin.parent.as_ref().into(),
                origin.fork_at.clone().into(),
                title.clone().into(),
                workspace.into(),
                settings.into(),
            ];
            values.extend(status.values());
            values.extend([chat.created_at.into(), chat.updated_at.into()]);
            let sql = format!(
                "INSERT INTO chat (project, {COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, \
                 $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)"
            );
            tx.insert(&sql, &values, || format!("chat {id}"))?;
            let object = id.to_string();
            let entry = AuditAction::Made.on(AuditObject::Chat, &object).became(workspace);
            let entry = match title {
                Some(title) => entry.named(title),
                None => entry,
            };
            let entry = match &origin.parent {
                Some(parent) => entry.was(format!("fork of {parent}")),
                None => entry,
            };
            tx.audit(&project, chat.created_at, &entry)
        })
        .await
    }

    /// Writes an audit log entry about a chat; the result is among its events.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn audit_chat(
        &self,
        project: ProjectId,
        id: SessionId,
        (verb, became): (AuditAction, Option<String>),
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let title = title(tx, &project, &id)?;
            let object = id.to_string();
            let entry = verb.on(AuditObject::Chat, &object);
            let entry = title.as_deref().map_or(entry.clone(), |title| entry.named(title));
            let entry = became.as_deref().map_or(entry.clone(), |became| entry.became(became));
            tx.audit(&project, now, &entry)
        })
        .await
    }

    /// Returns a chat.
    ///
    /// # Errors
    /// Fails only when the database does; a missing one is `None`.
    pub async fn chat(&self, project: ProjectId, id: SessionId) -> StoreResult<Option<Chat>> {
        self.transact(move |tx| CHATS.find(tx, &project, &id.to_string())).await
    }

    /// Returns the chats of a project, last changed first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn chats(&self, project: ProjectId, page: PageNumber) -> StoreResult<Page<Chat>> {
        self.transact(move |tx| CHATS.page(tx, &project, page)).await
    }

    /// Stores the status of a chat.
    ///
    /// # Errors
    /// Fails if there is no such chat in the project.
    pub async fn set_chat_status(
        &self,
        project: ProjectId,
        id: SessionId,
        status: ChatStatus,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let mut values = vec![(&project).into(), (&id).into()];
            values.extend(status.values());
            values.push(now.into());
            let sql = "UPDATE chat SET state = $3, why = $4, turn = $5, pid = $6, \
                       process_started = $7, turns = $8, cost = $9, agent_cost = $10, \
                       is_at_least = $11, spent_before = $12, updated_at = $13 WHERE project = $1 AND id = $2";
            require_row(tx.execute(sql, &values)?, &id)
        })
        .await
    }

    /// Stores the settings of a chat's agent.
    ///
    /// # Errors
    /// Fails if there is no such chat in the project.
    pub async fn set_chat_settings(
        &self,
        project: ProjectId,
        id: SessionId,
        settings: Json,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = "UPDATE chat SET setting = $3 WHERE project = $1 AND id = $2";
            require_row(
                tx.execute(sql, &[(&project).into(), (&id).into(), (&settings).into()])?,
                &id,
            )
        })
        .await
    }

    /// Sets or removes the title of a chat. Its position in lists stays.
    ///
    /// # Errors
    /// Fails if there is no such chat in the project.
    pub async fn rename_chat(
        &self,
        project: ProjectId,
        id: SessionId,
        title: Option<String>,
        now: Timestamp,
    ) -> StoreResult<()> {
        let title = self.redacted(&project, title).await?;
        self.transact(move |tx| {
            let title = title.get();
            let before = self::title(tx, &project, &id)?.unwrap_or_default();
            let sql = "UPDATE chat SET title = $3 WHERE project = $1 AND id = $2";
            let values = [(&project).into(), (&id).into(), title.clone().into()];
            require_row(tx.execute(sql, &values)?, &id)?;
            let (object, title) = (id.to_string(), title.as_deref().unwrap_or_default());
            let entry = AuditAction::Changed.on(AuditObject::Chat, &object).named(title);
            tx.audit(&project, now, &entry.was(before).became(title))
        })
        .await
    }

    /// Deletes a chat; returns whether it existed. Its events and traces stay.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn delete_chat(&self, project: ProjectId, id: SessionId) -> StoreResult<bool> {
        self.transact(move |tx| {
            let sql = "DELETE FROM chat WHERE project = $1 AND id = $2";
            Ok(tx.execute(sql, &[(&project).into(), (&id).into()])? > 0)
        })
        .await
    }

    /// Returns the chats of all projects that were active when the server last stopped: for
    /// recovery at startup.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn chats_left_open(&self) -> StoreResult<Vec<(ProjectId, Chat)>> {
        let sql = format!(
            "SELECT {COLUMNS}, project FROM chat WHERE pid IS NOT NULL \
             OR state IN ('starting', 'idle', 'running', 'waiting') ORDER BY project, id"
        );
        self.transact(move |tx| tx.rows(&sql, &[], |row| Ok((row.get(19)?, read(row)?)))).await
    }
}

fn title(tx: &Tx<'_>, project: &ProjectId, id: &SessionId) -> StoreResult<Option<String>> {
    let sql = "SELECT title FROM chat WHERE project = $1 AND id = $2";
    let read = |row: &Row<'_>| row.get::<Option<String>>(0);
    Ok(tx.one(sql, &[project.into(), id.into()], read)?.flatten())
}

fn require_row(rows: u64, id: &SessionId) -> StoreResult<()> {
    if rows == 0 { Err(CHATS.missing(&id.to_string())) } else { Ok(()) }
}

impl ChatStatus {
    /// Amount that counts against the budget.
    pub fn spent(&self) -> Money {
        self.spent_before + self.cost
    }

    /// Values of the columns from `state` to `spent_before`.
    fn values(&self) -> [Value; 10] {
        let process = self.process.as_ref();
        [
            self.state.as_str().into(),
            self.why.clone().into(),
            self.turn.as_ref().into(),
            process.map(|process| process.pid).into(),
            process.map(|process| process.started.clone()).into(),
            self.turns.into(),
            self.cost.pico().into(),
            self.agent_cost.pico().into(),
            self.is_at_least.into(),
            self.spent_before.pico().into(),
        ]
    }
}

fn read(row: &Row<'_>) -> StoreResult<Chat> {
    let process: (Option<u32>, Option<String>) = (row.get(10)?, row.get(11)?);
    let process = process.0.zip(process.1).map(|(pid, started)| ChatProcess { pid, started });
    let status = ChatStatus {
        state: row.get(7)?,
        why: row.get(8)?,
        turn: row.get(9)?,
        process,
        turns: row.get(12)?,
        cost: Money::from_pico(row.get(13)?),
        agent_cost: Money::from_pico(row.get(14)?),
        is_at_least: row.get(15)?,
        spent_before: Money::from_pico(row.get(16)?),
    };
    let origin = ChatOrigin { family: row.get(1)?, parent: row.get(2)?, fork_at: row.get(3)? };
    Ok(Chat {
        id: row.get(0)?,
        origin,
        title: row.get(4)?,
        workspace: row.get(5)?,
        settings: row.get(6)?,
        status,
        created_at: row.get(17)?,
        updated_at: row.get(18)?,
    })
}

impl<Of> FromColumn for Id<Of> {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?).ok()
    }
}

impl<Of> From<&Id<Of>> for Value {
    fn from(id: &Id<Of>) -> Self {
        Self::Text(id.to_string())
    }
}

impl FromColumn for ChatStateName {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}
