use ratchet_core::catalog::cors_origin::PageOrigin;
use ratchet_core::time::Timestamp;

use super::sql::{Row, Tx};
use super::{AuditAction, AuditObject, Catalog, project};
use crate::StoreResult;
use crate::project::ProjectId;

impl Catalog {
    /// Returns the CORS origins that may use a project's keys; empty means any.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn page_origins(&self, project: ProjectId) -> StoreResult<Vec<PageOrigin>> {
        self.transact(move |tx| all(tx, &project)).await
    }

    /// Sets the CORS origins that may use a project's keys; empty means any.
    ///
    /// # Errors
    /// Fails if there is no such project.
    pub async fn set_page_origins(
        &self,
        project: ProjectId,
        origins: Vec<PageOrigin>,
        now: Timestamp,
    ) -> StoreResult<Vec<PageOrigin>> {
        let owner = project.clone();
        let kept = self.transact(move |tx| {
            if !tx.exists("SELECT 1 FROM project WHERE id = $1", &[(&project).into()])? {
                return Err(project::missing(&project));
            }
            let before = all(tx, &project)?;
            tx.execute("DELETE FROM page_origin WHERE project = $1", &[(&project).into()])?;
            for origin in &origins {
                tx.execute(
                    "INSERT INTO page_origin (project, origin) VALUES ($1, $2) \
                     ON CONFLICT (project, origin) DO NOTHING",
                    &[(&project).into(), origin.as_str().into()],
                )?;
            }
            let kept = all(tx, &project)?;
            let audited =
                AuditAction::Changed.on(AuditObject::PageOrigins, "").was(described(&before));
            tx.audit(&project, now, &audited.became(described(&kept)))?;
            Ok(kept)
        });
        let kept = kept.await?;
        self.recording_settings.invalidate(&owner);
        Ok(kept)
    }
}

fn described(origins: &[PageOrigin]) -> String {
    if origins.is_empty() {
        return "any page".to_owned();
    }
    origins.iter().map(PageOrigin::as_str).collect::<Vec<_>>().join(", ")
}

/// The CORS origins of a project.
pub(super) fn all(tx: &Tx<'_>, project: &ProjectId) -> StoreResult<Vec<PageOrigin>> {
    let sql = "SELECT origin FROM page_origin WHERE project = $1 ORDER BY origin";
    let read = |row: &Row<'_>| Ok(PageOrigin::parse(&row.get::<String>(0)?));
    Ok(tx.rows(sql, &[project.into()], read)?.into_iter().flatten().collect())
}
