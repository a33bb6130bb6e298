use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use ratchet_remote::langfuse::client::LangfuseClient;
use ratchet_server::clock::Clock;

use super::receiver;
use super::rows::{RowArgs, RowImporter, RowLocation, RowReport, open};
use crate::exit::Outcome;

/// The longest line that is taken.
const MAX_LINE_BYTES: u64 = 100_000_000;

/// `ratchet import jsonl`
#[derive(Args, Debug)]
pub(super) struct JsonlArgs {
    /// Files with one JSON object per line; - reads standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
}

/// Runs `ratchet import jsonl`.
pub(super) async fn run(args: &JsonlArgs) -> anyhow::Result<Outcome> {
    let report = if args.rows.preview {
        import(&args.files, None).await?
    } else {
        let work = async |into: &LangfuseClient| import(&args.files, Some(into)).await;
        receiver::with(&args.rows.into, "ratchet import jsonl", work).await?
    };
    report.show(&args.rows.into)
}

async fn import(files: &[PathBuf], into: Option<&LangfuseClient>) -> anyhow::Result<RowReport> {
    let mut importer = RowImporter::new(into, Clock::System.now());
    for file in files {
        let mut lines = Lines::open(file)?;
        while let Some(line) = lines.next()? {
            if importer.is_full() {
                break;
            }
            match line {
                Line::Text(location, text) => importer.take(location, &text).await?,
                Line::Bad(location, reason) => importer.refuse(location, reason),
            }
        }
    }
    importer.finish().await
}

/// One line of a file.
enum Line {
    Text(RowLocation, String),
    Bad(RowLocation, &'static str),
}

/// The lines of a file, one at a time, each of a bounded length.
struct Lines {
    reader: BufReader<Box<dyn Read>>,
    file: String,
    line: u64,
}

impl Lines {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let reader = BufReader::new(open(path)?);
        Ok(Self { reader, file: path.display().to_string(), line: 0 })
    }

    /// The next line that is not blank.
    fn next(&mut self) -> anyhow::Result<Option<Line>> {
        loop {
            let mut bytes = Vec::new();
            let mut bounded = (&mut self.reader).take(MAX_LINE_BYTES);
            let read = bounded.read_until(b'\n', &mut bytes);
            let read = read.with_context(|| format!("cannot read {}", self.file))?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            let location = RowLocation { file: self.file.clone(), line: self.line };
            if read as u64 == MAX_LINE_BYTES && bytes.last() != Some(&b'\n') {
                self.reader.skip_until(b'\n')?;
                return Ok(Some(Line::Bad(location, "the line is longer than 100 MB")));
            }
            let Ok(text) = String::from_utf8(bytes) else {
                return Ok(Some(Line::Bad(location, "the line is not UTF-8")));
            };
            let text = text.trim_start_matches('\u{feff}').trim();
            if !text.is_empty() {
                return Ok(Some(Line::Text(location, text.to_owned())));
            }
        }
    }
}
