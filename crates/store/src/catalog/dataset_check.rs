//! JSON Schema validation of dataset items.
//!
//! Validation takes as long as a client's schemas and items require, and an open transaction blocks
//! every other writer. So items are validated between transactions, never inside one. The
//! transaction that writes checks that the items are still the ones that were validated; if they
//! changed meanwhile, they are validated again.

use std::collections::BTreeMap;

use ratchet_core::json_schema::Schema;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use super::dataset::{Dataset, Schemas};
use super::sql::Tx;
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Maximum number of mismatching items that an error lists.
const MAX_LISTED: usize = 5;
/// Items read per transaction for validation.
const ITEMS_AT_ONCE: usize = 200;

/// The fields of an item that have schemas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) input: Option<Json>,
    pub(super) expected_output: Option<Json>,
}

/// A version of an item: its id and its start time.
type Version = (String, Timestamp);

/// Which items were validated against which schemas, and the errors found.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    schemas: Schemas,
    of: BTreeMap<Version, Option<String>>,
}

/// Items without a validation result.
#[derive(Debug)]
pub(super) struct Unchecked {
    before: Verdicts,
    items: Vec<(Version, Sides)>,
}

impl Verdicts {
    /// Returns items of a dataset that must be validated before its schemas may be written, if any.
    ///
    /// # Errors
    /// Fails if all are validated and some do not match.
    pub(super) fn missing(
        mut self,
        tx: &Tx<'_>,
        project: &ProjectId,
        dataset: &Dataset,
    ) -> StoreResult<Option<Unchecked>> {
        if self.schemas != dataset.schemas {
            self = Self { schemas: dataset.schemas.clone(), of: BTreeMap::new() };
        }
        let sql = "SELECT id, valid_from FROM dataset_item \
                   WHERE project = $1 AND dataset = $2 AND valid_to IS NULL \
                   ORDER BY created_at, id";
        let values = [project.into(), (&dataset.id).into()];
        let current = tx.rows(sql, &values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let open = current.iter().filter(|version| !self.of.contains_key(*version));
        let open: Vec<&Version> = open.take(ITEMS_AT_ONCE).collect();
        if open.is_empty() {
            return self.all_fit(&current).map(|()| None);
        }
        let items =
            open.into_iter().map(|version| Ok((version.clone(), sides(tx, project, version)?)));
        let items = items.collect::<StoreResult<_>>()?;
        Ok(Some(Unchecked { before: self, items }))
    }

    fn all_fit(&self, current: &[Version]) -> StoreResult<()> {
        let problems = current.iter().filter_map(|version| {
            let problem = self.of.get(version)?.as_ref()?;
            Some(format!("item {}: {problem}", version.0))
        });
        let problems: Vec<String> = problems.collect();
        if problems.is_empty() {
            return Ok(());
        }
        let some: Vec<&str> = problems.iter().take(MAX_LISTED).map(String::as_str).collect();
        Err(StoreError::BadQuery(format!(
            "{} items of the dataset do not fit the schema: {}",
            problems.len(),
            some.join("; ")
        )))
    }
}

impl Unchecked {
    /// Validates the items. Slow.
    ///
    /// # Errors
    /// Fails if a schema is invalid.
    pub(super) fn check(self) -> StoreResult<Verdicts> {
        let mut verdicts = self.before;
        let checks = Checks::new(&verdicts.schemas)?;
        let checked =
            self.items.into_iter().map(|(version, sides)| (version, checks.problem(&sides)));
        verdicts.of.extend(checked);
        Ok(verdicts)
    }
}

fn sides(tx: &Tx<'_>, project: &ProjectId, (id, valid_from): &Version) -> StoreResult<Sides> {
    let sql = "SELECT input, expected_output FROM dataset_item \
               WHERE project = $1 AND id = $2 AND valid_from = $3";
    let values = [project.into(), id.into(), (*valid_from).into()];
    let read =
        tx.one(sql, &values, |row| Ok(Sides { input: row.get(0)?, expected_output: row.get(1)? }))?;
    Ok(read.unwrap_or_default())
}

/// Validates items and returns the errors. Slow.
///
/// # Errors
/// Fails if a schema is invalid.
pub(super) fn problems<'a>(
    items: impl Iterator<Item = (&'a Schemas, &'a Sides)>,
) -> StoreResult<Vec<Option<String>>> {
    let mut ready: Option<(&Schemas, Checks)> = None;
    let mut problems = Vec::new();
    for (schemas, sides) in items {
        let checks = match ready.take() {
            Some((known, checks)) if known == schemas => checks,
            _ => Checks::new(schemas)?,
        };
        problems.push(checks.problem(sides));
        ready = Some((schemas, checks));
    }
    Ok(problems)
}

/// The compiled schemas of a dataset.
struct Checks {
    input: Option<Schema>,
    expected_output: Option<Schema>,
}

impl Checks {
    fn new(schemas: &Schemas) -> StoreResult<Self> {
        let read = |field: &str, json: &Option<Json>| {
            let schema = json.as_ref().map(Schema::read).transpose();
            schema.map_err(|why| StoreError::BadQuery(format!("{field}: {why}")))
        };
        Ok(Self {
            input: read("inputSchema", &schemas.input)?,
            expected_output: read("expectedOutputSchema", &schemas.expected_output)?,
        })
    }

    /// The first validation error of an item.
    fn problem(&self, Sides { input, expected_output }: &Sides) -> Option<String> {
        let sides = [
            ("input", &self.input, input),
            ("expectedOutput", &self.expected_output, expected_output),
        ];
        let problems = sides.into_iter().filter_map(|(field, schema, json)| {
            let json = json.as_ref().map_or("null", Json::as_str);
            let value = serde_json::from_str(json).unwrap_or_default();
            let why = schema.as_ref()?.check(&value).err()?;
            Some(format!("{field} does not fit the dataset's schema: {why}"))
        });
        let problems: Vec<String> = problems.collect();
        (!problems.is_empty()).then(|| problems.join("; "))
    }
}
