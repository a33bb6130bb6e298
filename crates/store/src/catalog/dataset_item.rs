use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::payload::Json;
use ratchet_core::record::media::reference::mentioned;
use ratchet_core::record::redact::LimitedRedactor;
use ratchet_core::record::redact::path::Root;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::dataset::{DATASETS, Dataset, Schemas};
use super::dataset_check::{Sides, problems};
use super::sql::{FromColumn, Listing, Row, Tx, Value};
use super::{
    AuditAction, AuditObject, Catalog, ContentReference, MediaOwner, ReferenceLocation, media,
};
use crate::blocking::run_blocking;
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

/// Minimum duration of a version: the resolution of SDK timestamps.
const TICK: i64 = 1_000_000;

/// One version of a dataset item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetItem {
    pub id: String,
    pub dataset: String,
    pub dataset_name: String,
    /// Whether new runs include it.
    pub status: DatasetStatus,
    pub input: Option<Json>,
    pub expected_output: Option<Json>,
    /// Free-form client metadata.
    pub metadata: Option<Json>,
    /// The trace it was created from.
    pub source_trace: Option<String>,
    /// The observation it was created from.
    pub source_observation: Option<String>,
    pub created_at: Timestamp,
    /// Start of this version.
    pub valid_from: Timestamp,
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDatasetItem {
    pub item: DatasetItem,
    /// Whether its texts were left out because those before it are long.
    pub is_cut: bool,
}

/// An item to create, or to update if the id exists. `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct NewDatasetItem {
    pub dataset_name: String,
    /// Random when `None`.
    pub id: Option<String>,
    /// Whether new runs include it.
    pub status: Option<DatasetStatus>,
    pub input: Option<Json>,
    pub expected_output: Option<Json>,
    /// Free-form client metadata.
    pub metadata: Option<Json>,
    /// The trace it was created from.
    pub source_trace: Option<String>,
    /// The observation it was created from.
    pub source_observation: Option<String>,
}

/// Result of saving several items at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collected {
    /// All were saved.
    Kept(Vec<DatasetItem>),
    /// None was saved: these, by index, do not match the schemas of the dataset.
    Unfit(Vec<(usize, String)>),
}

/// A filter for dataset items.
#[derive(Clone, Debug)]
pub struct DatasetItemQuery {
    pub project: ProjectId,
    pub dataset_name: Option<String>,
    pub source_trace: Option<String>,
    pub source_observation: Option<String>,
    pub status: DatasetStatus,
    /// State at this time; the current state when `None`.
    pub as_of: Option<Timestamp>,
    pub page: PageNumber,
}

impl FromColumn for DatasetStatus {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl From<DatasetStatus> for Value {
    fn from(status: DatasetStatus) -> Self {
        status.as_str().into()
    }
}

pub(super) const COLUMNS: &str = "i.id, i.dataset, d.name, i.status, i.input, i.expected_output, i.metadata, \
                       i.source_trace, i.source_observation, i.created_at, i.valid_from";
pub(super) const FROM: &str = "FROM dataset_item i JOIN dataset d ON d.project = i.project \
                    AND d.id = i.dataset";

impl Catalog {
    /// Creates an item, or a new version of the one with its id, redacted by the project's rules.
    ///
    /// # Errors
    /// Fails if there is no such dataset, if the id belongs to an item of another dataset, or if
    /// the item does not match the dataset's schemas.
    pub async fn save_dataset_item(
        &self,
        project: ProjectId,
        new: NewDatasetItem,
        now: Timestamp,
    ) -> StoreResult<DatasetItem> {
        match self.save_dataset_items(project, vec![new], now).await? {
            Collected::Kept(items) => items.into_iter().next().ok_or(StoreError::Closing),
            Collected::Unfit(unfit) => {
                let problem = unfit.into_iter().next().map(|(_, problem)| problem);
                Err(StoreError::BadQuery(problem.unwrap_or_default()))
            }
        }
    }

