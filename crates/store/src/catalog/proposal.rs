/// What gates and labels do with the prompt versions of proposals.
pub(super) mod links;
/// Proposals of weekly quality reports, as these see them.
mod suggestions;
/// What weeks find, and what is there already.
mod tracking;

use ratchet_core::improve::backlog::{
    PromptVersion, ProposalAction, ProposalContent, ProposalMove, ProposalRefused, ProposalSource,
    ProposalState, ProposalStatus,
};
use ratchet_core::improve::diagnosis::Component;
use ratchet_core::payload::Json;
use ratchet_core::record::redact::Redacted;
use ratchet_core::time::Timestamp;

use super::project_table::ProjectTable;
use super::prompt::create_in;
use super::sql::{Conditions, FromColumn, Listing, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog, NewPrompt, Prompt};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

pub(super) use suggestions::of as as_suggestion;
pub use suggestions::{StoredSuggestion, SuggestionStep};
pub(super) use tracking::track;

/// A proposal of the backlog.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredProposal {
    pub id: String,
    pub content: ProposalContent,
    pub status: ProposalStatus,
    /// First days of the weeks that showed it first and last.
    pub first_week: String,
    pub last_week: String,
    /// What became of it, oldest first; empty in lists.
    pub steps: Vec<ProposalStep>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A change of a proposal's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalStep {
    pub state: ProposalState,
    pub note: Option<String>,
    pub actor: String,
    pub at: Timestamp,
}

/// A filter for proposals. `None` matches any.
#[derive(Clone, Debug)]
pub struct ProposalQuery {
    pub project: ProjectId,
    pub agent: Option<String>,
    pub state: Option<ProposalState>,
    pub component: Option<Component>,
    pub source: Option<ProposalSource>,
    pub page: PageNumber,
}

impl ProposalQuery {
    /// Matches all proposals of a project.
    pub const fn all(project: ProjectId, page: PageNumber) -> Self {
        Self { project, agent: None, state: None, component: None, source: None, page }
    }
}

const COLUMNS: &str = "id, content, status, first_week, last_week, created_at, updated_at";
const PROPOSALS: ProjectTable<StoredProposal> =
    ProjectTable::new(("proposal", "proposal"), COLUMNS, read);
/// Highest priority first; without one, the newest.
const ORDER: &str = "priority DESC, last_week DESC, id";

impl Catalog {
    /// Returns proposals without their steps, highest priority first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn proposals(&self, query: ProposalQuery) -> StoreResult<Page<StoredProposal>> {
        let mut conditions = Conditions::new("project = $1", &query.project);
        conditions.add("agent = $", query.agent);
        conditions.add("state = $", query.state.map(ProposalState::as_str));
        conditions.add("component = $", query.component.map(Component::as_str));
        conditions.add("source = $", query.source.map(ProposalSource::as_str));
        let from = format!("FROM proposal WHERE {}", conditions.sql);
        self.transact(move |tx| {
            let listing = Listing { columns: COLUMNS, from: &from, order: ORDER };
            tx.page(listing, &conditions.values, query.page, read)
        })
        .await
    }

    /// Returns all proposals of a project with their steps, up to a limit: what their value is
    /// computed from.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn proposal_histories(
        &self,
        project: ProjectId,
        limit: u64,
    ) -> StoreResult<Vec<StoredProposal>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM proposal WHERE project = $1 ORDER BY created_at DESC, id LIMIT $2"
        );
        self.transact(move |tx| {
            let found = tx.rows(&sql, &[(&project).into(), limit.into()], read)?;
            found.into_iter().map(|stored| with_steps(tx, &project, stored)).collect()
        })
        .await
    }

    /// Returns a proposal with its steps.
    ///
    /// # Errors
    /// Fails if there is none.
    pub async fn proposal(&self, project: ProjectId, id: String) -> StoreResult<StoredProposal> {
        self.transact(move |tx| require(tx, &project, &id)).await
    }

    /// Adds what a week found to the backlog, redacted by the project's rules. What is there already
    /// is one proposal with it, and keeps its state; what was promoted and is found again in a later
    /// week is a new one.
    ///
    /// Idempotent.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn track_proposals(
        &self,
        project: ProjectId,
        week: String,
        found: Vec<ProposalContent>,
        now: Timestamp,
    ) -> StoreResult<Vec<StoredProposal>> {
        let found = self.redacted(&project, found).await?;
        self.transact(move |tx| {
            let found = found.get().iter();
            found.map(|one| track(tx, &project, (one, &week), now)).collect()
        })
        .await
    }

    /// Applies an action, redacted by the project's rules, with its step and its audit entry, in one
    /// transaction.
    ///
    /// # Errors
    /// Fails if there is no such proposal; the inner error is a refusal.
    pub async fn act_on_proposal(
        &self,
        project: ProjectId,
        id: String,
        action: ProposalAction,
        now: Timestamp,
    ) -> StoreResult<Result<StoredProposal, ProposalRefused>> {
        let action = self.redacted(&project, action).await?;
        self.transact(move |tx| {
            let stored = require(tx, &project, &id)?;
            act(tx, &project, (stored, action), now)
        })
        .await
    }

    /// Creates the next version of a prompt with the change of an accepted proposal, without labels but
    /// `latest`, and opens the proposal's experiment with it, in one transaction.
    ///
    /// # Errors
    /// As [`Self::create_prompt`], and if there is no such proposal; the inner error is a refusal.
    pub async fn open_proposal_experiment(
        &self,
        project: ProjectId,
        id: String,
        new: NewPrompt,
        now: Timestamp,
    ) -> StoreResult<Result<(StoredProposal, Prompt), ProposalRefused>> {
        let new = NewPrompt { labels: Vec::new(), tags: None, ..new };
        let (name, version) = (new.name.clone(), 0);
        // It has ids only: there is nothing to redact.
        let trial = ProposalAction::Experiment(Some(PromptVersion { name, version }));
        self.transact(move |tx| {
            let stored = require(tx, &project, &id)?;
            if let Err(refused) = stored.status.clone().apply(trial) {
                return Ok(Err(refused));
            }
            let prompt = create_in(tx, &project, new, now)?;
            let (name, version) = (prompt.name.clone(), prompt.version);
            let action = ProposalAction::Experiment(Some(PromptVersion { name, version }));
            let done = act(tx, &project, (stored, links::of_ids(action)), now)?;
            Ok(done.map(|stored| (stored, prompt)))
        })
        .await
    }
}

