use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::payload::Json;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;

use super::project_table::ProjectTable;
use super::sql::{Row, Tx};
use super::{AuditAction, AuditObject, Catalog};
use crate::StoreResult;
use crate::project::ProjectId;
use crate::secrets::Secrets;

/// A stored target of experiments, without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTarget {
    /// Unique in its project.
    pub name: String,
    /// TOML.
    pub definition: String,
    pub secret_names: Vec<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A target to store.
#[derive(Clone, Debug)]
pub struct NewStoredTarget {
    pub name: String,
    /// TOML.
    pub definition: String,
    /// Secrets that the definition refers to. Of these, those without a value here are kept.
    pub references: BTreeSet<String>,
    pub secrets: BTreeMap<String, Secret>,
}

const COLUMNS: &str = "name, definition, secret_names, created_at, updated_at";

const TARGETS: ProjectTable<StoredTarget> =
    ProjectTable::new(("experiment_target", "target"), COLUMNS, read).by("name").in_order("name");

impl Catalog {
    /// Returns the stored targets of a project by name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn stored_targets(&self, project: ProjectId) -> StoreResult<Vec<StoredTarget>> {
        self.transact(move |tx| TARGETS.all(tx, &project)).await
    }

    /// Returns a stored target and its secrets, if there is one of that name.
    ///
    /// # Errors
    /// Fails if its secrets were encrypted with another key.
    pub async fn stored_target(
        &self,
        project: ProjectId,
        name: String,
        secrets: Secrets,
    ) -> StoreResult<Option<(StoredTarget, BTreeMap<String, Secret>)>> {
        self.transact(move |tx| {
            let Some(found) = TARGETS.find(tx, &project, &name)? else { return Ok(None) };
            Ok(Some((found, opened(tx, (&project, &name), &secrets)?)))
        })
        .await
    }

    /// Stores a target, or replaces the one of its name. Secrets are encrypted first.
    ///
    /// # Errors
    /// Fails if the server's encryption key cannot be read or created.
    pub async fn save_target(
        &self,
        project: ProjectId,
        new: NewStoredTarget,
        secrets: Secrets,
        now: Timestamp,
    ) -> StoreResult<StoredTarget> {
        self.transact(move |tx| {
            let key = (&project, new.name.as_str());
            let before = TARGETS.find(tx, &project, &new.name)?;
            let mut known = opened(tx, key, &secrets)?;
            known.extend(new.secrets.clone());
            known.retain(|name, _| new.references.contains(name));
            let plain: BTreeMap<_, _> =
                known.iter().map(|(name, value)| (name, value.expose())).collect();
            let sealed = Secret::new(serde_json::json!(plain).to_string());
            let names: Vec<String> = known.keys().cloned().collect();
            tx.execute(
                "INSERT INTO experiment_target (project, name, definition, secret_names, \
                 sealed_secrets, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6) \
                 ON CONFLICT (project, name) DO UPDATE SET definition = excluded.definition, \
                 secret_names = excluded.secret_names, sealed_secrets = excluded.sealed_secrets, \
                 updated_at = excluded.updated_at",
                &[
                    (&project).into(),
                    (&new.name).into(),
                    (&new.definition).into(),
                    (&Json::from_value(&names.into())).into(),
                    secrets.seal(&sealed, &owner(key))?.into(),
                    now.into(),
                ],
            )?;
            let verb = if before.is_some() { AuditAction::Changed } else { AuditAction::Added };
            tx.audit(&project, now, &verb.on(AuditObject::Target, &new.name).named(&new.name))?;
            TARGETS.require(tx, &project, &new.name)
        })
        .await
    }

    /// Deletes a stored target.
    ///
    /// # Errors
    /// Fails if there is no such target.
    pub async fn delete_target(
        &self,
        project: ProjectId,
        name: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            TARGETS.delete(tx, &project, &name)?;
            let audited = AuditAction::Removed.on(AuditObject::Target, &name).named(&name);
            tx.audit(&project, now, &audited)
        })
        .await
    }
}

/// The secrets of a target; none if there is no such target.
fn opened(
    tx: &Tx<'_>,
    (project, name): (&ProjectId, &str),
    secrets: &Secrets,
) -> StoreResult<BTreeMap<String, Secret>> {
    let sql = "SELECT sealed_secrets FROM experiment_target WHERE project = $1 AND name = $2";
    let sealed = |row: &Row<'_>| row.get::<String>(0);
    let Some(sealed) = tx.one(sql, &[project.into(), name.into()], sealed)? else {
        return Ok(BTreeMap::new());
    };
    let opened = secrets.open(&sealed, &owner((project, name)))?;
    let plain: BTreeMap<String, String> = serde_json::from_str(opened.expose()).unwrap_or_default();
    Ok(plain.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
}

/// The associated data of the secrets: moved to another row, they do not decrypt.
fn owner((project, name): (&ProjectId, &str)) -> String {
    format!("target {project} {name}")
}

fn read(row: &Row<'_>) -> StoreResult<StoredTarget> {
    let names: Json = row.get(2)?;
    Ok(StoredTarget {
        name: row.get(0)?,
        definition: row.get(1)?,
        secret_names: serde_json::from_str(names.as_str()).unwrap_or_default(),
        created_at: row.get(3)?,
        updated_at: row.get(4)?,
    })
}
