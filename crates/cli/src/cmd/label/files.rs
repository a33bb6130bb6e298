use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use csv::ReaderBuilder;
use ratchet_core::counted::counted;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::quality::label::Label;
use ratchet_core::quality::label::table::{LabelColumns, LabelDefaults, written};
use ratchet_server::clock::Clock;
use ratchet_stages::dataset_import::LineNumberedReader;
use ratchet_stages::review::{labels, session_queue};
use ratchet_stages::sink::Sink;

use super::{WhereArgs, WhoArgs};
use crate::data_target;
use crate::exit::Outcome;
use crate::print::print;

/// The most bytes of a table.
const MOST_BYTES: u64 = 20_000_000;
/// How many bad rows are named.
const NAMED: usize = 20;
/// The name for standard input and output.
const STREAM: &str = "-";

#[derive(Args, Debug)]
pub(super) struct ImportArgs {
    /// CSV file; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    who: WhoArgs,
    #[command(flatten)]
    at: WhereArgs,
}

#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    /// CSV file; - writes to standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    at: WhereArgs,
}

/// Keeps every label of a table, or none if one is wrong.
pub(super) async fn import(args: &ImportArgs) -> anyhow::Result<Outcome> {
    let count =
        data_target::with_scoring(&args.at.target, "ratchet label import", async |target| {
            let rubric = target.rubric(&args.at.rubric)?;
            let unless = LabelDefaults { by: args.who.by.clone(), at: Clock::System.now() };
            let mut read = rows(&args.file, &rubric, &unless)?;
            let asked = labels::asked(&target.sink, &args.at.dataset).await?;
            for label in &mut read {
                let drawn = asked.iter().find(|(session, _)| *session == label.session);
                label.drawn = drawn.map(|(_, draw)| draw.clone());
            }
            let (place, to) = ((&target.source, &target.sink), (args.at.dataset.as_str(), &rubric));
            labels::keep(place, to, &read, Clock::System.now()).await?;
            if let Sink::Local(local) = &target.sink {
                let sessions = read.iter().map(|label| label.session.clone());
                session_queue::complete(local, to, sessions, Clock::System.now()).await?;
            }
            Ok(read.len())
        });
    print(&format!(
        "{} saved in the dataset {}\n",
        counted(count.await?, "label"),
        args.at.dataset
    ))?;
    Ok(Outcome::Done)
}

fn rows(file: &Path, rubric: &Rubric, unless: &LabelDefaults) -> anyhow::Result<Vec<Label>> {
    let shown = file.display();
    let reader: Box<dyn Read> = if file.as_os_str() == STREAM {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(file).with_context(|| format!("cannot read {shown}"))?)
    };
    let mut text = Vec::new();
    reader.take(MOST_BYTES + 1).read_to_end(&mut text)?;
    ensure!(text.len() as u64 <= MOST_BYTES, "{shown} is larger than 20 MB");
    let table = LineNumberedReader::new(text.as_slice());
    let ends = table.ends();
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(table);
    let names = reader.headers().with_context(|| format!("cannot read the columns of {shown}"))?;
    let first = |name: &str| name.trim_start_matches('\u{feff}').trim().to_owned();
    let names: Vec<String> = names.iter().map(first).collect();
    let columns = LabelColumns::new(&names, rubric).map_err(anyhow::Error::msg)?;
    let (mut read, mut faults) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.with_context(|| format!("cannot read {shown}"))?;
        let line = record.position().map_or(0, |at| ends.line_of(at));
        match columns.label(record.iter(), unless) {
            Ok(label) => read.push(label),
            Err(why) => faults.push(format!("line {line}: {why}")),
        }
    }
    if !faults.is_empty() {
        let count = faults.len();
        faults.truncate(NAMED);
        bail!(
            "{count} rows of {shown} are not valid labels; nothing was imported\n  {}",
            faults.join("\n  ")
        );
    }
    Ok(read)
}

pub(super) async fn export(args: &ExportArgs) -> anyhow::Result<Outcome> {
    let table =
        data_target::with_scoring(&args.at.target, "ratchet label export", async |target| {
            let rubric = target.rubric(&args.at.rubric)?;
            let given = labels::read(&target.sink, &args.at.dataset).await?;
            Ok((given.len(), written(&given, &rubric)))
        });
    let (count, table) = table.await?;
    if args.file.as_os_str() == STREAM {
        print(&table)?;
        return Ok(Outcome::Done);
    }
    std::fs::write(&args.file, table)
        .with_context(|| format!("cannot write {}", args.file.display()))?;
    print(&format!("{} exported to {}\n", counted(count, "label"), args.file.display()))?;
    Ok(Outcome::Done)
}
