use std::cell::Cell;
use std::io::{self, Read};
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, ensure};
use clap::Args;
use csv::{ErrorKind, ReaderBuilder, StringRecord};
use ratchet_remote::langfuse::client::LangfuseClient;
use ratchet_remote::langfuse::rows::Columns;
use ratchet_server::clock::Clock;
use ratchet_stages::dataset_import::{LineNumberedReader, unread};

use super::receiver;
use super::rows::{RowArgs, RowImporter, RowLocation, RowReport, open};
use crate::exit::Outcome;

/// The longest row that is taken: a longer one would not fit into a request either.
const MAX_RECORD_BYTES: usize = 20_000_000;
/// What is wrong with a longer one.
const TOO_LONG: &str =
    "the row starting here is larger than 20 MB; a quote may not be closed. The rest is skipped";

/// `ratchet import csv`
#[derive(Args, Debug)]
pub(super) struct CsvArgs {
    /// CSV file with a header line; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Map a column to a field, such as question=input or stars=scores.stars [default: the field of
    /// the same name]
    #[arg(long = "map", value_name = "COLUMN=FIELD")]
    maps: Vec<String>,
    /// Column delimiter
    #[arg(long, value_name = "CHAR", default_value_t = ',')]
    delimiter: char,
    #[command(flatten)]
    rows: RowArgs,
}

/// Runs `ratchet import csv`.
pub(super) async fn run(args: &CsvArgs) -> anyhow::Result<Outcome> {
    let report = if args.rows.preview {
        import(args, None).await?
    } else {
        let work = async |into: &LangfuseClient| import(args, Some(into)).await;
        receiver::with(&args.rows.into, "ratchet import csv", work).await?
    };
    report.show(&args.rows.into)
}

async fn import(args: &CsvArgs, into: Option<&LangfuseClient>) -> anyhow::Result<RowReport> {
    let delimiter = u8::try_from(args.delimiter).ok().filter(u8::is_ascii);
    let delimiter = delimiter.context("--delimiter must be an ASCII character")?;
    let file = args.file.display().to_string();
    let left = Rc::new(Cell::new(MAX_RECORD_BYTES));
    let bounded = Bounded { inner: open(&args.file)?, left: Rc::clone(&left) };
    let table = LineNumberedReader::new(bounded);
    let ends = table.ends();
    let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(table);
    let names = reader.headers().with_context(|| format!("cannot read the columns of {file}"))?;
    let first = |name: &str| name.trim_start_matches('\u{feff}').trim().to_owned();
    let names: Vec<String> = names.iter().map(first).collect();
    ensure!(!names.is_empty(), "{file} has no header line");
    let columns = Columns::new(&names, &args.maps)?;
    let mut importer = RowImporter::new(into, Clock::System.now());
    let mut record = StringRecord::new();
    while !importer.is_full() {
        let line = ends.line_of(reader.position());
        let location = RowLocation { file: file.clone(), line };
        left.set(MAX_RECORD_BYTES);
        match reader.read_record(&mut record) {
            Ok(true) => {
                let line = record.position().map_or(line, |at| ends.line_of(at));
                importer
                    .take(RowLocation { line, ..location }, &columns.row(record.iter()))
                    .await?;
            }
            Ok(false) => break,
            Err(_) if left.get() == 0 => {
                // The start of the next row is unknown.
                importer.refuse(location, TOO_LONG);
                break;
            }
            Err(error) => {
                let line = error.position().map_or(line, |at| ends.line_of(at));
                refuse(&mut importer, RowLocation { line, ..location }, &names, error)?;
            }
        }
    }
    importer.finish().await
}

/// A file that is read as long as a row is not too long.
struct Bounded {
    inner: Box<dyn Read>,
    /// How many bytes the row may still have.
    left: Rc<Cell<usize>>,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 {
            return Err(io::Error::other(TOO_LONG));
        }
        let len = into.len().min(left);
        let read = self.inner.read(into.get_mut(..len).unwrap_or_default())?;
        self.left.set(left - read);
        Ok(read)
    }
}

/// Notes a row that is none. Fails if the file itself cannot be read.
fn refuse(
    importer: &mut RowImporter<'_>,
    location: RowLocation,
    names: &[String],
    error: csv::Error,
) -> anyhow::Result<()> {
    let is_row = matches!(error.kind(), ErrorKind::UnequalLengths { .. } | ErrorKind::Utf8 { .. });
    if !is_row {
        return Err(error).with_context(|| format!("cannot read {}", location.file));
    }
    importer.refuse(location, &unread(&error, names));
    Ok(())
}
