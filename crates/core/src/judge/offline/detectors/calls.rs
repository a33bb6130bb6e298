use std::collections::HashMap;

use super::tests_and_edits::command;
use super::{Scene, Sightings};
use crate::judge::offline::signals::Signal;
use crate::judge::session_timeline::Call;

/// The number of identical calls that counts as a loop.
const LOOP: usize = 3;

/// Detects failures and repetitions of calls.
pub(super) fn look(scene: Scene<'_>, seen: &mut Sightings) {
    for (trace, call) in scene.calls() {
        seen.note(Signal::ToolCall, trace);
        if call.failed {
            seen.note(Signal::ToolError, trace);
        }
    }
    failures(scene, seen);
    repetitions(scene, seen);
}

/// Detects failures, and whether a later call of the same tool (in a shell: the same program) recovered from them.
fn failures(scene: Scene<'_>, seen: &mut Sightings) {
    let mut open: HashMap<[&str; 2], Vec<u32>> = HashMap::new();
    for (trace, call) in scene.calls() {
        let command = command(scene.set, call).unwrap_or_default();
        let what = [call.tool.as_str(), command.split_whitespace().next().unwrap_or_default()];
        if call.failed {
            open.entry(what).or_default().push(trace);
        } else if let Some(failed) = open.remove(&what) {
            for trace in failed {
                seen.note(Signal::Recovery, trace);
            }
        }
    }
    for trace in open.into_values().flatten() {
        seen.note(Signal::OpenError, trace);
    }
}

/// Detects calls that repeat an earlier one.
fn repetitions(scene: Scene<'_>, seen: &mut Sightings) {
    let mut known: HashMap<(&str, String), (&Call, usize)> = HashMap::new();
    let mut last: Option<&Call> = None;
    for (trace, call) in scene.calls() {
        let asked = (call.tool.as_str(), call.input.to_string());
        let (before, times) = known.get(&asked).map_or((None, 0), |(call, n)| (Some(*call), *n));
        if before.is_some_and(|before| before.output == call.output) {
            seen.note(Signal::RepeatedCall, trace);
        }
        if times + 1 >= LOOP {
            seen.note(Signal::Loop, trace);
        }
        let is_same = last
            .is_some_and(|last| last.failed && last.tool == call.tool && last.input == call.input);
        if is_same && call.failed {
            seen.note(Signal::BlindRetry, trace);
        }
        known.insert(asked, (call, times + 1));
        last = Some(call);
    }
}
