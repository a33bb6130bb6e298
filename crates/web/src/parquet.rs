//! Parquet files, as much of the format as tables of ours need.
//!
//! Rows are gathered column by column, already in the bytes of the file; a group of them is
//! compressed and let go as soon as it is large enough, so that a file of any size takes the memory
//! of one group. Values stand plain, one page for each column of a group: what repeats is left to
//! zstd. Written after the specification (parquet-format 2.10), see ADR 0022.

/// The values of one column.
mod column;
/// The way the format writes its own descriptions.
mod thrift;
/// What the file says of itself.
mod footer;

use std::io;

use self::column::PackedColumn;
use self::footer::{ColumnChunk, RowGroup};

/// Rows that a group has at most.
const GROUP_ROWS: u64 = 20_000;
/// Bytes that a group has, before compression; its last row may go beyond.
const GROUP_BYTES: usize = 8_000_000;
/// What a file begins and ends with.
const MAGIC: &[u8] = b"PAR1";

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Texts, or nothing.
    Text,
    /// Numbers, or nothing.
    Number,
    Whole,
    /// Moments, in microseconds: many readers know no nanoseconds.
    Moment,
    Words,
}

/// One cell. In a column of another kind it is nothing, or 0 where there must be something.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'a> {
    Text(Option<&'a str>),
    Number(Option<f64>),
    Whole(i64),
    /// Microseconds since 1970.
    Moment(i64),
    Words(&'a [String]),
}

/// A file in the making.
#[derive(Debug)]
pub(crate) struct Parquet {
    columns: Vec<PackedColumn>,
    /// Rows that are gathered and not yet in a group.
    open_rows: u64,
    groups: Vec<RowGroup>,
    /// Bytes of the file that were given away.
    given: u64,
    /// Bytes of the file that are made.
    made: Vec<u8>,
}

impl Parquet {
    /// Begins a file with columns of these names.
    pub(crate) fn new<'a>(columns: impl Iterator<Item = (&'a str, Kind)>) -> Self {
        Self {
            columns: columns.map(|(name, kind)| PackedColumn::new(name, kind)).collect(),
            open_rows: 0,
            groups: Vec::new(),
            given: 0,
            made: MAGIC.to_vec(),
        }
    }

    /// Adds a row: one cell for each column.
    ///
    /// # Errors
    /// Fails if a group cannot be compressed.
    pub(crate) fn push<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>) -> io::Result<()> {
        let mut cells = cells.chain(std::iter::repeat(Cell::Text(None)));
        for (column, cell) in self.columns.iter_mut().zip(&mut cells) {
            column.push(cell);
        }
        self.open_rows += 1;
        let bytes: usize = self.columns.iter().map(PackedColumn::weight).sum();
        if self.open_rows >= GROUP_ROWS || bytes >= GROUP_BYTES {
            self.close_group()?;
        }
        Ok(())
    }

    /// What of the file is made and was not given yet.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let made = std::mem::take(&mut self.made);
        self.given += made.len() as u64;
        made
    }

    /// Ends the file, and gives what is left of it.
    ///
    /// # Errors
    /// Fails if the last group cannot be compressed.
    pub(crate) fn finish(mut self) -> io::Result<Vec<u8>> {
        if self.open_rows > 0 {
            self.close_group()?;
        }
        let footer = footer::footer(&self.columns, &self.groups);
        let length = u32::try_from(footer.len()).map_err(io::Error::other)?;
        self.made.extend(footer);
        self.made.extend(length.to_le_bytes());
        self.made.extend(MAGIC);
        Ok(self.made)
    }

    fn close_group(&mut self) -> io::Result<()> {
        let mut chunks = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let offset = self.given + self.made.len() as u64;
            let page = column.take_page()?;
            let raw_size = page.header.len() + page.raw_bytes;
            self.made.extend(&page.header);
            self.made.extend(&page.body);
            let size = page.header.len() + page.body.len();
            chunks.push(ColumnChunk { offset, values: page.values, raw_size, size });
        }
        self.groups.push(RowGroup { chunks, rows: std::mem::take(&mut self.open_rows) });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
