use std::io;

use axum::body::Bytes;

use super::super::column::ListColumn;
use super::super::row::{CellValue, ListedRow};
use super::super::score_columns::Scored;
use super::{SCORES, cells};
use crate::parquet::{Cell, Kind, Parquet};

/// A table with typed columns, in the making.
#[derive(Debug)]
pub(super) struct ParquetExport {
    columns: Vec<ListColumn>,
    file: Parquet,
}

impl ParquetExport {
    pub(super) fn new(columns: Vec<ListColumn>) -> Self {
        let own = columns.iter().map(|column| (column.word(), column.kind()));
        let file = Parquet::new(own.chain([(SCORES, Kind::Text)]));
        Self { columns, file }
    }

    /// Takes up more rows, and gives what of the file is made.
    pub(super) fn rows<R: ListedRow>(&mut self, rows: &[R], scored: &Scored) -> io::Result<Bytes> {
        for row in rows {
            let values = cells(row, &self.columns, scored);
            self.file.push(values.iter().map(|(_, value)| cell(value)))?;
        }
        Ok(self.file.take().into())
    }

    /// Ends the file, and gives the rest of it.
    pub(super) fn end(self) -> io::Result<Bytes> {
        self.file.finish().map(Bytes::from)
    }
}

fn cell(value: &CellValue) -> Cell<'_> {
    match value {
        CellValue::Text(text) | CellValue::Json(text) => Cell::Text(text.as_deref()),
        CellValue::Number(number) => Cell::Number(*number),
        CellValue::Whole(count) => Cell::Whole(i64::try_from(*count).unwrap_or(i64::MAX)),
        CellValue::Time(moment) => Cell::Moment(moment.nanos().div_euclid(1_000)),
        CellValue::Words(words) => Cell::Words(words),
    }
}