    /// Creates or updates items like [`Catalog::save_dataset_item`], all or none, with unique ids.
    ///
    /// # Errors
    /// Fails if there is no such dataset, or if an id belongs to an item of another dataset.
    pub async fn save_dataset_items(
        &self,
        project: ProjectId,
        new: Vec<NewDatasetItem>,
        now: Timestamp,
    ) -> StoreResult<Collected> {
        let settings = self.recording_settings(&project).await?;
        let named = |new: NewDatasetItem| NewDatasetItem {
            id: Some(new.id.clone().unwrap_or_else(random_id)),
            ..redacted(new, settings.redactor.uncut())
        };
        let new: Arc<[NewDatasetItem]> = new.into_iter().map(named).collect();
        let mut checked = Vec::new();
        loop {
            let (project, new) = (project.clone(), Arc::clone(&new));
            let work = move |tx: &Tx<'_>| write_checked(tx, &project, (&new, now), &checked);
            checked = match self.transact(work).await? {
                Saving::Done(items) => return Ok(Collected::Kept(items)),
                Saving::Open(open) => {
                    let (open, unfit) = run_blocking(move || checked_all(open)).await??;
                    if !unfit.is_empty() {
                        return Ok(Collected::Unfit(unfit));
                    }
                    open
                }
            }
        }
    }

    /// Returns an item, now or at an earlier time.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_item(
        &self,
        project: ProjectId,
        id: String,
        as_of: Option<Timestamp>,
    ) -> StoreResult<Option<DatasetItem>> {
        self.transact(move |tx| find(tx, &project, &id, as_of)).await
    }

    /// Returns items, newest first.
    ///
    /// # Errors
    /// Fails if there is no such dataset.
    pub async fn dataset_items(&self, query: DatasetItemQuery) -> StoreResult<Page<DatasetItem>> {
        let Page { rows, total, cursor } = self.bounded_dataset_items(query, usize::MAX).await?;
        let rows = rows.into_iter().map(|listed| listed.item).collect();
        Ok(Page { rows, total, cursor })
    }

    /// Returns items like [`Catalog::dataset_items`]. Once they have about so many bytes, those that
    /// follow have no texts, and are to be read one by one.
    ///
    /// # Errors
    /// Fails if there is no such dataset.
    pub async fn bounded_dataset_items(
        &self,
        query: DatasetItemQuery,
        max_bytes: usize,
    ) -> StoreResult<Page<ListedDatasetItem>> {
        self.transact(move |tx| {
            let mut values = vec![Value::from(&query.project), query.status.into()];
            let mut from = format!("{FROM} WHERE i.project = $1 AND i.status = $2");
            if let Some(name) = &query.dataset_name {
                let dataset = DATASETS.require(tx, &query.project, name)?;
                values.push(dataset.id.into());
                from.push_str(&format!(" AND i.dataset = ${}", values.len()));
            }
            for (column, wanted) in [
                ("source_trace", &query.source_trace),
                ("source_observation", &query.source_observation),
            ] {
                let Some(wanted) = wanted else { continue };
                values.push(wanted.into());
                from.push_str(&format!(" AND i.{column} = ${}", values.len()));
            }
            from.push_str(&valid(query.as_of, &mut values));
            let order = "i.created_at DESC, i.id";
            let listing = Listing { columns: COLUMNS, from: &from, order };
            let used = Cell::new(0);
            tx.page(listing, &values, query.page, |row| {
                if used.get() >= max_bytes {
                    return Ok(ListedDatasetItem { item: read_bare(row)?, is_cut: true });
                }
                let item = read(row)?;
                used.set(used.get() + bytes(&item));
                Ok(ListedDatasetItem { item, is_cut: false })
            })
        })
        .await
    }

    /// Returns the ids of a dataset's items, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn dataset_item_ids(
        &self,
        project: ProjectId,
        dataset: String,
    ) -> StoreResult<Vec<String>> {
        let sql = "SELECT id FROM dataset_item WHERE project = $1 AND dataset = $2 AND \
                   status = $3 AND valid_to IS NULL ORDER BY created_at DESC, id";
        self.transact(move |tx| {
            let values = [(&project).into(), (&dataset).into(), DatasetStatus::Active.into()];
            tx.rows(sql, &values, |row| row.get(0))
        })
        .await
    }

    /// Deletes an item. Earlier versions stay readable by time.
    ///
    /// # Errors
    /// Fails if there is no such item.
    pub async fn delete_dataset_item(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<DatasetItem> {
        self.transact(move |tx| {
            let item = find(tx, &project, &id, None)?;
            let item = item.ok_or_else(|| StoreError::NotFound(format!("Dataset item {id}")))?;
            end_version(tx, &project, (&id, next_moment(Some(item.valid_from), now)))?;
            let audited = AuditAction::Deleted.on(AuditObject::DatasetItem, &id);
            tx.audit(&project, now, &audited.was(format!("of {}", item.dataset_name)))?;
            Ok(item)
        })
        .await
    }
}

