use ratchet_core::time::Timestamp;

use super::sql::{Row, Tx};
use super::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// A project: the boundary of all data and access rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    /// Unique.
    pub name: String,
    /// Retention in days; forever when `None`.
    pub retention_days: Option<u32>,
    pub created_at: Timestamp,
}

/// A project to create.
#[derive(Clone, Debug)]
pub struct NewProject {
    pub id: ProjectId,
    pub name: String,
    /// Retention in days; forever when `None`.
    pub retention_days: Option<u32>,
}

const COLUMNS: &str = "id, name, retention_days, created_at";

impl Catalog {
    /// Creates a project.
    ///
    /// # Errors
    /// Fails if its id or its name is taken.
    pub async fn create_project(&self, new: NewProject, now: Timestamp) -> StoreResult<Project> {
        let NewProject { id, name, retention_days } = new;
        let project = Project { id, name, retention_days, created_at: now };
        self.transact(move |tx| {
            tx.insert(
                "INSERT INTO project (id, name, retention_days, created_at) \
                 VALUES ($1, $2, $3, $4)",
                &[(&project.id).into(), (&project.name).into(), retention_days.into(), now.into()],
                || format!("a project with id {} or name {}", project.id, project.name),
            )?;
            // Telemetry of an earlier project with this id was marked for deletion; new telemetry
            // is not.
            let sql = "DELETE FROM deleted_project WHERE id = $1";
            tx.execute(sql, &[(&project.id).into()])?;
            let audited = AuditAction::Made
                .on(AuditObject::Project, project.id.as_str())
                .named(&project.name);
            tx.audit(&project.id, now, &audited.became(kept_for(retention_days)))?;
            Ok(project)
        })
        .await
    }

    /// Returns all projects, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn projects(&self) -> StoreResult<Vec<Project>> {
        let sql = format!("SELECT {COLUMNS} FROM project ORDER BY created_at, id");
        self.transact(move |tx| tx.rows(&sql, &[], read)).await
    }

    /// Sets the retention of a project's telemetry.
    ///
    /// # Errors
    /// Fails if there is no such project.
    pub async fn set_retention(
        &self,
        id: ProjectId,
        days: Option<u32>,
        now: Timestamp,
    ) -> StoreResult<Project> {
        self.transact(move |tx| keep_for(tx, &id, days, now)).await
    }
}

/// Sets the retention of a project's telemetry.
///
/// # Errors
/// Fails if there is no such project.
pub(super) fn keep_for(
    tx: &Tx<'_>,
    id: &ProjectId,
    days: Option<u32>,
    now: Timestamp,
) -> StoreResult<Project> {
    let project = find(tx, id)?;
    let sql = "UPDATE project SET retention_days = $1 WHERE id = $2";
    tx.execute(sql, &[days.into(), id.into()])?;
    let audited = AuditAction::Changed.on(AuditObject::Project, id.as_str()).named(&project.name);
    let (was, becomes) = (kept_for(project.retention_days), kept_for(days));
    tx.audit(id, now, &audited.was(was).became(becomes))?;
    Ok(Project { retention_days: days, ..project })
}

/// The retention as text for the audit log.
fn kept_for(days: Option<u32>) -> String {
    match days {
        Some(1) => "telemetry is kept for 1 day".to_owned(),
        Some(days) => format!("telemetry is kept for {days} days"),
        None => "telemetry is kept forever".to_owned(),
    }
}

/// Returns a project by id.
///
/// # Errors
/// Fails if there is no such project.
pub(super) fn find(tx: &Tx<'_>, id: &ProjectId) -> StoreResult<Project> {
    let sql = format!("SELECT {COLUMNS} FROM project WHERE id = $1");
    tx.one(&sql, &[id.into()], read)?.ok_or_else(|| missing(id))
}

/// The error for an unknown project.
pub(super) fn missing(id: &ProjectId) -> StoreError {
    StoreError::NotFound(format!("project {id}"))
}

fn read(row: &Row<'_>) -> StoreResult<Project> {
    Ok(Project {
        id: row.get(0)?,
        name: row.get(1)?,
        retention_days: row.get(2)?,
        created_at: row.get(3)?,
    })
}
