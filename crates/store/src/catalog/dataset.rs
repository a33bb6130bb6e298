use ratchet_core::json_schema::Schema;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::Catalog;
use super::sql::{Listing, Row, Tx};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

/// How many items that do not fit a new schema an error names.
const MAX_TOLD: usize = 5;

/// Cases to try an agent on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Its id.
    pub id: String,
    /// What it is called; slashes part folders.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whatever the client keeps with it.
    pub metadata: Option<Json>,
    /// What the inputs of its items look like.
    pub schemas: Schemas,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What a dataset asks of its items, as JSON Schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schemas {
    /// Of their inputs.
    pub input: Option<Json>,
    /// Of their expected outputs.
    pub expected_output: Option<Json>,
}

/// What becomes of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// It stays as it is.
    Keep,
    /// It is cleared.
    Clear,
    /// It is set.
    Set(T),
}

impl<T> Change<T> {
    fn apply(self, to: Option<T>) -> Option<T> {
        match self {
            Self::Keep => to,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }
}

/// A dataset to be made, or changed if there is one of the name.
#[derive(Clone, Debug)]
pub struct NewDataset {
    /// What it is called.
    pub name: String,
    /// What it is for; as it was when `None`.
    pub description: Option<String>,
    /// Whatever the client keeps with it; as it was when `None`.
    pub metadata: Option<Json>,
    /// What the inputs of its items must look like.
    pub input_schema: Change<Json>,
    /// What the expected outputs of its items must look like.
    pub expected_output_schema: Change<Json>,
}

const COLUMNS: &str = "id, name, description, metadata, input_schema, expected_output_schema, \
                       created_at, updated_at";

impl Catalog {
    /// Makes a dataset, or changes the one of this name.
    ///
    /// # Errors
    /// Fails if items that are there do not fit a new schema.
    pub async fn save_dataset(
        &self,
        project: ProjectId,
        new: NewDataset,
        now: Timestamp,
    ) -> StoreResult<Dataset> {
        self.transact(move |tx| {
            let known = by_name(tx, &project, &new.name)?;
            let before = known.as_ref().map(|known| known.schemas.clone()).unwrap_or_default();
            let dataset = changed(known, new, now);
            if dataset.schemas != before {
                check_items(tx, &project, &dataset)?;
            }
            write(tx, &project, &dataset)?;
            Ok(dataset)
        })
        .await
    }

    /// Returns datasets, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn datasets(
        &self,
        project: ProjectId,
        page: PageNumber,
    ) -> StoreResult<Page<Dataset>> {
        let listing = Listing {
            columns: COLUMNS,
            from: "FROM dataset WHERE project = $1",
            order: "created_at DESC, id",
        };
        self.transact(move |tx| tx.page(listing, &[(&project).into()], page, read)).await
    }

    /// Returns the dataset of a name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset(&self, project: ProjectId, name: String) -> StoreResult<Option<Dataset>> {
        self.transact(move |tx| by_name(tx, &project, &name)).await
    }

    /// Returns the dataset with an id.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_by_id(
        &self,
        project: ProjectId,
        id: String,
    ) -> StoreResult<Option<Dataset>> {
        let sql = format!("SELECT {COLUMNS} FROM dataset WHERE project = $1 AND id = $2");
        self.transact(move |tx| tx.one(&sql, &[(&project).into(), (&id).into()], read)).await
    }
}

pub(super) fn by_name(
    tx: &Tx<'_>,
    project: &ProjectId,
    name: &str,
) -> StoreResult<Option<Dataset>> {
    let sql = format!("SELECT {COLUMNS} FROM dataset WHERE project = $1 AND name = $2");
    tx.one(&sql, &[project.into(), name.into()], read)
}

pub(super) fn missing(name: &str) -> StoreError {
    StoreError::NotFound(format!("Dataset {name}"))
}

