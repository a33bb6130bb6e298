use std::collections::BTreeMap;
use std::io;

use ratchet_remote::langfuse::copy::{Checkpoint, CopyPart, CopyProgress, Refused};
use serde::Serialize;

use super::checkpoint::CheckpointFile;
use crate::print::table;

/// How many records that were left out are named.
const NAMED: usize = 20;
/// Records between two progress messages.
const STEP: u64 = 1_000;

/// Saves the checkpoint and reports progress on stderr.
#[derive(Debug)]
pub(super) struct CopyReporter<'a> {
    file: Option<&'a CheckpointFile>,
    reported: BTreeMap<CopyPart, u64>,
    problems: Vec<Problem>,
}

/// A record that was left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Problem {
    part: &'static str,
    record: String,
    reason: String,
}

impl<'a> CopyReporter<'a> {
    /// Keeps the checkpoint in a file; nowhere, if nothing is recorded either.
    pub(super) fn new(file: Option<&'a CheckpointFile>) -> Self {
        Self { file, reported: BTreeMap::new(), problems: Vec::new() }
    }
}

impl CopyProgress for CopyReporter<'_> {
    fn advanced(&mut self, part: CopyPart, checkpoint: &Checkpoint) -> io::Result<()> {
        if let Some(file) = self.file {
            file.keep(checkpoint)?;
        }
        let Some(progress) = checkpoint.parts.get(&part) else { return Ok(()) };
        let reported = self.reported.entry(part).or_default();
        let is_worth_telling = progress.read >= *reported + STEP || progress.next.is_none();
        if is_worth_telling {
            *reported = progress.read;
            let of = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
            eprintln!("{} {}{of}", part.as_str(), progress.read);
        }
        Ok(())
    }

    fn refused(&mut self, part: CopyPart, refused: &Refused) {
        if self.problems.len() < NAMED {
            let (record, reason) = (refused.what.clone(), refused.why.clone());
            eprintln!("skipped {record}: {reason}");
            self.problems.push(Problem { part: part.as_str(), record, reason });
        }
    }
}

/// What came of a copy.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CopyReport {
    from: String,
    since: Option<String>,
    until: String,
    is_dry_run: bool,
    checkpoint: Option<String>,
    parts: BTreeMap<CopyPart, Counts>,
    problems: Vec<Problem>,
}

/// What came of one kind of record.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    read: u64,
    recorded: u64,
    left_out: u64,
}

impl CopyReport {
    pub(super) fn new(
        checkpoint: Checkpoint,
        reporter: CopyReporter<'_>,
        is_dry_run: bool,
    ) -> Self {
        let counts = checkpoint.parts.iter().map(|(part, progress)| {
            let recorded = if is_dry_run { 0 } else { progress.recorded };
            (*part, Counts { read: progress.read, recorded, left_out: progress.refused })
        });
        Self {
            parts: counts.collect(),
            from: checkpoint.from,
            since: checkpoint.since,
            until: checkpoint.until,
            is_dry_run,
            checkpoint: reporter.file.map(CheckpointFile::shown),
            problems: reporter.problems,
        }
    }

    /// Whether nothing was left out.
    pub(super) fn is_clean(&self) -> bool {
        self.parts.values().all(|counts| counts.left_out == 0)
    }

    pub(super) fn text(&self) -> String {
        let row = |(part, counts): (&CopyPart, &Counts)| {
            let Counts { read, recorded, left_out } = counts;
            [part.as_str().to_owned(), read.to_string(), recorded.to_string(), left_out.to_string()]
        };
        let rows: Vec<_> = self.parts.iter().map(row).collect();
        let mut text = table(["", "READ", "IMPORTED", "SKIPPED"], &rows);
        if let Some(file) = &self.checkpoint {
            text += &format!("\nRun the same command to update the import; checkpoint: {file}\n");
        }
        text
    }
}
