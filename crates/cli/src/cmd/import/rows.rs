//! Rows of files, however they are written: each is recorded whole or not at all.

use std::fs::File;
use std::io::{BufReader, Read, stdin};
use std::path::Path;

use anyhow::Context;
use clap::Args;
use ratchet_core::counted::counted;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::LangfuseClient;
use ratchet_remote::langfuse::rows::{self, RowEvent, RowRecord};
use serde::Serialize;

use super::IntoArgs;
use crate::exit::Outcome;

/// Bytes of one request, well below what a server takes.
const REQUEST_BYTES: usize = 3_000_000;
/// Events in one request.
const REQUEST_EVENTS: usize = 1_000;
/// How many bad rows are named.
const NAMED: usize = 20;
/// How many rows a preview shows.
const PREVIEWED: usize = 5;
/// Rows between two progress messages.
const STEP: u64 = 10_000;
/// The name for standard input.
pub(super) const STDIN: &str = "-";

/// How rows are taken, and where they go.
#[derive(Args, Debug)]
pub(super) struct RowArgs {
    /// Preview the first rows without importing
    #[arg(long)]
    pub(super) preview: bool,
    #[command(flatten)]
    pub(super) into: IntoArgs,
}

/// File and line of a row.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RowLocation {
    pub(super) file: String,
    pub(super) line: u64,
}

/// Opens a file, or standard input.
pub(super) fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    if path.as_os_str() == STDIN {
        return Ok(Box::new(stdin().lock()));
    }
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Box::new(BufReader::new(file)))
}

/// A row that was not recorded.
#[derive(Debug, Serialize)]
struct BadRow {
    #[serde(flatten)]
    location: RowLocation,
    reason: String,
}

/// What a row would import.
#[derive(Debug, Serialize)]
struct Preview {
    #[serde(flatten)]
    location: RowLocation,
    records: Vec<RowEvent>,
}

/// What came of all rows.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RowReport {
    rows: u64,
    bad: u64,
    traces: u64,
    observations: u64,
    scores: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    preview: Vec<Preview>,
    problems: Vec<BadRow>,
}

/// Takes rows and has them recorded, some at a time.
#[derive(Debug)]
pub(super) struct RowImporter<'a> {
    into: Option<&'a LangfuseClient>,
    at: Timestamp,
    waiting: Vec<RowEvent>,
    places: Vec<RowLocation>,
    bytes: usize,
    report: RowReport,
}

impl<'a> RowImporter<'a> {
    /// Imports into a server; without one, only previews the first rows. Rows without a time
    /// get `at`.
    pub(super) fn new(into: Option<&'a LangfuseClient>, at: Timestamp) -> Self {
        let report = RowReport::default();
        Self { into, at, waiting: Vec::new(), places: Vec::new(), bytes: 0, report }
    }

    /// Whether a preview has seen enough.
    pub(super) fn is_full(&self) -> bool {
        self.into.is_none() && self.report.rows >= PREVIEWED as u64
    }

    pub(super) async fn take(&mut self, location: RowLocation, row: &str) -> anyhow::Result<()> {
        let events = match rows::events(row, self.at) {
            Ok(events) => events,
            Err(issue) => {
                self.refuse(location, &issue.to_string());
                return Ok(());
            }
        };
        self.count_row();
        for event in &events {
            match event.record() {
                RowRecord::Trace => self.report.traces += 1,
                RowRecord::Observation => self.report.observations += 1,
                RowRecord::Score => self.report.scores += 1,
                RowRecord::None => {}
            }
        }
        if self.into.is_none() {
            self.report.preview.push(Preview { location, records: events });
            return Ok(());
        }
        for event in events {
            let size = event.bytes();
            let is_full = self.bytes + size > REQUEST_BYTES || self.waiting.len() >= REQUEST_EVENTS;
            if is_full {
                self.flush().await?;
            }
            self.bytes += size;
            self.waiting.push(event);
            self.places.push(location.clone());
        }
        Ok(())
    }

    /// Notes a row that cannot be recorded.
    pub(super) fn refuse(&mut self, location: RowLocation, reason: &str) {
        self.count_row();
        self.report.bad += 1;
        self.name(location, reason);
    }

    /// Has all that waits recorded.
    async fn flush(&mut self) -> anyhow::Result<()> {
        let (Some(into), false) = (self.into, self.waiting.is_empty()) else {
            return Ok(());
        };
        let events = std::mem::take(&mut self.waiting);
        let places = std::mem::take(&mut self.places);
        self.bytes = 0;
        for (index, reason) in rows::send(into, &events).await? {
            if let Some(location) = places.get(index) {
                self.report.bad += 1;
                self.name(location.clone(), &reason);
            }
        }
        Ok(())
    }

    /// Has the rest recorded and sums up.
    pub(super) async fn finish(mut self) -> anyhow::Result<RowReport> {
        self.flush().await?;
        Ok(self.report)
    }

    fn name(&mut self, location: RowLocation, reason: &str) {
        if self.report.problems.len() < NAMED {
            eprintln!("{}:{}: {reason}", location.file, location.line);
            self.report.problems.push(BadRow { location, reason: reason.to_owned() });
        }
    }

    fn count_row(&mut self) {
        self.report.rows += 1;
        if self.report.rows.is_multiple_of(STEP) {
            eprintln!("{}", counted(self.report.rows, "row"));
        }
    }
}

impl RowReport {
    /// Prints the report and returns the outcome.
    pub(super) fn show(&self, into: &IntoArgs) -> anyhow::Result<Outcome> {
        into.output.show(self, Self::text)?;
        Ok(if self.bad == 0 { Outcome::Done } else { Outcome::FoundBad })
    }

    fn text(&self) -> String {
        let Self { rows, bad, traces, observations, scores, .. } = self;
        let mut text = String::new();
        for row in &self.preview {
            text += &format!("{}:{}\n", row.location.file, row.location.line);
            for record in &row.records {
                let body = serde_json::to_string(record).unwrap_or_default();
                text += &format!("  {body}\n");
            }
        }
        let verb = if self.preview.is_empty() { "recorded" } else { "would import" };
        text += &format!(
            "{verb} {}, {} and {} of {}; {} skipped\n",
            counted(*traces, "trace"),
            counted(*observations, "observation"),
            counted(*scores, "score"),
            counted(*rows, "row"),
            counted(*bad, "invalid row")
        );
        text
    }
}
