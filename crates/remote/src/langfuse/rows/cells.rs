//! Cells of a table as the fields of a row.

use std::collections::BTreeMap;

use ratchet_core::csv::value;
use serde_json::{Map, Value};

/// Fields whose cells are texts even where they look like something else.
const TEXTS: [&str; 17] = [
    "id",
    "traceId",
    "name",
    "user",
    "userId",
    "session",
    "sessionId",
    "timestamp",
    "startTime",
    "endTime",
    "release",
    "version",
    "environment",
    "tags",
    "model",
    "level",
    "statusMessage",
];

/// Which field each column of a table fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<Vec<String>>);

/// Why columns cannot be mapped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// A mapping that is none.
    #[error("{0} is no mapping such as question=input")]
    Malformed(String),
    /// A column that is not there.
    #[error("there is no column {column}; there are: {known}")]
    NoColumn {
        /// The column that was named.
        column: String,
        known: String,
    },
    /// Two columns for one field.
    #[error("two columns fill the field {0}")]
    Doubled(String),
}

impl Columns {
    /// Takes the names of the columns and the mappings, `column=field` each.
    ///
    /// A column without a mapping fills the field of the same name. A dot leads into a field:
    /// `usage.input`, `scores.quality`, `metadata.tenant`.
    ///
    /// # Errors
    /// Says which mapping makes no sense.
    pub fn new(names: &[String], maps: &[String]) -> Result<Self, MapError> {
        let mut fields: BTreeMap<&str, &str> = BTreeMap::new();
        for map in maps {
            let parts = map.split_once('=').filter(|(from, to)| !from.is_empty() && !to.is_empty());
            let (column, field) = parts.ok_or_else(|| MapError::Malformed(map.clone()))?;
            if !names.iter().any(|name| name == column) {
                let known = names.join(", ");
                return Err(MapError::NoColumn { column: column.to_owned(), known });
            }
            fields.insert(column, field);
        }
        let mut paths: Vec<Vec<String>> = Vec::with_capacity(names.len());
        for name in names {
            let field = fields.get(name.as_str()).copied().unwrap_or(name);
            let path: Vec<String> = match field.split_once('.') {
                Some((outer, inner)) => vec![outer.to_owned(), inner.to_owned()],
                None => vec![field.to_owned()],
            };
            if paths.contains(&path) {
                return Err(MapError::Doubled(field.to_owned()));
            }
            paths.push(path);
        }
        Ok(Self(paths))
    }

    /// The row that a line of cells makes, as JSON. Empty cells are not there.
    pub fn row<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let mut row = Map::new();
        for (path, cell) in self.0.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
            match path.as_slice() {
                [outer, inner] => {
                    let object = row.entry(outer).or_insert_with(|| Value::Object(Map::new()));
                    if let Some(object) = object.as_object_mut() {
                        object.insert(inner.clone(), value(cell));
                    }
                }
                [field] if TEXTS.contains(&field.as_str()) => {
                    row.insert(field.clone(), Value::from(cell));
                }
                [field, ..] => {
                    row.insert(field.clone(), value(cell));
                }
                [] => {}
            }
        }
        Value::Object(row).to_string()
    }
}
