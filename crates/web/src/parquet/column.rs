use std::io;

use super::thrift::{Struct, varint};
use super::{Cell, Kind};

/// How hard zstd tries: what is exported is sent once.
const EFFORT: i32 = 1;

/// Encodings by their numbers in the format.
pub(super) const PLAIN: i32 = 0;
pub(super) const RLE: i32 = 3;
const DATA_PAGE: i32 = 0;

/// The values of a column that are in no group yet.
#[derive(Debug)]
pub(super) struct PackedColumn {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The values that are there, as they stand in the file.
    plain: Vec<u8>,
    /// For each value whether it is there.
    defined: Levels,
    /// For each value whether it goes on with the list before it.
    repeated: Levels,
    values: u64,
}

/// A page: the values of a column in one group.
#[derive(Debug)]
pub(super) struct PackedPage {
    pub(super) header: Vec<u8>,
    pub(super) body: Vec<u8>,
    /// Bytes of the body before.
    pub(super) raw_bytes: usize,
    pub(super) values: u64,
}

impl PackedColumn {
    pub(super) fn new(name: &str, kind: Kind) -> Self {
        let (plain, name) = (Vec::new(), name.to_owned());
        let (defined, repeated) = (Levels::default(), Levels::default());
        Self { name, kind, plain, defined, repeated, values: 0 }
    }

    /// Bytes that it holds.
    pub(super) fn weight(&self) -> usize {
        self.plain.len() + self.defined.bytes.len() + self.repeated.bytes.len()
    }

    pub(super) fn push(&mut self, cell: Cell<'_>) {
        match (self.kind, cell) {
            (Kind::Text, Cell::Text(Some(text))) => self.push_text(text, Level::Zero),
            (Kind::Number, Cell::Number(Some(number))) => {
                self.plain.extend(number.to_le_bytes());
                self.push_levels(Level::One, Level::Zero);
            }
            (Kind::Whole, Cell::Whole(number)) | (Kind::Moment, Cell::Moment(number)) => {
                self.plain.extend(number.to_le_bytes());
                self.values += 1;
            }
            (Kind::Words, Cell::Words([first, rest @ ..])) => {
                self.push_text(first, Level::Zero);
                rest.iter().for_each(|word| self.push_text(word, Level::One));
            }
            (Kind::Text | Kind::Number | Kind::Words, _) => {
                self.push_levels(Level::Zero, Level::Zero);
            }
            (Kind::Whole | Kind::Moment, _) => {
                self.plain.extend(0_i64.to_le_bytes());
                self.values += 1;
            }
        }
    }

    fn push_text(&mut self, text: &str, repeated: Level) {
        // No text of ours comes near four gigabytes; one that did would be cut, not written wrong.
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.plain.extend(length.to_le_bytes());
        self.plain.extend(text.bytes().take(length as usize));
        self.push_levels(Level::One, repeated);
    }

    fn push_levels(&mut self, defined: Level, repeated: Level) {
        self.defined.push(defined);
        self.repeated.push(repeated);
        self.values += 1;
    }

    /// The values as a page; the column is empty afterwards.
    pub(super) fn take_page(&mut self) -> io::Result<PackedPage> {
        let fresh = Self::new(&self.name, self.kind);
        let Self { kind, plain, defined, repeated, values, .. } = std::mem::replace(self, fresh);
        let mut raw = Vec::with_capacity(plain.len() + 16);
        match kind {
            Kind::Whole | Kind::Moment => {}
            Kind::Text | Kind::Number => raw.extend(defined.end()?),
            Kind::Words => {
                raw.extend(repeated.end()?);
                raw.extend(defined.end()?);
            }
        }
        raw.extend(plain);
        let body = zstd::bulk::compress(&raw, EFFORT)?;
        let size = |bytes: usize| i32::try_from(bytes).map_err(io::Error::other);
        let data = Struct::default()
            .number(1, i32::try_from(values).map_err(io::Error::other)?)
            .number(2, PLAIN)
            .number(3, RLE)
            .number(4, RLE);
        let header = Struct::default()
            .number(1, DATA_PAGE)
            .number(2, size(raw.len())?)
            .number(3, size(body.len())?)
            .inner(5, data);
        Ok(PackedPage { header: header.end(), body, raw_bytes: raw.len(), values })
    }
}

/// A level of one bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Level {
    /// Nothing is there; the first of a list.
    #[default]
    Zero,
    /// Something is there; one more of a list.
    One,
}

/// Levels as runs of equal ones.
#[derive(Debug, Default)]
struct Levels {
    bytes: Vec<u8>,
    run: u64,
    level: Level,
}

impl Levels {
    fn push(&mut self, level: Level) {
        if level != self.level {
            self.close();
            self.level = level;
        }
        self.run += 1;
    }

    fn close(&mut self) {
        if self.run > 0 {
            varint(&mut self.bytes, self.run << 1);
            self.bytes.push(u8::from(self.level == Level::One));
            self.run = 0;
        }
    }

    /// The runs with their length before them.
    fn end(mut self) -> io::Result<Vec<u8>> {
        self.close();
        let length = u32::try_from(self.bytes.len()).map_err(io::Error::other)?;
        let mut whole = length.to_le_bytes().to_vec();
        whole.extend(self.bytes);
        Ok(whole)
    }
}
