use ratchet_core::payload::Json;
use ratchet_core::quality::suggestion::{Edit, Progress, Severity, Suggestion};
use ratchet_core::time::Timestamp;

use super::sql::{FromColumn, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Maximum number of listed suggestions.
const MAX_SUGGESTIONS: u64 = 500;

/// A tracked suggestion and its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSuggestion {
    pub id: String,
    pub suggestion: Suggestion,
    /// The week that first suggested it.
    pub first_week: String,
    pub last_week: String,
    pub progress: Progress,
    /// Status history, oldest first.
    pub steps: Vec<SuggestionStep>,
    pub created_at: Timestamp,
}

/// A decision about a suggestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestionStep {
    pub progress: Progress,
    pub actor: String,
    pub at: Timestamp,
}

const COLUMNS: &str = "id, advice, severity, dimension, title, edit, text, reason, sessions, \
                       first_week, last_week, progress, created_at";

impl Catalog {
    /// Returns a project's suggestions, latest weeks first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn suggestions(&self, project: ProjectId) -> StoreResult<Vec<StoredSuggestion>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM suggestion WHERE project = $1 \
             ORDER BY last_week DESC, severity, first_week DESC, id LIMIT $2"
        );
        self.transact(move |tx| {
            let found = tx.rows(&sql, &[(&project).into(), MAX_SUGGESTIONS.into()], read)?;
            found.into_iter().map(|kept| with_steps(tx, &project, kept)).collect()
        })
        .await
    }

    /// Returns a suggestion, or `None`.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn suggestion(
        &self,
        project: ProjectId,
        id: String,
    ) -> StoreResult<Option<StoredSuggestion>> {
        self.transact(move |tx| one(tx, &project, &id)).await
    }

    /// Records a decision about a suggestion, by the catalog's actor. Idempotent.
    ///
    /// # Errors
    /// Fails if the project has no such suggestion, or if the transition is not allowed.
    pub async fn decide_suggestion(
        &self,
        project: ProjectId,
        id: String,
        to: Progress,
        now: Timestamp,
    ) -> StoreResult<StoredSuggestion> {
        self.transact(move |tx| {
            let known = one(tx, &project, &id)?;
            let known = known.ok_or_else(|| StoreError::NotFound(format!("suggestion {id}")))?;
            if known.progress == to {
                return Ok(known);
            }
            if !known.progress.next().contains(&to) {
                let (is, to) = (known.progress.as_str(), to.as_str());
                let why = format!("a suggestion that is {is} cannot become {to}; open it first");
                return Err(StoreError::BadQuery(why));
            }
            let which = [(&project).into(), (&id).into(), to.into()];
            let sql = "UPDATE suggestion SET progress = $3 WHERE project = $1 AND id = $2";
            tx.execute(sql, &which)?;
            note_step(tx, (&project, &id), to, now)?;
            let audited = AuditAction::Changed
                .on(AuditObject::Suggestion, &id)
                .named(&known.suggestion.title);
            let audited = audited.was(known.progress.as_str()).became(to.as_str());
            tx.audit(&project, now, &audited)?;
            one(tx, &project, &id)?.ok_or_else(|| StoreError::NotFound(format!("suggestion {id}")))
        })
        .await
    }
}

/// Tracks a week's suggestion, unless it is already tracked.
pub(super) fn keep(
    tx: &Tx<'_>,
    project: &ProjectId,
    (suggestion, week): (&Suggestion, &str),
    now: Timestamp,
) -> StoreResult<StoredSuggestion> {
    let newest = format!(
        "SELECT {COLUMNS} FROM suggestion WHERE project = $1 AND advice = $2 \
         ORDER BY last_week DESC, first_week DESC LIMIT 1"
    );
    let known = tx.one(&newest, &[project.into(), (&suggestion.key).into()], read)?;
    let id = match known {
        Some(known) if known.last_week.as_str() < week => {
            renew(tx, (project, &known.id), (suggestion, week))?;
            known.id
        }
        // The same week, reported again, may cite more sessions.
        Some(known) if known.last_week == week && known.suggestion != *suggestion => {
            renew(tx, (project, &known.id), (suggestion, week))?;
            known.id
        }
        Some(known) => known.id,
        None => insert(tx, project, (suggestion, week), now)?,
    };
    one(tx, project, &id)?.ok_or_else(|| StoreError::NotFound(format!("suggestion {id}")))
}

