use std::collections::HashSet;

use serde_json::Value;

use super::{Detections, DetectorInput};
use crate::judge::notations::CallOutcome;
use crate::judge::offline::signals::{Phrases, Signal, SignalSet};
use crate::judge::session_timeline::Call;

/// Argument keys of edit tools: file, old text and new text.
pub(super) const PATHS: [&str; 4] = ["file_path", "path", "filename", "file"];
const OLD: [&str; 3] = ["old_string", "old_str", "old_text"];
const NEW: [&str; 3] = ["new_string", "new_str", "new_text"];
/// Argument keys with the text that an edit writes.
const WRITTEN: [&str; 11] = [
    "new_string",
    "new_str",
    "new_text",
    "content",
    "file_text",
    "insert_text",
    "patch",
    "diff",
    "input",
    "new_source",
    "code_edit",
];

/// Returns the shell command of a call.
pub(super) fn command<'a>(set: &SignalSet, call: &'a Call) -> Option<&'a str> {
    let keys = ["command", "cmd", "script", "code", "input"];
    if !set.has(Phrases::ToolShell, &call.tool) {
        return None;
    }
    call.input.as_str().or_else(|| text(&call.input, &keys))
}

fn text<'a>(input: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| input.get(*key)?.as_str())
}

/// Detects test results and reverted edits.
pub(super) fn detect(input: DetectorInput<'_>, detections: &mut Detections) {
    let mut verdict = None;
    let mut edits: HashSet<[&str; 3]> = HashSet::new();
    for (trace, call) in input.calls() {
        verdict = outcome(input.set, call).map(|signal| (signal, trace)).or(verdict);
        let command = command(input.set, call).filter(|_| !call.failed());
        if command.is_some_and(|command| input.set.has(Phrases::CommandReverts, command)) {
            detections.count(Signal::Revert, trace);
        }
        if let Some([path, old, new]) = edit(call) {
            if edits.contains(&[path, new, old]) {
                detections.count(Signal::Revert, trace);
            }
            edits.insert([path, old, new]);
        }
    }
    if let Some((signal, trace)) = verdict {
        detections.count(signal, trace);
    }
}

/// Returns the result of a test run, where it can be determined: by its exit code, else by what it
/// printed.
pub(super) fn outcome(set: &SignalSet, call: &Call) -> Option<Signal> {
    let command = command(set, call)?;
    let tests = set.find(Phrases::CommandTests, command)?;
    if !is_masked(command.get(tests.end..).unwrap_or_default()) {
        match call.outcome {
            CallOutcome::Passed => return Some(Signal::TestsPassed),
            CallOutcome::Failed => return Some(Signal::TestsFailed),
            CallOutcome::Unknown => {}
        }
    }
    let output = set.notations.body(call.output.as_deref().unwrap_or_default());
    if set.has(Phrases::OutputFailed, &output) {
        return Some(Signal::TestsFailed);
    }
    set.has(Phrases::OutputPassed, &output).then_some(Signal::TestsPassed)
}

/// Returns whether the exit code of a command is that of another program than the tests: of the
/// end of a pipe, or of what runs whatever the tests say.
fn is_masked(after: &str) -> bool {
    let after = after.trim_end().trim_end_matches(';');
    after.contains(['|', ';', '\n'])
}

/// Returns whether a call changed a file.
pub(super) fn is_edit(set: &SignalSet, call: &Call) -> bool {
    if call.failed() {
        return false;
    }
    if let Some(command) = command(set, call) {
        return set.has(Phrases::CommandEdits, command);
    }
    let has_text = call.input.is_string() || text(&call.input, &WRITTEN).is_some();
    set.has(Phrases::ToolFiles, &call.tool) && (has_text || call.input.get("edits").is_some())
}

/// Returns a successful edit: file, old text and new text.
fn edit(call: &Call) -> Option<[&str; 3]> {
    let (old, new) = (text(&call.input, &OLD)?, text(&call.input, &NEW)?);
    let is_edit = !call.failed() && old != new;
    is_edit.then(|| [text(&call.input, &PATHS).unwrap_or_default(), old, new])
}