/// A redacted item. Expected outputs are redacted like outputs.
fn redacted(new: NewDatasetItem, rules: LimitedRedactor<'_>) -> NewDatasetItem {
    let clean = |json: Option<Json>, root| json.map(|json| rules.json(json, root));
    NewDatasetItem {
        input: clean(new.input, Root::Input),
        expected_output: clean(new.expected_output, Root::Output),
        metadata: clean(new.metadata, Root::Metadata),
        ..new
    }
}

/// Items to validate, with their schemas.
type Open = Vec<(Schemas, Sides)>;

/// Progress of saving items.
enum Saving {
    Done(Vec<DatasetItem>),
    /// These must be validated first: all of them, in order.
    Open(Open),
}

fn write_checked(
    tx: &Tx<'_>,
    project: &ProjectId,
    (new, now): (&[NewDatasetItem], Timestamp),
    checked: &Open,
) -> StoreResult<Saving> {
    let mut datasets: BTreeMap<&str, Dataset> = BTreeMap::new();
    let (mut items, mut open) = (Vec::with_capacity(new.len()), Vec::new());
    for new in new {
        let name = new.dataset_name.as_str();
        if !datasets.contains_key(name) {
            datasets.insert(name, DATASETS.require(tx, project, name)?);
        }
        let Some(dataset) = datasets.get(name) else { continue };
        let item = changed(tx, project, dataset, (new.clone(), now))?;
        let (input, expected_output) = (item.input.clone(), item.expected_output.clone());
        if dataset.schemas != Schemas::default() {
            open.push((dataset.schemas.clone(), Sides { input, expected_output }));
        }
        items.push(item);
    }
    if open != *checked {
        return Ok(Saving::Open(open));
    }
    for item in &items {
        end_version(tx, project, (&item.id, item.valid_from))?;
        insert(tx, project, item)?;
        media::references::record_references(tx, project, &media_references(item), now)?;
    }
    Ok(Saving::Done(items))
}

/// Validated items, and the errors by index.
fn checked_all(open: Open) -> StoreResult<(Open, Vec<(usize, String)>)> {
    let problems = problems(open.iter().map(|(schemas, sides)| (schemas, sides)))?;
    let unfit = problems.into_iter().enumerate();
    let unfit = unfit.filter_map(|(position, problem)| Some((position, problem?))).collect();
    Ok((open, unfit))
}

/// References to media in an item.
fn media_references(item: &DatasetItem) -> Vec<ContentReference> {
    let fields = [
        ("input", &item.input),
        ("expectedOutput", &item.expected_output),
        ("metadata", &item.metadata),
    ];
    let of_field = |(field, json): (&str, &Option<Json>)| {
        let media = json.as_ref().map(|json| mentioned(json.as_str())).unwrap_or_default();
        let (dataset, item, field) = (item.dataset.clone(), item.id.clone(), field.to_owned());
        let location =
            ReferenceLocation { owner: MediaOwner::DatasetItem { dataset, item }, field };
        let reference =
            |media: &str| ContentReference { media: media.to_owned(), location: location.clone() };
        media.into_iter().map(reference).collect::<Vec<_>>()
    };
    fields.into_iter().flat_map(of_field).collect()
}

/// The SQL condition that a version is valid, now or at a time.
fn valid(as_of: Option<Timestamp>, values: &mut Vec<Value>) -> String {
    let Some(as_of) = as_of else { return " AND i.valid_to IS NULL".to_owned() };
    values.push(as_of.into());
    let at = values.len();
    format!(" AND i.valid_from <= ${at} AND (i.valid_to IS NULL OR i.valid_to > ${at})")
}

fn find(
    tx: &Tx<'_>,
    project: &ProjectId,
    id: &str,
    as_of: Option<Timestamp>,
) -> StoreResult<Option<DatasetItem>> {
    let mut values = vec![project.into(), id.into()];
    let valid = valid(as_of, &mut values);
    let sql = format!("SELECT {COLUMNS} {FROM} WHERE i.project = $1 AND i.id = $2{valid}");
    tx.one(&sql, &values, read)
}