fn insert(
    tx: &Tx<'_>,
    project: &ProjectId,
    (suggestion, week): (&Suggestion, &str),
    now: Timestamp,
) -> StoreResult<String> {
    let id = format!("{}-{week}", suggestion.key);
    tx.execute(
        "INSERT INTO suggestion (project, id, advice, severity, dimension, title, edit, text, \
         reason, sessions, first_week, last_week, progress, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13)",
        &[
            project.into(),
            (&id).into(),
            (&suggestion.key).into(),
            suggestion.severity.into(),
            (&suggestion.dimension).into(),
            (&suggestion.title).into(),
            suggestion.edit.into(),
            (&suggestion.text).into(),
            (&suggestion.reason).into(),
            (&list(&suggestion.sessions)).into(),
            week.into(),
            Progress::Open.into(),
            now.into(),
        ],
    )?;
    Ok(id)
}

fn renew(
    tx: &Tx<'_>,
    (project, id): (&ProjectId, &str),
    (suggestion, week): (&Suggestion, &str),
) -> StoreResult<()> {
    tx.execute(
        "UPDATE suggestion SET severity = $3, reason = $4, sessions = $5, last_week = $6 \
         WHERE project = $1 AND id = $2",
        &[
            project.into(),
            id.into(),
            suggestion.severity.into(),
            (&suggestion.reason).into(),
            (&list(&suggestion.sessions)).into(),
            week.into(),
        ],
    )?;
    Ok(())
}

fn note_step(
    tx: &Tx<'_>,
    (project, id): (&ProjectId, &str),
    to: Progress,
    now: Timestamp,
) -> StoreResult<()> {
    let actor = tx.actor();
    let name = if actor.name().is_empty() { actor.kind() } else { actor.name() };
    tx.execute(
        "INSERT INTO suggestion_step (project, suggestion, number, progress, actor, at) \
         VALUES ($1, $2, (SELECT COALESCE(MAX(number), 0) + 1 FROM suggestion_step \
         WHERE project = $1 AND suggestion = $2), $3, $4, $5)",
        &[project.into(), id.into(), to.into(), name.into(), now.into()],
    )?;
    Ok(())
}

fn one(tx: &Tx<'_>, project: &ProjectId, id: &str) -> StoreResult<Option<StoredSuggestion>> {
    let sql = format!("SELECT {COLUMNS} FROM suggestion WHERE project = $1 AND id = $2");
    let found = tx.one(&sql, &[project.into(), id.into()], read)?;
    found.map(|kept| with_steps(tx, project, kept)).transpose()
}

fn with_steps(
    tx: &Tx<'_>,
    project: &ProjectId,
    kept: StoredSuggestion,
) -> StoreResult<StoredSuggestion> {
    let sql = "SELECT progress, actor, at FROM suggestion_step \
               WHERE project = $1 AND suggestion = $2 ORDER BY number";
    let steps = tx.rows(sql, &[project.into(), (&kept.id).into()], |row| {
        Ok(SuggestionStep { progress: row.get(0)?, actor: row.get(1)?, at: row.get(2)? })
    })?;
    Ok(StoredSuggestion { steps, ..kept })
}

fn read(row: &Row<'_>) -> StoreResult<StoredSuggestion> {
    let sessions: Json = row.get(8)?;
    let suggestion = Suggestion {
        key: row.get(1)?,
        severity: row.get(2)?,
        dimension: row.get(3)?,
        title: row.get(4)?,
        edit: row.get(5)?,
        text: row.get(6)?,
        reason: row.get(7)?,
        sessions: serde_json::from_str(sessions.as_str()).unwrap_or_default(),
    };
    Ok(StoredSuggestion {
        id: row.get(0)?,
        suggestion,
        first_week: row.get(9)?,
        last_week: row.get(10)?,
        progress: row.get(11)?,
        steps: Vec::new(),
        created_at: row.get(12)?,
    })
}

fn list(sessions: &[String]) -> Json {
    Json::from_value(&serde_json::json!(sessions))
}

impl From<Progress> for Value {
    fn from(progress: Progress) -> Self {
        progress.as_str().into()
    }
}

impl FromColumn for Progress {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl From<Severity> for Value {
    fn from(severity: Severity) -> Self {
        severity.as_str().into()
    }
}

impl FromColumn for Severity {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl From<Edit> for Value {
    fn from(edit: Edit) -> Self {
        edit.as_str().into()
    }
}

impl FromColumn for Edit {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}