fn read(row: &Row<'_>) -> StoreResult<Dataset> {
    Ok(Dataset {
        id: row.get(0)?,
        name: row.get(1)?,
        description: row.get(2)?,
        metadata: row.get(3)?,
        schemas: Schemas { input: row.get(4)?, expected_output: row.get(5)? },
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}

fn changed(known: Option<Dataset>, new: NewDataset, now: Timestamp) -> Dataset {
    let dataset = known.unwrap_or_else(|| Dataset {
        id: Uuid::new_v4().to_string(),
        name: new.name,
        description: None,
        metadata: None,
        schemas: Schemas::default(),
        created_at: now,
        updated_at: now,
    });
    Dataset {
        description: new.description.or(dataset.description),
        metadata: new.metadata.or(dataset.metadata),
        schemas: Schemas {
            input: new.input_schema.apply(dataset.schemas.input),
            expected_output: new.expected_output_schema.apply(dataset.schemas.expected_output),
        },
        updated_at: now,
        ..dataset
    }
}

fn write(tx: &Tx<'_>, project: &ProjectId, dataset: &Dataset) -> StoreResult<()> {
    let Dataset { id, name, created_at, updated_at, .. } = dataset;
    let Schemas { input, expected_output } = &dataset.schemas;
    tx.execute(
        "INSERT INTO dataset (project, id, name, description, metadata, input_schema, \
         expected_output_schema, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
         ON CONFLICT (project, id) DO UPDATE SET description = excluded.description, \
         metadata = excluded.metadata, input_schema = excluded.input_schema, \
         expected_output_schema = excluded.expected_output_schema, \
         updated_at = excluded.updated_at",
        &[
            project.into(),
            id.into(),
            name.into(),
            dataset.description.as_deref().into(),
            dataset.metadata.as_ref().into(),
            input.as_ref().into(),
            expected_output.as_ref().into(),
            (*created_at).into(),
            (*updated_at).into(),
        ],
    )?;
    Ok(())
}

/// Refuses schemas that items do not fit.
fn check_items(tx: &Tx<'_>, project: &ProjectId, dataset: &Dataset) -> StoreResult<()> {
    let checks = Checks::new(&dataset.schemas)?;
    let sql = "SELECT id, input, expected_output FROM dataset_item \
               WHERE project = $1 AND dataset = $2 AND valid_to IS NULL ORDER BY created_at, id";
    let told = tx.rows(sql, &[project.into(), (&dataset.id).into()], |row| {
        let (id, input, output): (String, Option<Json>, Option<Json>) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let problem = checks.problem(input.as_ref(), output.as_ref());
        Ok(problem.map(|problem| format!("item {id}: {problem}")))
    })?;
    let told: Vec<String> = told.into_iter().flatten().collect();
    if told.is_empty() {
        return Ok(());
    }
    let some: Vec<&str> = told.iter().take(MAX_TOLD).map(String::as_str).collect();
    Err(StoreError::BadQuery(format!(
        "{} items of the dataset do not fit the schema: {}",
        told.len(),
        some.join("; ")
    )))
}

/// The schemas of a dataset, ready to check items.
pub(super) struct Checks {
    input: Option<Schema>,
    expected_output: Option<Schema>,
}

impl Checks {
    pub(super) fn new(schemas: &Schemas) -> StoreResult<Self> {
        let read = |field: &str, json: &Option<Json>| {
            let schema = json.as_ref().map(Schema::read).transpose();
            schema.map_err(|why| StoreError::BadQuery(format!("{field}: {why}")))
        };
        Ok(Self {
            input: read("inputSchema", &schemas.input)?,
            expected_output: read("expectedOutputSchema", &schemas.expected_output)?,
        })
    }

    /// What keeps an item from fitting.
    pub(super) fn problem(
        &self,
        input: Option<&Json>,
        expected_output: Option<&Json>,
    ) -> Option<String> {
        let sides = [("input", &self.input, input)].into_iter().chain([(
            "expectedOutput",
            &self.expected_output,
            expected_output,
        )]);
        let told: Vec<String> = sides
            .filter_map(|(field, schema, json)| {
                let json = json.map_or("null", Json::as_str);
                let value = serde_json::from_str(json).unwrap_or_default();
                let why = schema.as_ref()?.check(&value).err()?;
                Some(format!("{field} does not fit the dataset's schema: {why}"))
            })
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}
