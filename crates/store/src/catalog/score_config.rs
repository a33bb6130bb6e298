use ratchet_core::payload::Json;
use ratchet_core::record::score::DataType;
use ratchet_core::record::score::config::{Category, ConfigValues, ScoreConfig};
use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::project_table::ProjectTable;
use super::sql::{Row, Tx};
use super::{AuditAction, AuditObject, Catalog, project, redaction};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

/// A stored score config.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredScoreConfig {
    pub config: ScoreConfig,
    pub description: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// JSON form of a category.
#[derive(Serialize, Deserialize)]
struct CategoryColumn {
    label: String,
    value: f64,
}

const COLUMNS: &str = "id, name, data_type, min_value, max_value, categories, description, \
                       is_archived, created_at, updated_at";

pub(super) const SCORE_CONFIGS: ProjectTable<StoredScoreConfig> =
    ProjectTable::new(("score_config", "Score config"), COLUMNS, read);

impl Catalog {
    /// Creates a score config.
    ///
    /// # Errors
    /// Fails if the project does not exist.
    pub async fn create_score_config(
        &self,
        project: ProjectId,
        kept: StoredScoreConfig,
    ) -> StoreResult<StoredScoreConfig> {
        let owner = project.clone();
        let kept = self.transact(move |tx| {
            if !tx.exists("SELECT 1 FROM project WHERE id = $1", &[(&project).into()])? {
                return Err(project::missing(&project));
            }
            write(tx, &project, &kept)?;
            audit(tx, &project, AuditAction::Made, &kept)?;
            Ok(kept)
        });
        let kept = kept.await?;
        self.recording_settings.invalidate(&owner);
        Ok(kept)
    }

    /// Returns a page of a project's score configs, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn score_configs(
        &self,
        project: ProjectId,
        page: PageNumber,
    ) -> StoreResult<Page<StoredScoreConfig>> {
        self.transact(move |tx| SCORE_CONFIGS.page(tx, &project, page)).await
    }

    /// Returns a score config, or `None`.
    ///
    /// # Errors
    /// Fails only when the database does; a config that is not there is `None`.
    pub async fn score_config(
        &self,
        project: ProjectId,
        id: String,
    ) -> StoreResult<Option<StoredScoreConfig>> {
        self.transact(move |tx| SCORE_CONFIGS.find(tx, &project, &id)).await
    }

    /// Changes a score config and returns the result.
    ///
    /// # Errors
    /// Fails if there is no such config, or with the error of the change.
    pub async fn change_score_config<E: From<StoreError> + Send + 'static>(
        &self,
        project: ProjectId,
        id: String,
        change: impl FnOnce(StoredScoreConfig) -> Result<StoredScoreConfig, E> + Send + 'static,
    ) -> Result<StoredScoreConfig, E> {
        let owner = project.clone();
        let work = move |tx: &Tx<'_>| -> Result<_, E> {
            let kept = change(SCORE_CONFIGS.require(tx, &project, &id)?)?;
            write(tx, &project, &kept)?;
            audit(tx, &project, AuditAction::Changed, &kept)?;
            Ok(kept)
        };
        let changed = self.transact_or_refuse(work).await?;
        self.recording_settings.invalidate(&owner);
        Ok(changed)
    }
}

fn audit(
    tx: &Tx<'_>,
    project: &ProjectId,
    verb: AuditAction,
    kept: &StoredScoreConfig,
) -> StoreResult<()> {
    let config = &kept.config;
    let archived = if config.is_archived { ", archived" } else { "" };
    let became = format!("{}{archived}", config.values.data_type().as_str().to_lowercase());
    let audited = verb.on(AuditObject::ScoreConfig, &config.id).named(&config.name).became(became);
    tx.audit(project, kept.updated_at, &audited)
}

/// Upserts a config, unless a redaction rule matches it.
fn write(tx: &Tx<'_>, project: &ProjectId, kept: &StoredScoreConfig) -> StoreResult<()> {
    let StoredScoreConfig { config, description, created_at, updated_at } = kept;
    let (min, max, categories) = match &config.values {
        ConfigValues::Numeric { min, max } => (*min, *max, None),
        ConfigValues::Categorical(categories) => (None, None, Some(written(categories))),
        ConfigValues::Boolean | ConfigValues::Text => (None, None, None),
    };
    let data_type = config.values.data_type().as_str();
    let description = description.as_deref();
    let texts = [Some(config.name.as_str()), categories.as_deref(), description];
    let texts = texts.map(|text| redaction::said(text.unwrap_or_default()));
    let fields = ["name", "categories", "description"];
    let fields: Vec<_> = fields.into_iter().zip(&texts).collect();
    redaction::must_pass(tx, project, &fields)?;
    let sql = format!(
        "INSERT INTO score_config ({COLUMNS}, project) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         ON CONFLICT (id) DO UPDATE SET name = excluded.name, min_value = excluded.min_value, \
         max_value = excluded.max_value, categories = excluded.categories, \
         description = excluded.description, is_archived = excluded.is_archived, \
         updated_at = excluded.updated_at"
    );
    let values = &[
        (&config.id).into(),
        (&config.name).into(),
        data_type.into(),
        min.into(),
        max.into(),
        categories.into(),
        description.into(),
        config.is_archived.into(),
        (*created_at).into(),
        (*updated_at).into(),
        project.into(),
    ];
    tx.execute(&sql, values).map(drop)
}

fn written(categories: &[Category]) -> String {
    let column = |category: &Category| CategoryColumn {
        label: category.label.clone(),
        value: category.value,
    };
    let columns: Vec<_> = categories.iter().map(column).collect();
    serde_json::to_string(&columns).unwrap_or_default()
}

fn read(row: &Row<'_>) -> StoreResult<StoredScoreConfig> {
    let id: String = row.get(0)?;
    let categories: Option<Json> = row.get(5)?;
    let categories = categories.map(|json| {
        let columns: Vec<CategoryColumn> = serde_json::from_str(json.as_str()).unwrap_or_default();
        let category =
            |column: CategoryColumn| Category { label: column.label, value: column.value };
        columns.into_iter().map(category).collect()
    });
    let values = match DataType::parse(&row.get::<String>(2)?) {
        Some(DataType::Numeric) => ConfigValues::Numeric { min: row.get(3)?, max: row.get(4)? },
        Some(DataType::Boolean) => ConfigValues::Boolean,
        Some(DataType::Categorical) => ConfigValues::Categorical(categories.unwrap_or_default()),
        Some(DataType::Text | DataType::Correction) | None => ConfigValues::Text,
    };
    let config = ScoreConfig { id, name: row.get(1)?, values, is_archived: row.get(7)? };
    Ok(StoredScoreConfig {
        config,
        description: row.get(6)?,
        created_at: row.get(8)?,
        updated_at: row.get(9)?,
    })
}
