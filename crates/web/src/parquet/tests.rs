//! What is written is read again, by a reader that knows the format and not the writer.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A cell that was read.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Nothing,
    Text(String),
    Number(f64),
    Whole(i64),
    Words(Vec<String>),
}

/// What the compact protocol can say, as far as the files need it.
#[derive(Clone, Debug)]
enum Said {
    Truth,
    Number(i64),
    Text(Vec<u8>),
    List(Vec<Said>),
    Struct(BTreeMap<u8, Said>),
}

impl Said {
    fn field(&self, field: u8) -> &Self {
        let Self::Struct(fields) = self else { panic!("{self:?} is no struct") };
        fields.get(&field).unwrap_or_else(|| panic!("no field {field} in {self:?}"))
    }

    fn number(&self) -> usize {
        let Self::Number(number) = self else { panic!("{self:?} is no number") };
        usize::try_from(*number).unwrap()
    }

    fn list(&self) -> &[Self] {
        let Self::List(list) = self else { panic!("{self:?} is no list") };
        list
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(bytes);
        self.0 = rest;
        taken.to_vec()
    }

    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn varint(&mut self) -> u64 {
        let byte = self.byte();
        let low = u64::from(byte & 0x7f);
        if byte < 0x80 { low } else { low | (self.varint() << 7) }
    }

    fn length(&mut self) -> usize {
        usize::try_from(u32::from_le_bytes(self.take(4).try_into().unwrap())).unwrap()
    }

