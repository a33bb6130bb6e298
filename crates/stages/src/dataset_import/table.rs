use std::collections::BTreeSet;
use std::io::{BufRead, Cursor};

use csv::{Error, ErrorKind, Position, ReaderBuilder, StringRecord};
use ratchet_core::json_size::small_tree;
use serde_json::Value;

use super::{BadLine, BadTable, Cells, LineNumberedReader, MAX_COLUMNS};

/// Format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line with names, then cells with commas between them.
    Csv,
    /// One JSON object a line.
    Jsonl,
}

impl Format {
    /// Format of a file, by its name, else by its content.
    pub fn of(name: &str, bytes: &[u8]) -> Self {
        let name = name.to_ascii_lowercase();
        let begins = bytes.trim_ascii_start().first();
        match name.rsplit_once('.').map(|(_, end)| end) {
            Some("csv") => Self::Csv,
            Some("jsonl" | "ndjson" | "json") => Self::Jsonl,
            _ if begins == Some(&b'{') => Self::Jsonl,
            _ => Self::Csv,
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Jsonl => "JSON Lines",
        }
    }
}

/// A row with its line.
type Line = Result<(u64, Cells), BadLine>;

/// The columns that a table names at its head, and its rows.
type Table<'a> = (Vec<String>, Box<dyn Iterator<Item = Line> + 'a>);

/// Begins to read a table.
///
/// # Errors
/// Says what is wrong with the head.
pub(super) fn lines(bytes: &[u8], format: Format) -> Result<Table<'_>, BadTable> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    match format {
        Format::Csv => csv_lines(bytes),
        Format::Jsonl => Ok((Vec::new(), Box::new(json_lines(bytes)))),
    }
}

fn csv_lines(bytes: &[u8]) -> Result<Table<'_>, BadTable> {
    let table = LineNumberedReader::new(bytes);
    let ends = table.ends();
    let mut reader = ReaderBuilder::new().from_reader(table);
    let head = reader.headers().map_err(|error| BadTable::of(1, unread(&error, &[])))?;
    let names: Vec<String> = head.iter().map(|name| name.trim().to_owned()).collect();
    check_names(&names).map_err(|why| BadTable::of(1, why))?;
    let columns = names.clone();
    let line_of = move |at: Option<&Position>| at.map_or(0, |at| ends.line_of(at));
    let rows = reader.into_records().map(move |record| match record {
        Ok(record) => Ok((line_of(record.position()), cells(&names, &record))),
        Err(error) => {
            let line = line_of(error.position());
            Err(BadLine { line, why: unread(&error, &names) })
        }
    });
    Ok((columns, Box::new(rows)))
}

fn check_names(names: &[String]) -> Result<(), String> {
    if names.iter().all(String::is_empty) {
        return Err("the first line must name the columns".to_owned());
    }
    if names.len() > MAX_COLUMNS {
        return Err(format!("more than {MAX_COLUMNS} columns"));
    }
    let mut known = BTreeSet::new();
    match names.iter().find(|name| !known.insert(*name)) {
        Some(name) => Err(format!("two columns are called “{name}”")),
        None => Ok(()),
    }
}

fn cells(names: &[String], record: &StringRecord) -> Cells {
    let cells = names.iter().zip(record.iter()).filter(|(_, cell)| !cell.is_empty());
    cells.map(|(name, cell)| (name.clone(), ratchet_core::csv::value(cell))).collect()
}

/// Why a row of a CSV could not be read.
pub fn unread(error: &Error, names: &[String]) -> String {
    match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells, but there are {expected_len} columns")
        }
        ErrorKind::Utf8 { err, .. } => {
            let column = names.get(err.field()).map_or("?", String::as_str);
            format!("{column}: not UTF-8")
        }
        _ => error.to_string(),
    }
}

fn json_lines(bytes: &[u8]) -> impl Iterator<Item = Line> + '_ {
    let lines = Cursor::new(bytes).split(b'\n').enumerate();
    lines.filter_map(|(index, text)| {
        let line = index as u64 + 1;
        let bad = |why: String| Some(Err(BadLine { line, why }));
        let Ok(text) = text else { return bad("cannot be read".to_owned()) };
        let Ok(text) = str::from_utf8(&text) else { return bad("not UTF-8".to_owned()) };
        if text.trim().is_empty() {
            return None;
        }
        match small_tree(text) {
            Ok(Value::Object(fields)) => {
                let there = fields.into_iter().filter(|(_, value)| !value.is_null());
                Some(Ok((line, there.collect())))
            }
            Ok(_) => bad("must be a JSON object such as {\"input\": …}".to_owned()),
            Err(error) => bad(format!("is not JSON: {error}")),
        }
    })
}
