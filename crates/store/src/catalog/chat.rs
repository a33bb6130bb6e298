use ratchet_core::chat::state::ChatStateName;
use ratchet_core::id::{Id, SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::audit::{Noun, Verb};
use super::sql::{FromColumn, Listing, Row, Tx, Value};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

/// A conversation with an agent that runs here. Its events are telemetry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    /// Which conversation: the session that its traces belong to.
    pub id: SessionId,
    pub origin: ChatOrigin,
    pub title: Option<String>,
    /// The folder that it works in.
    pub workspace: String,
    /// How its agent is started, a JSON object.
    pub setting: Json,
    pub standing: ChatStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Where a conversation comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatOrigin {
    /// The first of all conversations that were forked from one another; they share a folder.
    pub family: SessionId,
    /// The conversation that it was forked from.
    pub parent: Option<SessionId>,
    /// The last message of that one which it knows; all when `None`.
    pub fork_at: Option<String>,
}

/// How a conversation stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatStatus {
    pub state: ChatStateName,
    /// Why, where that needs saying.
    pub why: Option<String>,
    pub turn: Option<TraceId>,
    /// The process that runs for it.
    pub process: Option<ChatProcess>,
    pub turns: u64,
    /// What they cost, as the agent reckons, with what is known of turns that broke off.
    pub cost: Money,
    /// Whether they may have cost more: calls were interrupted, or tried again.
    pub is_at_least: bool,
    /// What the conversation that it was forked from had spent by then: it counts against the
    /// budget.
    pub spent_before: Money,
    /// What the agent says the conversation has cost: of a fork, with what its parent had.
    pub agent_cost: Money,
}

/// A process, known again after a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatProcess {
    /// Its number, which another process may get later.
    pub pid: u32,
    /// When it began, in the system's own words: no other process of that number has the same.
    pub started: String,
}

impl ChatStatus {
    /// How a conversation stands before anything was said.
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

impl Catalog {
    /// Keeps a new conversation.
    ///
    /// # Errors
    /// Fails if the project has one of that id.
    pub async fn make_chat(&self, project: ProjectId, chat: Chat) -> StoreResult<()> {
        self.transact(move |tx| {
            let Chat { id, origin, title, workspace, setting, standing, .. } = &chat;
            let mut values = vec![
                (&project).into(),
                id.into(),
                (&origin.family).into(),
                origin.parent.as_ref().into(),
                origin.fork_at.clone().into(),
                title.clone().into(),
                workspace.into(),
                setting.into(),
            ];
            values.extend(standing.values());
            values.extend([chat.created_at.into(), chat.updated_at.into()]);
            let sql = format!(
                "INSERT INTO chat (project, {COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, \
                 $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)"
            );
            tx.insert(&sql, &values, || format!("session {id}"))?;
            let object = id.to_string();
            let deed = Verb::Made.what(Noun::Chat, &object).became(workspace);
            let deed = match title {
                Some(title) => deed.named(title),
                None => deed,
            };
            let deed = match &origin.parent {
                Some(parent) => deed.was(format!("fork of {parent}")),
                None => deed,
            };
            tx.note(&project, chat.created_at, &deed)
        })
        .await
    }

