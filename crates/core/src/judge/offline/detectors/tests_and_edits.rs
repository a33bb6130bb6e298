use std::collections::HashSet;

use serde_json::Value;

use super::{Detections, DetectorInput};
use crate::judge::offline::signals::{Phrases, Signal, SignalSet};
use crate::judge::session_timeline::Call;

/// Argument keys of edit tools: file, old text and new text.
const PATHS: [&str; 4] = ["file_path", "path", "filename", "file"];
const OLD: [&str; 3] = ["old_string", "old_str", "old_text"];
const NEW: [&str; 3] = ["new_string", "new_str", "new_text"];

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
        if let Some(command) = command(input.set, call) {
            if input.set.has(Phrases::CommandTests, command) {
                verdict = outcome(input.set, call).map(|signal| (signal, trace)).or(verdict);
            }
            if !call.failed && input.set.has(Phrases::CommandReverts, command) {
                detections.count(Signal::Revert, trace);
            }
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

/// Returns the result of a test run, where it can be determined.
fn outcome(set: &SignalSet, call: &Call) -> Option<Signal> {
    let output = call.output.as_deref().unwrap_or_default();
    if call.failed || set.has(Phrases::OutputFailed, output) {
        return Some(Signal::TestsFailed);
    }
    set.has(Phrases::OutputPassed, output).then_some(Signal::TestsPassed)
}

/// Returns a successful edit: file, old text and new text.
fn edit(call: &Call) -> Option<[&str; 3]> {
    let (old, new) = (text(&call.input, &OLD)?, text(&call.input, &NEW)?);
    (!call.failed && old != new).then(|| [text(&call.input, &PATHS).unwrap_or_default(), old, new])
}
