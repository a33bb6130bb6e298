use std::collections::BTreeMap;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};

use ratchet_core::counted::counted;
use ratchet_core::record::claude_code::Patches;
use ratchet_core::record::observation::ObservationKind;
use serde::Serialize;

/// How many bad lines are named.
const NAMED: usize = 20;
/// Lines between two progress messages.
const PROGRESS_LINES: u64 = 20_000;

/// What came of reading transcripts.
#[derive(Debug, Default)]
pub(super) struct Report {
    files: u64,
    lines: u64,
    reported_at: u64,
    is_waiting: bool,
    /// What was recorded, by id: transcripts repeat themselves.
    turns: std::collections::HashSet<String>,
    steps: BTreeMap<ObservationKind, std::collections::HashSet<String>>,
    malformed: u64,
    unknown: BTreeMap<String, u64>,
    notes: Vec<NoteView>,
}

/// What came of it, as programs see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportView {
    files: u64,
    lines: u64,
    turns: usize,
    model_calls: usize,
    tool_calls: usize,
    malformed_lines: u64,
    /// Lines of unknown types, by type.
    unknown_lines: BTreeMap<String, u64>,
    /// The first of them, by file and line.
    notes: Vec<NoteView>,
}

/// A line that could not be read.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NoteView {
    file: PathBuf,
    line: u64,
    why: String,
}

impl Report {
    pub(super) fn count_file(&mut self) {
        self.files += 1;
    }

    pub(super) fn count_line(&mut self) {
        self.lines += 1;
    }

    /// Counts the result of a line.
    pub(super) fn count(&mut self, patches: &Patches) {
        for trace in &patches.traces {
            self.turns.insert(trace.id.to_string());
        }
        for observation in &patches.observations {
            if let Some(kind) = observation.kind.value() {
                self.steps.entry(*kind).or_default().insert(observation.id.to_string());
            }
        }
    }

    /// Notes a line that is broken.
    pub(super) fn note_malformed(&mut self, file: &Path, line: u64, why: String) {
        self.malformed += 1;
        self.note(file, line, why);
    }

    /// Notes a line of an unknown type.
    pub(super) fn note_unknown(&mut self, file: &Path, line: u64, word: &str) {
        let count = self.unknown.entry(word.to_owned()).or_default();
        *count += 1;
        if *count == 1 {
            self.note(file, line, format!("unknown type {word}"));
        }
    }

    fn note(&mut self, file: &Path, line: u64, why: String) {
        if self.notes.len() < NAMED {
            self.notes.push(NoteView { file: file.to_owned(), line, why });
        }
    }

    /// Tells people now and then how far it got.
    pub(super) fn tell_progress(&mut self) {
        self.is_waiting = false;
        if stderr().is_terminal() && self.lines >= self.reported_at + PROGRESS_LINES {
            self.reported_at = self.lines;
            eprintln!(
                "read {} of {}",
                counted(self.lines, "line"),
                counted(self.files, "transcript")
            );
        }
    }

    /// Tells once that everything there is was read.
    pub(super) fn tell_waiting(&mut self) {
        if !std::mem::replace(&mut self.is_waiting, true) {
            eprintln!(
                "imported {} lines of {} transcripts; waiting for more",
                self.lines, self.files
            );
        }
    }

    /// The report so far.
    pub(super) fn view(&self) -> ReportView {
        let steps = |kind| self.steps.get(&kind).map_or(0, std::collections::HashSet::len);
        ReportView {
            files: self.files,
            lines: self.lines,
            turns: self.turns.len(),
            model_calls: steps(ObservationKind::Generation),
            tool_calls: steps(ObservationKind::Tool),
            malformed_lines: self.malformed,
            unknown_lines: self.unknown.clone(),
            notes: self.notes.clone(),
        }
    }
}

pub(super) fn text(report: &ReportView) -> String {
    let mut text = format!(
        "{}, {}: {}, {}, {}\n",
        counted(report.files, "transcript"),
        counted(report.lines, "line"),
        counted(report.turns, "turn"),
        counted(report.model_calls, "model call"),
        counted(report.tool_calls, "tool call")
    );
    let unknown: u64 = report.unknown_lines.values().sum();
    if report.malformed_lines + unknown > 0 {
        text += &format!(
            "{}, {} of unknown types; the rest is imported:\n",
            counted(report.malformed_lines, "invalid line"),
            counted(unknown, "line")
        );
    }
    for note in &report.notes {
        text += &format!("  {}:{}: {}\n", note.file.display(), note.line, note.why);
    }
    text
}
