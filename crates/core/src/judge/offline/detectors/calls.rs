use std::collections::HashMap;

use super::tests_and_edits::command;
use super::{Detections, DetectorInput};
use crate::judge::offline::signals::{Phrases, Signal, SignalSet};
use crate::judge::session_timeline::Call;

/// The number of identical calls that counts as a loop.
const LOOP_CALLS: usize = 3;

/// Detects failures and repetitions of calls.
pub(super) fn detect(input: DetectorInput<'_>, detections: &mut Detections) {
    for (trace, call) in input.calls() {
        detections.count_call(Signal::ToolCall, trace, &call.tool);
        if is_failure(input.set, call) {
            detections.count_call(Signal::ToolError, trace, &call.tool);
        }
    }
    failures(input, detections);
    repetitions(input, detections);
    let calls = input.calls().count();
    for signal in [Signal::ToolError, Signal::BlindRetry, Signal::RepeatedCall, Signal::Loop] {
        detections.share(signal, calls);
    }
}

/// Returns whether a call failed. Some programs answer by their exit code: a search without a match
/// is no failure.
fn is_failure(set: &SignalSet, call: &Call) -> bool {
    let answers = |command: &str| set.has(Phrases::CommandAnswers, command);
    call.failed() && !command(set, call).is_some_and(answers)
}

/// Detects failures, and whether a later call of the same tool (in a shell: the same program)
/// recovered from them.
fn failures(input: DetectorInput<'_>, detections: &mut Detections) {
    let mut open: HashMap<[&str; 2], Vec<u32>> = HashMap::new();
    for (trace, call) in input.calls() {
        let command = command(input.set, call).unwrap_or_default();
        let what = [call.tool.as_str(), command.split_whitespace().next().unwrap_or_default()];
        if is_failure(input.set, call) {
            open.entry(what).or_default().push(trace);
        } else if let Some(failed) = open.remove(&what) {
            for trace in failed {
                detections.count(Signal::Recovery, trace);
            }
        }
    }
    for ([tool, _], traces) in open {
        for trace in traces {
            detections.count_call(Signal::OpenError, trace, tool);
        }
    }
}

/// Detects calls that repeat an earlier one.
fn repetitions(input: DetectorInput<'_>, detections: &mut Detections) {
    let mut known: HashMap<(&str, String), (&Call, usize)> = HashMap::new();
    let mut last: Option<&Call> = None;
    for (trace, call) in input.calls() {
        let key = (call.tool.as_str(), call.input.to_string());
        let (before, times) = known.get(&key).map_or((None, 0), |(call, n)| (Some(*call), *n));
        if before.is_some_and(|before| before.output == call.output) {
            detections.count_call(Signal::RepeatedCall, trace, &call.tool);
        }
        if times + 1 >= LOOP_CALLS {
            detections.count_call(Signal::Loop, trace, &call.tool);
        }
        let is_same = last.is_some_and(|last| {
            last.failed() && last.tool == call.tool && last.input == call.input
        });
        if is_same && call.failed() {
            detections.count_call(Signal::BlindRetry, trace, &call.tool);
        }
        known.insert(key, (call, times + 1));
        last = Some(call);
    }
}
