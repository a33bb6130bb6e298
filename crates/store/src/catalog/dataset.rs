use ratchet_core::payload::Json;
use ratchet_core::record::redact::path::Root;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::dataset_check::{Unchecked, Verdicts};
use super::folders::{self, NameFolder};
use super::project_table::ProjectTable;
use super::sql::{Conditions, Listing, Row, Tx, contains};
use super::{AuditAction, AuditObject, Catalog, redaction};
use crate::StoreResult;
use crate::blocking::run_blocking;
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};

/// A dataset: items to run experiments on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    pub id: String,
    /// Slashes separate folders.
    pub name: String,
    pub description: Option<String>,
    /// Free-form client metadata.
    pub metadata: Option<Json>,
    /// JSON Schemas of the items.
    pub schemas: Schemas,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// JSON Schemas that the items of a dataset must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schemas {
    pub input: Option<Json>,
    pub expected_output: Option<Json>,
}

/// An update of an optional field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldUpdate<T> {
    Keep,
    Clear,
    Set(T),
}

impl<T> FieldUpdate<T> {
    /// The new value, if it is set.
    fn set(&self) -> Option<&T> {
        if let Self::Set(value) = self { Some(value) } else { None }
    }

    fn apply(self, to: Option<T>) -> Option<T> {
        match self {
            Self::Keep => to,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }
}

/// A dataset to create, or to update if the name exists.
#[derive(Clone, Debug)]
pub struct NewDataset {
    pub name: String,
    /// Unchanged when `None`.
    pub description: Option<String>,
    /// Free-form client metadata; unchanged when `None`.
    pub metadata: Option<Json>,
    pub input_schema: FieldUpdate<Json>,
    pub expected_output_schema: FieldUpdate<Json>,
}

/// A filter for datasets.
#[derive(Clone, Debug)]
pub struct DatasetQuery {
    pub project: ProjectId,
    /// A part of the name, in any case.
    pub text: Option<String>,
    /// Directly in this folder; an empty path is the root.
    pub folder: Option<String>,
    pub page: PageNumber,
}

const COLUMNS: &str = "id, name, description, metadata, input_schema, expected_output_schema, \
                       created_at, updated_at";

pub(super) const DATASETS: ProjectTable<Dataset> =
    ProjectTable::new(("dataset", "Dataset"), COLUMNS, read).by("name");

impl Catalog {
    /// Creates a dataset, or updates the one of this name. Its fields are redacted by the project's
    /// rules; a schema that would be redacted is rejected.
    ///
    /// # Errors
    /// Fails if existing items do not match a new schema.
    pub async fn save_dataset(
        &self,
        project: ProjectId,
        new: NewDataset,
        now: Timestamp,
    ) -> StoreResult<Dataset> {
        let settings = self.recording_settings(&project).await?;
        let rules = settings.redactor.uncut();
        let new = NewDataset {
            description: new.description.map(|text| rules.text(&text).into_owned()),
            metadata: new.metadata.map(|json| rules.json(json, Root::Metadata)),
            ..new
        };
        let mut verdicts = Verdicts::default();
        loop {
            let (project, new) = (project.clone(), new.clone());
            let work = move |tx: &Tx<'_>| write_checked(tx, &project, (new, now), verdicts);
            match self.transact(work).await? {
                Saving::Done(dataset) => return Ok(dataset),
                Saving::Open(unchecked) => verdicts = run_blocking(|| unchecked.check()).await??,
            }
        }
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
        self.transact(move |tx| DATASETS.page(tx, &project, page)).await
    }

    /// Returns datasets that match a filter, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn matching_datasets(&self, query: DatasetQuery) -> StoreResult<Page<Dataset>> {
        self.transact(move |tx| {
            let mut matching = Conditions::new("project = $1", &query.project);
            let text = query.text.as_ref().map(|text| contains(&text.to_ascii_lowercase()));
            matching.add("LOWER(name) LIKE $ ESCAPE '!'", text);
            folders::add_folder(&mut matching, "name", query.folder.as_ref());
            let from = format!("FROM dataset WHERE {}", matching.sql);
            let listing = Listing { columns: COLUMNS, from: &from, order: "created_at DESC, id" };
            tx.page(listing, &matching.values, query.page, read)
        })
        .await
    }

    /// Returns the folders directly in a folder, by name; an empty path is the root.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_folders(
        &self,
        project: ProjectId,
        path: String,
    ) -> StoreResult<Vec<NameFolder>> {
        self.transact(move |tx| folders::in_folder(tx, ("dataset", &project), &path)).await
    }

    /// Returns a dataset by name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset(&self, project: ProjectId, name: String) -> StoreResult<Option<Dataset>> {
        self.transact(move |tx| DATASETS.find(tx, &project, &name)).await
    }

    /// Returns a dataset by id.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_by_id(
        &self,
        project: ProjectId,
        id: String,
    ) -> StoreResult<Option<Dataset>> {
        self.transact(move |tx| DATASETS.find_by(tx, &project, ("id", &id))).await
    }
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

/// Progress of saving a dataset.
enum Saving {
    Done(Dataset),
    /// These items must be validated first.
    Open(Unchecked),
}

/// Rejects a name or schema that a redaction rule matches.
fn check_rules(tx: &Tx<'_>, project: &ProjectId, new: &NewDataset) -> StoreResult<()> {
    let name = redaction::said(&new.name);
    let mut fields = vec![("name", &name)];
    fields.extend(new.input_schema.set().map(|schema| ("inputSchema", schema)));
    let expected = new.expected_output_schema.set();
    fields.extend(expected.map(|schema| ("expectedOutputSchema", schema)));
    redaction::must_pass(tx, project, &fields)
}

fn write_checked(
    tx: &Tx<'_>,
    project: &ProjectId,
    (new, now): (NewDataset, Timestamp),
    verdicts: Verdicts,
) -> StoreResult<Saving> {
    check_rules(tx, project, &new)?;
    let known = DATASETS.find(tx, project, &new.name)?;
    let is_new = known.is_none();
    let before = known.as_ref().map(|known| known.schemas.clone()).unwrap_or_default();
    let dataset = changed(known, new, now);
    if dataset.schemas != before
        && let Some(unchecked) = verdicts.missing(tx, project, &dataset)?
    {
        return Ok(Saving::Open(unchecked));
    }
    write(tx, project, &dataset)?;
    let verb = if is_new { AuditAction::Made } else { AuditAction::Changed };
    tx.audit(project, now, &verb.on(AuditObject::Dataset, &dataset.id).named(&dataset.name))?;
    Ok(Saving::Done(dataset))
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