fn act(
    tx: &Tx<'_>,
    project: &ProjectId,
    (mut stored, action): (StoredProposal, Redacted<ProposalAction>),
    now: Timestamp,
) -> StoreResult<Result<StoredProposal, ProposalRefused>> {
    let moved = match stored.status.apply(action.into_inner()) {
        Err(refused) => return Ok(Err(refused)),
        Ok(None) => return Ok(Ok(stored)),
        Ok(Some(moved)) => moved,
    };
    stored.updated_at = now;
    update(tx, project, &stored)?;
    note_step(tx, project, (&stored, &moved), now)?;
    with_steps(tx, project, stored).map(Ok)
}

fn update(tx: &Tx<'_>, project: &ProjectId, stored: &StoredProposal) -> StoreResult<()> {
    let StoredProposal { content, status, .. } = stored;
    let prompt = status.prompt.as_ref();
    tx.execute(
        "UPDATE proposal SET component = $3, state = $4, priority = $5, content = $6, status = $7, \
         prompt = $8, prompt_version = $9, last_week = $10, updated_at = $11 \
         WHERE project = $1 AND id = $2",
        &[
            project.into(),
            (&stored.id).into(),
            content.component.as_str().into(),
            status.state.as_str().into(),
            content.priority.into(),
            (&json(content)?).into(),
            (&json(status)?).into(),
            prompt.map(|prompt| prompt.name.as_str()).into(),
            prompt.map(|prompt| prompt.version).into(),
            (&stored.last_week).into(),
            stored.updated_at.into(),
        ],
    )
    .map(drop)
}

/// Notes a move for people and in the audit log.
fn note_step(
    tx: &Tx<'_>,
    project: &ProjectId,
    (stored, moved): (&StoredProposal, &ProposalMove),
    now: Timestamp,
) -> StoreResult<()> {
    let actor = tx.actor();
    let name = if actor.name().is_empty() { actor.kind() } else { actor.name() };
    tx.execute(
        "INSERT INTO proposal_step (project, proposal, number, state, note, actor, at) \
         VALUES ($1, $2, (SELECT COALESCE(MAX(number), 0) + 1 FROM proposal_step \
         WHERE project = $1 AND proposal = $2), $3, $4, $5, $6)",
        &[
            project.into(),
            (&stored.id).into(),
            moved.to.as_str().into(),
            moved.note.as_deref().into(),
            name.into(),
            now.into(),
        ],
    )?;
    let became = match &moved.note {
        Some(note) => format!("{}: {note}", moved.to.as_str()),
        None => moved.to.as_str().to_owned(),
    };
    let audited = AuditAction::Changed.on(AuditObject::Proposal, &stored.id);
    let audited = audited.named(&stored.content.title).was(moved.from.as_str()).became(became);
    tx.audit(project, now, &audited)
}

fn require(tx: &Tx<'_>, project: &ProjectId, id: &str) -> StoreResult<StoredProposal> {
    with_steps(tx, project, PROPOSALS.require(tx, project, id)?)
}

fn with_steps(
    tx: &Tx<'_>,
    project: &ProjectId,
    stored: StoredProposal,
) -> StoreResult<StoredProposal> {
    let sql = "SELECT state, note, actor, at FROM proposal_step \
               WHERE project = $1 AND proposal = $2 ORDER BY number";
    let steps = tx.rows(sql, &[project.into(), (&stored.id).into()], |row| {
        Ok(ProposalStep {
            state: row.get(0)?,
            note: row.get(1)?,
            actor: row.get(2)?,
            at: row.get(3)?,
        })
    })?;
    Ok(StoredProposal { steps, ..stored })
}

fn json(value: &impl serde::Serialize) -> StoreResult<Json> {
    Ok(Json::from_value(&serde_json::to_value(value).map_err(StoreError::database)?))
}

fn read(row: &Row<'_>) -> StoreResult<StoredProposal> {
    let (content, status): (Json, Json) = (row.get(1)?, row.get(2)?);
    Ok(StoredProposal {
        id: row.get(0)?,
        content: serde_json::from_str(content.as_str()).map_err(StoreError::database)?,
        status: serde_json::from_str(status.as_str()).map_err(StoreError::database)?,
        first_week: row.get(3)?,
        last_week: row.get(4)?,
        steps: Vec::new(),
        created_at: row.get(5)?,
        updated_at: row.get(6)?,
    })
}

impl FromColumn for ProposalState {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

#[cfg(test)]
mod tests;
