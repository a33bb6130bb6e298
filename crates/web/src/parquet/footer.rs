use super::Kind;
use super::column::{PLAIN, PackedColumn, RLE};
use super::thrift::Struct;

/// Whether a value must be there, may be there, or may be there any number of times.
const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;
const REPEATED: i32 = 2;
const INT64: i32 = 2;
const DOUBLE: i32 = 5;
const BYTE_ARRAY: i32 = 6;
/// What values mean, as old readers know it.
const UTF8: i32 = 0;
const LIST: i32 = 3;
const TIMESTAMP_MICROS: i32 = 10;
const ZSTD: i32 = 6;
/// The version of the format.
const VERSION: i32 = 2;

/// Rows that stand together in the file.
#[derive(Debug)]
pub(super) struct RowGroup {
    /// One for each column.
    pub(super) chunks: Vec<ColumnChunk>,
    pub(super) rows: u64,
}

/// Where the values of a column in one group are.
#[derive(Debug)]
pub(super) struct ColumnChunk {
    pub(super) offset: u64,
    pub(super) values: u64,
    /// Bytes before compression, the header included.
    pub(super) raw_size: usize,
    pub(super) size: usize,
}

/// What the file says of itself: its columns, and where their values are.
pub(super) fn footer(columns: &[PackedColumn], groups: &[RowGroup]) -> Vec<u8> {
    let root = Struct::default().text(4, "rows").number(5, columns.len().try_into().unwrap_or(0));
    let schema = std::iter::once(root).chain(columns.iter().flat_map(described)).collect();
    Struct::default()
        .number(1, VERSION)
        .structs(2, schema)
        .long(3, groups.iter().map(|group| group.rows).sum())
        .structs(4, groups.iter().map(|group| placed(columns, group)).collect())
        .text(6, concat!("ratchet version ", env!("CARGO_PKG_VERSION")))
        .end()
}

fn described(column: &PackedColumn) -> Vec<Struct> {
    let name = column.name.as_str();
    let stored = |stored: i32, repetition: i32, name: &str| {
        Struct::default().number(1, stored).number(3, repetition).text(4, name)
    };
    let text = |field: Struct| field.number(6, UTF8).inner(10, meaning(1, Struct::default()));
    match column.kind {
        Kind::Text => vec![text(stored(BYTE_ARRAY, OPTIONAL, name))],
        Kind::Number => vec![stored(DOUBLE, OPTIONAL, name)],
        Kind::Whole => vec![stored(INT64, REQUIRED, name)],
        Kind::Moment => {
            // A moment in UTC, in microseconds.
            let unit = meaning(2, Struct::default());
            let moment = meaning(8, Struct::default().yes(1).inner(2, unit));
            vec![stored(INT64, REQUIRED, name).number(6, TIMESTAMP_MICROS).inner(10, moment)]
        }
        Kind::Words => {
            let list = Struct::default().number(3, REQUIRED).text(4, name).number(5, 1);
            let list = list.number(6, LIST).inner(10, meaning(3, Struct::default()));
            let inside = Struct::default().number(3, REPEATED).text(4, "list").number(5, 1);
            vec![list, inside, text(stored(BYTE_ARRAY, REQUIRED, "element"))]
        }
    }
}

/// One of several meanings, by its number.
fn meaning(number: u8, what: Struct) -> Struct {
    Struct::default().inner(number, what)
}

fn placed(columns: &[PackedColumn], group: &RowGroup) -> Struct {
    let chunk = |(column, chunk): (&PackedColumn, &ColumnChunk)| {
        let path: &[&str] = match column.kind {
            Kind::Words => &[&column.name, "list", "element"],
            Kind::Text | Kind::Number | Kind::Whole | Kind::Moment => &[&column.name],
        };
        let stored = match column.kind {
            Kind::Text | Kind::Words => BYTE_ARRAY,
            Kind::Number => DOUBLE,
            Kind::Whole | Kind::Moment => INT64,
        };
        let about = Struct::default()
            .number(1, stored)
            .numbers(2, &[PLAIN, RLE])
            .texts(3, path)
            .number(4, ZSTD)
            .long(5, chunk.values)
            .long(6, chunk.raw_size as u64)
            .long(7, chunk.size as u64)
            .long(9, chunk.offset);
        Struct::default().long(2, chunk.offset).inner(3, about)
    };
    let bytes: usize = group.chunks.iter().map(|chunk| chunk.raw_size).sum();
    Struct::default()
        .structs(1, columns.iter().zip(&group.chunks).map(chunk).collect())
        .long(2, bytes as u64)
        .long(3, group.rows)
}