/// The item after the update.
fn changed(
    tx: &Tx<'_>,
    project: &ProjectId,
    dataset: &Dataset,
    (new, now): (NewDatasetItem, Timestamp),
) -> StoreResult<DatasetItem> {
    let id = new.id.unwrap_or_else(random_id);
    let known = find(tx, project, &id, None)?;
    if let Some(known) = known.as_ref().filter(|known| known.dataset != dataset.id) {
        let what = format!("an item with id {} in another dataset", known.id);
        return Err(StoreError::Exists(what));
    }
    // A deleted item may be created again; its versions must not overlap.
    let sql = "SELECT MAX(COALESCE(valid_to, valid_from)) FROM dataset_item \
               WHERE project = $1 AND id = $2";
    let last: Option<Timestamp> =
        tx.one(sql, &[project.into(), (&id).into()], |row| row.get(0))?.flatten();
    let valid_from = next_moment(last, now);
    let item = known.unwrap_or_else(|| DatasetItem {
        id,
        dataset: dataset.id.clone(),
        dataset_name: dataset.name.clone(),
        status: DatasetStatus::default(),
        input: None,
        expected_output: None,
        metadata: None,
        source_trace: None,
        source_observation: None,
        created_at: valid_from,
        valid_from,
    });
    Ok(DatasetItem {
        status: new.status.unwrap_or(item.status),
        input: new.input.or(item.input),
        expected_output: new.expected_output.or(item.expected_output),
        metadata: new.metadata.or(item.metadata),
        source_trace: new.source_trace.or(item.source_trace),
        source_observation: new.source_observation.or(item.source_observation),
        valid_from,
        ..item
    })
}

fn random_id() -> String {
    Uuid::new_v4().to_string()
}

/// The next timestamp that SDKs can tell apart from the last: they have millisecond resolution.
fn next_moment(last: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let now = Timestamp::from_millis(now.millis());
    last.map_or(now, |last| now.max(last.plus_nanos(TICK)))
}

fn end_version(tx: &Tx<'_>, project: &ProjectId, (id, at): (&str, Timestamp)) -> StoreResult<()> {
    let sql = "UPDATE dataset_item SET valid_to = $3 \
               WHERE project = $1 AND id = $2 AND valid_to IS NULL";
    tx.execute(sql, &[project.into(), id.into(), at.into()])?;
    Ok(())
}

fn insert(tx: &Tx<'_>, project: &ProjectId, item: &DatasetItem) -> StoreResult<()> {
    let author = tx.actor();
    tx.insert(
        "INSERT INTO dataset_item (project, id, valid_from, dataset, status, input, \
         expected_output, metadata, source_trace, source_observation, created_at, author_kind, \
         author, author_name) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        &[
            project.into(),
            (&item.id).into(),
            item.valid_from.into(),
            (&item.dataset).into(),
            item.status.into(),
            item.input.as_ref().into(),
            item.expected_output.as_ref().into(),
            item.metadata.as_ref().into(),
            item.source_trace.as_deref().into(),
            item.source_observation.as_deref().into(),
            item.created_at.into(),
            author.kind().into(),
            author.id().into(),
            author.name().into(),
        ],
        || format!("a version of dataset item {}", item.id),
    )
}

pub(super) fn read(row: &Row<'_>) -> StoreResult<DatasetItem> {
    Ok(DatasetItem {
        input: row.get(4)?,
        expected_output: row.get(5)?,
        metadata: row.get(6)?,
        ..read_bare(row)?
    })
}

/// Bytes of an item's texts.
fn bytes(item: &DatasetItem) -> usize {
    let texts = [&item.input, &item.expected_output, &item.metadata];
    texts.into_iter().flatten().map(|json| json.as_str().len()).sum()
}

/// Reads an item without its texts.
fn read_bare(row: &Row<'_>) -> StoreResult<DatasetItem> {
    Ok(DatasetItem {
        id: row.get(0)?,
        dataset: row.get(1)?,
        dataset_name: row.get(2)?,
        status: row.get(3)?,
        input: None,
        expected_output: None,
        metadata: None,
        source_trace: row.get(7)?,
        source_observation: row.get(8)?,
        created_at: row.get(9)?,
        valid_from: row.get(10)?,
    })
}
