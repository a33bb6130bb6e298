use ratchet_core::payload::Json;
use ratchet_core::record::price::{ModelDefinition, ModelUnit, OwnModel};
use ratchet_core::time::Timestamp;
use serde_json::Value as AnyJson;

use super::project_table::ProjectTable;
use super::sql::{FromColumn, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Maximum number of custom models per project: recording searches all of them.
const MAX_MODELS: u64 = 500;

/// A custom model of a project.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredModel {
    pub id: String,
    /// Match pattern and prices.
    pub definition: ModelDefinition,
    pub created_at: Timestamp,
}

const COLUMNS: &str =
    "id, name, pattern, start_at, unit, tiers, tokenizer, tokenizer_config, created_at";

const MODELS: ProjectTable<StoredModel> = ProjectTable::new(("model", "model"), COLUMNS, read);

impl Catalog {
    /// Returns a project's custom models, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn models(&self, project: ProjectId) -> StoreResult<Vec<StoredModel>> {
        self.transact(move |tx| MODELS.all(tx, &project)).await
    }

    /// Returns the built-in models and those of the server's price files.
    pub fn built_in_models(&self) -> Vec<ModelDefinition> {
        self.prices.base().definitions()
    }

    /// Returns a custom model, or `None`.
    ///
    /// # Errors
    /// Fails only when the database does; a model that is not there is `None`.
    pub async fn model(&self, project: ProjectId, id: String) -> StoreResult<Option<StoredModel>> {
        self.transact(move |tx| MODELS.find(tx, &project, &id)).await
    }

    /// Upserts a custom model. Observations recorded from now on are priced by it.
    ///
    /// # Errors
    /// Fails if the definition is invalid, or if the project has too many models.
    pub async fn save_model(
        &self,
        project: ProjectId,
        kept: StoredModel,
        now: Timestamp,
    ) -> StoreResult<StoredModel> {
        let prices = self.prices.clone();
        self.transact(move |tx| {
            OwnModel::new(kept.id.clone(), &kept.definition)
                .map_err(|why| StoreError::BadQuery(why.to_string()))?;
            let before = MODELS.find(tx, &project, &kept.id)?;
            write(tx, &project, &kept)?;
            let models = MODELS.all(tx, &project)?;
            if models.len() as u64 > MAX_MODELS {
                let what = format!("a project has at most {MAX_MODELS} models of its own");
                return Err(StoreError::BadQuery(what));
            }
            let kept = MODELS.find(tx, &project, &kept.id)?.unwrap_or(kept);
            let verb = if before.is_some() { AuditAction::Changed } else { AuditAction::Made };
            let audited = verb.on(AuditObject::Model, &kept.id).named(&kept.definition.name);
            let audited = audited.became(described(&kept.definition));
            let audited = match &before {
                Some(before) => audited.was(described(&before.definition)),
                None => audited,
            };
            tx.audit(&project, now, &audited)?;
            // Within the transaction, so that the later of two changes wins.
            prices.set(&project, ready(&models));
            Ok(kept)
        })
        .await
    }

    /// Deletes a custom model. Recorded costs stay.
    ///
    /// # Errors
    /// Fails if there is no such model.
    pub async fn delete_model(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        let prices = self.prices.clone();
        self.transact(move |tx| {
            let found = MODELS.delete(tx, &project, &id)?;
            let audited =
                AuditAction::Deleted.on(AuditObject::Model, &id).named(&found.definition.name);
            tx.audit(&project, now, &audited.was(described(&found.definition)))?;
            prices.set(&project, ready(&MODELS.all(tx, &project)?));
            Ok(())
        })
        .await
    }
}

/// The custom models of every project, compiled.
pub(crate) fn of_all_projects(tx: &Tx<'_>) -> StoreResult<Vec<(ProjectId, Vec<OwnModel>)>> {
    let projects = tx.rows("SELECT DISTINCT project FROM model", &[], |row| row.get(0))?;
    projects
        .into_iter()
        .map(|project| {
            let models = ready(&MODELS.all(tx, &project)?);
            Ok((project, models))
        })
        .collect()
}

/// A short description of prices for the audit log.
fn described(model: &ModelDefinition) -> String {
    let prices = model.tiers.iter().map(|tier| {
        let kinds = tier.prices.iter().map(|(kind, price)| format!("{kind} {price}"));
        format!("{}: {}", tier.name, kinds.collect::<Vec<_>>().join(", "))
    });
    prices.collect::<Vec<_>>().join("; ")
}

fn ready(models: &[StoredModel]) -> Vec<OwnModel> {
    let own = |kept: &StoredModel| OwnModel::new(kept.id.clone(), &kept.definition).ok();
    models.iter().filter_map(own).collect()
}

fn write(tx: &Tx<'_>, project: &ProjectId, kept: &StoredModel) -> StoreResult<()> {
    let model = &kept.definition;
    let tiers = serde_json::to_value(&model.tiers).unwrap_or(AnyJson::Null);
    let sql = format!(
        "INSERT INTO model ({COLUMNS}, project) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (project, id) DO UPDATE SET name = excluded.name, \
         pattern = excluded.pattern, start_at = excluded.start_at, unit = excluded.unit, \
         tiers = excluded.tiers, tokenizer = excluded.tokenizer, \
         tokenizer_config = excluded.tokenizer_config"
    );
    let values = &[
        (&kept.id).into(),
        (&model.name).into(),
        (&model.pattern).into(),
        model.start.into(),
        model.unit.as_str().into(),
        (&Json::from_value(&tiers)).into(),
        model.tokenizer.as_deref().into(),
        model.tokenizer_config.as_ref().into(),
        kept.created_at.into(),
        project.into(),
    ];
    tx.execute(&sql, values)?;
    Ok(())
}

impl FromColumn for ModelUnit {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

fn read(row: &Row<'_>) -> StoreResult<StoredModel> {
    let tiers: Json = row.get(5)?;
    let definition = ModelDefinition {
        name: row.get(1)?,
        pattern: row.get(2)?,
        start: row.get(3)?,
        unit: row.get(4)?,
        tiers: serde_json::from_str(tiers.as_str()).unwrap_or_default(),
        tokenizer: row.get(6)?,
        tokenizer_config: row.get(7)?,
    };
    Ok(StoredModel { id: row.get(0)?, definition, created_at: row.get(8)? })
}