    /// Notes what was done to a conversation; what it came to is among its events.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn note_chat(
        &self,
        project: ProjectId,
        id: SessionId,
        (verb, became): (Verb, Option<String>),
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let title = title(tx, &project, &id)?;
            let object = id.to_string();
            let deed = verb.what(Noun::Chat, &object);
            let deed = title.as_deref().map_or(deed.clone(), |title| deed.named(title));
            let deed = became.as_deref().map_or(deed.clone(), |became| deed.became(became));
            tx.note(&project, now, &deed)
        })
        .await
    }

    /// Returns a conversation.
    ///
    /// # Errors
    /// Fails only when the database does; one that is not there is `None`.
    pub async fn chat(&self, project: ProjectId, id: SessionId) -> StoreResult<Option<Chat>> {
        let sql = format!("SELECT {COLUMNS} FROM chat WHERE project = $1 AND id = $2");
        self.transact(move |tx| tx.one(&sql, &[(&project).into(), (&id).into()], read)).await
    }

    /// Returns a project's conversations, those that changed last first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn chats(&self, project: ProjectId, page: PageNumber) -> StoreResult<Page<Chat>> {
        self.transact(move |tx| {
            let listing = Listing {
                columns: COLUMNS,
                from: "FROM chat WHERE project = $1",
                order: "updated_at DESC, id DESC",
            };
            tx.page(listing, &[(&project).into()], page, read)
        })
        .await
    }

    /// Keeps how a conversation stands now.
    ///
    /// # Errors
    /// Fails if the project has no such conversation.
    pub async fn stand_chat(
        &self,
        project: ProjectId,
        id: SessionId,
        standing: ChatStatus,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let mut values = vec![(&project).into(), (&id).into()];
            values.extend(standing.values());
            values.push(now.into());
            let sql = "UPDATE chat SET state = $3, why = $4, turn = $5, pid = $6, \
                       process_started = $7, turns = $8, cost = $9, agent_cost = $10, \
                       is_at_least = $11, spent_before = $12, updated_at = $13 WHERE project = $1 AND id = $2";
            there(tx.execute(sql, &values)?, &id)
        })
        .await
    }

    /// Has the agent of a conversation started in another way from now on.
    ///
    /// # Errors
    /// Fails if the project has no such conversation.
    pub async fn set_chat(
        &self,
        project: ProjectId,
        id: SessionId,
        setting: Json,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = "UPDATE chat SET setting = $3 WHERE project = $1 AND id = $2";
            there(tx.execute(sql, &[(&project).into(), (&id).into(), (&setting).into()])?, &id)
        })
        .await
    }

    /// Gives a conversation another title, or none. It keeps its place among the others.
    ///
    /// # Errors
    /// Fails if the project has no such conversation.
    pub async fn title_chat(
        &self,
        project: ProjectId,
        id: SessionId,
        title: Option<String>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let before = self::title(tx, &project, &id)?.unwrap_or_default();
            let sql = "UPDATE chat SET title = $3 WHERE project = $1 AND id = $2";
            let values = [(&project).into(), (&id).into(), title.clone().into()];
            there(tx.execute(sql, &values)?, &id)?;
            let (object, title) = (id.to_string(), title.as_deref().unwrap_or_default());
            let deed = Verb::Changed.what(Noun::Chat, &object).named(title);
            tx.note(&project, now, &deed.was(before).became(title))
        })
        .await
    }

    /// Forgets a conversation; says whether it was there. Its events and traces stay.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn forget_chat(&self, project: ProjectId, id: SessionId) -> StoreResult<bool> {
        self.transact(move |tx| {
            let sql = "DELETE FROM chat WHERE project = $1 AND id = $2";
            Ok(tx.execute(sql, &[(&project).into(), (&id).into()])? > 0)
        })
        .await
    }

    /// Returns the conversations of all projects that were in the middle of something when the
    /// server was last heard of: for the server itself, when it starts.
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

/// What people call a conversation.
fn title(tx: &Tx<'_>, project: &ProjectId, id: &SessionId) -> StoreResult<Option<String>> {
    let sql = "SELECT title FROM chat WHERE project = $1 AND id = $2";
    let read = |row: &Row<'_>| row.get::<Option<String>>(0);
    Ok(tx.one(sql, &[project.into(), id.into()], read)?.flatten())
}

fn there(rows: u64, id: &SessionId) -> StoreResult<()> {
    if rows == 0 { Err(StoreError::NotFound(format!("session {id}"))) } else { Ok(()) }
}

impl ChatStatus {
    /// What counts against the conversation's budget.
    pub fn spent(&self) -> Money {
        self.spent_before + self.cost
    }

    /// Its columns, from `state` to `spent_before`.
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
    let standing = ChatStatus {
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
        setting: row.get(6)?,
        standing,
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
