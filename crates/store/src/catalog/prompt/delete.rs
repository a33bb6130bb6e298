use std::collections::BTreeSet;

use ratchet_core::catalog::prompt::{LATEST, PRODUCTION, Pick};
use ratchet_core::time::Timestamp;

use crate::catalog::agent_version::refuse_if_promoted;
use crate::catalog::promotion::needed_by;
use crate::catalog::sql::Tx;
use crate::catalog::versioned::{PROMPTS, VersionedName};
use crate::catalog::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

impl Catalog {
    /// Deletes a version, the version with a label, or all versions of a prompt. If the newest is
    /// deleted, `latest` moves to the newest that remains.
    ///
    /// # Errors
    /// Fails if there is nothing to delete, or if another prompt references it.
    pub async fn delete_prompts(
        &self,
        project: ProjectId,
        name: String,
        pick: Option<Pick>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let which = (&project, name.as_str());
            let all = PROMPTS.versions(tx, which)?;
            let going = going(tx, which, pick.as_ref(), &all)?;
            if going.is_empty() {
                return Err(StoreError::NotFound(format!("Prompt {name}")));
            }
            refuse_if_needed(tx, which, &going)?;
            if PROMPTS.labelled(tx, which, PRODUCTION)?.is_some_and(|used| going.contains(&used)) {
                refuse_if_promoted(tx, &project, &name)?;
            }
            if let Some(promotion) = needed_by(tx, &project, (&name, &going))? {
                return Err(StoreError::Conflict(format!(
                    "prompt {name}: promotion {} of agent {} needs it and is {}; abandon it first, \
                     or wait for its deployment",
                    promotion.id,
                    promotion.promotion.agent,
                    promotion.promotion.state.as_str()
                )));
            }
            for version in &going {
                for table in ["prompt_label", "prompt_reference", "prompt"] {
                    let sql = format!(
                        "DELETE FROM {table} WHERE project = $1 AND name = $2 AND version = $3"
                    );
                    tx.execute(&sql, &[(&project).into(), (&name).into(), (*version).into()])?;
                }
            }
            PROMPTS.after_deletion(tx, which, now)?;
            let versions: Vec<String> = going.iter().map(|version| format!("v{version}")).collect();
            let audited = AuditAction::Deleted.on(AuditObject::Prompt, &name);
            tx.audit(&project, now, &audited.was(versions.join(", ")))
        })
        .await
    }
}

fn going(
    tx: &Tx<'_>,
    (project, name): VersionedName<'_>,
    pick: Option<&Pick>,
    all: &BTreeSet<u32>,
) -> StoreResult<BTreeSet<u32>> {
    match pick {
        None => Ok(all.clone()),
        Some(Pick::Version(version)) => Ok(all.get(version).copied().into_iter().collect()),
        Some(Pick::Label(label)) => {
            let sql = "SELECT version FROM prompt_label \
                       WHERE project = $1 AND name = $2 AND label = $3";
            let found =
                tx.one(sql, &[project.into(), name.into(), label.into()], |row| row.get(0))?;
            Ok(found.into_iter().collect())
        }
    }
}

/// Fails if other prompts reference what is about to be deleted.
fn refuse_if_needed(
    tx: &Tx<'_>,
    (project, name): VersionedName<'_>,
    going: &BTreeSet<u32>,
) -> StoreResult<()> {
    // A label is deleted with its version; `latest` is deleted only with the last version.
    let sql = "SELECT r.name, r.version, COALESCE(r.child_version, l.version), r.child_label \
               FROM prompt_reference r LEFT JOIN prompt_label l ON l.project = r.project \
               AND l.name = r.child_name AND l.label = r.child_label \
               WHERE r.project = $1 AND r.child_name = $2 ORDER BY r.name, r.version";
    let needed = tx.rows(sql, &[project.into(), name.into()], |row| {
        let parent: (String, u32) = (row.get(0)?, row.get(1)?);
        let child: (Option<u32>, Option<String>) = (row.get(2)?, row.get(3)?);
        Ok((parent, child))
    })?;
    let leaves_some = !PROMPTS.versions(tx, (project, name))?.is_subset(going);
    let breaks = needed.into_iter().filter_map(|((parent, version), (child, label))| {
        let moves = label.as_deref() == Some(LATEST) && leaves_some;
        let is_going = child.is_some_and(|child| going.contains(&child)) && !moves;
        let what = label.or(child.map(|child| format!("v{child}"))).unwrap_or_default();
        is_going.then(|| format!("{parent} v{version} depends on {name} {what}"))
    });
    let breaks: Vec<_> = breaks.collect();
    if breaks.is_empty() {
        return Ok(());
    }
    Err(StoreError::BadQuery(format!(
        "other prompts depend on what you are about to delete; delete them first: {}",
        breaks.join("; ")
    )))
}
