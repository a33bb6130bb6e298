//! Cases are collected in datasets: tables that people upload become items.
//!
//! A table is read twice, once to show its first rows and once to write them all, and never held
//! in any form but its bytes.

/// Lines of a table, however it is written.
mod table;
/// Line numbers of rows.
mod line_numbers;

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::catalog::dataset::upload::{Case, Mapping};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Catalog, Collected, NewDatasetItem};
use ratchet_store::project::ProjectId;
use ratchet_store::{StoreError, StoreResult};
use serde_json::Value;

pub use line_numbers::{LineEnds, LineNumberedReader};
pub use table::{Format, unread};

/// Rows that a table may have: they are written in one transaction, and everyone waits for it.
pub const MAX_ROWS: usize = 10_000;
/// Columns that a table may have.
pub const MAX_COLUMNS: usize = 200;
const MAX_TOLD: usize = 20;

/// The cells of a row by column; what is empty is not there.
pub type Cells = BTreeMap<String, Value>;

/// What is wrong with a line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Which line, from 1; 0 if it is the table as a whole.
    pub line: u64,
    /// What is wrong with it.
    pub why: String,
}

/// What is wrong with a table: its first bad lines, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadTable {
    pub lines: Vec<BadLine>,
    pub count: usize,
}

impl BadTable {
    fn note(&mut self, line: u64, why: String) {
        self.count += 1;
        if self.lines.len() < MAX_TOLD {
            self.lines.push(BadLine { line, why });
        }
    }

    fn of(line: u64, why: String) -> Self {
        let mut bad = Self::default();
        bad.note(line, why);
        bad
    }

    fn or<T>(self, good: T) -> Result<T, Self> {
        if self.count == 0 { Ok(good) } else { Err(self) }
    }
}

/// A table as people see it before they take it over.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// Columns: in file order for CSV, by name for JSON Lines.
    pub columns: Vec<String>,
    /// Its first rows, each with its line.
    pub first: Vec<(u64, Cells)>,
    pub rows: usize,
}

/// Reads a table to show its first rows, and checks that every line of it is a row.
///
/// # Errors
/// Says which lines are none.
pub fn preview(bytes: &[u8], format: Format, first: usize) -> Result<Preview, BadTable> {
    let (columns, lines) = table::lines(bytes, format)?;
    let mut preview = Preview { columns, first: Vec::new(), rows: 0 };
    let mut known: BTreeSet<String> = preview.columns.iter().cloned().collect();
    let mut bad = BadTable::default();
    for line in lines {
        let (line, cells) = match line {
            Ok(row) => row,
            Err(BadLine { line, why }) => {
                bad.note(line, why);
                continue;
            }
        };
        preview.rows += 1;
        if preview.rows > MAX_ROWS {
            let why = format!("more than {MAX_ROWS} rows; part the file");
            return Err(BadTable::of(line, why));
        }
        for name in cells.keys().filter(|name| !known.contains(*name)).cloned().collect::<Vec<_>>()
        {
            known.insert(name.clone());
            preview.columns.push(name);
        }
        if known.len() > MAX_COLUMNS {
            return Err(BadTable::of(line, format!("more than {MAX_COLUMNS} columns")));
        }
        if preview.first.len() < first {
            preview.first.push((line, cells));
        }
    }
    if preview.rows == 0 && bad.count == 0 {
        bad.note(0, "the file has no rows".to_owned());
    }
    bad.or(preview)
}

/// The items that a table makes, each with its line.
///
/// # Errors
/// Says which lines make none.
pub fn cases(
    bytes: &[u8],
    format: Format,
    mapping: &Mapping,
) -> Result<Vec<(u64, Case)>, BadTable> {
    let (_, lines) = table::lines(bytes, format)?;
    let (mut cases, mut bad) = (Vec::new(), BadTable::default());
    let mut ids: BTreeMap<String, u64> = BTreeMap::new();
    for line in lines.take(MAX_ROWS) {
        let case = line.and_then(|(line, cells)| {
            let case = mapping.case(&cells).map_err(|why| BadLine { line, why })?;
            Ok((line, case))
        });
        let (line, case) = match case {
            Ok(made) => made,
            Err(BadLine { line, why }) => {
                bad.note(line, why);
                continue;
            }
        };
        if let Some(first) = case.id.as_ref().and_then(|id| ids.insert(id.clone(), line)) {
            bad.note(line, format!("its id is already on line {first}"));
        }
        cases.push((line, case));
    }
    bad.or(cases)
}

#[derive(Clone, Debug)]
pub struct ImportTarget {
    pub project: ProjectId,
    /// The name of the dataset.
    pub dataset: String,
}

/// Adds all of a table's items to a dataset, or none.
///
/// Returns how many, or the lines that do not fit the dataset.
///
/// # Errors
/// Fails if there is no such dataset, or if an id is that of an item of another.
pub async fn add(
    catalog: &Catalog,
    into: ImportTarget,
    cases: Vec<(u64, Case)>,
    now: Timestamp,
) -> StoreResult<Result<usize, BadTable>> {
    let (lines, cases): (Vec<u64>, Vec<Case>) = cases.into_iter().unzip();
    let count = cases.len();
    let item = |case: Case| NewDatasetItem {
        dataset_name: into.dataset.clone(),
        id: case.id,
        input: case.input,
        expected_output: case.expected_output,
        metadata: case.metadata,
        ..NewDatasetItem::default()
    };
    let items = cases.into_iter().map(item).collect();
    let unfit = match catalog.save_dataset_items(into.project, items, now).await {
        Ok(Collected::Kept(_)) => return Ok(Ok(count)),
        Ok(Collected::Unfit(unfit)) => unfit,
        Err(error @ StoreError::Exists(_)) => vec![(usize::MAX, error.to_string())],
        Err(error) => return Err(error),
    };
    let mut bad = BadTable::default();
    for (index, why) in unfit {
        bad.note(lines.get(index).copied().unwrap_or_default(), why);
    }
    Ok(Err(bad))
}

#[cfg(test)]
mod tests;