    fn said(&mut self, kind: u8) -> Said {
        match kind {
            1 => Said::Truth,
            5 | 6 => {
                let zigzag = self.varint();
                Said::Number((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
            }
            8 => {
                let length = usize::try_from(self.varint()).unwrap();
                Said::Text(self.take(length))
            }
            9 => {
                let head = self.byte();
                let length = if head >> 4 == 15 { self.varint() } else { u64::from(head >> 4) };
                Said::List((0..length).map(|_| self.said(head & 0xf)).collect())
            }
            12 => {
                let (mut fields, mut last) = (BTreeMap::new(), 0);
                loop {
                    let head = self.byte();
                    if head == 0 {
                        return Said::Struct(fields);
                    }
                    last += head >> 4;
                    fields.insert(last, self.said(head & 0xf));
                }
            }
            other => panic!("kind {other}"),
        }
    }

    /// Runs of levels, after their length.
    fn levels(&mut self) -> Vec<u8> {
        let length = self.length();
        let bytes = self.take(length);
        let mut runs = Reader(&bytes);
        let mut levels = Vec::new();
        while !runs.0.is_empty() {
            let run = usize::try_from(runs.varint() >> 1).unwrap();
            levels.extend(vec![runs.byte(); run]);
        }
        levels
    }

    fn text(&mut self) -> String {
        let length = self.length();
        String::from_utf8(self.take(length)).unwrap()
    }

    fn eight(&mut self) -> [u8; 8] {
        self.take(8).try_into().unwrap()
    }
}

/// The rows of a file by group, each a list of cells.
fn read(file: &[u8], kinds: &[Kind]) -> Vec<Vec<Vec<Seen>>> {
    assert_eq!((&file[..4], &file[file.len() - 4..]), (MAGIC, MAGIC));
    let mut end = Reader(&file[file.len() - 8..]);
    let footer = end.length();
    let footer = Reader(&file[file.len() - 8 - footer..]).said(12);
    // The root of the schema, and a list with its parts, are elements of it too.
    let lists = kinds.iter().filter(|kind| **kind == Kind::Words).count();
    let schema = footer.field(2).list();
    assert_eq!(schema.len(), 1 + kinds.len() + 2 * lists);
    let Said::Text(name) = schema[1].field(4) else { panic!("{:?}", schema[1]) };
    assert_eq!(name, b"a");
    let groups = footer.field(4).list();
    let rows: usize = groups.iter().map(|group| group.field(3).number()).sum();
    assert_eq!(footer.field(3).number(), rows);
    let group = |group: &Said| {
        let chunks = group.field(1).list().iter().zip(kinds);
        let columns: Vec<Vec<Seen>> =
            chunks.map(|(chunk, kind)| column(file, chunk, *kind)).collect();
        let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
        (0..group.field(3).number()).map(row).collect()
    };
    groups.iter().map(group).collect()
}

fn column(file: &[u8], chunk: &Said, kind: Kind) -> Vec<Seen> {
    let about = chunk.field(3);
    let (offset, size) = (about.field(9).number(), about.field(7).number());
    let mut page = Reader(&file[offset..offset + size]);
    let header = page.said(12);
    assert_eq!(page.0.len(), header.field(3).number());
    let raw = zstd::bulk::decompress(page.0, header.field(2).number()).unwrap();
    let values = header.field(5).field(1).number();
    assert_eq!(about.field(5).number(), values);
    let mut raw = Reader(&raw);
    let whole = |raw: &mut Reader<'_>| Seen::Whole(i64::from_le_bytes(raw.eight()));
    let seen = match kind {
        Kind::Whole | Kind::Moment => (0..values).map(|_| whole(&mut raw)).collect(),
        Kind::Text | Kind::Number => {
            let levels = raw.levels();
            assert_eq!(levels.len(), values);
            let cell = |level: u8| match (level, kind) {
                (0, _) => Seen::Nothing,
                (_, Kind::Number) => Seen::Number(f64::from_le_bytes(raw.eight())),
                (_, _) => Seen::Text(raw.text()),
            };
            levels.into_iter().map(cell).collect()
        }
        Kind::Words => {
            let (repeated, defined) = (raw.levels(), raw.levels());
            let mut lists: Vec<Vec<String>> = Vec::new();
            for (repeated, defined) in repeated.into_iter().zip(defined) {
                if repeated == 0 {
                    lists.push(Vec::new());
                }
                if defined == 1 {
                    lists.last_mut().unwrap().push(raw.text());
                }
            }
            lists.into_iter().map(Seen::Words).collect()
        }
    };
    assert!(raw.0.is_empty(), "{} bytes too many", raw.0.len());
    seen
}

const KINDS: [Kind; 5] = [Kind::Text, Kind::Number, Kind::Whole, Kind::Moment, Kind::Words];

type Sent = (Option<String>, Option<f64>, i64, i64, Vec<String>);

fn seen((text, number, whole, moment, words): &Sent) -> Vec<Seen> {
    vec![
        text.clone().map_or(Seen::Nothing, Seen::Text),
        number.map_or(Seen::Nothing, Seen::Number),
        Seen::Whole(*whole),
        Seen::Whole(*moment),
        Seen::Words(words.clone()),
    ]
}

/// A file, taken piece by piece.
fn written(rows: &[Sent]) -> Vec<u8> {
    let names = ["a", "b", "c", "d", "e"];
    let mut file = Vec::new();
    let mut writing = Parquet::new(names.into_iter().zip(KINDS));
    for (text, number, whole, moment, words) in rows {
        let cells = [
            Cell::Text(text.as_deref()),
            Cell::Number(*number),
            Cell::Whole(*whole),
            Cell::Moment(*moment),
            Cell::Words(words),
        ];
        writing.push(cells.into_iter()).unwrap();
        file.extend(writing.take());
    }
    file.extend(writing.finish().unwrap());
    file
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        rows in proptest::collection::vec(
            (
                proptest::option::of(".{0,20}"),
                proptest::option::of(-1e9..1e9_f64),
                any::<i64>(),
                any::<i64>(),
                proptest::collection::vec(".{0,5}", 0..4),
            ),
            0..40,
        )
    ) {
        let expected: Vec<Vec<Seen>> = rows.iter().map(seen).collect();
        prop_assert_eq!(read(&written(&rows), &KINDS).concat(), expected);
    }
}

#[test]
fn many_rows_come_in_groups() {
    let row = |n: i64| (Some("x".repeat(1_000_000)), None, n, n, Vec::new());
    let rows: Vec<Sent> = (0..20).map(row).collect();
    let groups = read(&written(&rows), &KINDS);
    assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [8, 8, 4]);
    assert_eq!(groups.concat(), rows.iter().map(seen).collect::<Vec<_>>());
}

#[test]
fn a_cell_of_another_kind_leaves_the_columns_in_step() {
    let mut writing = Parquet::new([("a", Kind::Text), ("b", Kind::Whole)].into_iter());
    writing.push([Cell::Whole(1), Cell::Text(Some("x"))].into_iter()).unwrap();
    writing.push([Cell::Text(Some("x"))].into_iter()).unwrap();
    let file = writing.finish().unwrap();
    let expected =
        [vec![Seen::Nothing, Seen::Whole(0)], vec![Seen::Text("x".to_owned()), Seen::Whole(0)]];
    assert_eq!(read(&file, &[Kind::Text, Kind::Whole]).concat(), expected);
}
